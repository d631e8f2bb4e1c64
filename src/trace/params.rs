//! Parameters for a run: variables, seeded by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use candle_core::{DType, Device, Error, Result, Shape, Tensor, Var};
use candle_nn::var_builder::SimpleBackend;
use candle_nn::{Init, VarBuilder};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

/// The parameters that a model asked for, by path.
///
/// Each is filled from a generator seeded by its own name, so that adding one changes no other. An initialisation by a
/// constant (also what `VarBuilder::get` asks for where it is given none) is spread by ±0.1 around it: zeros and ones
/// would hide faults.
#[derive(Clone)]
pub struct Params {
    seed: u64,
    tracked: bool,
    moved: Option<(String, Tensor)>,
    made: Arc<Mutex<BTreeMap<String, Var>>>,
}

impl Params {
    /// No parameters yet; they will be variables.
    pub fn new(seed: u64) -> Self {
        Self { seed, tracked: true, moved: None, made: Arc::default() }
    }

    /// The same, one of them with `by` added to it.
    #[must_use]
    pub fn moved(self, name: &str, by: &Tensor) -> Self {
        Self { moved: Some((name.to_owned(), by.clone())), ..self }
    }

    /// The same values as plain tensors, whose use leaves no graph.
    pub fn untracked(seed: u64) -> Self {
        Self { tracked: false, ..Self::new(seed) }
    }

    fn handed_out(&self, var: &Var) -> Tensor {
        if self.tracked { var.as_tensor().clone() } else { var.as_detached_tensor() }
    }

    /// Where a model takes its parameters from.
    pub fn builder(&self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.clone()), dtype, device.clone())
    }

    /// What was asked for so far, sorted by path.
    pub fn all(&self) -> Vec<(String, Var)> {
        let made = self.made.lock().unwrap_or_else(|broken| broken.into_inner());
        made.iter().map(|(name, var)| (name.clone(), var.clone())).collect()
    }
}

impl SimpleBackend for Params {
    fn get(&self, s: Shape, name: &str, h: Init, dtype: DType, dev: &Device) -> Result<Tensor> {
        let mut made = self.made.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(var) = made.get(name) {
            let wrong = || {
                Error::Msg(format!("parameter {name} has shape {:?}, asked for {s:?}", var.shape()))
            };
            return if var.shape() == &s { Ok(self.handed_out(var)) } else { Err(wrong().bt()) };
        }
        let values = fill(self.seed, name, &h, s.dims());
        let tensor = Tensor::from_vec(values, s, &Device::Cpu)?.to_dtype(dtype)?.to_device(dev)?;
        let tensor = match &self.moved {
            Some((moved, by)) if moved == name => (tensor + by)?,
            _ => tensor,
        };
        let var = Var::from_tensor(&tensor)?;
        let tensor = self.handed_out(&var);
        made.insert(name.to_owned(), var);
        Ok(tensor)
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        let made = self.made.lock().unwrap_or_else(|broken| broken.into_inner());
        let missing = || Error::CannotFindTensor { path: name.to_owned() }.bt();
        made.get(name).map(|var| self.handed_out(var)).ok_or_else(missing)
    }

    fn contains_tensor(&self, _: &str) -> bool {
        true
    }
}

/// Values for a parameter or an input: the same for the same seed, name and shape, on every machine.
pub fn fill(seed: u64, name: &str, init: &Init, dims: &[usize]) -> Vec<f64> {
    let mut random = generator(seed, name);
    let n = dims.iter().product();
    let fan_in: usize = dims.iter().skip(1).product();
    let bound = (3. / fan_in.max(1) as f64).sqrt();
    let mut draw = |f: &dyn Fn(&mut ChaCha8Rng) -> f64| (0..n).map(|_| f(&mut random)).collect();
    match *init {
        Init::Const(c) => draw(&|r| c + between(r, -0.1, 0.1)),
        Init::Randn { mean, stdev } => draw(&|r| mean + stdev * r.sample::<f64, _>(StandardNormal)),
        Init::Uniform { lo, up } => draw(&|r| between(r, lo, up)),
        Init::Kaiming { .. } => draw(&|r| between(r, -bound, bound)),
    }
}

/// A generator for one name: FNV-1a of the name, so that no release of Rust changes what a seed means.
pub fn generator(seed: u64, name: &str) -> ChaCha8Rng {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    ChaCha8Rng::seed_from_u64(hash ^ seed)
}

fn between(random: &mut ChaCha8Rng, lo: f64, up: f64) -> f64 {
    lo + (up - lo) * random.random::<f64>()
}
