//! The steps of a pass as nested boxes: loops, and the scopes that dotted names share.

use crate::harness::report::flow::{FlowStep, Stand};

/// What a picture shows one below the other.
#[derive(Debug, PartialEq)]
pub enum Node<'a> {
    /// A step under the name that it has within its scope.
    Step(&'a FlowStep, &'a str),
    /// A box around others.
    Scope {
        /// Its name, and how often it runs if it is a loop.
        label: String,
        /// Whether it is a loop.
        repeats: bool,
        /// What is in it.
        inner: Vec<Node<'a>>,
    },
    /// Steps that are not drawn one by one.
    Folded(usize),
}

/// Boxes within boxes that are drawn.
const DEPTH: usize = 4;
/// Passes up to this length are drawn whole.
const WHOLE: usize = 60;
/// Steps drawn before and after a wrong one in a longer pass.
const AROUND: usize = 6;
/// Named steps drawn of a longer pass in which nothing is wrong.
const MOST: usize = 90;
/// Fewer steps than these take less room drawn than folded.
const WORTH: usize = 3;

/// Arranges the steps; in a long pass what is right and far from anything wrong is folded.
pub fn tree(steps: &[FlowStep]) -> Vec<Node<'_>> {
    let all: Vec<(&FlowStep, bool)> = steps.iter().zip(drawn(steps)).collect();
    group(&all, 0, "", 0)
}

/// Which steps are drawn one by one.
fn drawn(steps: &[FlowStep]) -> Vec<bool> {
    let wrong = |step: &FlowStep| step.stand != Stand::Right || !step.note.is_empty();
    let any = steps.iter().any(|step| step.stand != Stand::Right);
    let near = |i: usize| {
        let around = i.saturating_sub(AROUND)..(i + AROUND + 1).min(steps.len());
        steps[around].iter().any(wrong)
    };
    let mut named = 0;
    let mut shows = |i: usize| {
        named += usize::from(steps[i].named);
        let close =
            if any { near(i) } else { (steps[i].named && named <= MOST) || wrong(&steps[i]) };
        close || steps.len() <= WHOLE || i == 0 || i + 1 == steps.len()
    };
    let mut drawn: Vec<bool> = (0..steps.len()).map(&mut shows).collect();
    drawn
        .chunk_by_mut(|a, b| a == b)
        .filter(|run| run.len() < WORTH)
        .for_each(|run| run.fill(true));
    drawn
}

/// Steps, and whether each is drawn.
type Steps<'s, 'a> = &'s [(&'a FlowStep, bool)];

fn group<'a>(steps: Steps<'_, 'a>, loops: usize, prefix: &str, depth: usize) -> Vec<Node<'a>> {
    let mut nodes = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let rest = &steps[at..];
        let (step, is_drawn) = rest[0];
        let one = || match is_drawn {
            true => (1, Node::Step(step, within(&step.name, prefix))),
            false => (1, Node::Folded(1)),
        };
        let scope =
            repeated(rest, loops, prefix, depth).or_else(|| dotted(rest, loops, prefix, depth));
        let (taken, node) = scope.unwrap_or_else(one);
        at += taken;
        match (nodes.last_mut(), node) {
            (Some(Node::Folded(before)), Node::Folded(more)) => *before += more,
            (_, node) => nodes.push(node),
        }
    }
    nodes
}

/// The loop that a stretch of steps starts with.
fn repeated<'a>(
    steps: Steps<'_, 'a>,
    loops: usize,
    prefix: &str,
    depth: usize,
) -> Option<(usize, Node<'a>)> {
    let own = steps.first()?.0.loops.get(loops).filter(|_| depth < DEPTH)?;
    let taken = steps.iter().take_while(|(step, _)| step.loops.get(loops) == Some(own)).count();
    let (name, count) = own;
    let label = format!("{} ×{count}", within(name, prefix));
    let inner = group(&steps[..taken], loops + 1, name, depth + 1);
    Some((taken, scope(label, true, inner, taken)))
}

