//! What differs from one machine or edit to the next, taken out of a text.

/// Line numbers of sources, the folder of the repository, and magnitudes.
pub fn filtered(text: &str) -> String {
    let text = text.replace(concat!(env!("CARGO_MANIFEST_DIR"), "/"), "");
    let text = without(&text, ".rs:", "LINE", |c| c.is_ascii_digit());
    without(&text, "max|b| = ", "MAGNITUDE", |c| c.is_ascii_digit() || ".e-".contains(c))
}

/// With `put` in place of what stands behind each `mark`.
fn without(text: &str, mark: &str, put: &str, belongs: impl Fn(char) -> bool) -> String {
    let mut parts = text.split(mark);
    let mut filtered = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(&belongs);
        let put = if rest.len() < part.len() { put } else { "" };
        filtered.extend([mark, put, rest]);
    }
    filtered
}
