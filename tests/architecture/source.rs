//! Rust source as the names it uses, which is all that the rules look at.
//!
//! Comments and texts are passed over, groups in `use` are spelled out, and `super` and `self` are resolved, so that a
//! rule sees `crate::harness::case::Case` however a file writes it.

/// A name in a file: `candle_core::Tensor`, `println`, `unsafe`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The line it stands in, from 1.
    pub line: usize,
    /// Its parts.
    pub parts: Vec<String>,
}

impl Name {
    /// Whether it is `path` or lies below it.
    pub fn is_within(&self, path: &str) -> bool {
        let mut parts = self.parts.iter();
        path.split("::").all(|part| parts.next().is_some_and(|own| own == part))
    }
}

/// The names used in `text`, which is the file at `path`, resolved to start at `crate` or at another crate.
pub fn names(path: &str, text: &str) -> Vec<Name> {
    let module = module(path);
    let mut reader = Reader { tokens: tokens(text), at: 0, found: Vec::new() };
    reader.read();
    reader.found.into_iter().map(|name| resolved(name, &module)).collect()
}

/// The module that a file below `src/` is: `src/harness/law/fit.rs` is `crate::harness::law::fit`.
pub fn module(path: &str) -> Vec<String> {
    let inside = path.strip_prefix("src/").unwrap_or(path);
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let parts = inside.split('/').filter(|part| !matches!(*part, "mod" | "lib" | "main"));
    std::iter::once("crate").chain(parts).map(str::to_owned).collect()
}

fn resolved(name: Name, module: &[String]) -> Name {
    let ups = name.parts.iter().take_while(|part| *part == "super").count();
    let parts = match name.parts.first().map(String::as_str) {
        Some("super") => {
            let parent = &module[..module.len().saturating_sub(ups).max(1)];
            [parent, &name.parts[ups..]].concat()
        }
        Some("self") if name.parts.len() > 1 => [module, &name.parts[1..]].concat(),
        _ => name.parts,
    };
    Name { line: name.line, parts }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Colons,
    Mark(char),
}

struct Reader {
    tokens: Vec<(usize, Token)>,
    at: usize,
    found: Vec<Name>,
}

impl Reader {
    fn read(&mut self) {
        while let Some((line, token)) = self.next() {
            match token {
                Token::Word(word) if word == "use" => self.tree(&[]),
                Token::Word(word) => self.path(line, word),
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Option<(usize, Token)> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(_, token)| token)
    }

    fn path(&mut self, line: usize, first: String) {
        let mut parts = vec![first];
        while self.peek() == Some(&Token::Colons) {
            let Some((_, Token::Word(word))) = self.tokens.get(self.at + 1).cloned() else { break };
            parts.push(word);
            self.at += 2;
        }
        self.found.push(Name { line, parts });
    }

    /// One branch of a `use`, up to and without the mark that ends it.
    fn tree(&mut self, before: &[String]) {
        let mut parts = before.to_vec();
        let mut line = 0;
        while let Some((at, token)) = self.next() {
            match token {
                Token::Word(word) if word == "as" => self.at += 1,
                Token::Word(word) => (line, _) = (at, parts.push(word)),
                Token::Mark('*') => (line, _) = (at, parts.push("*".into())),
                Token::Mark('{') => {
                    while !matches!(self.peek(), Some(Token::Mark('}')) | None) {
                        self.tree(&parts);
                        if self.peek() == Some(&Token::Mark(',')) {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                Token::Mark(',' | '}' | ';') => {
                    self.at -= 1;
                    break;
                }
                Token::Colons | Token::Mark(_) => {}
            }
        }
        if parts.len() > before.len() {
            self.found.push(Name { line, parts });
        }
    }
}

/// The tokens outside comments and texts, with their lines.
fn tokens(text: &str) -> Vec<(usize, Token)> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(c) = rest.chars().next() {
        let passed = passed_over(rest);
        if passed > 0 {
            line += rest[..passed].matches('\n').count();
            rest = &rest[passed..];
            continue;
        }
        let word = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let (token, length) = if word > 0 {
            (Token::Word(rest[..word].to_owned()), word)
        } else if rest.starts_with("::") {
            (Token::Colons, 2)
        } else {
            (Token::Mark(c), c.len_utf8())
        };
        if !matches!(token, Token::Mark(c) if c.is_whitespace()) {
            found.push((line, token));
        }
        line += usize::from(c == '\n');
        rest = &rest[length..];
    }
    found
}

/// The length of the comment, text or character that `rest` starts with; 0 where it starts with none.
fn passed_over(rest: &str) -> usize {
    let until = |mark: &str, from: usize| {
        rest[from..].find(mark).map_or(rest.len(), |at| from + at + mark.len())
    };
    if rest.starts_with("//") {
        return until("\n", 0);
    }
    if rest.starts_with("/*") {
        return until("*/", 2);
    }
    if rest.starts_with('"') {
        return quoted(rest, '"');
    }
    let hashes =
        rest.strip_prefix('r').map_or(0, |raw| raw.bytes().take_while(|b| *b == b'#').count());
    if rest.starts_with('r') && rest[1 + hashes..].starts_with('"') {
        return until(&format!("\"{}", "#".repeat(hashes)), 2 + hashes);
    }
    // A quote opens a character where another closes it, and else a lifetime.
    let character = rest.starts_with("'\\") || rest.chars().nth(2) == Some('\'');
    if rest.starts_with('\'') && character { quoted(rest, '\'') } else { 0 }
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::{module, names};

    #[test]
    fn names_are_resolved_and_spelled_out() {
        let text = "use super::{case::Case, plan as p, run::*};\nuse crate::dims::{self, Dims};\n\
                    fn f<'a>(x: &'a str) { let c = '{'; self::fit::go(std::fs::read(x)); println!(\"insta::x\") }\n\
                    // serde_yaml::Value\n/* candle_core */ const R: &str = r#\"use clap::Parser; \"quoted\" \"#;\n";
        let found: Vec<String> =
            names("src/harness/law.rs", text).iter().map(|name| name.parts.join("::")).collect();
        for name in [
            "crate::harness::case::Case",
            "crate::harness::plan",
            "crate::harness::run::*",
            "crate::dims::self",
            "crate::dims::Dims",
            "crate::harness::law::fit::go",
            "std::fs::read",
            "println",
        ] {
            assert!(found.iter().any(|own| own == name), "{name} is not in {found:?}");
        }
        for absent in ["insta", "serde_yaml", "candle_core", "clap", "quoted"] {
            assert!(!found.iter().any(|own| own.contains(absent)), "{absent} is in {found:?}");
        }
    }

    #[test]
    fn a_name_has_its_line() {
        let found = names("src/a.rs", "\n\nuse b::{\n    c,\n    d::{e, f},\n};\n");
        let lines: Vec<(usize, String)> =
            found.iter().map(|name| (name.line, name.parts.join("::"))).collect();
        assert_eq!(lines, [(4, "b::c".into()), (5, "b::d::e".into()), (5, "b::d::f".into())]);
    }

    #[test]
    fn files_are_modules() {
        assert_eq!(module("src/lib.rs"), ["crate"]);
        assert_eq!(module("src/trace/mod.rs"), ["crate", "trace"]);
        assert_eq!(module("src/harness/law/fit.rs"), ["crate", "harness", "law", "fit"]);
    }
}
