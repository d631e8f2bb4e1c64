//! What changed, in one line: the same line from two cases is one cause.

use super::claims::rule;
use crate::harness::check::{Finding, Shape, What};
use crate::harness::law::starred;

/// What a finding says without sizes, points or magnitudes; nothing where it is about the case alone.
pub fn change(finding: &Finding) -> Option<String> {
    Some(match &finding.what {
        What::Shape(d) => {
            let (expected, actual) = (side(d.expected.as_ref()), side(d.actual.as_ref()));
            format!("{} {expected} became {actual}", starred(&d.step))
        }
        What::Failed(failed) => {
            let failure = &failed.failure;
            let place = failure.places.first().map(|p| format!(" at {p}")).unwrap_or_default();
            let op = failure.op.as_deref().unwrap_or(if failure.panicked {
                "a panic"
            } else {
                "an error"
            });
            format!("{op}{place}")
        }
        What::Gradient(problem) => format!("the gradient of {}", starred(&problem.parameter)),
        What::NotFinite { step, .. } => format!("{} is not finite", starred(step)),
        What::Disagree(d) => {
            let at = d.first.as_ref().map_or(&d.name, |first| &first.step);
            format!("{}: not so that {}", starred(at), rule(&d.claim))
        }
        _ => return None,
    })
}

fn side(shape: Option<&Shape>) -> String {
    match shape {
        None => "no step".into(),
        Some(Shape { axes: Some(axes), .. }) => axes.to_string(),
        Some(Shape { extents, .. }) => format!("{extents:?}"),
    }
}
