//! Whether a fault changes anything at all.

use candle_core::{DType, Device};

use super::{Faulty, Ground};
use crate::harness::run::{Named, Rig, Setup, same_bits};
use crate::harness::study::setup;
use crate::harness::subject::AnySubject;

/// Whether outputs, states and gradients of the two are the same bits in f64, at each variant's reference point.
pub(super) fn equal(ground: &Ground, right: &dyn AnySubject, faulty: &Faulty) -> bool {
    ground.plan.variants.iter().all(|variant| {
        let Some(point) = variant.points.first() else { return true };
        let setup =
            Setup { dtype: DType::F64, ..setup(&ground.case, variant, point, &Device::Cpu) };
        match (values(right, &setup), values(faulty, &setup)) {
            (Some(a), Some(b)) => same(&a, &b),
            _ => false,
        }
    })
}

/// All that a run gives.
fn values(subject: &dyn AnySubject, setup: &Setup<'_>) -> Option<Named> {
    let rig = Rig::new(subject, setup).ok()?;
    let pass = rig.forward(rig.inputs()).ok()?;
    let cotangents = rig.cotangents(&pass.outputs).ok()?;
    let gradients = rig.gradients(&pass.outputs, &cotangents, rig.inputs()).ok()?;
    let state = match rig.resume(rig.inputs(), None).ok()? {
        Some((_, state)) => rig.tensors(&state),
        None => Vec::new(),
    };
    Some([pass.outputs, gradients, state].concat())
}

fn same(a: &Named, b: &Named) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((n, t), (m, u))| n == m && same_bits(t, u))
}
