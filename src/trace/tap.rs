//! Taps name an intermediate tensor where the model computes it.
//!
//! A tap changes nothing: it keeps a handle to the tensor, the place in the source and the moment. Only a *probe*, a run
//! made to find where a gradient stops, puts an identity op behind each tap.

use std::cell::{Cell, RefCell};
use std::panic::Location;
use std::sync::{Arc, Mutex};

use candle_core::{CpuStorage, CustomOp1, DType, Device, Layout, Result, Shape, Tensor};

use super::graph::time;

/// Names `t` as an intermediate result of the model and returns it.
///
/// Without a recorder this is the identity. Under `RUST_LOG=shapelock=debug` each tap is an event with its shape.
///
/// ```
/// # use candle_core::{Device, DType, Tensor};
/// # fn main() -> candle_core::Result<()> {
/// let states = Tensor::zeros((8, 60, 16), DType::F32, &Device::Cpu)?; // (b, l, n)
/// let states = shapelock::tap("states", states)?;
/// # assert_eq!(states.dims(), [8, 60, 16]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// None of its own; a probe's identity op can fail as any op can.
#[inline]
#[track_caller]
pub fn tap(name: &str, t: Tensor) -> Result<Tensor> {
    tracing::debug!(target: "shapelock", name, shape = ?t.dims(), dtype = t.dtype().as_str());
    if ON.get() { seen(name, t, Location::caller()) } else { Ok(t) }
}

thread_local! {
    static ON: Cell<bool> = const { Cell::new(false) };
    static TAPS: RefCell<Option<Recorder>> = const { RefCell::new(None) };
    static PLANS: RefCell<Vec<Plan>> = const { RefCell::new(Vec::new()) };
}

struct Recorder {
    taps: Vec<Tap>,
    probing: bool,
}

/// What is put in the place of a tap's tensor.
type Plan = Box<dyn FnMut(&Tap) -> Result<Option<Tensor>>>;

/// A named tensor, where and when it was named.
#[derive(Debug, Clone)]
pub struct Tap {
    /// Its name, dotted.
    pub name: String,
    /// The tensor.
    pub tensor: Tensor,
    /// File and line of the call.
    pub place: &'static Location<'static>,
    /// The moment, on candle's counter of tensors.
    pub time: usize,
    /// What a probe saw of its gradient: the shape, and whether any element differs from zero.
    pub gradient: Arc<Mutex<Option<TapGradient>>>,
    /// Whether a probe could look here: it leaves strided tensors alone, so as to change nothing.
    pub probed: bool,
}

/// A gradient as it passed a tap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TapGradient {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Whether all of it is zero.
    pub zero: bool,
    /// Whether all of it is finite.
    pub finite: bool,
}

/// What a recorded run left: its result and its taps, and the stretch of candle's counter it took.
pub struct Recorded<R> {
    /// What the closure returned.
    pub result: R,
    /// The taps, in order.
    pub taps: Vec<Tap>,
    /// The counter before and after.
    pub span: (usize, usize),
}

/// Runs `f` and keeps what its taps saw.
pub fn record<R>(f: impl FnOnce() -> R) -> Recorded<R> {
    run(f, false)
}

/// Runs `f` with an identity op behind each tap that notes the gradient passing it in a later backward pass.
pub fn probe<R>(f: impl FnOnce() -> R) -> Recorded<R> {
    run(f, true)
}

/// Runs `f` with a plan that may put another tensor in the place of each that a tap sees, recorded or not; what a recorder
/// keeps is the tap's own. Plans of runs within one another see the tensor that the inner one leaves.
pub fn replaced<R>(
    plan: impl FnMut(&Tap) -> Result<Option<Tensor>> + 'static,
    f: impl FnOnce() -> R,
) -> R {
    PLANS.with_borrow_mut(|plans| plans.push(Box::new(plan)));
    let _planned = Planned { was_on: ON.replace(true) };
    f()
}

