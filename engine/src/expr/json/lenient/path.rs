//! The path of a value, as messages show it.

use std::fmt;

use super::Open;

/// The path of the value that was read last in these lists and mappings, such as `a.b[0]['c d']`.
pub(super) struct Path<'a>(pub(super) &'a [Open]);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, open) in self.0.iter().enumerate() {
            match open {
                Open::Array { started, .. } => write!(f, "[{}]", started.saturating_sub(1))?,
                Open::Object { key, .. } => write_key(f, key.as_deref().unwrap_or_default(), depth == 0)?,
            }
        }
        Ok(())
    }
}

fn write_key(f: &mut fmt::Formatter<'_>, key: &str, is_first: bool) -> fmt::Result {
    const SPECIAL: &[char] = &[
        '.', ' ', '\'', '/', '"', '[', ']', '(', ')', '\t', '\n', '\r', '\u{c}', '\u{8}', '\\', '\u{85}',
        '\u{2028}', '\u{2029}',
    ];
    if key.contains(SPECIAL) {
        return write!(f, "['{}']", key.replace('\\', "\\\\").replace('\'', "\\'"));
    }
    let dot = if is_first { "" } else { "." };
    write!(f, "{dot}{key}")
}
