//! Faults planted while a model runs, and how many of them the checks find.
//!
//! A [`Fault`] is a [`Change`] of the tensors that a tap sees: axes exchanged, rows rolled, the time shifted by one. No code
//! is changed and nothing is compiled: [`Faulty`] is the subject with the fault in it, and the trials of the shipped cases run
//! on it as on any subject. What the tap records is the tensor before the change, and the op that changes it does not show in
//! the trace, so that a fault is found by what comes of it, or not at all.
//!
//! [`sites`] says which faults there are, [`Hunt`] runs the trials on each until one fails, [`Score`] counts.

mod change;
mod equal;
mod excused;
mod faulty;
mod hunt;
mod reindexed;
mod score;
mod sites;

pub use change::Change;
pub use excused::{EXCUSED, Excuse};
pub use faulty::{Fault, Faulty};
pub use hunt::{Hunt, Verdict};
pub use score::Score;
pub use sites::{Ground, Site, sites};
