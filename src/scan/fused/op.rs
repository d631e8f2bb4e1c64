//! The pass as differentiable candle ops: one for y and one for the last state.
//!
//! An op of candle's gives one tensor. The forward pass makes both and leaves the state to the second op; each one's
//! backward pass is whole, for their gradients add, and the second's runs only where something reads the state.
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Storage, Tensor};

use super::backward::backward;
use super::forward::forward;
use super::real::Real;
use super::spec::{Spec, View};
use crate::scan::ScanError;

/// y (b, l, h·p) and the last state (b, h, p, n), from the inputs as [`View`] has them.
pub(super) fn apply(
    spec: Spec,
    sequence: &Tensor,
    small: &Tensor,
    state: &Tensor,
) -> Result<(Tensor, Tensor)> {
    if !sequence.device().is_cpu() {
        let actual = format!("{:?}", sequence.device().location());
        return Err(ScanError::Device { actual }.into());
    }
    let (sequence, small) = (sequence.contiguous()?, small.contiguous()?);
    let (spec, last) = (Arc::new(spec), Arc::default());
    let state = state.contiguous()?;
    let op = |part| Op { spec: Arc::clone(&spec), part, last: Arc::clone(&last) };
    let y = sequence.apply_op3(&small, &state, op(Part::Y))?;
    let end = sequence.apply_op3(&small, &state, op(Part::State))?;
    Ok((y, end))
}

struct Op {
    spec: Arc<Spec>,
    part: Part,
    /// The last state, between the two forward passes.
    last: Arc<Mutex<Option<CpuStorage>>>,
}

#[derive(Clone, Copy)]
enum Part {
    Y,
    State,
}

type Stored<'a> = (&'a CpuStorage, &'a Layout);

impl Op {
    fn forward<T: Real>(&self, inputs: [Stored<'_>; 3]) -> Result<CpuStorage> {
        let [sequence, small, state] = inputs.map(|(storage, layout)| of::<T>(storage, layout));
        let view = View { spec: &self.spec, sequence: sequence?, small: small?, state: state? };
        let (y, state) = forward(&view);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(T::to_cpu_storage_owned(state));
        Ok(T::to_cpu_storage_owned(y))
    }

    fn backward<T: Real>(&self, inputs: [&Tensor; 3], gradient: &Tensor) -> Result<[Tensor; 3]> {
        let gradient = gradient.contiguous()?;
        let gradient = read(&gradient);
        let [sequence, small, state] = inputs.map(read);
        let view = View {
            spec: &self.spec,
            sequence: sequence.get::<T>()?,
            small: small.get()?,
            state: state.get()?,
        };
        let gradients = match self.part {
            Part::Y => backward(&view, Some(gradient.get()?), None),
            Part::State => backward(&view, None, Some(gradient.get()?)),
        };
        let tensor = |values, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device());
        Ok([
            tensor(gradients.sequence, inputs[0])?,
            tensor(gradients.small, inputs[1])?,
            tensor(gradients.state, inputs[2])?,
        ])
    }

    fn shape(&self) -> Shape {
        let sizes = self.spec.sizes;
        match self.part {
            Part::Y => (sizes.b, sizes.l, self.spec.s()).into(),
            Part::State => (sizes.b, sizes.h, sizes.p, sizes.n).into(),
        }
    }
}

impl CustomOp3 for Op {
    fn name(&self) -> &'static str {
        match self.part {
            Part::Y => "fused-scan",
            Part::State => "fused-scan-state",
        }
    }

    fn cpu_fwd(
        &self,
        sequence: &CpuStorage,
        sequence_layout: &Layout,
        small: &CpuStorage,
        small_layout: &Layout,
        state: &CpuStorage,
        state_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let kept = self.last.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Part::State, Some(last)) = (self.part, kept) {
            return Ok((last, self.shape()));
        }
        let inputs = [(sequence, sequence_layout), (small, small_layout), (state, state_layout)];
        let y = match sequence {
            CpuStorage::F32(_) => self.forward::<f32>(inputs)?,
            CpuStorage::F64(_) => self.forward::<f64>(inputs)?,
            other => return Err(ScanError::Precision { actual: other.dtype() }.into()),
        };
        let last = match self.part {
            Part::Y => None,
            Part::State => self.last.lock().unwrap_or_else(PoisonError::into_inner).take(),
        };
        Ok((last.unwrap_or(y), self.shape()))
    }

    fn bwd(
        &self,
        sequence: &Tensor,
        small: &Tensor,
        state: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let inputs = [sequence, small, state];
        let [sequence, small, state] = match sequence.dtype() {
            DType::F32 => self.backward::<f32>(inputs, gradient)?,
            DType::F64 => self.backward::<f64>(inputs, gradient)?,
            actual => return Err(ScanError::Precision { actual }.into()),
        };
        Ok((Some(sequence), Some(small), Some(state)))
    }
}

/// A tensor whose numbers are being read.
struct Read<'a, G> {
    storage: G,
    layout: &'a Layout,
}

fn read(tensor: &Tensor) -> Read<'_, impl Deref<Target = Storage>> {
    let (storage, layout) = tensor.storage_and_layout();
    Read { storage, layout }
}

impl<G: Deref<Target = Storage>> Read<'_, G> {
    fn get<T: Real>(&self) -> Result<&[T]> {
        match &*self.storage {
            Storage::Cpu(storage) => of(storage, self.layout),
            other => {
                let actual = format!("{:?}", other.device().location());
                Err(ScanError::Device { actual }.into())
            }
        }
    }
}

/// The numbers of a contiguous tensor.
fn of<'a, T: Real>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&storage.as_slice()?[start..end]),
        None => candle_core::bail!("fused scan: expected contiguous inputs, actual {layout:?}"),
    }
}
