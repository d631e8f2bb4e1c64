//! The weights of a model as trainable variables, loaded or drawn anew.
use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Shape, Tensor, Var};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};

use super::mixer::INIT_STD;
use super::norm::at_least_f32;
use super::{Config, Dims, Parameter};
use crate::model::ConfigError;

/// The weights of a model under Hugging Face's names, in a fixed order.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use shapelock::model::mamba2::{Config, Mamba2, Weights};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config: Config = serde_json::from_str(
///     r#"{"d_model": 8, "n_layer": 1, "vocab_size": 16, "d_state": 4, "headdim": 4, "chunk_size": 4}"#,
/// )?;
/// let weights = Weights::new(&config, DType::F32, &Device::Cpu, 7)?;
/// let model = Mamba2::new(&config, weights.builder())?;
/// assert_eq!(model.forward(&Tensor::new(&[[1u32, 2, 3]], &Device::Cpu)?)?.dims(), [1, 3, 16]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    vars: Arc<BTreeMap<String, Var>>,
    dtype: DType,
    device: Device,
}

impl Weights {
    /// New weights by the reference's initialisation, each drawn by `seed` and its own name.
    ///
    /// A is uniform in [1, 16], dt log-uniform in [0.001, 0.1] with a floor of 1e-4, D and the norms are 1; linear
    /// weights and embeddings are normal with a deviation of 0.02, that of the output projections divided by the root
    /// of the number of layers, because each adds to the residual; the convolution is uniform within 1/√k.
    ///
    /// # Errors
    /// A wrapped [`ConfigError`], or an error of candle's.
    pub fn new(config: &Config, dtype: DType, device: &Device, seed: u64) -> Result<Self> {
        Self::with_deviation(config, dtype, device, seed, INIT_STD)
    }

    /// As [`Weights::new`], with another deviation of linear weights and embeddings: narrow models learn faster from a
    /// larger one, such as transformers' `initializer_range` of 0.1.
    ///
    /// # Errors
    /// Those of [`Weights::new`].
    pub fn with_deviation(
        config: &Config,
        dtype: DType,
        device: &Device,
        seed: u64,
        deviation: f64,
    ) -> Result<Self> {
        let dims = config.dims()?;
        let mut vars = BTreeMap::new();
        for parameter in config.parameters()? {
            let mut random = Random::named(seed, &parameter.name);
            let count = parameter.shape.iter().product();
            let distribution = Distribution::of(&parameter, dims, deviation);
            let values = (0..count).map(|_| distribution.draw(&mut random)).collect::<Vec<f64>>();
            let wanted = if parameter.in_full_precision() { at_least_f32(dtype) } else { dtype };
            let tensor = Tensor::from_vec(values, parameter.shape.as_slice(), &Device::Cpu)?;
            let tensor = tensor.to_dtype(wanted)?.to_device(device)?;
            vars.insert(parameter.name, Var::from_tensor(&tensor)?);
        }
        Ok(Self::of(vars, dtype, device))
    }

    pub(super) fn of(vars: BTreeMap<String, Var>, dtype: DType, device: &Device) -> Self {
        Self { vars: Arc::new(vars), dtype, device: device.clone() }
    }

    /// Name and variable, in the order of the names.
    pub fn vars(&self) -> &BTreeMap<String, Var> {
        &self.vars
    }

    /// Name, variable and whether weight decay pulls at it, for an optimiser.
    ///
    /// # Errors
    /// Those of [`Config::dims`].
    pub fn trained(
        &self,
        config: &Config,
    ) -> std::result::Result<Vec<(String, Var, bool)>, ConfigError> {
        let with_var = |parameter: Parameter| {
            let var = self.vars.get(&parameter.name)?.clone();
            let decays = parameter.decays();
            Some((parameter.name, var, decays))
        };
        Ok(config.parameters()?.into_iter().filter_map(with_var).collect())
    }

    /// What a model takes its parameters from; training a variable trains the model.
    pub fn builder(&self) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.clone()), self.dtype, self.device.clone())
    }
}

impl SimpleBackend for Weights {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let tensor = self.get_unchecked(name, dtype, device)?;
        if *tensor.shape() == shape {
            return Ok(tensor);
        }
        let got = tensor.shape().clone();
        Err(candle_core::Error::UnexpectedShape { msg: name.into(), expected: shape, got })
    }

    fn get_unchecked(&self, name: &str, dtype: DType, device: &Device) -> Result<Tensor> {
        let missing = || candle_core::Error::CannotFindTensor { path: name.into() };
        self.vars.get(name).ok_or_else(missing)?.to_dtype(dtype)?.to_device(device)
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.vars.contains_key(name)
    }
}

/// How the values of a new parameter are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Distribution {
    Constant(f64),
    /// Within a limit of zero.
    Uniform(f64),
    /// Around zero with a deviation.
    Normal(f64),
    /// log A for A uniform in [1, 16].
    LogDecay,
    /// The inverse softplus of dt, log-uniform in [0.001, 0.1].
    StepBias,
}

impl Distribution {
    fn of(parameter: &Parameter, dims: Dims, deviation: f64) -> Self {
        let is = |name| parameter.ends_with(&[name]);
        let name = parameter.name.as_str();
        match () {
            () if is("A_log") => Self::LogDecay,
            () if is("dt_bias") => Self::StepBias,
            () if is("D") || name.contains("norm") => Self::Constant(1.),
            () if name.contains("conv1d") => Self::Uniform(1. / (dims.k as f64).sqrt()),
            () if name.starts_with("head.") => Self::Uniform(1. / (dims.d as f64).sqrt()),
            () if is("bias") => Self::Constant(0.),
            () if name.ends_with("out_proj.weight") => {
                Self::Normal(deviation / (dims.layers as f64).sqrt())
            }
            () => Self::Normal(deviation),
        }
    }

    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Constant(value) => value,
            Self::Uniform(limit) => limit * (2. * random.uniform() - 1.),
            Self::Normal(deviation) => deviation * random.normal(),
            Self::LogDecay => (1. + 15. * random.uniform()).ln(),
            Self::StepBias => {
                let (low, high) = (0.001f64.ln(), 0.1f64.ln());
                let dt = (low + (high - low) * random.uniform()).exp().max(1e-4);
                dt + (-(-dt).exp_m1()).ln()
            }
        }
    }
}

/// Numbers that depend on a seed and a name alone: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn named(seed: u64, name: &str) -> Self {
        let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(seed ^ name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv))
    }

    /// Uniform in [0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2. * (1. - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}
