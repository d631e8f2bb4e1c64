//! What every Mamba-2 scan takes and returns.
use candle_core::{DType, Result, Tensor};

use super::{Bound, ScanError, Scope};

/// The inputs of one scan, all of one dtype (f32 or f64) but `reset`.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// What enters the state (b, l, h, p).
    pub x: &'a Tensor,
    /// Step sizes, positive (b, l, h).
    pub dt: &'a Tensor,
    /// The continuous decay of a head, negative (h).
    pub a: &'a Tensor,
    /// How the input enters the state: the paper's B (b, l, g, n).
    pub bmat: &'a Tensor,
    /// How the state is read: the paper's C (b, l, g, n).
    pub cmat: &'a Tensor,
    /// The skip past the state, (h) or (h, p).
    pub d: Option<&'a Tensor>,
    /// The state before the first token (b, h, p, n); zeros without it.
    pub state: Option<&'a Tensor>,
    /// 1 where the state is zeroed before the token, any dtype (b, l).
    pub reset: Option<&'a Tensor>,
    /// What taps are named under.
    pub scope: Option<&'a Scope>,
}

/// What a scan gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// One reading a token (b, l, h, p).
    pub y: Tensor,
    /// The state after the last token (b, h, p, n).
    pub state: Tensor,
}

/// The dims of a scan's inputs, by the glossary's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sizes {
    pub b: usize,
    pub l: usize,
    pub h: usize,
    pub p: usize,
    pub g: usize,
    pub n: usize,
}

impl<'a> Inputs<'a> {
    /// Inputs without a skip, an initial state or resets.
    pub const fn new(
        x: &'a Tensor,
        dt: &'a Tensor,
        a: &'a Tensor,
        bmat: &'a Tensor,
        cmat: &'a Tensor,
    ) -> Self {
        Self { x, dt, a, bmat, cmat, d: None, state: None, reset: None, scope: None }
    }

    /// Checks that the inputs fit together.
    ///
    /// # Errors
    /// The first input that does not, as a [`ScanError`].
    pub fn check(&self) -> std::result::Result<Sizes, ScanError> {
        let (&[b, l, h, p], &[_, _, g, n]) = (self.x.dims(), self.bmat.dims()) else {
            let x_is_wrong = self.x.rank() != 4;
            return Err(ScanError::Shape {
                argument: if x_is_wrong { "x" } else { "B" },
                expected: if x_is_wrong { X } else { BC },
                actual: if x_is_wrong { self.x.dims() } else { self.bmat.dims() }.to_vec(),
                bound: Bound::default(),
            });
        };
        let sizes = Sizes { b, l, h, p, g, n };
        self.check_extents(sizes)?;
        self.check_shapes(sizes)?;
        self.check_dtypes()?;
        Ok(sizes)
    }

    fn check_extents(
        &self,
        Sizes { b, l, h, p, g, n }: Sizes,
    ) -> std::result::Result<(), ScanError> {
        let empty =
            [("b", b), ("l", l), ("h", h), ("p", p)].into_iter().find(|(_, extent)| *extent == 0);
        if let Some((symbol, _)) = empty {
            let actual = self.x.dims().to_vec();
            return Err(ScanError::Empty { argument: "x", symbol, expected: X, actual });
        }
        if let Some((symbol, _)) = [("g", g), ("n", n)].into_iter().find(|(_, extent)| *extent == 0)
        {
            let actual = self.bmat.dims().to_vec();
            return Err(ScanError::Empty { argument: "B", symbol, expected: BC, actual });
        }
        if !h.is_multiple_of(g) {
            return Err(ScanError::Groups { h, g });
        }
        Ok(())
    }

