//! The snapshot of a case: the law of each variant as text that people review.
//!
//! ```text
//! dense_ssm at b=8 l=60 d=256 i=1024 n=16 f32       subject, reference point; `dense_ssm / VARIANT at …`
//!
//! forward
//! input (b, l, d) [8, 60, 256]                      a step: its axes, and their extents at the reference point
//! scan ×l                                           a loop, and how often it runs
//!   scan.x (b, n) [8, 16]
//! · matmul (b, n, n) [8, 16, 16]                    a step that nobody named
//! · reshape (b, l, n) [8, 60, 16] mixes axes
//!
//! gradient
//! A (n, n) [16, 16] zero where l = 1                a parameter; where its gradient vanishes
//! ```
//!
//! The text is lossless: [`parse`] gives back what [`render`] wrote, [`LawStep::computes`] excepted, and refuses every text
//! that [`render`] would not have written, so that a file which was cut short, merged with conflicts or written by a
//! later form is an error and never read as something else. This is form 1, which has no line for the form; a later
//! one starts with `shapelock N`.
//!
//! [`LawStep::computes`]: super::law::LawStep::computes

mod names;
mod parse;
mod pending;
mod render;
mod store;

use crate::dims::{Condition, Dims};

use super::law::Law;

pub use parse::{ParseError, parse};
pub use pending::{Disk, Files, Pending, PendingError, files, pending, replace, snapshot_of};
pub use render::{render, render_items};
#[doc(hidden)]
pub use store::insta as __insta;
pub use store::{
    Assert, Changed, StoreError, Target, assert_text, claim, read_baseline, read_text, text_of,
};

/// What is locked of a case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// One section a variant, no variant twice; at least one.
    pub sections: Vec<Section>,
}

/// What is locked of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The subject's name.
    pub subject: String,
    /// The variant's name; [`PLAIN`] is left out of the text.
    pub variant: String,
    /// The dims at the reference point, for the numbers beside the axes.
    pub reference: Dims,
    /// The number format at the reference point.
    pub dtype: String,
    /// The law.
    pub law: Law,
    /// Parameters whose gradient is zero under a condition: those of the law in its order, each once, then patterns that
    /// stand for several.
    pub zero: Vec<(String, Condition)>,
}

/// The variant of a case that names none.
pub const PLAIN: &str = "plain";

impl Snapshot {
    /// The section of a variant.
    pub fn section(&self, variant: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.variant == variant)
    }
}

/// The snapshot after a run: the new sections in their order, and from the old one the sections of the variants that
/// could not run here, each behind the section that it stood behind. Sections of other variants are gone.
pub fn merge(old: &Snapshot, new: Vec<Section>, unverified: &[&str]) -> Snapshot {
    let mut sections = new;
    for (at, carried) in old.sections.iter().enumerate() {
        let place = |name: &str| sections.iter().position(|section| section.variant == name);
        if !unverified.contains(&carried.variant.as_str()) || place(&carried.variant).is_some() {
            continue;
        }
        let mut before = old.sections.iter().take(at).rev();
        let behind = before.find_map(|section| place(&section.variant));
        sections.insert(behind.map_or(0, |index| index + 1), carried.clone());
    }
    Snapshot { sections }
}
