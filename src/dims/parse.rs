//! Reads expressions, axes, contracts and conditions.
//!
//! ```text
//! condition  = all { "or" all }                all  = part { "and" part }
//! part       = expr comparison expr | "(" condition ")"
//! expr       = [ "-" ] product { ( "+" | "-" ) product }
//! product    = factor { ( "·" | "*" ) factor }
//! factor     = number | dim | "ceil(" product "/" factor ")" | ( "min(" | "max(" ) expr "," expr ")" | "(" expr ")"
//! axes       = "(" [ expr { "," expr } ] ")"
//! contract   = "()" | axis { axis }            an axis is an expr without spaces, `(h p)` is h·p
//! ```
use super::bound::Bound;
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

impl Parser<'_> {
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
            Some(Token::Word(word)) if Bound::ALL.iter().any(|bound| bound.word() == word) => {
                self.next += 1;
                self.expect("(")?;
                self.nested(Self::bound)?
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

    /// What stands after `min(` or `max(`, with the closing parenthesis.
    fn bound(&mut self) -> Result<Expr, ParseError> {
        let word = self.next.checked_sub(2).and_then(|at| self.lexemes.get(at));
        let named = |bound: &Bound| word.is_some_and(|w| w.token == Token::Word(bound.word()));
        let bound = Bound::ALL.into_iter().find(named).unwrap_or(Bound::Min);
        let left = self.expr()?;
        self.expect(",")?;
        let right = self.expr()?;
        self.expect(")")?;
        Ok(bound.of(&left, &right))
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
}
