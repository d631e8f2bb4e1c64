//! A place in the text of an expression, with what the grammar asks of it.
use super::Expr;
use super::lex::{Lexeme, ParseError, Token, lex};

/// Levels of parentheses and `ceil`, so that no text exhausts the stack.
const MAX_DEPTH: usize = 32;

pub(super) struct Parser<'a> {
    text: &'a str,
    pub(super) lexemes: Vec<Lexeme<'a>>,
    pub(super) next: usize,
    depth: usize,
    /// In a contract white space ends an axis, and parentheses hold axes to be multiplied.
    pub(super) contract: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, contract: bool) -> Result<Self, ParseError> {
        Ok(Self { text, lexemes: lex(text)?, next: 0, depth: 0, contract })
    }

    pub(super) fn nested<T>(
        &mut self,
        read: impl Fn(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(format!("more than {MAX_DEPTH} nested parentheses")));
        }
        self.depth += 1;
        let inner = read(self)?;
        self.depth -= 1;
        Ok(inner)
    }

    /// The sign here, unless white space before it has ended the axis.
    pub(super) fn operator(&self) -> Option<&'a str> {
        match self.lexemes.get(self.next)? {
            Lexeme { spaced: true, .. } if self.contract => None,
            Lexeme { token: Token::Sign(sign), .. } => Some(sign),
            _ => None,
        }
    }

    /// Steps over an operator and reads its right side.
    pub(super) fn right(
        &mut self,
        read: impl Fn(&mut Self) -> Result<Expr, ParseError>,
    ) -> Result<Expr, ParseError> {
        self.next += 1;
        if self.contract && self.lexemes.get(self.next).is_some_and(|lexeme| lexeme.spaced) {
            return Err(self.wrong("an axis without spaces in it (`l-1`)"));
        }
        read(self)
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.lexemes.get(self.next).map(|lexeme| lexeme.token)
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        let found = match self.peek() {
            Some(Token::Sign(sign)) => sign == text,
            Some(Token::Word(word)) => word == text,
            _ => false,
        };
        self.next += usize::from(found);
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), ParseError> {
        if self.take(text) { Ok(()) } else { Err(self.wrong(&format!("`{text}`"))) }
    }

    pub(super) fn end<T>(&self, value: T) -> Result<T, ParseError> {
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.wrong("nothing more")),
        }
    }

    /// Arithmetic that went too far is an error of the text.
    pub(super) fn sound(&self, expr: &Expr, start: usize) -> Result<(), ParseError> {
        let Some(error) = expr.error() else {
            return Ok(());
        };
        let message = error.to_string();
        let column = self.lexemes.get(start).map_or(1, |lexeme| lexeme.column);
        Err(ParseError { text: self.text.to_owned(), column, message })
    }

    pub(super) fn wrong(&self, expected: &str) -> ParseError {
        let got = match self.peek() {
            None => "the end".to_owned(),
            Some(token) => format!("`{token}`"),
        };
        self.error(format!("expected {expected}, got {got}"))
    }

    pub(super) fn error(&self, message: String) -> ParseError {
        let end = self.text.chars().count() + 1;
        let column = self.lexemes.get(self.next).map_or(end, |lexeme| lexeme.column);
        ParseError { text: self.text.to_owned(), column, message }
    }
}
