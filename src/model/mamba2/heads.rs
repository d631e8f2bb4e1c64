//! The ends of a model: what it reads, and what it makes of its last hidden state.
use candle_core::{DType, Result, Tensor};
use candle_nn::{Init, VarBuilder};

use super::mixer::INIT_STD;
use super::{Config, Dims, Head, InputError};
use crate::model::Linear;
use crate::model::linear::uniform_init;
use crate::scan::Bound;

/// The embedding of a language model, or the identity of a time series; and the head.
#[derive(Clone, Debug)]
pub(super) struct Ends {
    embedding: Option<Tensor>, // (v, d)
    head: Linear,              // (v, d)
    dims: Dims,
    dtype: DType,
}

impl Ends {
    pub(super) fn new(config: &Config, dims: Dims, vb: &VarBuilder) -> Result<Self> {
        let Dims { d, v, .. } = dims;
        let dtype = vb.dtype();
        let normal = Init::Randn { mean: 0., stdev: INIT_STD };
        if let Head::Outputs(_) = config.head {
            let head = Linear::new(d, v, true, uniform_init(d), &vb.pp("head"))?;
            return Ok(Self { embedding: None, head, dims, dtype });
        }
        let backbone = vb.pp("backbone");
        let names = ["embeddings.weight", "embedding.weight"];
        let of_reference =
            !backbone.contains_tensor(names[0]) && backbone.contains_tensor(names[1]);
        let name = if of_reference { names[1] } else { names[0] };
        let embedding = backbone.get_with_hints((v, d), name, normal)?;
        let head = match config.tie_embeddings {
            true => Linear::of_weight(embedding.clone()),
            false => Linear::new(d, v, false, normal, &vb.pp("lm_head"))?,
        };
        Ok(Self { embedding: Some(embedding), head, dims, dtype })
    }

    /// Reads ids (b, l), or features (b, l, d): gives (b, l, d) in the weights' dtype.
    pub(super) fn embed(&self, input: &Tensor) -> Result<Tensor> {
        self.check(input)?;
        let Some(embedding) = &self.embedding else {
            return Ok(input.clone());
        };
        let (b, l) = input.dims2()?;
        embedding.index_select(&input.flatten_all()?, 0)?.reshape((b, l, self.dims.d)) // (b, l, d)
    }

    /// (b, l, d) → (b, l, v).
    pub(super) fn head(&self, hidden: &Tensor) -> Result<Tensor> {
        self.head.forward(hidden)
    }

    fn check(&self, input: &Tensor) -> std::result::Result<(), InputError> {
        let reads_ids = self.embedding.is_some();
        let (argument, expected) = if reads_ids { ("ids", "(b, l)") } else { ("x", "(b, l, d)") };
        let fits = match *input.dims() {
            [b, l] => reads_ids && b > 0 && l > 0,
            [b, l, d] => !reads_ids && b > 0 && l > 0 && d == self.dims.d,
            _ => false,
        };
        if !fits {
            let actual = input.dims().to_vec();
            let bound = Bound(self.dims.named());
            return Err(InputError::Shape { argument, expected, actual, bound });
        }
        let actual = input.dtype();
        match reads_ids {
            true if !matches!(actual, DType::U8 | DType::U32 | DType::I64) => {
                Err(InputError::DType { argument, expected: "U8, U32 or I64".into(), actual })
            }
            false if actual != self.dtype => {
                Err(InputError::DType { argument, expected: format!("{:?}", self.dtype), actual })
            }
            _ => Ok(()),
        }
    }
}
