//! The page.
use super::record::Run;

/// The whole page.
pub fn text(_run: &Run) -> String {
    String::new()
}
