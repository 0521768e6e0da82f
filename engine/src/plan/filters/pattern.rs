//! The pattern language of event filters.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// The greatest size of a compiled pattern in bytes.
const COMPILED_LIMIT: usize = 1 << 20;

/// A filter pattern is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the filter pattern '{pattern}' is not valid: {reason}")]
pub struct PatternError {
    /// The pattern as it is written.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// A compiled pattern: `*`, `**`, `?`, `+`, `[]`, `\` and a leading `!`.
#[derive(Debug, Clone)]
pub struct Pattern {
    regex: Regex,
    negated: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// It is empty, a class is not closed, a range is not of letters or digits, or a quantifier follows nothing.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        let refuse = |reason| PatternError {
            pattern: text.to_owned(),
            reason,
        };
        let (negated, body) = text.strip_prefix('!').map_or((false, text), |body| (true, body));
        if body.is_empty() {
            return Err(refuse("it is empty"));
        }
        let source = translate(body).map_err(refuse)?;
        let regex = RegexBuilder::new(&source)
            .size_limit(COMPILED_LIMIT)
            .dot_matches_new_line(true)
            .build();
        Ok(Self {
            regex: regex.map_err(|_| refuse("it is too big"))?,
            negated,
        })
    }

    /// Matches a whole name, without regard to a leading `!`.
    pub fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }
}

/// The last pattern of a list that matches, and whether it includes (`true`) or excludes (`!`) the name.
pub(super) fn last_match<'p>(
    patterns: &'p [String],
    name: &str,
) -> Result<Option<(&'p str, bool)>, PatternError> {
    let mut found = None;
    for text in patterns {
        let pattern = Pattern::parse(text)?;
        if pattern.matches(name) {
            found = Some((text.as_str(), !pattern.negated));
        }
    }
    // A name that only exclusions match was never included.
    Ok(found)
}

/// The first of the names that a list includes, or with `wanted` unset, does not include.
pub(super) fn matches_any<'n>(
    patterns: &[String],
    names: impl Iterator<Item = &'n str>,
    wanted: bool,
) -> Result<Option<&'n str>, PatternError> {
    let patterns = patterns
        .iter()
        .map(|text| Pattern::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    let is_included = |name: &str| {
        let last = patterns.iter().rev().find(|pattern| pattern.matches(name));
        last.is_some_and(|pattern| !pattern.negated)
    };
    Ok(names.into_iter().find(|name| is_included(name) == wanted))
}

/// Translates to a regular expression.
fn translate(body: &str) -> Result<String, &'static str> {
    let mut out = String::from("^");
    let mut chars = body.chars().peekable();
    let mut element = None;
    let mut at_segment_start = true;
    while let Some(char) = chars.next() {
        let start = out.len();
        match char {
            // A quantifier applies to the element before it as a whole.
            '?' | '+' => {
                out.insert_str(element.ok_or("a quantifier follows nothing")?, "(?:");
                out.extend([char, ')']);
                continue;
            }
            '*' if chars.next_if_eq(&'*').is_some() => {
                // Between slashes, or at the start, `**` may stand for no directory at all.
                if at_segment_start && chars.next_if_eq(&'/').is_some() {
                    out.push_str("(?:.*/)?");
                    continue;
                }
                out.push_str(".*");
            }
            '*' => out.push_str("[^/]*"),
            '[' => out.push_str(&class(&mut chars)?),
            '\\' => push_literal(&mut out, chars.next().ok_or("it ends with a backslash")?),
            other => push_literal(&mut out, other),
        }
        element = Some(start);
        at_segment_start = char == '/';
    }
    out.push('$');
    Ok(out)
}

fn push_literal(out: &mut String, char: char) {
    out.push_str(&regex::escape(char.encode_utf8(&mut [0; 4])));
}

/// The rest of a class: characters, and ranges of letters and digits of one kind.
fn class(chars: &mut Peekable<Chars<'_>>) -> Result<String, &'static str> {
    let mut out = String::from("[");
    loop {
        let low = match chars.next().ok_or("a class is not closed")? {
            ']' if out.len() > 1 => break,
            ']' => return Err("a class is empty"),
            '\\' => chars.next().ok_or("a class is not closed")?,
            char => char,
        };
        push_literal(&mut out, low);
        let mut ahead = chars.clone();
        if ahead.next() == Some('-') && ahead.next().is_some_and(|high| high != ']') {
            chars.next();
            let high = chars.next().ok_or("a class is not closed")?;
            let of_one_kind = [
                char::is_ascii_lowercase,
                char::is_ascii_uppercase,
                char::is_ascii_digit as fn(&char) -> bool,
            ]
            .iter()
            .any(|kind| kind(&low) && kind(&high));
            if !of_one_kind || low > high {
                return Err("a range must be of a-z, A-Z or 0-9");
            }
            out.extend(['-', high]);
        }
    }
    out.push(']');
    Ok(out)
}
