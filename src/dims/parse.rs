//! Reads expressions, axes, contracts and conditions.
//!
//! ```text
//! condition  = all { "or" all }                all  = part { "and" part }
//! part       = expr comparison expr | "(" condition ")"
//! expr       = [ "-" ] product { ( "+" | "-" ) product }
//! product    = factor { ( "·" | "*" ) factor }
//! factor     = number | dim | "ceil(" product "/" factor ")" | "(" expr ")"
//! axes       = "(" [ expr { "," expr } ] ")"
//! contract   = "()" | axis { axis }            an axis is an expr without spaces, `(h p)` is h·p
//! ```
use super::cursor::Parser;
use super::lex::Token;
use super::{Comparison, Condition, Expr};

pub use super::lex::{ParseError, is_symbol};

/// Reads `(b, l, h·p)`.
pub(super) fn axes(text: &str) -> Result<Vec<Expr>, ParseError> {
    let mut parser = Parser::new(text, false)?;
    parser.expect("(")?;
    let mut axes = vec![];
    while !parser.take(")") {
        if !axes.is_empty() {
            parser.expect(",")?;
        }
        axes.push(parser.expr()?);
    }
    parser.end(axes)
}

/// Reads `b l (h p)`.
pub(super) fn contract(text: &str) -> Result<Vec<Expr>, ParseError> {
    let mut parser = Parser::new(text, true)?;
    if parser.take("(") {
        if parser.take(")") {
            return parser.end(vec![]);
        }
        parser.next -= 1;
    }
    if parser.peek().is_none() {
        return Err(parser.wrong("an axis, or `()` for a scalar"));
    }
    let mut axes = vec![];
    while parser.peek().is_some() {
        axes.push(parser.axis()?);
    }
    Ok(axes)
}

/// Reads `b > 1 and l == 1`.
pub(super) fn condition(text: &str) -> Result<Condition, ParseError> {
    let mut parser = Parser::new(text, false)?;
    let condition = parser.condition()?;
    parser.end(condition)
}

impl std::str::FromStr for Expr {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parser = Parser::new(text, false)?;
        let expr = parser.expr()?;
        parser.end(expr)
    }
}

<<<<<<< HEAD
struct Parser<'a> {
    text: &'a str,
    lexemes: Vec<Lexeme<'a>>,
    next: usize,
    depth: usize,
    /// In a contract white space ends an axis, and parentheses hold axes to be multiplied.
    contract: bool,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, contract: bool) -> Result<Self, ParseError> {
        Ok(Self { text, lexemes: lex(text)?, next: 0, depth: 0, contract })
    }

