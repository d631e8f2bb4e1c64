//! Which parameters a configuration has: names, shapes and how new ones are drawn.
use super::{Config, Dims, Head};
use crate::model::ConfigError;

/// One parameter of a model, under Hugging Face's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its dotted path, such as `backbone.layers.0.mixer.A_log`.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl Config {
    /// Every parameter in the order of the model, without making any.
    ///
    /// # Errors
    /// Those of [`Config::dims`].
    ///
    /// ```
    /// use shapelock::model::mamba2::Config;
    /// let text = r#"{"d_model": 2560, "n_layer": 64, "vocab_size": 50277, "ssm_cfg": {"layer": "Mamba2"},
    ///                "pad_vocab_size_multiple": 16}"#;
    /// let parameters = Config::from_json(text).unwrap().parameters().unwrap();
    /// let count: usize = parameters.iter().map(|p| p.shape.iter().product::<usize>()).sum();
    /// assert_eq!(count, 2_702_599_680); // "2.7b"
    /// ```
    pub fn parameters(&self) -> Result<Vec<Parameter>, ConfigError> {
        let dims = self.dims()?;
        let Dims { d, v, .. } = dims;
        let mut all = vec![];
        if self.head == Head::Lm {
            all.push(Parameter::new("backbone.embeddings.weight", &[v, d]));
        }
        for layer in 0..dims.layers {
            all.extend(self.layer_parameters(&format!("backbone.layers.{layer}"), dims));
        }
        all.push(Parameter::new("backbone.norm_f.weight", &[d]));
        match self.head {
            Head::Lm if self.tie_embeddings => {}
            Head::Lm => all.push(Parameter::new("lm_head.weight", &[v, d])),
            Head::Outputs(_) => {
                all.push(Parameter::new("head.weight", &[v, d]));
                all.push(Parameter::new("head.bias", &[v]));
            }
        }
        Ok(all)
    }

    fn layer_parameters(&self, layer: &str, dims: Dims) -> Vec<Parameter> {
        let Dims { d, i, s, h, p, k, .. } = dims;
        let (conv, in_proj) = (dims.conv(), dims.in_proj());
        let d_shape: &[usize] = if self.d_has_hdim { &[h, p] } else { &[h] };
        let parameters: [(&str, &[usize], bool); 11] = [
            ("norm.weight", &[d], true),
            ("mixer.in_proj.weight", &[in_proj, d], true),
            ("mixer.in_proj.bias", &[in_proj], self.bias),
            ("mixer.conv1d.weight", &[conv, 1, k], true),
            ("mixer.conv1d.bias", &[conv], self.conv_bias),
            ("mixer.dt_bias", &[h], true),
            ("mixer.A_log", &[h], true),
            ("mixer.D", d_shape, true),
            ("mixer.norm.weight", &[s], self.rmsnorm),
            ("mixer.out_proj.weight", &[d, i], true),
            ("mixer.out_proj.bias", &[d], self.bias),
        ];
        let present = parameters.into_iter().filter(|(_, _, present)| *present);
        present.map(|(name, shape, _)| Parameter::new(&format!("{layer}.{name}"), shape)).collect()
    }
}

impl Parameter {
    fn new(name: &str, shape: &[usize]) -> Self {
        Self { name: name.into(), shape: shape.into() }
    }

    /// Whether it is kept in at least f32 in a half precision model: A_log, D and dt_bias act through exponentials and
    /// over the whole sequence.
    pub fn in_full_precision(&self) -> bool {
        self.ends_with(&["A_log", "D", "dt_bias"])
    }

    /// Whether weight decay pulls at it: at the matrices, and not at A_log, D, dt_bias, biases and norms.
    pub fn decays(&self) -> bool {
        !self.in_full_precision() && self.shape.len() > 1
    }

    /// Whether the last part of its name is one of `names`.
    pub(super) fn ends_with(&self, names: &[&str]) -> bool {
        names.contains(&self.name.rsplit('.').next().unwrap_or_default())
    }
}
