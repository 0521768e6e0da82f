//! Ids and display names of legs.

use std::collections::HashSet;

use crate::expr::Value;

/// Names are cut to this many UTF-16 units, as GitHub counts them.
const MAX_NAME: usize = 100;
/// Ids of legs are cut to this many characters.
const MAX_ID: usize = 25;
const ELLIPSIS: &str = "...";

/// Cuts a display name to its greatest length.
pub(crate) fn shorten(name: &str) -> String {
    if name.encode_utf16().count() <= MAX_NAME {
        return name.to_owned();
    }
    let mut room = MAX_NAME - ELLIPSIS.len();
    let mut cut = String::new();
    for character in name.chars() {
        let Some(left) = room.checked_sub(character.len_utf16()) else {
            break;
        };
        room = left;
        cut.push(character);
    }
    cut + ELLIPSIS
}

/// The display name of a leg: the job's name, and what tells the leg from the others.
pub(super) fn display(base: &str, segments: &[String]) -> String {
    if segments.is_empty() {
        shorten(base)
    } else {
        shorten(&format!("{base} ({})", segments.join(", ")))
    }
}

/// The scalars in `value` in their order, as text; null and empty text are left out.
pub(super) fn segments(value: &Value, segments: &mut Vec<String>) {
    // A stack in place of recursion: values come from `fromJSON` and may be nested deep.
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        match &value {
            Value::Null => {}
            // Names keep the sign of a negative zero, which the text of an expression does not.
            Value::Number(number) if *number == 0.0 && number.is_sign_negative() => {
                segments.push("-0".to_owned());
            }
            Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                let text = value.to_text();
                if !text.is_empty() {
                    segments.push(text.into_owned());
                }
            }
            Value::Array(array) => open.extend(array.items().iter().rev().cloned()),
            Value::Object(object) => {
                let from = open.len();
                open.extend(object.values().cloned());
                open[from..].reverse();
            }
        }
    }
}

/// Makes ids that are unique ignoring case.
#[derive(Debug, Default)]
pub(super) struct Ids {
    taken: HashSet<String>,
}

impl Ids {
    /// Makes an id of the segments of a leg.
    pub fn make(&mut self, segments: &[String]) -> String {
        let stem = stem(segments);
        for attempt in 1_usize.. {
            let suffix = match attempt {
                1 => String::new(),
                // An id must not begin with `__`, which is reserved.
                _ if stem == "_" => attempt.to_string(),
                _ => format!("_{attempt}"),
            };
            let room = MAX_ID.saturating_sub(suffix.len()).min(stem.len());
            let id = format!("{}{suffix}", stem.get(..room).unwrap_or(&stem));
            if self.taken.insert(id.to_ascii_lowercase()) {
                return id;
            }
        }
        stem
    }
}

/// Joins the segments with `_` and replaces what is illegal in an id; the outcome is ASCII.
fn stem(segments: &[String]) -> String {
    let mut stem = String::new();
    for segment in segments {
        let illegal_first = |first: char| first.is_ascii_digit() || first == '-';
        if !stem.is_empty() || segment.starts_with(illegal_first) {
            stem.push('_');
        }
        for character in segment.chars() {
            if character.is_ascii_alphanumeric() || character == '_' || character == '-' {
                stem.push(character);
            } else {
                // GitHub counts UTF-16 units, so that a character beyond the first plane gives two.
                stem.extend(std::iter::repeat_n('_', character.len_utf16()));
            }
        }
    }
    if stem.is_empty() {
        return "job".to_owned();
    }
    if stem.starts_with("__") {
        return format!("_{}", stem.trim_start_matches('_'));
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(segments: &[&str]) -> String {
        let segments: Vec<String> = segments.iter().map(|&segment| segment.to_owned()).collect();
        Ids::default().make(&segments)
    }

    #[test]
    fn ids_are_sanitised() {
        for (segments, expected) in [
            (&["a", "b"][..], "a_b"),
            (&["1"], "_1"),
            (&["-x"], "_-x"),
            (&[], "job"),
            (&["ä"], "_"),
            (&["äö"], "_"),
            (&["__x"], "_x"),
            (&["x y/z.w"], "x_y_z_w"),
            (&["😀a"], "_a"),
            (&["a😀"], "a__"),
            (&["abcdefghijklmnopqrstuvwxyz"], "abcdefghijklmnopqrstuvwxy"),
        ] {
            assert_eq!(id(segments), expected, "{segments:?}");
        }
    }

    #[test]
    fn equal_ids_are_numbered_within_the_limit() {
        let mut ids = Ids::default();
        let long = ["abcdefghijklmnopqrstuvwxyz".to_owned()];
        assert_eq!(ids.make(&long), "abcdefghijklmnopqrstuvwxy");
        assert_eq!(ids.make(&long), "abcdefghijklmnopqrstuvw_2");
        assert_eq!(ids.make(&["A".to_owned()]), "A");
        assert_eq!(ids.make(&["a".to_owned()]), "a_2");
        assert_eq!(ids.make(&["ä".to_owned()]), "_");
        assert_eq!(ids.make(&["ö".to_owned()]), "_2");
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shorten(&"x".repeat(100)), "x".repeat(100));
        assert_eq!(shorten(&"x".repeat(101)), format!("{}...", "x".repeat(97)));
        assert_eq!(shorten(&"😀".repeat(51)), format!("{}...", "😀".repeat(48)));
    }
}
