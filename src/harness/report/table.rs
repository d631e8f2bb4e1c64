//! The forward pass as a table: expected against actual.

use crate::harness::check::align::Row;
use crate::harness::law::starred;

/// How many rows are shown before the first wrong one, and after the last.
const AROUND: usize = 5;
/// Tables up to this length are shown whole.
const WHOLE: usize = 16;

/// Rows with repeated steps as one.
pub struct Table(Vec<Line>);

pub(super) struct Line {
    pub(super) name: String,
    pub(super) count: usize,
    pub(super) expected: String,
    pub(super) actual: String,
    pub(super) wrong: bool,
    pub(super) axes: Option<String>,
    pub(super) place: Option<String>,
}

impl Table {
    /// From the comparison of a run, the rows of a loop gathered.
    pub fn new(rows: &[Row]) -> Self {
        let mut lines: Vec<Line> = Vec::new();
        let mut known = std::collections::HashMap::new();
        for row in rows.iter().filter(|row| !(row.actual.is_none() && row.is_same())) {
            let line = line(row);
            let key = (starred(&line.name), line.expected.clone(), line.actual.clone());
            match known.get(&key) {
                Some(&at) => {
                    let line: &mut Line = &mut lines[at];
                    line.count += 1;
                    line.name = starred(&line.name);
                }
                None => {
                    known.insert(key, lines.len());
                    lines.push(line);
                }
            }
        }
        Self(lines)
    }

    /// The rows.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.0.iter()
    }

    /// The table as text, a cross before each wrong row.
    pub fn text(&self) -> String {
        let width = |f: &dyn Fn(&Line) -> usize, least: usize| {
            self.0.iter().map(f).max().unwrap_or(0).max(least) + 4
        };
        let names = width(&|line| label(line).chars().count(), 14);
        let expected = width(&|line| line.expected.chars().count(), 8);
        let row = |mark: &str, name: &str, want: &str, have: &str| {
            format!("{mark} {name:<names$}{want:<expected$}{have}").trim_end().to_owned() + "\n"
        };
        let mut text = row(" ", "step", "EXPECTED", "ACTUAL");
        let mut left_out = 0;
        for (i, line) in self.0.iter().enumerate() {
            if !self.shows(i) {
                left_out += 1;
                continue;
            }
            text.push_str(&left(&mut left_out));
            let mark = if line.wrong { "✗" } else { " " };
            text.push_str(&row(mark, &label(line), &line.expected, &line.actual));
        }
        text.push_str(&left(&mut left_out));
        text
    }

    /// The steps that ran and their shapes, where nothing was expected.
    pub fn flow(&self) -> String {
        let width = self.0.iter().map(|line| label(line).chars().count()).max().unwrap_or(0) + 4;
        self.0.iter().map(|line| format!("  {:<width$}{}\n", label(line), line.actual)).collect()
    }

    /// Short tables are whole; long ones show what is wrong and what is near it.
    fn shows(&self, i: usize) -> bool {
        let near = i.saturating_sub(AROUND)..(i + AROUND + 1).min(self.0.len());
        self.0.len() <= WHOLE || self.0[near].iter().any(|line| line.wrong)
    }
}

/// A line's name, and how often it ran.
fn label(line: &Line) -> String {
    match line.count {
        1 => line.name.clone(),
        n => format!("{} ×{n}", line.name),
    }
}

fn left(count: &mut usize) -> String {
    match std::mem::take(count) {
        0 => String::new(),
        1 => "  … 1 step as expected\n".into(),
        n => format!("  … {n} steps as expected\n"),
    }
}

fn line(row: &Row) -> Line {
    let same = row.is_same();
    let extents = |shape: &Vec<usize>| format!("{shape:?}");
    let name = if row.named { row.name.clone() } else { format!("· {}", row.name) };
    Line {
        name,
        count: 1,
        expected: row.wanted.as_ref().map_or("-".into(), |w| extents(&w.shape)),
        actual: match &row.actual {
            Some(_) if same && row.wanted.is_some() => "same".into(),
            Some(actual) if row.skips.is_some() => {
                format!("{actual:?} without {}", row.skips.unwrap_or_default())
            }
            Some(actual) if row.mixing => format!("{actual:?} mixes axes"),
            Some(actual) => extents(actual),
            None => "missing".into(),
        },
        wrong: !same,
        axes: row.wanted.as_ref().map(|wanted| wanted.axes.to_string()),
        place: row.place.as_ref().map(ToString::to_string),
    }
}