=======
impl Parser<'_> {
>>>>>>> case
    fn condition(&mut self) -> Result<Condition, ParseError> {
        let mut condition = self.all()?;
        while self.take("or") {
            condition = condition.or(self.all()?);
        }
        Ok(condition)
    }

    fn all(&mut self) -> Result<Condition, ParseError> {
        let mut condition = self.part()?;
        while self.take("and") {
            condition = condition.and(self.part()?);
        }
        Ok(condition)
    }

    fn part(&mut self) -> Result<Condition, ParseError> {
        if self.opens_condition() {
            self.expect("(")?;
            let condition = self.nested(Self::condition)?;
            self.expect(")")?;
            return Ok(condition);
        }
        let left = self.expr()?;
        let sign = self.peek().and_then(|token| match token {
            Token::Sign(sign) => Comparison::ALL.into_iter().find(|one| one.sign() == sign),
            _ => None,
        });
        let Some(comparison) = sign else {
            return Err(self.wrong("a comparison (`==`, `!=`, `<`, `<=`, `>`, `>=`)"));
        };
        self.next += 1;
        Ok(Condition::compare(left, comparison, self.expr()?))
    }

    /// Whether the parenthesis here holds a comparison: otherwise it belongs to an expression.
    fn opens_condition(&self) -> bool {
        if self.peek() != Some(Token::Sign("(")) {
            return false;
        }
        let mut depth = 0usize;
        for lexeme in self.lexemes.iter().skip(self.next) {
            match lexeme.token {
                Token::Sign("(") => depth += 1,
                Token::Sign(")") => depth = depth.saturating_sub(1),
                Token::Sign(sign) if Comparison::ALL.iter().any(|one| one.sign() == sign) => {
                    return depth > 0;
                }
                _ => {}
            }
            if depth == 0 {
                return false;
            }
        }
        false
    }

    /// One axis of a contract.
    fn axis(&mut self) -> Result<Expr, ParseError> {
        if matches!(self.peek(), Some(Token::Sign("+" | "-" | "·" | "*" | "/"))) {
            return Err(self.wrong("an axis, which has no spaces in it (`l-1`)"));
        }
        self.expr()
    }

    fn expr(&mut self) -> Result<Expr, ParseError> {
        let negative = self.take("-");
        let first = self.product()?;
        let mut expr = if negative { -first } else { first };
        loop {
            let start = self.next;
            expr = match self.operator() {
                Some("+") => self.right(Self::product).map(|right| expr + right)?,
                Some("-") => self.right(Self::product).map(|right| expr - right)?,
                _ => return Ok(expr),
            };
            self.sound(&expr, start)?;
        }
    }

    fn product(&mut self) -> Result<Expr, ParseError> {
        let mut product = self.factor()?;
        loop {
            let start = self.next;
            product = match self.operator() {
                Some("·" | "*") => self.right(Self::factor).map(|right| product * right)?,
                _ => return Ok(product),
            };
            self.sound(&product, start)?;
        }
    }

    fn factor(&mut self) -> Result<Expr, ParseError> {
        let start = self.next;
        let expr = match self.peek() {
            Some(Token::Number(value)) => {
                self.next += 1;
                Expr::constant(value)
            }
            Some(Token::Word("ceil")) => {
                self.next += 1;
                self.expect("(")?;
                self.nested(Self::division)?
            }
            Some(Token::Word(symbol)) if is_symbol(symbol) => {
                self.next += 1;
                Expr::dim(symbol)
            }
            Some(Token::Sign("(")) => {
                self.next += 1;
                self.nested(Self::group)?
            }
            _ => return Err(self.wrong("a dim, a number or `(`")),
        };
        self.sound(&expr, start)?;
        Ok(expr)
    }

    /// What stands after `ceil(`, with the closing parenthesis.
    fn division(&mut self) -> Result<Expr, ParseError> {
        let value = self.product()?;
        if self.operator() != Some("/") {
            return Err(self.wrong("`/` (a sum here needs parentheses: `ceil((l + 1)/q)`)"));
        }
        let by = self.right(Self::factor)?;
        self.expect(")")?;
        Ok(value.ceil_div(&by))
    }

    /// What stands after `(`, with the closing parenthesis.
    fn group(&mut self) -> Result<Expr, ParseError> {
        let mut group = if self.contract { self.axis()? } else { self.expr()? };
        while self.contract && self.peek() != Some(Token::Sign(")")) {
            let start = self.next;
            group = group * self.axis()?;
            self.sound(&group, start)?;
        }
        self.expect(")")?;
        Ok(group)
    }
<<<<<<< HEAD

    fn nested<T>(
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
    fn operator(&self) -> Option<&'a str> {
        match self.lexemes.get(self.next)? {
            Lexeme { spaced: true, .. } if self.contract => None,
            Lexeme { token: Token::Sign(sign), .. } => Some(sign),
            _ => None,
        }
    }

    /// Steps over an operator and reads its right side.
    fn right(
        &mut self,
        read: impl Fn(&mut Self) -> Result<Expr, ParseError>,
    ) -> Result<Expr, ParseError> {
        self.next += 1;
        if self.contract && self.lexemes.get(self.next).is_some_and(|lexeme| lexeme.spaced) {
            return Err(self.wrong("an axis without spaces in it (`l-1`)"));
        }
        read(self)
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.lexemes.get(self.next).map(|lexeme| lexeme.token)
    }

    fn take(&mut self, text: &str) -> bool {
        let found = match self.peek() {
            Some(Token::Sign(sign)) => sign == text,
            Some(Token::Word(word)) => word == text,
            _ => false,
        };
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, text: &str) -> Result<(), ParseError> {
        if self.take(text) { Ok(()) } else { Err(self.wrong(&format!("`{text}`"))) }
    }

    fn end<T>(&self, value: T) -> Result<T, ParseError> {
        match self.peek() {
            None => Ok(value),
            Some(_) => Err(self.wrong("nothing more")),
        }
    }

    /// Arithmetic that went too far is an error of the text.
    fn sound(&self, expr: &Expr, start: usize) -> Result<(), ParseError> {
        let Some(error) = expr.error() else {
            return Ok(());
        };
        let message = error.to_string();
        let column = self.lexemes.get(start).map_or(1, |lexeme| lexeme.column);
        Err(ParseError { text: self.text.to_owned(), column, message })
    }

    fn wrong(&self, expected: &str) -> ParseError {
        let got = match self.peek() {
            None => "the end".to_owned(),
            Some(token) => format!("`{token}`"),
        };
        self.error(format!("expected {expected}, got {got}"))
    }

    fn error(&self, message: String) -> ParseError {
        let end = self.text.chars().count() + 1;
        let column = self.lexemes.get(self.next).map_or(end, |lexeme| lexeme.column);
        ParseError { text: self.text.to_owned(), column, message }
    }
=======
>>>>>>> case
}
