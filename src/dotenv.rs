//! Files in .env format: `--env-file`, `--input-file` and `runner.env_file`.
//!
//! One `NAME=VALUE` per entry; `export` in front of it, blank lines and `#` comments are skipped.
//! A value in single quotes is literal, one in double quotes knows `\n`, `\r`, `\t`, `\"`, `\\` and `\$`, and both may
//! span lines.
//! `$NAME` and `${NAME}` outside of single quotes stand for an earlier entry of the same file.

use std::path::Path;

use anyhow::Context;

/// Why a text is not in .env format.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: &'static str,
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Mistake {}

/// Reads a file in .env format; later entries of the same name come later in the list.
///
/// # Errors
/// The file cannot be read or is not in .env format.
pub fn read(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let subject = || format!("cannot use {}", path.display());
    let text = std::fs::read_to_string(path).with_context(subject)?;
    parse(&text).with_context(subject)
}

/// Reads a text in .env format.
///
/// # Errors
/// The first mistake, with its line.
pub fn parse(text: &str) -> Result<Vec<(String, String)>, Mistake> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut line = 1;
    loop {
        let trimmed = rest.trim_start();
        line += newlines(&rest[..rest.len() - trimmed.len()]);
        rest = trimmed;
        if rest.is_empty() {
            return Ok(entries);
        }
        if rest.starts_with('#') {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let (name, after) = name(rest).map_err(|message| Mistake { line, message })?;
        let (value, after) = value(after, &entries).map_err(|message| Mistake { line, message })?;
        entries.push((name.to_owned(), value));
        line += newlines(&rest[..rest.len() - after.len()]);
        rest = after;
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Splits off the name and its `=`.
fn name(text: &str) -> Result<(&str, &str), &'static str> {
    let exported = text
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']));
    let text = exported.unwrap_or(text).trim_start_matches([' ', '\t']);
    let end = text.find(['=', '\n']).filter(|end| text[*end..].starts_with('='));
    let end = end.ok_or("expected NAME=VALUE")?;
    let name = text[..end].trim_end();
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err("the text before `=` is not a name");
    }
    Ok((name, &text[end + 1..]))
}

/// Splits off the value; what is left begins at the end of its line.
fn value<'a>(text: &'a str, earlier: &[(String, String)]) -> Result<(String, &'a str), &'static str> {
    let text = text.trim_start_matches([' ', '\t']);
    let (value, rest) = if let Some(quoted) = text.strip_prefix('\'') {
        let end = quoted.find('\'').ok_or("the quote is not closed")?;
        (quoted[..end].to_owned(), &quoted[end + 1..])
    } else if let Some(quoted) = text.strip_prefix('"') {
        double_quoted(quoted, earlier)?
    } else {
        let end = text.find('\n').unwrap_or(text.len());
        let comment = text[..end].find(" #").unwrap_or(end);
        let comment = if text.starts_with('#') { 0 } else { comment };
        return Ok((expand(text[..comment].trim_end(), earlier), &text[end..]));
    };
    let end = rest.find('\n').unwrap_or(rest.len());
    let tail = rest[..end].trim();
    if !tail.is_empty() && !tail.starts_with('#') {
        return Err("unexpected text after the closing quote");
    }
    Ok((value, &rest[end..]))
}

fn double_quoted<'a>(text: &'a str, earlier: &[(String, String)]) -> Result<(String, &'a str), &'static str> {
    let mut value = String::new();
    let mut plain = 0;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if c != '"' && c != '\\' {
            continue;
        }
        value.push_str(&expand(&text[plain..at], earlier));
        if c == '"' {
            return Ok((value, &text[at + 1..]));
        }
        let Some((next, escaped)) = chars.next() else {
            break;
        };
        match escaped {
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            '"' | '\\' | '$' => value.push(escaped),
            other => value.extend(['\\', other]),
        }
        plain = next + escaped.len_utf8();
    }
    Err("the quote is not closed")
}

/// Replaces `$NAME` and `${NAME}` by earlier entries; a name that is not there stands for nothing.
fn expand(text: &str, earlier: &[(String, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, tail) = braced.unwrap_or_else(|| {
            let end = after
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(after.len());
            after.split_at(end)
        });
        if name.is_empty() {
            out.push('$');
        } else if let Some((_, value)) = earlier.iter().rev().find(|(known, _)| known == name) {
            out.push_str(value);
        }
        rest = tail;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[(&str, &str)]) {
        let entries = parse(text).unwrap_or_else(|mistake| panic!("{text:?}: {mistake}"));
        let entries: Vec<_> = entries
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(entries, want, "{text:?}");
    }

    #[test]
    fn entries_are_read() {
        check("", &[]);
        check(
            "\u{feff}A=1\r\n\n# comment\n  B = two words # comment\n",
            &[("A", "1"), ("B", "two words")],
        );
        check("export A=x=y\nexported=1", &[("A", "x=y"), ("exported", "1")]);
        check("A=\nB=#nothing\nC=a#b", &[("A", ""), ("B", ""), ("C", "a#b")]);
        check(
            "A='$X \\n' # c\nB=\"a\\tb\\\"\\$X\\q\"",
            &[("A", "$X \\n"), ("B", "a\tb\"$X\\q")],
        );
        check(
            "A='one\ntwo'\nB=\"one\ntwo\"",
            &[("A", "one\ntwo"), ("B", "one\ntwo")],
        );
        check(
            "A=1\nB=$A-${A}-$C-$\nC='$A'\nD=\"<$A>\"",
            &[("A", "1"), ("B", "1-1--$"), ("C", "$A"), ("D", "<1>")],
        );
        check("LANG.x-y=grüße", &[("LANG.x-y", "grüße")]);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let cases = [
            ("A=1\nword\n", 2),
            ("=1", 1),
            ("a b=1", 1),
            ("A='x\ny\n", 1),
            ("A=\"x", 1),
            ("A='one\ntwo'\nB=\"x\" y", 3),
            ("A=\"x\\", 1),
        ];
        for (text, line) in cases {
            assert_eq!(parse(text).map_err(|mistake| mistake.line), Err(line), "{text:?}");
        }
    }
}
