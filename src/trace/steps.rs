//! The canonical form of a forward pass: the steps that are locked.
//!
//! Raw ops are not invariant under harmless change (a `contiguous`, a full `narrow`, `Linear`'s other path at b = 1), so
//! they are reduced to steps: inputs, uses of parameters, taps and outputs, and between them the ops that compute
//! another shape. Around each, what only moves elements or keeps sizes folds in:
//!
//! - an op that works element by element folds into what it reads;
//! - a layout op that one op reads folds into that op; one that several read is a step;
//! - a product, reduction or parameter use takes the layout ops after it along, and the name of the tap or output that
//!   it flows into without change of extent;
//! - a reshape that mixes axes ([`super::order`]) is always a step, and a name given to its result says that it mixes.

mod flow;

use super::locate::Place;
use super::op::Kind;
use super::{Name, Role, Trace};
use flow::Flow;

/// One step of a forward pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Tap, input or output name, parameter path, or the op's name.
    pub name: String,
    /// Where the name comes from.
    pub role: Role,
    /// Extents.
    pub shape: Vec<usize>,
    /// Element type.
    pub dtype: &'static str,
    /// The line, at taps.
    pub place: Option<Place>,
    /// Whether this is a reshape that mixes axes.
    pub mixing: bool,
    /// Whether its own op moves elements and computes nothing.
    pub layout: bool,
    /// Positions in [`Trace::ops`] of the ops that were folded into this step, its own last.
    pub ops: Vec<usize>,
}

impl Step {
    /// Whether its name was given by somebody.
    pub fn is_named(&self) -> bool {
        self.role != Role::Op
    }
}

/// Reduces a trace to its steps, in the order in which they ran.
///
/// `mixing` says whether reshapes are judged at all: where extents coincide, an innocent one can look as if it mixed axes,
/// so points are judged only where a run with distinct dims showed that something does.
pub fn steps(trace: &Trace, mixing: bool) -> Vec<Step> {
    let flow = Flow::new(trace, mixing);
    let mut found: Vec<(usize, Step)> = Vec::new();
    for i in 0..trace.ops.len() {
        if let Some(end) = flow.step_at(i) {
            found.push((flow.trace.ops[end].time, flow.step(i, end)));
        }
    }
    let last = |name: &str| trace.names.iter().any(|n| n.role == Role::Output && n.name == name);
    for name in &trace.names {
        let twice = name.role == Role::Tap && last(&name.name);
        if !twice {
            found.push((name.time, flow.named(name)));
        }
    }
    found.sort_by_key(|(time, _)| *time);
    let mut steps: Vec<Step> = found.into_iter().map(|(_, step)| step).collect();
    flow.fold(&mut steps);
    steps
}

impl Flow<'_> {
    fn step(&self, i: usize, end: usize) -> Step {
        let op = &self.trace.ops[end];
        let (name, role) = match &self.uses[i] {
            Some(module) => ((*module).to_owned(), Role::Param),
            None => (self.trace.ops[i].kind.name().to_owned(), Role::Op),
        };
        Step {
            name,
            role,
            shape: op.shape.clone(),
            dtype: op.dtype,
            place: None,
            mixing: self.mixing[i],
            layout: self.uses[i].is_none() && self.trace.ops[i].kind.is_layout(),
            ops: vec![end],
        }
    }

    fn named(&self, name: &Name) -> Step {
        let op = self.trace.ops.get(name.op);
        // The line of a tap stands for the output of the same name.
        let tapped = || {
            let same = |n: &&Name| n.role == Role::Tap && n.name == name.name;
            self.trace.names.iter().find(same).and_then(|n| n.place.clone())
        };
        Step {
            name: name.name.clone(),
            role: name.role,
            shape: op.map(|op| op.shape.clone()).unwrap_or_default(),
            dtype: op.map_or("", |op| op.dtype),
            place: name.place.clone().or_else(tapped),
            mixing: self.mixing.get(name.op).is_some_and(|mixes| *mixes),
            layout: false,
            ops: vec![name.op],
        }
    }

    /// Notes with each step the ops folded into it: those before it that no earlier step has.
    fn fold(&self, steps: &mut [Step]) {
        let mut owner: Vec<Option<usize>> = vec![None; self.trace.ops.len()];
        for (s, step) in steps.iter().enumerate() {
            for &op in &step.ops {
                if let Some(own) = owner.get_mut(op) {
                    own.get_or_insert(s);
                }
            }
        }
        for (s, step) in steps.iter_mut().enumerate() {
            let Some(&own) = step.ops.first() else {
                continue;
            };
            if owner.get(own) != Some(&Some(s)) {
                continue;
            }
            let mut open = self.trace.ops[own].operands.clone();
            while let Some(op) = open.pop() {
                let leaf = self.trace.ops[op].kind == Kind::Leaf;
                if !leaf && owner[op].is_none() {
                    owner[op] = Some(s);
                    step.ops.push(op);
                    open.extend(&self.trace.ops[op].operands);
                }
            }
            step.ops.sort_unstable();
        }
    }
}

/// The module that a parameter belongs to: its path without `weight` or `bias`.
pub fn module(path: &str) -> &str {
    match path.rsplit_once('.') {
        Some((module, "weight" | "bias")) => module,
        _ => path,
    }
}
