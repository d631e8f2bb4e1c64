//! Lining up the steps of a run with those expected.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Source;
use crate::dims::Axes;
use crate::harness::law::starred;
use crate::trace::Role;
use crate::trace::locate::Place;
use crate::trace::steps::Step;

/// A step as it should be at one point.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// Its name, `*` for numbers.
    pub key: String,
    /// Whether somebody gave the name.
    pub named: bool,
    /// Its symbols.
    pub axes: Axes,
    /// Its extents.
    pub shape: Vec<usize>,
    /// Who says so.
    pub source: Source,
    /// Whether it may be missing at this point.
    pub may_miss: bool,
    /// Whether it is a reshape that mixes axes.
    pub mixing: bool,
    /// Whether it is the use of a parameter.
    pub parameter: bool,
}

/// One line of the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The step's name.
    pub name: String,
    /// Whether somebody gave the name.
    pub named: bool,
    /// What was expected; `None` for a step that is one too many.
    pub wanted: Option<Wanted>,
    /// The extents there were; `None` for a step that is missing.
    pub actual: Option<Vec<usize>>,
    /// The position of the step in the run, or of the next one where it is missing.
    pub step: usize,
    /// Its line.
    pub place: Option<Place>,
    /// Whether it is a reshape that mixes axes.
    pub mixing: bool,
    /// Whether it is the use of a parameter.
    pub parameter: bool,
    /// Whether it is a step too many that changes nothing: see [`align`].
    pub spare: bool,
    /// An op that computes, which should go into it and does not.
    pub skips: Option<&'static str>,
}

/// The row to blame: the first that differs. Where that is a step missing or too many and a named step changed its shape
/// before anything is right again, it is this one, which tells more.
pub fn first_wrong(rows: &[Row]) -> Option<usize> {
    let first = rows.iter().position(|row| !row.is_same())?;
    let paired = |row: &Row| row.wanted.is_some() && row.actual.is_some();
    let stretch = rows[first..].iter().take_while(|row| !row.is_same() || !paired(row));
    let changed = stretch.enumerate().find(|(_, row)| !row.is_same() && paired(row) && row.named);
    Some(changed.map_or(first, |(i, _)| first + i))
}

impl Row {
    /// Whether the step is as expected.
    ///
    /// The use of a parameter shows as a step of its own or goes into the tap that it flows into, depending on what is
    /// between them; so one that is missing or one too many is no difference. Whether a parameter is used at all is
    /// seen by its gradient.
    pub fn is_same(&self) -> bool {
        match (&self.wanted, &self.actual) {
            (Some(wanted), Some(actual)) => {
                let alike = wanted.shape == *actual && (!self.mixing || wanted.mixing);
                alike && self.skips.is_none()
            }
            (Some(wanted), None) => wanted.may_miss || wanted.parameter,
            (None, _) => self.parameter || self.spare,
        }
    }
}

/// Pairs steps by name in their order: an inserted step does not shift the rest.
///
/// Steps that nobody named are first paired with those of their shape, since their names tell little: of two products one
/// after the other, the one that is missing is the one whose shape is.
pub fn align(wanted: &[Wanted], steps: &[Step]) -> Vec<Row> {
    let unnamed = |named: bool, shape: &[usize]| (!named).then(|| shape.to_vec());
    let want: Vec<(String, bool, Option<Vec<usize>>)> =
        wanted.iter().map(|w| (w.key.clone(), w.named, unnamed(w.named, &w.shape))).collect();
    let have: Vec<(String, bool, Option<Vec<usize>>)> = steps
        .iter()
        .map(|s| (starred(&s.name), s.is_named(), unnamed(s.is_named(), &s.shape)))
        .collect();
    let by_name = |(name, named, _): &(String, bool, Option<Vec<usize>>)| (name.clone(), *named);
    let mut rows = Vec::with_capacity(steps.len());
    let row = |w: Option<usize>, s: Option<usize>, at: usize| {
        row(w.map(|w| &wanted[w]), s.map(|s| (s, &steps[s])), at)
    };
    for op in capture_diff_slices(Algorithm::Myers, &want, &have) {
        let (old, new) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            rows.extend(old.zip(new).map(|(w, s)| row(Some(w), Some(s), s)));
            continue;
        }
        let want: Vec<_> = want[old.clone()].iter().map(by_name).collect();
        let have: Vec<_> = have[new.clone()].iter().map(by_name).collect();
        for op in capture_diff_slices(Algorithm::Myers, &want, &have) {
            let w = op.old_range().map(|i| old.start + i);
            let s = op.new_range().map(|i| new.start + i);
            if let DiffOp::Equal { .. } = op {
                rows.extend(w.zip(s).map(|(w, s)| row(Some(w), Some(s), s)));
            } else {
                let next = new.start + op.new_range().start;
                rows.extend(w.map(|w| row(Some(w), None, next)));
                rows.extend(s.map(|s| row(None, Some(s), s)));
            }
        }
    }
    let spare: Vec<bool> = (0..rows.len()).map(|i| is_spare(&rows, i, steps)).collect();
    for (row, spare) in rows.iter_mut().zip(spare) {
        row.spare = spare;
    }
    rows
}

/// A layout op too many that is none: one of its extents is 1, and without these it has the shape of a neighbour. Where
/// a size is 1, candle leaves out the node that would have taken it along.
fn is_spare(rows: &[Row], i: usize, steps: &[Step]) -> bool {
    let row = &rows[i];
    let layout = steps.get(row.step).is_some_and(|step| step.layout && !step.mixing);
    let Some(shape) = row.actual.as_ref().filter(|_| layout && row.wanted.is_none()) else {
        return false;
    };
    let essence = |shape: &[usize]| {
        let mut real: Vec<usize> = shape.iter().copied().filter(|n| *n != 1).collect();
        real.sort_unstable();
        real
    };
    let near = &rows[i.saturating_sub(2)..(i + 3).min(rows.len())];
    let mut others = near.iter().filter(|other| other.step != row.step);
    let alike = |other: &Row| other.actual.as_ref().is_some_and(|s| essence(s) == essence(shape));
    shape.contains(&1) && others.any(alike)
}

fn row(wanted: Option<&Wanted>, step: Option<(usize, &Step)>, at: usize) -> Row {
    let actual = step.map(|(_, step)| step);
    let named = actual.map_or_else(|| wanted.is_some_and(|w| w.named), Step::is_named);
    let name = actual.map(|s| s.name.clone()).or_else(|| wanted.map(|w| w.key.clone()));
    Row {
        name: name.unwrap_or_default(),
        named,
        wanted: wanted.cloned(),
        actual: actual.map(|s| s.shape.clone()),
        step: at,
        place: actual.and_then(|s| s.place.clone()),
        mixing: actual.is_some_and(|s| s.mixing),
        parameter: actual.is_some_and(|s| s.role == Role::Param),
        spare: false,
        skips: None,
    }
}