    fn check_shapes(&self, sizes: Sizes) -> std::result::Result<(), ScanError> {
        let Sizes { b, l, h, p, g, n } = sizes;
        let fits = |argument, expected, tensor: Option<&Tensor>, shapes: &[&[usize]]| match tensor {
            Some(tensor) if !shapes.contains(&tensor.dims()) => Err(ScanError::Shape {
                argument,
                expected,
                actual: tensor.dims().to_vec(),
                bound: sizes.bound(),
            }),
            _ => Ok(()),
        };
        fits("dt", "(b, l, h)", Some(self.dt), &[&[b, l, h]])?;
        fits("A", "(h)", Some(self.a), &[&[h]])?;
        fits("B", BC, Some(self.bmat), &[&[b, l, g, n]])?;
        fits("C", BC, Some(self.cmat), &[&[b, l, g, n]])?;
        fits("D", "(h) or (h, p)", self.d, &[&[h], &[h, p]])?;
        fits("state", "(b, h, p, n)", self.state, &[&[b, h, p, n]])?;
        fits("reset", "(b, l)", self.reset, &[&[b, l]])
    }

    fn check_dtypes(&self) -> std::result::Result<(), ScanError> {
        let dtype = self.x.dtype();
        if !matches!(dtype, DType::F32 | DType::F64) {
            return Err(ScanError::Precision { actual: dtype });
        }
        let named = [("dt", Some(self.dt)), ("A", Some(self.a)), ("B", Some(self.bmat))];
        let more = [("C", Some(self.cmat)), ("D", self.d), ("state", self.state)];
        for (argument, tensor) in named.into_iter().chain(more) {
            if let Some(actual) = tensor.map(Tensor::dtype).filter(|actual| *actual != dtype) {
                return Err(ScanError::DType { argument, expected: dtype, actual });
            }
        }
        Ok(())
    }

    /// Adds the skip: y + D·x.
    pub(super) fn skip(&self, y: Tensor) -> Result<Tensor> {
        let Some(d) = self.d else { return Ok(y) };
        let d = if d.rank() == 1 { d.unsqueeze(1)? } else { d.clone() }; // (h, 1) or (h, p)
        y + self.x.broadcast_mul(&d)? // (b, l, h, p)
    }

    /// The state before the first token (b, h, p, n).
    pub(super) fn start(&self, Sizes { b, h, p, n, .. }: Sizes) -> Result<Tensor> {
        match self.state {
            Some(state) => Ok(state.clone()),
            None => Tensor::zeros((b, h, p, n), self.x.dtype(), self.x.device()),
        }
    }

    /// exp(dt·A), and exactly zero where the state is reset: what is left of the state at each token (b, l, h).
    pub(super) fn decay(&self) -> Result<Tensor> {
        let decay = self.dt.broadcast_mul(self.a)?.exp()?; // (b, l, h)
        let Some(reset) = self.reset else {
            return Ok(decay);
        };
        let kept = reset.eq(0u32)?.to_dtype(decay.dtype())?.unsqueeze(2)?; // (b, l, 1)
        decay.broadcast_mul(&kept) // (b, l, h)
    }

    #[track_caller]
    pub(super) fn tap(&self, name: &str, t: Tensor) -> Result<Tensor> {
        match self.scope {
            Some(scope) => scope.tap(name, t),
            None => crate::tap(name, t),
        }
    }
}

impl Sizes {
    /// The dims as an error shows them.
    fn bound(&self) -> Bound {
        let Self { b, l, h, p, g, n } = *self;
        Bound(vec![("b", b), ("l", l), ("h", h), ("p", p), ("g", g), ("n", n)])
    }

    /// Gives each head its group's rows: (b, l, g, n) → (b, l, h, n).
    pub(super) fn to_heads(self, grouped: &Tensor) -> Result<Tensor> {
        let Self { b, l, h, g, n, .. } = self;
        grouped.unsqueeze(3)?.broadcast_as((b, l, g, h / g, n))?.reshape((b, l, h, n))
    }
}

const X: &str = "(b, l, h, p)";
const BC: &str = "(b, l, g, n)";
