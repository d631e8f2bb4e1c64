//! The configuration of a Mamba-2, under the reference's names, and every size that follows from it.
mod dt_limit;
mod hugging_face;
mod json;
mod state_spaces;

pub use dt_limit::DtLimit;

use serde::{Deserialize, Serialize};

use crate::model::ConfigError;
use crate::scan::Scan;

/// What a [`Mamba2`](super::Mamba2) is built from; the names and defaults are the reference's.
///
/// ```
/// use shapelock::model::mamba2::Config;
/// let config: Config = serde_json::from_str(r#"{"d_model": 768, "n_layer": 24, "vocab_size": 50277}"#).unwrap();
/// let dims = config.dims().unwrap();
/// assert_eq!((dims.i, dims.h, dims.p, dims.n, dims.v), (1536, 24, 64, 128, 50288));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// d: features of a token.
    pub d_model: usize,
    /// Number of layers.
    pub n_layer: usize,
    /// Number of tokens; needed by a language model alone.
    #[serde(default)]
    pub vocab_size: usize,
    /// v is `vocab_size` rounded up to a multiple of it.
    #[serde(default = "default::pad_vocab_size_multiple")]
    pub pad_vocab_size_multiple: usize,
    /// n: size of a head's state for each of its p features.
    #[serde(default = "default::d_state")]
    pub d_state: usize,
    /// k: width of the causal convolution.
    #[serde(default = "default::d_conv")]
    pub d_conv: usize,
    /// i = expand·d.
    #[serde(default = "default::expand")]
    pub expand: usize,
    /// Features that go through the state space; the other i − d_ssm go through a gated MLP. i by default.
    #[serde(default)]
    pub d_ssm: Option<usize>,
    /// p: features of a head.
    #[serde(default = "default::headdim")]
    pub headdim: usize,
    /// g: groups of heads that share B and C.
    #[serde(default = "default::ngroups")]
    pub ngroups: usize,
    /// q: tokens a chunk of the chunked scan.
    #[serde(default = "default::chunk_size")]
    pub chunk_size: usize,
    /// Added to the mean square in every norm.
    #[serde(default = "default::norm_eps")]
    pub norm_eps: f64,
    /// Bounds of dt after softplus.
    #[serde(default)]
    pub dt_limit: DtLimit,
    /// Whether the projections have a bias.
    #[serde(default)]
    pub bias: bool,
    /// Whether the convolution has a bias.
    #[serde(default = "default::yes")]
    pub conv_bias: bool,
    /// Whether D is one value for each of a head's features instead of one for the head.
    #[serde(default)]
    pub d_has_hdim: bool,
    /// Whether y is normalised after the gate; without it, it is only gated.
    #[serde(default = "default::yes")]
    pub rmsnorm: bool,
    /// Whether the head of a language model is the embedding.
    #[serde(default = "default::yes")]
    pub tie_embeddings: bool,
    /// How the scan is computed.
    #[serde(default)]
    pub scan: Scan,
    /// What the model reads and gives.
    #[serde(default)]
    pub head: Head,
}

/// What a model reads and gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Head {
    /// A language model: token ids (b, l) to logits (b, l, v).
    #[default]
    Lm,
    /// A time series: features (b, l, d) to that many outputs at each token.
    Outputs(usize),
}

/// Every size of a model, by the glossary's letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// d_model.
    pub d: usize,
    /// Features of the block, expand·d.
    pub i: usize,
    /// Features that go through the state space, h·p: i unless `d_ssm` says less.
    pub s: usize,
    /// Heads.
    pub h: usize,
    /// Head dim.
    pub p: usize,
    /// Groups.
    pub g: usize,
    /// State size.
    pub n: usize,
    /// Chunk length.
    pub q: usize,
    /// Convolution width.
    pub k: usize,
    /// Padded vocabulary, or the number of outputs of a time series.
    pub v: usize,
    /// Layers.
    pub layers: usize,
}

