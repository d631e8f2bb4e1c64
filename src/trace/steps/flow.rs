//! How values flow between the ops of a trace, and which ops are steps.

use super::module;
use crate::trace::Trace;
use crate::trace::op::{FAULT, Kind};
use crate::trace::order;

/// How values flow between the ops of a trace.
pub(super) struct Flow<'a> {
    pub(super) trace: &'a Trace,
    /// The number of ops that read each op.
    readers: Vec<usize>,
    /// The same, where what only reads a copy counts for what was copied: `contiguous` copies or does not, as the sizes
    /// have it.
    shared: Vec<usize>,
    /// One of the readers: the only one where there is one.
    reader: Vec<usize>,
    /// The module of the parameter that alone an op's value depends on.
    derived: Vec<Option<&'a str>>,
    /// The module of the parameter that an op applies to data.
    pub(super) uses: Vec<Option<&'a str>>,
    /// Whether an op is a reshape that mixes axes.
    pub(super) mixing: Vec<bool>,
    /// Whether a tap, input or output names the op.
    named: Vec<bool>,
}

impl<'a> Flow<'a> {
    pub(super) fn new(trace: &'a Trace, judged: bool) -> Self {
        let n = trace.ops.len();
        let (mut readers, mut reader) = (vec![0; n], vec![0; n]);
        let live = live(trace);
        for (i, op) in trace.ops.iter().enumerate().filter(|(i, _)| live[*i]) {
            let mut reads = op.operands.clone();
            reads.sort_unstable();
            reads.dedup();
            for j in reads {
                readers[j] += 1;
                reader[j] = i;
            }
        }
        let mut named = vec![false; n];
        for name in &trace.names {
            if let Some(slot) = named.get_mut(name.op) {
                *slot = true;
            }
        }
        let mixing = if judged { order::mixing(&trace.ops) } else { vec![false; n] };
        let shared = shared(trace, &readers, &named);
        let mut flow = Self {
            trace,
            readers,
            shared,
            reader,
            derived: vec![None; n],
            uses: vec![None; n],
            mixing,
            named,
        };
        (0..n).for_each(|i| flow.follow_parameters(i));
        flow
    }

    fn follow_parameters(&mut self, i: usize) {
        let op = &self.trace.ops[i];
        if let Some(path) = &op.param {
            self.derived[i] = Some(module(path));
            return;
        }
        let from = op.operands.iter().find_map(|&j| self.derived[j]);
        if op.operands.iter().all(|&j| self.derived[j].is_some()) {
            self.derived[i] = from;
        } else {
            self.uses[i] = from;
        }
    }

    /// The op whose shape the step around op `i` shows; `None` where `i` is no step of its own.
    pub(super) fn step_at(&self, i: usize) -> Option<usize> {
        let op = &self.trace.ops[i];
        let unseen = matches!(op.kind, Kind::Leaf | Kind::Unary(FAULT));
        if unseen || self.derived[i].is_some() || self.named[i] {
            return None;
        }
        if self.mixing[i] {
            return Some(i);
        }
        if self.uses[i].is_none() && op.kind.is_layout() {
            return (self.shared[i] > 1 && !self.keeps_shape(i)).then_some(i);
        }
        if self.uses[i].is_none() && self.keeps_shape(i) {
            return None;
        }
        self.end_of(i)
    }

    /// The op whose shape a working op's step shows; `None` where the value flows on into a tap, an output or another
    /// use of the same parameter's module, which take the step over.
    ///
    /// On its way it may be moved, cut and padded: these ops leave no node where they change nothing, so a step must
    /// not depend on them.
    fn end_of(&self, i: usize) -> Option<usize> {
        let mut at = i;
        loop {
            if self.named[at] {
                return None;
            }
            if self.readers[at] != 1 {
                return Some(self.restored(i));
            }
            let next = self.reader[at];
            if self.uses[next].is_some() {
                return (self.uses[next] != self.uses[i]).then(|| self.restored(i));
            }
            let goes_on = match self.trace.ops[next].kind {
                Kind::Reshape => !self.mixing[next],
                Kind::Permute(_) | Kind::Narrow { .. } => true,
                Kind::Cat(_) => self.data_operands(next) == 1,
                _ => !self.trace.ops[next].kind.is_layout() && self.keeps_shape(next),
            };
            if !goes_on {
                return Some(self.restored(i));
            }
            at = next;
        }
    }

    /// A product that flattened its operand's leading axes shows the shape after they are there again: `Linear` and
    /// `broadcast_matmul` do this at some batch sizes and not at others.
    fn restored(&self, i: usize) -> usize {
        let op = &self.trace.ops[i];
        let leading = |shape: &[usize]| shape.split_last().map(|(_, rest)| rest.to_vec());
        let flattened = op.operands.first().map(|&j| &self.trace.ops[j]);
        let from = flattened.filter(|op| op.kind == Kind::Reshape);
        let from = from.and_then(|op| op.operands.first()).map(|&j| &self.trace.ops[j].shape);
        let next = self.reader[i];
        let back = self.readers[i] == 1 && self.trace.ops[next].kind == Kind::Reshape;
        match from {
            Some(from) if back && leading(from) == leading(&self.trace.ops[next].shape) => next,
            _ => i,
        }
    }

    fn data_operands(&self, i: usize) -> usize {
        let data = |&&j: &&usize| {
            self.derived[j].is_none() && self.trace.ops[self.source(j)].kind != Kind::Leaf
        };
        self.trace.ops[i].operands.iter().filter(data).count()
    }

    /// Works element by element on an operand of the very shape of its result.
    fn keeps_shape(&self, i: usize) -> bool {
        let op = &self.trace.ops[i];
        let same = |&j: &usize| self.trace.ops[self.source(j)].shape == op.shape;
        match op.kind {
            Kind::Matmul | Kind::Reduce(_) | Kind::Broadcast => false,
            Kind::Permute(_) => false,
            Kind::Binary(_) => op.operands.iter().any(same),
            _ => op.operands.first().is_some_and(same),
        }
    }

    /// What an op was before it was broadcast.
    fn source(&self, i: usize) -> usize {
        let op = &self.trace.ops[i];
        match (&op.kind, op.operands.first()) {
            (Kind::Broadcast, Some(&from)) => from,
            _ => i,
        }
    }
}

/// How many ops read each op, through copies of it that have no name.
fn shared(trace: &Trace, readers: &[usize], named: &[bool]) -> Vec<usize> {
    let mut shared = readers.to_vec();
    for (i, op) in trace.ops.iter().enumerate().rev() {
        if let (Kind::Unary("copy"), &[from], false) = (&op.kind, op.operands.as_slice(), named[i])
        {
            shared[from] = shared[from] - 1 + shared[i];
        }
    }
    shared
}

/// Which ops a name was made from: what a detour of candle's was undone to is read by nobody.
fn live(trace: &Trace) -> Vec<bool> {
    let mut live = vec![false; trace.ops.len()];
    let mut open: Vec<usize> = trace.names.iter().map(|name| name.op).collect();
    while let Some(i) = open.pop() {
        if live.get(i) == Some(&false) {
            live[i] = true;
            open.extend(&trace.ops[i].operands);
        }
    }
    live
}
