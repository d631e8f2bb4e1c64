//! Names in a snapshot: bare where that is safe, quoted where it is not.

use std::fmt::Write;

/// The name as it stands in the text.
pub(super) fn quoted(name: &str) -> String {
    if !name.is_empty() && name.chars().all(is_bare) {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            // Whatever a terminal, an editor or git may change or hide is spelled out.
            c if c.is_control() || (c.is_whitespace() && c != ' ') || is_invisible(c) => {
                let _ = write!(text, "\\u{{{:x}}}", u32::from(c));
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

/// Reads a name off the start of `text`; what is left of it, or what was expected.
pub(super) fn read(text: &str) -> Result<(String, &str), String> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find(|c| !is_bare(c)).unwrap_or(text.len());
        let (name, rest) = text.split_at(end);
        let missing = || "a name (in quotes if it has other than letters, digits and `_.*-/:`)";
        return if name.is_empty() { Err(missing().into()) } else { Ok((name.into(), rest)) };
    };
    let mut name = String::new();
    loop {
        let mut chars = rest.chars();
        match chars.next() {
            None => return Err("a closing `\"`".into()),
            Some('"') => return Ok((name, chars.as_str())),
            Some('\\') => {
                let (c, after) =
                    escaped(chars.as_str()).ok_or("an escape: `\\\"`, `\\\\`, `\\n`, `\\u{…}`")?;
                name.push(c);
                rest = after;
            }
            Some(c) => {
                name.push(c);
                rest = chars.as_str();
            }
        }
    }
}

fn escaped(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    match chars.next()? {
        c @ ('"' | '\\') => Some((c, chars.as_str())),
        'n' => Some(('\n', chars.as_str())),
        'u' => {
            let (digits, rest) = chars.as_str().strip_prefix('{')?.split_once('}')?;
            Some((char::from_u32(u32::from_str_radix(digits, 16).ok()?)?, rest))
        }
        _ => None,
    }
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '*' | '-' | '/' | ':')
}

/// Zero-width and direction marks: two names that look alike must not read alike.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
