//! Values as YAML writes them on one line.

use std::fmt::Write;

use serde_json::Value as Json;

use super::yaml::{self, Content};

/// A value on one line.
pub fn inline(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(_) | Json::Number(_) => value.to_string(),
        Json::String(text) => text_in(text, true),
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Json::Object(pairs) => {
            let pairs = pairs
                .iter()
                .map(|(name, value)| format!("{}: {}", text_in(name, true), inline(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A text that YAML reads as this very text, also within brackets: plain where it can be, else in quotes.
pub fn text_in(text: &str, in_flow: bool) -> String {
    if text.chars().any(|c| c.is_control() || !is_printable(c)) {
        return double_quoted(text);
    }
    if is_plain(text, in_flow) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

fn is_printable(c: char) -> bool {
    !matches!(
        c,
        '\u{feff}' | '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
    )
}

/// Tells whether a text can stand without quotes, for every reader of YAML 1.1 and 1.2.
fn is_plain(text: &str, in_flow: bool) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let safe_first = first.is_alphanumeric() || "/._~".contains(first) || first == '-' && text.len() > 1;
    let safe = |c: char| c.is_alphanumeric() || " /._~+-=@%:*".contains(c) || !in_flow && c == ',';
    if !safe_first || !text.chars().all(safe) || text.ends_with([' ', ':']) {
        return false;
    }
    if text.contains(": ") || text.contains(" #") || text.starts_with("- ") || text.starts_with("---") {
        return false;
    }
    if in_flow && text.contains(':') && !text.contains("://") && text.split(':').any(str::is_empty) {
        return false;
    }
    is_text(text)
}

/// Tells whether YAML would not take it for something else than a text.
fn is_text(text: &str) -> bool {
    let words = [
        "true", "false", "yes", "no", "on", "off", "y", "n", "null", "~", "<<", "",
    ];
    let lower = text.to_ascii_lowercase();
    let is_number = text
        .trim_start_matches(['+', '-', '.'])
        .starts_with(|c: char| c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_hexdigit() || "+-._:xob".contains(c));
    let is_special_number = [".inf", ".nan"].contains(&lower.trim_start_matches(['+', '-']));
    !words.contains(&lower.as_str()) && !is_number && !is_special_number
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || !is_printable(c) => {
                // A string takes all that is written to it.
                if write!(out, "\\u{:04x}", u32::from(c)).is_err() {
                    return out;
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A default of the table as a value.
pub fn default_json(default: &str) -> Json {
    let node = yaml::read(default).ok();
    let is_nothing = |node: &yaml::Node| matches!(node.content, Content::Scalar(..)) && node.is_null();
    node.filter(|node| !is_nothing(node))
        .map_or(Json::Null, |node| super::value::to_json(&node))
}
