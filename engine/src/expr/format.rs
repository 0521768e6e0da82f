//! Format strings: `{0}` stands for the first argument, `{{` and `}}` for braces.

/// A piece of a format string.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// The value of an argument.
    Argument {
        /// Counted from 0.
        index: usize,
        /// What follows the colon in `{0:...}`; no value accepts one that is not empty.
        specifiers: String,
    },
}

/// Why a text is no format string.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum FormatError {
    /// A brace is not closed, not opened or holds no index.
    #[error("The following format string is invalid: {0}")]
    Invalid(String),
    /// There are fewer arguments.
    #[error("The following format string references more arguments than were supplied: {0}")]
    MissingArgument(String),
}

/// Splits a format string that has `arguments` arguments.
pub(super) fn segments(format: &str, arguments: usize) -> Result<Vec<Segment<'_>>, FormatError> {
    let mut segments = Vec::new();
    let mut rest = format;
    while let Some(brace) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(brace);
        if tail.starts_with("{{") || tail.starts_with("}}") {
            segments.push(Segment::Text(&rest[..=brace]));
            rest = &tail[2..];
            continue;
        }
        let argument = tail.strip_prefix('{').and_then(argument);
        let Some((index, specifiers, tail)) = argument else {
            return Err(FormatError::Invalid(format.to_owned()));
        };
        if index >= arguments {
            return Err(FormatError::MissingArgument(format.to_owned()));
        }
        segments.push(Segment::Text(text));
        segments.push(Segment::Argument { index, specifiers });
        rest = tail;
    }
    segments.push(Segment::Text(rest));
    Ok(segments)
}

/// Reads an argument behind its opening brace: its index, its specifiers and what follows the closing brace.
fn argument(text: &str) -> Option<(usize, String, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let index: u8 = text[..end].parse().ok()?;
    let rest = &text[end..];
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((index.into(), String::new(), rest));
    }
    let mut rest = rest.strip_prefix(':')?;
    let mut specifiers = String::new();
    loop {
        let brace = rest.find('}')?;
        specifiers.push_str(&rest[..brace]);
        rest = &rest[brace + 1..];
        let Some(tail) = rest.strip_prefix('}') else {
            return Some((index.into(), specifiers, rest));
        };
        specifiers.push('}');
        rest = tail;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_escapes_are_found() {
        let argument = |index, specifiers: &str| Segment::Argument {
            index,
            specifiers: specifiers.to_owned(),
        };
        let cases = [
            (
                "a{0}b",
                vec![Segment::Text("a"), argument(0, ""), Segment::Text("b")],
            ),
            (
                "{00}",
                vec![Segment::Text(""), argument(0, ""), Segment::Text("")],
            ),
            (
                "{{}}",
                vec![Segment::Text("{"), Segment::Text("}"), Segment::Text("")],
            ),
            (
                "{0:x}}y}",
                vec![Segment::Text(""), argument(0, "x}y"), Segment::Text("")],
            ),
        ];
        for (format, want) in cases {
            assert_eq!(segments(format, 1), Ok(want), "{format}");
        }
    }

    #[test]
    fn stray_braces_are_refused() {
        for format in [
            "{", "}", "{}", "{a}", "{ 0 }", "{-1}", "{0", "0}", "{0}}", "{256}", "{0:x", "{0:x}}", "{é}",
        ] {
            assert_eq!(segments(format, 9), Err(FormatError::Invalid(format.to_owned())));
        }
        assert_eq!(
            segments("{1}", 1),
            Err(FormatError::MissingArgument("{1}".to_owned()))
        );
    }
}
