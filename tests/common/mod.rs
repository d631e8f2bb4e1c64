//! Parameters, inputs and measures that the tests of models share.
#![allow(dead_code, reason = "each test binary uses its own part of it")]

pub mod small;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use candle_core::{DType, Device, Result, Shape, Tensor, Var};
use candle_nn::Init;
use candle_nn::var_builder::{SimpleBackend, VarBuilder};

/// Parameters drawn by a seed and their own name, so that neither order nor number of requests changes any.
///
/// Every one is random and well scaled, so that a fault in the use of any of them shows.
#[derive(Clone, Default)]
pub struct Params {
    seed: u64,
    vars: Arc<Mutex<BTreeMap<String, Var>>>,
}

impl Params {
    pub fn seeded(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    pub fn builder(&self, dtype: DType, device: &Device) -> VarBuilder<'static> {
        VarBuilder::from_backend(Box::new(self.clone()), dtype, device.clone())
    }

    pub fn vars(&self) -> BTreeMap<String, Var> {
        self.vars.lock().unwrap().clone()
    }
}

impl SimpleBackend for Params {
    fn get(
        &self,
        shape: Shape,
        name: &str,
        _: Init,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let mut vars = self.vars.lock().unwrap();
        if let Some(var) = vars.get(name) {
            return Ok(var.as_tensor().clone());
        }
        let normal = normal(shape.dims(), self.seed ^ hash(name), DType::F64, device)?;
        let var = Var::from_tensor(&scaled(name, normal)?.to_dtype(dtype)?)?;
        vars.insert(name.to_string(), var.clone());
        Ok(var.as_tensor().clone())
    }

    fn get_unchecked(&self, name: &str, _: DType, _: &Device) -> Result<Tensor> {
        candle_core::bail!("{name} is asked for without a shape")
    }

    fn contains_tensor(&self, name: &str) -> bool {
        self.vars.lock().unwrap().contains_key(name)
    }
}

fn scaled(name: &str, normal: Tensor) -> Result<Tensor> {
    let last = *normal.dims().last().unwrap_or(&1) as f64;
    match name.rsplit('.').next().unwrap_or(name) {
        "A_log" => normal.affine(0.7, 1.),
        "dt_bias" => normal.affine(1.5, -2.),
        "D" => normal.affine(0.5, 1.),
        "A" => normal.affine(0.25 / last.sqrt(), 0.),
        "bias" => normal.affine(0.2, 0.),
        _ if name.contains("norm") => normal.affine(0.2, 1.),
        _ if name.contains("conv1d") => normal.affine(0.5, 0.),
        _ if name.contains("embedding") => Ok(normal),
        _ => normal.affine(1. / last.sqrt(), 0.),
    }
}

/// Standard normal values that depend on the seed alone.
pub fn normal(shape: &[usize], seed: u64, dtype: DType, device: &Device) -> Result<Tensor> {
    let mut state = seed;
    let count = shape.iter().product();
    let values: Vec<f64> = (0..count)
        .map(|_| {
            let (u, v) = (uniform(&mut state), uniform(&mut state));
            (-2. * (1. - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        })
        .collect();
    Tensor::from_vec(values, shape, device)?.to_dtype(dtype)
}

/// Token ids below `v` that depend on the seed alone.
pub fn ids(shape: &[usize], v: u32, seed: u64) -> Result<Tensor> {
    let mut state = seed;
    let ids = (0..shape.iter().product()).map(|_| (uniform(&mut state) * f64::from(v)) as u32);
    Tensor::from_vec(ids.collect::<Vec<_>>(), shape, &Device::Cpu)
}

/// max|a − b| / max|b|, the measure of every comparison of values.
pub fn error(actual: &Tensor, expected: &Tensor) -> Result<f64> {
    let (actual, expected) = (actual.to_dtype(DType::F64)?, expected.to_dtype(DType::F64)?);
    let largest = |t: Tensor| t.abs()?.flatten_all()?.max(0)?.to_scalar::<f64>();
    let (difference, scale) = (largest((&actual - &expected)?)?, largest(expected)?);
    Ok(if difference == 0. { 0. } else { difference / scale })
}

/// Whether no value is infinite or NaN.
pub fn is_finite(t: &Tensor) -> Result<bool> {
    let values = t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
    Ok(values.iter().all(|value| value.is_finite()))
}

/// A uniform number in [0, 1): SplitMix64 (Steele, Lea and Flood 2014).
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// FNV-1a.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
