//! The text of `toJSON`: two blanks of indentation, numbers in GitHub's form, no escapes that HTML would need.

use std::borrow::Cow;

use super::super::memory::{MemoryExceeded, TextBuilder};
use super::super::number::number_text;
use super::super::{Array, Object, Value};

/// Writes a value; see [`write_bounded`].
pub(in super::super) fn write(value: &Value) -> String {
    let mut out = TextBuilder::new(usize::MAX);
    match write_bounded(value, &mut out) {
        Ok(()) | Err(MemoryExceeded) => out.finish(),
    }
}

/// A list or a mapping that is being written, with the index of its next item.
enum Open<'a> {
    Array(&'a Array, usize),
    Object(&'a Object, usize),
}

impl<'a> Open<'a> {
    fn next(&mut self) -> Option<(Option<&'a str>, &'a Value)> {
        match self {
            Self::Array(array, next) => {
                *next += 1;
                array.get(*next - 1).map(|item| (None, item))
            }
            Self::Object(object, next) => {
                *next += 1;
                object.entry_at(*next - 1).map(|(key, value)| (Some(key), value))
            }
        }
    }

    fn is_at_first(&self) -> bool {
        matches!(self, Self::Array(_, 1) | Self::Object(_, 1))
    }

    fn end(&self) -> &'static str {
        match self {
            Self::Array(..) => "]",
            Self::Object(..) => "}",
        }
    }
}

/// Writes a value to `out`, with a stack of its own so that deep values need no deep recursion.
///
/// # Errors
/// Fails when the text outgrows the limit of `out`.
pub(in super::super) fn write_bounded(value: &Value, out: &mut TextBuilder) -> Result<(), MemoryExceeded> {
    let mut stack: Vec<Open<'_>> = Vec::new();
    stack.extend(write_start(value, out)?);
    while let Some(open) = stack.last_mut() {
        let Some((key, value)) = open.next() else {
            let end = open.end();
            stack.pop();
            indent(stack.len(), out)?;
            out.push(end)?;
            continue;
        };
        if !open.is_at_first() {
            out.push(",")?;
        }
        indent(stack.len(), out)?;
        if let Some(key) = key {
            write_text(key, out)?;
            out.push(": ")?;
        }
        stack.extend(write_start(value, out)?);
    }
    Ok(())
}

/// Writes a primitive or an empty composite whole; of another composite only the bracket, and returns it.
fn write_start<'a>(value: &'a Value, out: &mut TextBuilder) -> Result<Option<Open<'a>>, MemoryExceeded> {
    match value {
        Value::Null => out.push("null")?,
        Value::Bool(true) => out.push("true")?,
        Value::Bool(false) => out.push("false")?,
        Value::Number(number) => out.push(&number_text(*number))?,
        Value::String(text) => write_text(text, out)?,
        Value::Array(array) if array.is_empty() => out.push("[]")?,
        Value::Object(object) if object.is_empty() => out.push("{}")?,
        Value::Array(array) => {
            out.push("[")?;
            return Ok(Some(Open::Array(array, 0)));
        }
        Value::Object(object) => {
            out.push("{")?;
            return Ok(Some(Open::Object(object, 0)));
        }
    }
    Ok(None)
}

fn indent(depth: usize, out: &mut TextBuilder) -> Result<(), MemoryExceeded> {
    out.push("\n")?;
    (0..depth).try_for_each(|_| out.push("  "))
}

fn write_text(text: &str, out: &mut TextBuilder) -> Result<(), MemoryExceeded> {
    out.push("\"")?;
    let mut plain_from = 0;
    for (at, c) in text.char_indices() {
        if let Some(escape) = escape(c) {
            out.push(&text[plain_from..at])?;
            out.push(&escape)?;
            plain_from = at + c.len_utf8();
        }
    }
    out.push(&text[plain_from..])?;
    out.push("\"")
}

fn escape(c: char) -> Option<Cow<'static, str>> {
    Some(Cow::Borrowed(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{c}' => "\\f",
        '\r' => "\\r",
        '\0'..='\u{1f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            return Some(Cow::Owned(format!("\\u{:04x}", u32::from(c))));
        }
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_sparingly() {
        let value = Value::from("\"\\/<>&'\u{1}\u{7f}\u{85}\u{2028}é😀\r\n");
        assert_eq!(
            value.to_json(),
            "\"\\\"\\\\/<>&'\\u0001\u{7f}\\u0085\\u2028é😀\\r\\n\""
        );
    }

    #[test]
    fn the_limit_holds() {
        let mut out = TextBuilder::new(10);
        assert_eq!(
            write_bounded(&Value::from("123456789"), &mut out),
            Err(MemoryExceeded)
        );
    }

    #[test]
    fn deep_values_need_no_deep_stack() {
        let mut value = Value::Null;
        for _ in 0..1000 {
            value = Value::array(vec![value]);
        }
        assert!(value.to_json().ends_with(']'));
    }
}
