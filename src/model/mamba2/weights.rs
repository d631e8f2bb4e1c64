//! The weights of a model as trainable variables, loaded or drawn anew.
use std::collections::BTreeMap;
use std::sync::Arc;

use candle_core::{DType, Device, Result, Shape, Tensor, Var};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};

use super::norm::at_least_f32;
use super::{Config, Dims, Parameter};

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
    /// A wrapped [`ConfigError`](crate::model::ConfigError), or an error of candle's.
    pub fn new(config: &Config, dtype: DType, device: &Device, seed: u64) -> Result<Self> {
        let dims = config.dims()?;
        let mut vars = BTreeMap::new();
        for parameter in config.parameters()? {
            let mut random = Random::named(seed, &parameter.name);
            let count = parameter.shape.iter().product();
            let values =
                (0..count).map(|_| draw(&parameter, dims, &mut random)).collect::<Vec<f64>>();
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

/// One value of a new parameter.
fn draw(parameter: &Parameter, dims: Dims, random: &mut Random) -> f64 {
    let is = |name| parameter.ends_with(&[name]);
    let within = |limit: f64, random: &mut Random| limit * (2. * random.uniform() - 1.);
    if is("A_log") {
        return (1. + 15. * random.uniform()).ln();
    }
    if is("dt_bias") {
        let (low, high) = (0.001f64.ln(), 0.1f64.ln());
        let dt = (low + (high - low) * random.uniform()).exp().max(1e-4);
        return dt + (-(-dt).exp_m1()).ln(); // The inverse of softplus.
    }
    if is("D") || parameter.name.contains("norm") {
        return 1.;
    }
    if parameter.name.contains("conv1d") {
        return within(1. / (dims.k as f64).sqrt(), random);
    }
    if parameter.name.starts_with("head.") {
        return within(1. / (dims.d as f64).sqrt(), random);
    }
    if is("bias") {
        return 0.;
    }
    let of_residual = parameter.name.ends_with("out_proj.weight");
    let scale = if of_residual { (dims.layers as f64).sqrt() } else { 1. };
    random.normal() * super::mixer::INIT_STD / scale
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
