//! The model of the bug report: a linear projection into a time-invariant state space with a full state matrix.
use candle_core::{Result, Tensor};
use candle_nn::{Init, VarBuilder};
use serde::{Deserialize, Serialize};

use super::{ConfigError, Linear, linear::uniform_init};
use crate::scan::{Bound, ScanError, dense, dense_by_definition};

/// The sizes a [`DenseSsm`] is built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DenseSsmConfig {
    /// d: features of the input.
    pub d_model: usize,
    /// i = expand·d.
    #[serde(default = "default_expand")]
    pub expand: usize,
    /// n: size of the state.
    #[serde(default = "default_state")]
    pub d_state: usize,
}

/// Every size of a [`DenseSsm`], by the glossary's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct DenseSsmDims {
    pub d: usize,
    pub i: usize,
    pub n: usize,
}

/// h_t = h_{t−1}·Aᵀ + B·(W·x_t), y_t = C·h_t.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use candle_nn::{VarBuilder, VarMap};
/// use shapelock::model::{DenseSsm, DenseSsmConfig};
///
/// # fn main() -> candle_core::Result<()> {
/// let vars = VarMap::new();
/// let vb = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
/// let config = DenseSsmConfig { d_model: 8, expand: 2, d_state: 4 };
/// let x = Tensor::zeros((3, 5, 8), DType::F32, &Device::Cpu)?; // (b, l, d)
/// assert_eq!(DenseSsm::new(&config, vb)?.forward(&x)?.dims(), [3, 5, 16]); // (b, l, i)
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DenseSsm {
    input_projection: Linear,
    a: Tensor, // (n, n)
    b: Tensor, // (n, i)
    c: Tensor, // (i, n)
    dims: DenseSsmDims,
}

impl DenseSsmConfig {
    /// Every size, derived once.
    ///
    /// # Errors
    /// The field whose size no model can have.
    pub fn dims(&self) -> std::result::Result<DenseSsmDims, ConfigError> {
        ConfigError::check_size("d_model", self.d_model)?;
        ConfigError::check_size("expand", self.expand)?;
        ConfigError::check_size("d_state", self.d_state)?;
        let i = self.expand * self.d_model;
        ConfigError::check_size("expand", i)?;
        Ok(DenseSsmDims { d: self.d_model, i, n: self.d_state })
    }
}

impl DenseSsmDims {
    /// Letter and size, in the order in which shapes name them.
    pub fn named(&self) -> Vec<(&'static str, usize)> {
        vec![("d", self.d), ("i", self.i), ("n", self.n)]
    }
}

impl DenseSsm {
    /// Takes the parameters `input_projection.{weight, bias}`, `A`, `B` and `C` from `vb`.
    ///
    /// New ones are drawn so that the recurrence is stable: A's entries lie within 1/(2√n), which gives it a spectral norm
    /// of about 1/√3, so the states stay bounded over any length.
    ///
    /// # Errors
    /// A wrapped [`ConfigError`], or a parameter that is missing or has another shape.
    pub fn new(config: &DenseSsmConfig, vb: VarBuilder) -> Result<Self> {
        let dims = config.dims()?;
        let DenseSsmDims { d, i, n } = dims;
        let stable = 0.5 / (n as f64).sqrt();
        Ok(Self {
            input_projection: Linear::new(d, i, true, uniform_init(d), &vb.pp("input_projection"))?,
            a: vb.get_with_hints((n, n), "A", Init::Uniform { lo: -stable, up: stable })?,
            b: vb.get_with_hints((n, i), "B", uniform_init(i))?,
            c: vb.get_with_hints((i, n), "C", uniform_init(n))?,
            dims,
        })
    }

    /// Reads a batch of sequences: (b, l, d) → (b, l, i).
    ///
    /// Taps: `input_projection`, `scan_input`, those of [`dense`], `output`.
    ///
    /// # Errors
    /// Where x is not (b, l, d) with l ≥ 1, or has another dtype than the parameters.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_from(x, None).map(|(y, _)| y)
    }

    /// Reads on from the state `h0` (b, n): returns the output (b, l, i) and the state after the last token (b, n).
    ///
    /// # Errors
    /// Those of [`DenseSsm::forward`], and a state of another shape or dtype.
    pub fn forward_from(&self, x: &Tensor, h0: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
        self.forward_with(x, h0, dense)
    }

    /// What [`DenseSsm::forward`] gives, with the states by their definition ([`dense_by_definition`]).
    ///
    /// # Errors
    /// Those of [`DenseSsm::forward`].
    pub fn forward_by_definition(&self, x: &Tensor) -> Result<Tensor> {
        self.forward_with(x, None, dense_by_definition).map(|(y, _)| y)
    }

    fn forward_with(
        &self,
        x: &Tensor,
        h0: Option<&Tensor>,
        scan: impl Fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<(Tensor, Tensor)>,
    ) -> Result<(Tensor, Tensor)> {
        self.check(x)?;
        let x = crate::tap("input_projection", self.input_projection.forward(x)?)?; // (b, l, i)
        let u = crate::tap("scan_input", x.broadcast_matmul(&self.b.t()?)?)?; // (b, l, n)
        let (states, h) = scan(&u, &self.a, h0)?; // (b, l, n), (b, n)
        let y = crate::tap("output", states.broadcast_matmul(&self.c.t()?)?)?; // (b, l, i)
        Ok((y, h))
    }

    fn check(&self, x: &Tensor) -> std::result::Result<(), ScanError> {
        match x.dims() {
            &[_, _, d] if d == self.dims.d => Ok(()),
            actual => Err(ScanError::Shape {
                argument: "x",
                expected: "(b, l, d)",
                actual: actual.to_vec(),
                bound: Bound(self.dims.named()),
            }),
        }
    }
}

const fn default_expand() -> usize {
    4
}

const fn default_state() -> usize {
    16
}
