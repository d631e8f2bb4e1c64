//! What the graph of a run does not show.

use super::lines::label;
use crate::harness::law::starred;
use crate::harness::study::Cut;
use crate::trace::Coverage;

/// How many places or names are told one by one.
const MOST: usize = 4;

/// Where the graph does not show how a value came about, and which parameters no op reads; a line each, empty where it
/// shows all. What repeats over layers is told once.
pub fn blind(seen: &Coverage, cuts: &[Cut]) -> String {
    let cuts_line = match cuts {
        [] => String::new(),
        [cut] => {
            let what = "comes from an op without backward, or from detach; tap what goes into it";
            label("blind", &format!("{} {what}", place(cut)))
        }
        cuts => {
            let what = "tensors come from ops without backward, or from detach";
            let places = folded(cuts.iter().map(place));
            label("blind", &format!("{} {what}: {places}; tap what goes into them", cuts.len()))
        }
    };
    let unused_line = match seen.unused.as_slice() {
        [] => String::new(),
        [name] => label("unused", &format!("no op that can be seen reads {name}")),
        names => {
            let list = folded(names.iter().map(|name| starred(name)));
            let count = names.len();
            label("unused", &format!("no op that can be seen reads {count} parameters: {list}"))
        }
    };
    cuts_line + &unused_line
}

/// The shape behind a cut and the names around it.
fn place(cut: &Cut) -> String {
    let name = |name: &Option<String>| name.as_ref().map(|name| format!("`{}`", starred(name)));
    let place = match (name(&cut.between.0), name(&cut.between.1)) {
        (Some(before), Some(after)) => format!("between {before} and {after}"),
        (Some(before), None) => format!("after {before}"),
        (None, Some(after)) => format!("before {after}"),
        (None, None) => match cut.span {
            Some(span) => format!("in the span `{span}`"),
            None => "somewhere".to_owned(),
        },
    };
    format!("{:?} {place}", cut.shape)
}

/// Each of the texts once, with how often it is there, and how many others there are beside the first few.
pub(super) fn folded(texts: impl Iterator<Item = String>) -> String {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for text in texts {
        match counted.iter_mut().find(|(known, _)| *known == text) {
            Some((_, count)) => *count += 1,
            None => counted.push((text, 1)),
        }
    }
    let told = counted.iter().take(MOST).map(|(text, count)| match count {
        1 => text.clone(),
        count => format!("{text} ×{count}"),
    });
    let list = told.collect::<Vec<_>>().join(", ");
    match counted.len().saturating_sub(MOST) {
        0 => list,
        others => format!("{list} and {others} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_over_layers_is_one_line() {
        let cut = |layer: usize| Cut {
            shape: vec![4, 5],
            between: (Some(format!("layers.{layer}.in")), Some(format!("layers.{layer}.out"))),
            span: None,
        };
        let weights = (0..12).map(|layer| format!("layers.{layer}.w"));
        let others = ["a", "b", "c", "d", "e"].map(str::to_owned);
        let unused = weights.chain(others).collect();
        let seen = Coverage { unused, ..Coverage::default() };
        let text = blind(&seen, &[cut(0), cut(1), cut(2)]);
        assert_eq!(
            text,
            "blind     3 tensors come from ops without backward, or from detach: [4, 5] between \
             `layers.*.in` and `layers.*.out` ×3; tap what goes into them\n\
             unused    no op that can be seen reads 17 parameters: layers.*.w ×12, a, b, c and 2 more\n"
        );
    }
}
