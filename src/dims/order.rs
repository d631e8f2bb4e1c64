//! One order for the text of equal expressions.
use super::expr::Atom;
use super::{Dims, Expr};

impl Expr {
    /// The same expression with products and sums in the declared order of `dims`, other symbols after them in
    /// alphabetical order, and a constant last: one text for equal expressions.
    #[must_use]
    pub fn ordered_by(&self, dims: &Dims) -> Self {
        let Ok(terms) = &self.0 else {
            return self.clone();
        };
        let place = |symbol: &str| dims.position(symbol).unwrap_or(usize::MAX);
        let key = |atom: &Atom| match atom {
            Atom::Dim(symbol) => (place(symbol), symbol.clone()),
            Atom::Ceil(..) | Atom::Bound(..) => {
                let first = atom.symbols().into_iter().map(place).min();
                // What is no symbol comes last: `~` puts it after the dim that it starts with.
                (first.unwrap_or(usize::MAX), format!("~{atom}"))
            }
        };
        let mut terms = terms.clone();
        for term in &mut terms {
            for factor in &mut term.factors {
                *factor = factor.ordered_by(dims);
            }
            term.factors.sort_by_cached_key(key);
        }
        terms.sort_by_cached_key(|term| {
            let keys: Vec<_> = term.factors.iter().map(key).collect();
            (keys.is_empty(), keys)
        });
        Self(Ok(terms))
    }
}

impl Atom {
    fn ordered_by(&self, dims: &Dims) -> Self {
        match self {
            Atom::Dim(_) => self.clone(),
            Atom::Ceil(value, by) => {
                Atom::Ceil(Box::new(value.ordered_by(dims)), Box::new(by.ordered_by(dims)))
            }
            Atom::Bound(bound, left, right) => {
                let (left, right) = (left.ordered_by(dims), right.ordered_by(dims));
                Atom::Bound(*bound, Box::new(left), Box::new(right))
            }
        }
    }
}
