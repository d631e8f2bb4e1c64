//! Text in and out of a model of tokens, by the `tokenizer.json` of its checkpoint.
use std::path::Path;

use tokenizers::tokenizer::{Result, Tokenizer};

/// The token ids of `prompt`, and what begins and ends it where the tokenizer says so.
pub fn encode(tokenizer: &Tokenizer, prompt: &str) -> Result<Vec<u32>> {
    Ok(tokenizer.encode(prompt, true)?.get_ids().to_vec())
}

/// Reads a `tokenizer.json`.
pub fn load(path: &Path) -> Result<Tokenizer> {
    Tokenizer::from_file(path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// Gives each text to `write` as soon as the tokens after `prompt` make whole characters.
///
/// A token may be less than a character, and what a token adds depends on those before it, so they are decoded together.
pub fn stream<E>(
    tokenizer: &Tokenizer,
    prompt: &[u32],
    tokens: impl Iterator<Item = std::result::Result<u32, E>>,
    mut write: impl FnMut(&str) -> std::io::Result<()>,
) -> Result<()>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut decoded = tokenizer.decode_stream(true);
    for token in prompt {
        decoded.step(*token)?;
    }
    for token in tokens {
        if let Some(text) = decoded.step(token?)? {
            write(&text)?;
        }
    }
    Ok(())
}
