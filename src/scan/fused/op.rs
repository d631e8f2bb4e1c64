//! The pass as differentiable candle ops: one for y and one for the last state.
//!
//! An op of candle's gives one tensor. The forward pass makes both and leaves the state to the second op; each one's
//! backward pass is whole, for their gradients add, and the second's runs only where something reads the state.
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape, Storage, Tensor};

use super::backward::backward;
use super::forward::forward;
use super::port::Ports;
use super::real::Real;
use super::spec::{Spec, View};
use crate::scan::ScanError;

/// y (b, l, h·p) and the last state (b, h, p, n), from the inputs as [`View`] has them.
pub(super) fn apply(
    spec: Spec,
    sequence: &Tensor,
    small: Vec<Tensor>,
    state: &Tensor,
) -> Result<(Tensor, Tensor)> {
    if !sequence.device().is_cpu() {
        let actual = format!("{:?}", sequence.device().location());
        return Err(ScanError::Device { actual }.into());
    }
    let (sequence, state) = (sequence.contiguous()?, state.contiguous()?);
    let ports = Ports::new(small)?;
    let Some(token) = ports.token()? else {
        candle_core::bail!("fused scan: expected A and D among the small inputs");
    };
    let (spec, last) = (Arc::new(spec), Arc::default());
    let op = |part| Op {
        spec: Arc::clone(&spec),
        ports: Arc::clone(&ports),
        part,
        last: Arc::clone(&last),
    };
    let y = sequence.apply_op3(&token, &state, op(Part::Y))?;
    let end = sequence.apply_op3(&token, &state, op(Part::State))?;
    Ok((y, end))
}

struct Op {
    spec: Arc<Spec>,
    ports: Arc<Ports>,
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
    fn forward<T: Real>(&self, sequence: Stored<'_>, state: Stored<'_>) -> Result<CpuStorage> {
        let small = self.ports.values()?;
        let (sequence, state) = (of::<T>(sequence.0, sequence.1)?, of(state.0, state.1)?);
        let (y, state) = forward(&View { spec: &self.spec, sequence, small: &small, state });
        *self.last() = Some(T::to_cpu_storage_owned(state));
        Ok(T::to_cpu_storage_owned(y))
    }

    /// The gradients of the sequence and of the first state; those of the small inputs are left at the ports.
    fn backward<T: Real>(
        &self,
        sequence: &Tensor,
        state: &Tensor,
        gradient: &Tensor,
    ) -> Result<[Tensor; 2]> {
        let gradient = gradient.contiguous()?;
        let small = self.ports.values()?;
        let gradients = {
            let (gradient, sequence, state) = (read(&gradient), read(sequence), read(state));
            let (sequence, state) = (sequence.get::<T>()?, state.get()?);
            let view = View { spec: &self.spec, sequence, small: &small, state };
            match self.part {
                Part::Y => backward(&view, Some(gradient.get()?), None),
                Part::State => backward(&view, None, Some(gradient.get()?)),
            }
        };
        self.ports.leave(&gradients.small)?;
        let tensor = |values, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device());
        Ok([tensor(gradients.sequence, sequence)?, tensor(gradients.state, state)?])
    }

    fn last(&self) -> MutexGuard<'_, Option<CpuStorage>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
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
        _: &CpuStorage,
        _: &Layout,
        state: &CpuStorage,
        state_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let kept = self.last().take();
        if let (Part::State, Some(last)) = (self.part, kept) {
            return Ok((last, self.shape()));
        }
        let (inputs, start) = ((sequence, sequence_layout), (state, state_layout));
        let y = match sequence {
            CpuStorage::F32(_) => self.forward::<f32>(inputs, start)?,
            CpuStorage::F64(_) => self.forward::<f64>(inputs, start)?,
            other => return Err(ScanError::Precision { actual: other.dtype() }.into()),
        };
        let last = match self.part {
            Part::Y => None,
            Part::State => self.last().take(),
        };
        Ok((last.unwrap_or(y), self.shape()))
    }

    fn bwd(
        &self,
        sequence: &Tensor,
        token: &Tensor,
        state: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [of_sequence, of_state] = match sequence.dtype() {
            DType::F32 => self.backward::<f32>(sequence, state, gradient)?,
            DType::F64 => self.backward::<f64>(sequence, state, gradient)?,
            actual => return Err(ScanError::Precision { actual }.into()),
        };
        Ok((Some(of_sequence), Some(token.zeros_like()?), Some(of_state)))
    }
}

/// A tensor whose numbers are being read.
pub(super) struct Read<'a, G> {
    storage: G,
    layout: &'a Layout,
}

pub(super) fn read(tensor: &Tensor) -> Read<'_, impl Deref<Target = Storage>> {
    let (storage, layout) = tensor.storage_and_layout();
    Read { storage, layout }
}

impl<G: Deref<Target = Storage>> Read<'_, G> {
    pub(super) fn get<T: Real>(&self) -> Result<&[T]> {
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

/// One number of the dtype that `like` has.
pub(super) fn storage_of(like: &CpuStorage, value: f64) -> Result<CpuStorage> {
    match like {
        CpuStorage::F32(_) => Ok(CpuStorage::F32(vec![value as f32])),
        CpuStorage::F64(_) => Ok(CpuStorage::F64(vec![value])),
        other => Err(ScanError::Precision { actual: other.dtype() }.into()),
    }
}
