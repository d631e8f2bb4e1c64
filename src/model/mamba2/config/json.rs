//! Reading and writing the `config.json` of published checkpoints.
use serde_json::Value;

use super::Config;
use super::{hugging_face, state_spaces};
use crate::model::ConfigError;

impl Config {
    /// Reads the text of a `config.json`: Hugging Face's form where it has a `hidden_size`, else the form of the
    /// state-spaces checkpoints.
    ///
    /// An infinite limit of dt is read in all the forms that transformers has written, the bare `Infinity` that is not
    /// JSON among them.
    ///
    /// # Errors
    /// The field that is missing, of another type, out of bounds, or asks for what this model does not have.
    ///
    /// ```
    /// use shapelock::model::mamba2::Config;
    /// let text = r#"{"d_model": 768, "n_layer": 24, "vocab_size": 50277, "ssm_cfg": {"layer": "Mamba2"},
    ///                "pad_vocab_size_multiple": 16}"#;
    /// let dims = Config::from_json(text).unwrap().dims().unwrap();
    /// assert_eq!((dims.d, dims.layers, dims.v), (768, 24, 50288));
    /// ```
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        if text.len() > MAX_TEXT {
            let message = format!("expected at most {MAX_TEXT} bytes, actual {}", text.len());
            return Err(ConfigError::new(FILE, message));
        }
        let value: Value = serde_json::from_str(&quoted_infinities(text)).map_err(of_file)?;
        let config = match value.get("hidden_size") {
            Some(_) => hugging_face::read(value)?,
            None => state_spaces::read(value)?,
        };
        config.dims().map(|_| config)
    }

    /// The `config.json` with which transformers builds the same model.
    ///
    /// # Errors
    /// The field that transformers has no name for.
    pub fn to_hugging_face(&self) -> Result<Value, ConfigError> {
        hugging_face::write(self)
    }
}

/// Turns an error of serde's, which knows line and column, into one of the file.
pub(super) fn of_file(error: serde_json::Error) -> ConfigError {
    ConfigError::new(FILE, error.to_string())
}

/// Puts quotes around `Infinity` where it stands outside of strings.
fn quoted_infinities(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for (index, piece) in split_strings(text).into_iter().enumerate() {
        match index % 2 {
            0 => quoted.push_str(&piece.replace("Infinity", "\"Infinity\"")),
            _ => quoted.push_str(piece),
        }
    }
    quoted
}

/// Splits a JSON text into what is outside of strings and the strings with their quotes, in turns.
fn split_strings(text: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut inside, mut escaped) = (vec![], 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => {
                let end = if inside { at + 1 } else { at };
                pieces.push(&text[start..end]);
                (start, inside) = (end, !inside);
            }
            _ => {}
        }
    }
    pieces.push(&text[start..]);
    pieces
}

const FILE: &str = "config.json";

/// Real ones have about a kilobyte.
const MAX_TEXT: usize = 1 << 20;