impl Config {
    /// Every size, derived once.
    ///
    /// # Errors
    /// The first field that no model can be built from.
    pub fn dims(&self) -> Result<Dims, ConfigError> {
        self.check_sizes()?;
        let i = self.expand * self.d_model;
        let s = self.d_ssm.unwrap_or(i);
        ConfigError::check_size("expand", i)?;
        if s == 0 || s > i {
            return Err(ConfigError::new("d_ssm", format!("expected 1 to i={i}, actual {s}")));
        }
        if !s.is_multiple_of(self.headdim) {
            let message = format!("d_ssm={s} is not a multiple of it: actual {}", self.headdim);
            return Err(ConfigError::new("headdim", message));
        }
        let h = s / self.headdim;
        if !h.is_multiple_of(self.ngroups) {
            let message = format!("h={h} heads are not a multiple of it: actual {}", self.ngroups);
            return Err(ConfigError::new("ngroups", message));
        }
        Ok(Dims {
            d: self.d_model,
            i,
            s,
            h,
            p: self.headdim,
            g: self.ngroups,
            n: self.d_state,
            q: self.chunk_size,
            k: self.d_conv,
            v: self.outputs()?,
            layers: self.n_layer,
        })
    }

    fn check_sizes(&self) -> Result<(), ConfigError> {
        let sizes = [
            ("d_model", self.d_model),
            ("n_layer", self.n_layer),
            ("d_state", self.d_state),
            ("d_conv", self.d_conv),
            ("expand", self.expand),
            ("headdim", self.headdim),
            ("ngroups", self.ngroups),
            ("chunk_size", self.chunk_size),
        ];
        sizes.into_iter().try_for_each(|(field, size)| ConfigError::check_size(field, size))?;
        if !(self.norm_eps.is_finite() && self.norm_eps > 0.) {
            let message = format!("expected a positive number, actual {}", self.norm_eps);
            return Err(ConfigError::new("norm_eps", message));
        }
        self.dt_limit.check()
    }

    fn outputs(&self) -> Result<usize, ConfigError> {
        match self.head {
            Head::Outputs(outputs) => {
                ConfigError::check_size("head", outputs)?;
                Ok(outputs)
            }
            Head::Lm => {
                ConfigError::check_size("vocab_size", self.vocab_size)?;
                ConfigError::check_size("pad_vocab_size_multiple", self.pad_vocab_size_multiple)?;
                Ok(self.vocab_size.next_multiple_of(self.pad_vocab_size_multiple))
            }
        }
    }
}

impl Dims {
    /// Channels of the convolution, x and B and C: h·p + 2·g·n.
    pub const fn conv(&self) -> usize {
        self.s + 2 * self.g * self.n
    }

    /// Columns that the mixer's core reads, z and x and B and C and dt: 2·h·p + 2·g·n + h.
    pub const fn zxbcdt(&self) -> usize {
        2 * self.s + 2 * self.g * self.n + self.h
    }

    /// Width of each half of the gated MLP beside the state space; 0 unless `d_ssm` says less than i.
    pub const fn mlp(&self) -> usize {
        self.i - self.s
    }

    /// Columns of the input projection: 2·i + 2·g·n + h.
    pub const fn in_proj(&self) -> usize {
        2 * self.mlp() + self.zxbcdt()
    }

    /// Letter and size, in the order in which shapes name them.
    pub fn named(&self) -> Vec<(&'static str, usize)> {
        let Self { d, i, s: _, h, p, g, n, q, k, v, layers } = *self;
        let letters = [("d", d), ("i", i), ("h", h), ("p", p), ("g", g), ("n", n)];
        letters.into_iter().chain([("q", q), ("k", k), ("v", v), ("layers", layers)]).collect()
    }
}

/// The reference's defaults.
mod default {
    pub(super) const fn pad_vocab_size_multiple() -> usize {
        16
    }
    pub(super) const fn d_state() -> usize {
        128
    }
    pub(super) const fn d_conv() -> usize {
        4
    }
    pub(super) const fn expand() -> usize {
        2
    }
    pub(super) const fn headdim() -> usize {
        64
    }
    pub(super) const fn ngroups() -> usize {
        1
    }
    pub(super) const fn chunk_size() -> usize {
        256
    }
    pub(super) const fn norm_eps() -> f64 {
        1e-5
    }
    pub(super) const fn yes() -> bool {
        true
    }
}
