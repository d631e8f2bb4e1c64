//! Splits the text of an expression into numbers, words and signs.
use std::fmt;

/// Characters that a text may have.
const MAX_TEXT: usize = 4096;

/// Signs of the notation, the longer first.
const SIGNS: [&str; 16] =
    ["==", "!=", "<=", ">=", "<", ">", "+", "-", "·", "*", "/", "(", ")", ",", "=", "!"];

/// Words that no dim may be called.
const WORDS: [&str; 5] = ["ceil", "min", "max", "and", "or"];

/// Text that is no expression, no axes or no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}, at column {column} of `{text}`")]
pub struct ParseError {
    /// The whole text, cut short if it is too long.
    pub text: String,
    /// Where, in characters from 1; one past the end if something is missing there.
    pub column: usize,
    /// What was expected and what was found.
    pub message: String,
}

/// Whether `text` can be the symbol of a dim: a letter or `_`, then letters, digits or `_`, all ASCII, and none of the
/// words `ceil`, `min`, `max`, `and`, `or`.
pub fn is_symbol(text: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(first) && text.chars().all(in_word) && !WORDS.contains(&text)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Number(i64),
    Word(&'a str),
    Sign(&'a str),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    /// In characters from 1.
    pub(super) column: usize,
    /// Whether white space stands before it.
    pub(super) spaced: bool,
}

pub(super) fn lex(text: &str) -> Result<Vec<Lexeme<'_>>, ParseError> {
    if text.chars().nth(MAX_TEXT).is_some() {
        let text = text.chars().take(60).chain(['…']).collect();
        let message = format!("more than {MAX_TEXT} characters");
        return Err(ParseError { text, column: MAX_TEXT + 1, message });
    }
    let mut lexemes = vec![];
    let (mut rest, mut column, mut spaced) = (text, 1, false);
    while let Some(c) = rest.chars().next() {
        let length = if c.is_whitespace() {
            c.len_utf8()
        } else {
            let error = |message| ParseError { text: text.to_owned(), column, message };
            let (token, length) = token(rest, c).map_err(error)?;
            lexemes.push(Lexeme { token, column, spaced });
            length
        };
        spaced = c.is_whitespace();
        let (done, after) = rest.split_at(length);
        column += done.chars().count();
        rest = after;
    }
    Ok(lexemes)
}

/// The token at the start of `rest` and its length in bytes.
fn token(rest: &str, first: char) -> Result<(Token<'_>, usize), String> {
    let length = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
    let (word, _) = rest.split_at(length);
    if first.is_ascii_digit() {
        return match word.parse() {
            Ok(value) => Ok((Token::Number(value), length)),
            Err(_) if word.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(format!("number `{word}` is beyond 64 bits"))
            }
            Err(_) => Err(format!("expected a number, got `{word}` (a product is written `2*i`)")),
        };
    }
    if !word.is_empty() {
        return Ok((Token::Word(word), length));
    }
    match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(format!("`{first}` has no meaning here")),
    }
}

fn in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Number(value) => write!(f, "{value}"),
            Token::Word(text) | Token::Sign(text) => f.write_str(text),
        }
    }
}