/// The scope that a stretch of steps shares in its names: at least two of them with a name.
fn dotted<'a>(
    steps: Steps<'_, 'a>,
    loops: usize,
    prefix: &str,
    depth: usize,
) -> Option<(usize, Node<'a>)> {
    let (first, _) = steps.first()?;
    let own = component(within(&first.name, prefix)).filter(|_| first.named && depth < DEPTH)?;
    let belongs = |step: &FlowStep| {
        let inner = within(&step.name, prefix).strip_prefix(own);
        step.loops.len() >= loops && inner.is_some_and(|rest| rest.starts_with('.'))
    };
    let inside = |(step, _): &&(&FlowStep, bool)| !step.named || belongs(step);
    let stretch = steps.iter().take_while(inside).count();
    let taken = steps[..stretch].iter().rposition(|(step, _)| belongs(step))? + 1;
    let named = steps[..taken].iter().filter(|(step, _)| step.named).count();
    let path = if prefix.is_empty() { own.to_owned() } else { format!("{prefix}.{own}") };
    (named > 1).then(|| {
        let inner = group(&steps[..taken], loops, &path, depth + 1);
        (taken, scope(own.to_owned(), false, inner, taken))
    })
}

/// A box, or the number of steps where none of them is drawn.
fn scope(label: String, repeats: bool, inner: Vec<Node<'_>>, steps: usize) -> Node<'_> {
    match inner.as_slice() {
        [Node::Folded(_)] => Node::Folded(steps),
        _ => Node::Scope { label, repeats, inner },
    }
}

/// A name without the scope that it stands in, which may itself stand in others: `norm` of `backbone.layers.*.norm`
/// within `layers.*`; of the scope's own name its last part.
fn within<'a>(name: &'a str, prefix: &str) -> &'a str {
    if prefix.is_empty() {
        return name;
    }
    if name == prefix {
        return name.rsplit('.').next().unwrap_or(name);
    }
    let path = format!("{prefix}.");
    let starts = |at: &usize| *at == 0 || name[..*at].ends_with('.');
    let at = name.match_indices(&path).map(|(at, _)| at).find(starts);
    at.map(|at| &name[at + path.len()..]).filter(|inner| !inner.is_empty()).unwrap_or(name)
}

/// The first part of a dotted name, with the number or star behind it: `layers.*` of `layers.*.norm`.
fn component(name: &str) -> Option<&str> {
    let end = name.find('.')?;
    let rest = &name[end + 1..];
    let number =
        rest.split('.').next().filter(|part| part.chars().all(|c| c == '*' || c.is_ascii_digit()));
    let end = number.filter(|part| !part.is_empty()).map_or(end, |part| end + 1 + part.len());
    (end < name.len()).then(|| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str) -> FlowStep {
        FlowStep { name: name.into(), named: !name.starts_with('_'), ..FlowStep::default() }
    }

    fn outline(nodes: &[Node<'_>]) -> String {
        let one = |node: &Node<'_>| match node {
            Node::Step(_, name) => (*name).to_owned(),
            Node::Scope { label, inner, .. } => format!("{label}({})", outline(inner)),
            Node::Folded(count) => format!("…{count}"),
        };
        nodes.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn names_with_a_common_part_share_a_box() {
        let names = [
            "x",
            "layers.0.norm",
            "_add",
            "layers.0.conv.weight",
            "layers.0.conv.out",
            "layers.1.norm",
            "y",
        ];
        let steps = names.map(step);
        assert_eq!(
            outline(&tree(&steps)),
            "x layers.0(norm _add conv(weight out)) layers.1.norm y"
        );
    }

    #[test]
    fn loops_are_boxes_with_their_count() {
        let inside =
            |name: &str| FlowStep { loops: vec![("scan".into(), "l".into())], ..step(name) };
        let steps = [step("x"), inside("scan.x"), inside("m.scan.h"), step("states")];
        assert_eq!(outline(&tree(&steps)), "x scan ×l(x h) states");
    }

    #[test]
    fn a_long_pass_is_folded_away_from_what_is_wrong() {
        let mut steps: Vec<FlowStep> = (0..1000).map(|i| step(&format!("s{i}"))).collect();
        steps[500].stand = Stand::First;
        assert_eq!(
            outline(&tree(&steps)),
            "s0 …493 s494 s495 s496 s497 s498 s499 s500 s501 s502 s503 s504 s505 s506 …492 s999"
        );
        steps[500].stand = Stand::Right;
        let nodes = tree(&steps);
        assert_eq!(nodes.len(), MOST + 2);
        assert_eq!(nodes[MOST], Node::Folded(909));
    }
}
