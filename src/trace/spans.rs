//! Scopes of code that is not tapped: the `tracing` spans that were open while an op ran.
//!
//! candle-transformers opens a span around the parts of its models. A [`Watch`] is the subscriber of a run: it notes when
//! each span is entered and left on candle's counter of tensors, so that an op without a name is told by where it ran.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracing::dispatcher::{self, Dispatch};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Event, Metadata};

use super::steps::Step;
use super::tap::now;
use super::{Role, Trace};

/// Sees the spans of what runs within it, on this thread.
pub struct Watch {
    dispatch: Dispatch,
    seen: Arc<Mutex<Seen>>,
}

/// What was seen of the spans.
#[derive(Default)]
struct Seen {
    /// The names of spans, by id.
    names: Vec<&'static str>,
    /// The spans that are open, the innermost last.
    open: Vec<usize>,
    /// From that moment on, this span is the innermost; in the order of time.
    innermost: Vec<(usize, Option<usize>)>,
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

impl Watch {
    /// Nothing seen yet. Events go on to whoever listened before.
    pub fn new() -> Self {
        let seen = Arc::<Mutex<Seen>>::default();
        let listener = dispatcher::get_default(Dispatch::clone);
        Self { dispatch: Dispatch::new(Spans { seen: seen.clone(), listener }), seen }
    }

    /// Runs `f`. A span has to be made and entered within, so that building a model belongs here too.
    pub fn within<R>(&self, f: impl FnOnce() -> R) -> R {
        dispatcher::with_default(&self.dispatch, f)
    }

    /// How many tensors were made from `from` to `to` only to read the moment.
    pub fn made(&self, from: usize, to: usize) -> usize {
        lock(&self.seen).innermost.iter().filter(|(at, _)| from < *at && *at < to).count()
    }

    /// Puts the span that an op ran in before the name of each step that nobody named: `self-attn.matmul`; and says of each
    /// leaf in which span it was made.
    pub fn name(&self, trace: &mut Trace, steps: &mut [Step]) {
        let seen = lock(&self.seen);
        for leaf in &mut trace.coverage.leaves {
            leaf.span = trace.ops.get(leaf.op).and_then(|op| seen.at(op.time));
        }
        for step in steps.iter_mut().filter(|step| step.role == Role::Op) {
            let made = step.ops.last().and_then(|op| trace.ops.get(*op)).map(|op| op.time);
            if let Some(span) = made.and_then(|made| seen.at(made)) {
                step.name = format!("{span}.{}", step.name);
            }
        }
    }
}

impl Seen {
    /// The innermost span at a moment.
    fn at(&self, moment: usize) -> Option<&'static str> {
        let after = self.innermost.partition_point(|(from, _)| *from < moment);
        let (_, span) = self.innermost.get(after.checked_sub(1)?)?;
        self.names.get((*span)?).copied()
    }

    fn note(&mut self) {
        self.innermost.push((now(), self.open.last().copied()));
    }
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The subscriber: spans are noted, events go on.
struct Spans {
    seen: Arc<Mutex<Seen>>,
    listener: Dispatch,
}

/// Ids of `tracing` begin at 1.
fn index(id: &Id) -> usize {
    usize::try_from(id.into_u64() - 1).unwrap_or(usize::MAX)
}

impl Subscriber for Spans {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() || self.listener.enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut seen = lock(&self.seen);
        seen.names.push(span.metadata().name());
        Id::from_u64(seen.names.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if self.listener.enabled(event.metadata()) {
            self.listener.event(event);
        }
    }

    fn enter(&self, span: &Id) {
        let mut seen = lock(&self.seen);
        seen.open.push(index(span));
        seen.note();
    }

    fn exit(&self, span: &Id) {
        let mut seen = lock(&self.seen);
        // Guards may be dropped in any order.
        let closed = index(span);
        if let Some(at) = seen.open.iter().rposition(|open| *open == closed) {
            seen.open.remove(at);
        }
        seen.note();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::steps::steps;
    use crate::trace::{Ends, tap};
    use candle_core::{DType, Device, Result, Tensor, Var};

    /// Two products in spans, one of them in a span within another, and one outside of all.
    fn model(x: &Tensor, outer: &tracing::Span, inner: &tracing::Span) -> Result<Tensor> {
        let _model = outer.enter();
        let x = {
            let _attention = inner.enter();
            x.matmul(&x.t()?)?
        };
        let x = x.narrow(1, 0, 2)?.contiguous()?.matmul(&x.narrow(0, 0, 2)?)?;
        drop(_model);
        x.t()?.matmul(&x)?.narrow(1, 0, 1)?.contiguous()?.matmul(&x.narrow(0, 0, 1)?)
    }

    #[test]
    fn unnamed_steps_are_told_by_the_innermost_span() -> Result<()> {
        let x = Var::ones((3, 4), DType::F32, &Device::Cpu)?;
        let watch = Watch::new();
        let run = watch.within(|| {
            let outer = tracing::span!(tracing::Level::TRACE, "model");
            let inner = tracing::span!(tracing::Level::TRACE, "self-attn");
            tap::record(|| model(&x, &outer, &inner))
        });
        let outputs = [("y".to_owned(), run.result.as_ref().map_err(clone)?.clone())];
        let inputs = [("x".to_owned(), x.as_tensor().clone())];
        let ends = Ends { inputs: &inputs, params: &[], outputs: &outputs };
        let mut trace = Trace::read(&run, &ends).map_err(candle_core::Error::wrap)?;
        let mut steps = steps(&trace, true);
        watch.name(&mut trace, &mut steps);
        let names: Vec<&str> = steps.iter().map(|step| step.name.as_str()).collect();
        assert_eq!(names, ["x", "self-attn.matmul", "model.matmul", "matmul", "y"]);
        assert_eq!(watch.made(run.span.0, run.span.1), 4);
        Ok(())
    }

    fn clone(error: &candle_core::Error) -> candle_core::Error {
        candle_core::Error::Msg(error.to_string())
    }
}