/// Takes the innermost plan away when its run ends, by a panic too.
struct Planned {
    was_on: bool,
}

impl Drop for Planned {
    fn drop(&mut self) {
        ON.set(self.was_on);
        PLANS.with_borrow_mut(|plans| plans.pop());
    }
}

fn run<R>(f: impl FnOnce() -> R, probing: bool) -> Recorded<R> {
    let before = now();
    let outer = TAPS.replace(Some(Recorder { taps: Vec::new(), probing }));
    let recording = Recording { outer: Some(outer), was_on: ON.replace(true) };
    let result = f();
    let taps = recording.finish();
    Recorded { result, taps, span: (before, now()) }
}

/// Puts the outer recorder back when the recording ends, by a panic too.
struct Recording {
    outer: Option<Option<Recorder>>,
    was_on: bool,
}

impl Recording {
    fn finish(mut self) -> Vec<Tap> {
        self.restore()
    }

    fn restore(&mut self) -> Vec<Tap> {
        let Some(outer) = self.outer.take() else {
            return Vec::new();
        };
        ON.set(self.was_on);
        TAPS.replace(outer).map(|recorder| recorder.taps).unwrap_or_default()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.restore();
    }
}

#[cold]
fn seen(name: &str, t: Tensor, place: &'static Location<'static>) -> Result<Tensor> {
    let gradient = Arc::new(Mutex::new(None));
    let probing = TAPS.with_borrow(|r| r.as_ref().is_some_and(|r| r.probing));
    let probed = probing && t.is_contiguous() && t.dtype().is_float();
    let t = if probed { t.apply_op1(Identity(gradient.clone()))? } else { t };
    let tap =
        Tap { name: name.to_owned(), tensor: t.clone(), place, time: now(), gradient, probed };
    let other = planned(&tap)?;
    TAPS.with_borrow_mut(|recorder| recorder.iter_mut().for_each(|r| r.taps.push(tap.clone())));
    Ok(other.unwrap_or(t))
}

/// What the plans put in the place of a tap's tensor, the innermost first; they are taken out while they run, so that a tap
/// inside one finds none.
fn planned(tap: &Tap) -> Result<Option<Tensor>> {
    let mut plans = PLANS.take();
    let mut other = None;
    let mut seen = tap.clone();
    let done = plans.iter_mut().rev().try_for_each(|plan| {
        if let Some(tensor) = plan(&seen)? {
            seen.tensor = tensor.clone();
            other = Some(tensor);
        }
        Ok(())
    });
    PLANS.set(plans);
    done.map(|()| other)
}

/// The present moment on candle's counter; a scalar is made to read it.
pub(super) fn now() -> usize {
    Tensor::zeros((), DType::U8, &Device::Cpu).map_or(0, |t| time(&t))
}

/// The identity, which notes the gradient on its way back.
struct Identity(Arc<Mutex<Option<TapGradient>>>);

impl CustomOp1 for Identity {
    fn name(&self) -> &'static str {
        "tap"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        macro_rules! copy {
            ($($variant:ident),*) => {
                match storage {
                    $(CpuStorage::$variant(data) => {
                        let (start, end) = layout.contiguous_offsets().ok_or_else(strided)?;
                        CpuStorage::$variant(data[start..end].to_vec())
                    })*
                    _ => candle_core::bail!("a probe looks at float tensors only"),
                }
            };
        }
        Ok((copy!(BF16, F16, F32, F64), layout.shape().clone()))
    }

    fn bwd(&self, _arg: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let values = grad.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>()?;
        let seen = TapGradient {
            shape: grad.dims().to_vec(),
            zero: values.iter().all(|v| *v == 0.),
            finite: values.iter().all(|v| v.is_finite()),
        };
        if let Ok(mut slot) = self.0.lock() {
            *slot = Some(seen);
        }
        Ok(Some(grad.clone()))
    }
}

fn strided() -> candle_core::Error {
    candle_core::Error::Msg("a probe looks at contiguous tensors only".into())
}
