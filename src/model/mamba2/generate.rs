//! Generation: a prompt is read at once, then one token after another is drawn and read.
use candle_core::{DType, IndexOp, Result, Tensor};

use super::weights::Random;
use super::{Mamba2, State, Tokens};
use crate::model::ConfigError;

/// How a token is drawn from the logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// What the logits are divided by; at 0 the likeliest token is taken.
    pub temperature: f64,
    /// Only that many of the likeliest tokens are drawn from.
    pub top_k: Option<usize>,
    /// Only the likeliest tokens that together reach this probability are drawn from.
    pub top_p: Option<f64>,
    /// Equal seeds draw equal tokens.
    pub seed: u64,
}

impl Sampling {
    /// Always the likeliest token.
    pub const GREEDY: Self = Self { temperature: 0., top_k: None, top_p: None, seed: 0 };

    fn check(&self) -> std::result::Result<(), ConfigError> {
        let refused = |field: &str, message: String| Err(ConfigError::new(field, message));
        if !(self.temperature.is_finite() && self.temperature >= 0.) {
            return refused(
                "temperature",
                format!("expected 0 or more, actual {}", self.temperature),
            );
        }
        if self.top_k == Some(0) {
            return refused("top_k", "expected at least 1, actual 0".into());
        }
        match self.top_p {
            Some(p) if !(p > 0. && p <= 1.) => {
                refused("top_p", format!("expected above 0 and at most 1, actual {p}"))
            }
            _ => Ok(()),
        }
    }
}

/// Draws tokens from logits.
#[derive(Clone, Debug)]
pub struct Sampler {
    sampling: Sampling,
    random: Random,
}

impl Sampler {
    /// A sampler at the start of its seed.
    ///
    /// # Errors
    /// The setting that is out of bounds.
    pub fn new(sampling: Sampling) -> std::result::Result<Self, ConfigError> {
        sampling.check()?;
        Ok(Self { sampling, random: Random::named(sampling.seed, "sampling") })
    }

    /// Draws one token from `logits`; equal logits are ordered by their index.
    ///
    /// Returns None where no logit is a number.
    pub fn sample(&mut self, logits: &[f32]) -> Option<u32> {
        let mut order: Vec<usize> =
            (0..logits.len()).filter(|&token| !logits[token].is_nan()).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
        let (&likeliest, highest) = (order.first()?, logits[*order.first()?]);
        if self.sampling.temperature == 0. || highest == f32::INFINITY {
            return u32::try_from(likeliest).ok();
        }
        order.truncate(self.sampling.top_k.unwrap_or(usize::MAX));
        let weight =
            |&token: &usize| (f64::from(logits[token] - highest) / self.sampling.temperature).exp();
        let mut weights: Vec<f64> = order.iter().map(weight).collect();
        if let Some(p) = self.sampling.top_p {
            weights.truncate(nucleus(&weights, p));
        }
        let mut left = self.random.uniform() * weights.iter().sum::<f64>();
        let drawn = weights.iter().position(|weight| {
            left -= weight;
            left < 0.
        });
        let drawn = drawn.unwrap_or(weights.len() - 1);
        u32::try_from(order[drawn]).ok()
    }
}

/// How many of the weights, the largest first, together reach the share `p` of all.
fn nucleus(weights: &[f64], p: f64) -> usize {
    let goal = p * weights.iter().sum::<f64>();
    let mut sum = 0.;
    let reached = weights.iter().position(|weight| {
        sum += weight;
        sum >= goal
    });
    reached.map_or(weights.len(), |last| last + 1)
}

/// The tokens that follow a prompt, without an end.
///
/// ```
/// use candle_core::{DType, Device};
/// use shapelock::model::mamba2::{Config, Mamba2, Sampling, Weights};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config: Config = serde_json::from_str(
///     r#"{"d_model": 8, "n_layer": 1, "vocab_size": 11, "d_state": 4, "headdim": 4, "chunk_size": 4}"#,
/// )?;
/// let weights = Weights::new(&config, DType::F32, &Device::Cpu, 7)?;
/// let model = Mamba2::new(&config, weights.builder())?;
/// let sampling = Sampling { temperature: 0.8, top_k: Some(5), top_p: Some(0.9), seed: 3 };
/// let tokens = model.generate(&[1, 2, 3], sampling)?.take(4).collect::<candle_core::Result<Vec<u32>>>()?;
/// assert_eq!(tokens.len(), 4);
/// assert!(tokens.iter().all(|token| *token < 11)); // Never from the padding of the vocabulary.
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Generation<'a> {
    model: &'a Mamba2,
    sampler: Sampler,
    /// What was read last.
    logits: Tensor, // (v)
    /// The token that has been given and not been read.
    unread: Option<u32>,
    state: State,
}

impl Mamba2 {
    /// Reads `prompt` and goes on from it.
    ///
    /// # Errors
    /// A setting of `sampling` out of bounds, an empty prompt, a token outside the vocabulary, or a model of time series.
    pub fn generate(&self, prompt: &[u32], sampling: Sampling) -> Result<Generation<'_>> {
        let sampler = Sampler::new(sampling)?;
        let ids = Tensor::new(prompt, &self.device)?.unsqueeze(0)?; // (1, l)
        let (logits, state) = self.forward_from(&ids, &self.zero_state(1)?, Tokens::default())?;
        let logits = logits.i((0, prompt.len() - 1))?; // (v)
        Ok(Generation { model: self, sampler, logits, unread: None, state })
    }
}

impl Generation<'_> {
    fn draw(&mut self) -> Result<u32> {
        if let Some(token) = self.unread.take() {
            let token = Tensor::new(&[token], &self.model.device)?; // (1)
            let (logits, state) = self.model.step(&token, &self.state)?;
            (self.logits, self.state) = (logits.i(0)?, state);
        }
        let logits = self.logits.to_dtype(DType::F32)?.to_vec1::<f32>()?;
        let known = logits.len().min(self.model.config.vocab_size);
        let drawn = self.sampler.sample(&logits[..known]);
        drawn.ok_or_else(|| candle_core::Error::msg("generate: no logit is a number"))
    }
}

impl Iterator for Generation<'_> {
    type Item = Result<u32>;

    fn next(&mut self) -> Option<Self::Item> {
        let token = self.draw();
        self.unread = token.as_ref().ok().copied();
        Some(token)
    }
}
