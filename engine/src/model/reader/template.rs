//! Expressions in text: `${{ }}`.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::expr::Expression;
use crate::model::NodeKind;
use crate::model::schema::Allowed;

const OPEN: &str = "${{";
const CLOSE: &str = "}}";
const INSERT: &str = "insert";

/// A part of a text.
enum Part {
    Text(String),
    Expression(Expression),
    Insert,
}

/// Reads a text that may hold expressions; text around them makes one `format(...)` call of it.
///
/// The error is the text for the author.
pub(super) fn parse(text: &Arc<str>, allowed: &'static Allowed) -> Result<NodeKind, String> {
    if !text.contains(OPEN) {
        return Ok(NodeKind::String(text.clone()));
    }
    let mut parts = split(text, allowed)?;
    if parts.len() > 1 {
        return joined(&parts, allowed);
    }
    Ok(match parts.pop() {
        Some(Part::Expression(expression)) => match expression.as_string_literal() {
            Some(literal) => NodeKind::String(Arc::from(literal)),
            None => NodeKind::Expression(expression),
        },
        Some(Part::Insert) => NodeKind::Insert,
        Some(Part::Text(_)) | None => NodeKind::String(text.clone()),
    })
}

fn split(text: &str, allowed: &'static Allowed) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        let (before, from) = rest.split_at(start);
        if !before.is_empty() {
            parts.push(Part::Text(before.to_owned()));
        }
        let body = from.get(OPEN.len()..).unwrap_or_default();
        let end = closing(body).ok_or(
            "The expression is not closed. An unescaped ${{ sequence was found, but the closing }} sequence was not \
             found.",
        )?;
        let (inner, after) = body.split_at(end);
        rest = after.get(CLOSE.len()..).unwrap_or_default();
        let part = part(inner.trim(), allowed)?;
        let is_whole = parts.is_empty() && before.is_empty() && rest.is_empty();
        if matches!(part, Part::Insert) && !is_whole {
            return Err(format!(
                "The directive '{INSERT}' is not allowed in this context. Directives are not supported for \
                 expressions that are embedded within a string. Directives are only supported when the entire value \
                 is an expression."
            ));
        }
        parts.push(part);
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

/// Where the closing braces are that are not within a string; an escaped quote is two and changes nothing.
fn closing(body: &str) -> Option<usize> {
    let mut in_string = false;
    let mut previous = b' ';
    for (at, byte) in body.bytes().enumerate() {
        if byte == b'\'' {
            in_string = !in_string;
        } else if !in_string && byte == b'}' && previous == b'}' {
            return Some(at - 1);
        }
        previous = byte;
    }
    None
}

fn part(source: &str, allowed: &'static Allowed) -> Result<Part, String> {
    if source.is_empty() {
        return Err("An expression was expected".to_owned());
    }
    if let Some(parameters) = source.strip_prefix(INSERT) {
        if parameters.is_empty() {
            return Ok(Part::Insert);
        }
        if parameters.starts_with(char::is_whitespace) {
            let count = parameters.split_whitespace().count();
            return Err(format!(
                "Exactly 0 parameter(s) were expected following the directive '{INSERT}'. Actual parameter count: \
                 {count}"
            ));
        }
    }
    let expression = Expression::parse(source, allowed.names()).map_err(|error| error.to_string())?;
    Ok(Part::Expression(expression))
}

fn joined(parts: &[Part], allowed: &'static Allowed) -> Result<NodeKind, String> {
    let mut format = String::new();
    let mut arguments = String::new();
    let mut count = 0;
    for part in parts {
        match part {
            Part::Text(text) => {
                for c in text.chars() {
                    // Quotes are doubled for the string, braces for `format`.
                    if matches!(c, '\'' | '{' | '}') {
                        format.push(c);
                    }
                    format.push(c);
                }
            }
            Part::Expression(expression) => {
                write!(format, "{{{count}}}").map_err(|error| error.to_string())?;
                arguments.push_str(", ");
                arguments.push_str(expression.source());
                count += 1;
            }
            Part::Insert => {}
        }
    }
    let source = format!("format('{format}'{arguments})");
    let expression = Expression::parse(&source, allowed.names()).map_err(|error| error.to_string())?;
    Ok(NodeKind::Expression(expression))
}
