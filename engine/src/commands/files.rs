//! The files by which a step talks to the runner: `GITHUB_ENV`, `GITHUB_OUTPUT`, `GITHUB_STATE`, `GITHUB_PATH` and
//! `GITHUB_STEP_SUMMARY`.

use std::borrow::Cow;

/// The greatest size of a command file that is read, in bytes; a greater one fails the step.
pub const FILE_LIMIT: u64 = 16 * 1024 * 1024;
/// The greatest size of a step summary, in bytes.
pub const SUMMARY_LIMIT: u64 = 1024 * 1024;

/// Why a command file is not understood. `Display` is the text that GitHub's users know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileCommandError {
    /// A line is neither `NAME=VALUE` nor `NAME<<DELIMITER`.
    #[error("Invalid format '{0}'")]
    Format(String),
    /// A line starts with `=`.
    #[error("Invalid format '{0}'. Name must not be empty")]
    EmptyName(String),
    /// `NAME<<DELIMITER` lacks the name or the delimiter.
    #[error("Invalid format '{0}'. Name must not be empty and delimiter must not be empty")]
    EmptyHeredoc(String),
    /// The file ends before the delimiter.
    #[error("Invalid value. Matching delimiter not found '{0}'")]
    DelimiterNotFound(String),
    /// The last line of the file belongs to a value and has no line end.
    #[error("Invalid value. EOF marker missing new line.")]
    MissingNewline,
}

/// Name and value, in the order of the file.
pub type Pair = (String, String);

/// Decodes a command file: UTF-8, its byte order mark dropped, broken sequences replaced.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes))
}

/// Reads the format of `GITHUB_ENV`, `GITHUB_OUTPUT` and `GITHUB_STATE`.
///
/// Lines end with a line feed only: a carriage return belongs to the value. The pairs before a mistake count, so
/// both are returned.
pub fn parse_pairs(text: &str) -> (Vec<Pair>, Option<FileCommandError>) {
    let mut pairs = Vec::new();
    let mut rest = text;
    while let Some((line, _)) = next_line(&mut rest) {
        match parse_pair(line, &mut rest) {
            Ok(None) => {}
            Ok(Some(pair)) => pairs.push(pair),
            Err(error) => return (pairs, Some(error)),
        }
    }
    (pairs, None)
}

fn parse_pair(line: &str, rest: &mut &str) -> Result<Option<Pair>, FileCommandError> {
    if line.is_empty() {
        return Ok(None);
    }
    let invalid = |error: fn(String) -> FileCommandError| Err(error(line.to_owned()));
    // Whichever comes first decides: `a=b<<c` is a plain pair, `a<<b=c` a value up to the line `b=c`.
    match (line.split_once('='), line.split_once("<<")) {
        (Some((name, value)), heredoc) if heredoc.is_none_or(|(other, _)| name.len() < other.len()) => {
            if name.is_empty() {
                return invalid(FileCommandError::EmptyName);
            }
            Ok(Some((name.to_owned(), value.to_owned())))
        }
        (_, Some((name, delimiter))) => {
            if name.is_empty() || delimiter.is_empty() {
                return invalid(FileCommandError::EmptyHeredoc);
            }
            Ok(Some((
                name.to_owned(),
                parse_heredoc(delimiter, rest)?.to_owned(),
            )))
        }
        (_, None) => invalid(FileCommandError::Format),
    }
}

fn parse_heredoc<'t>(delimiter: &str, rest: &mut &'t str) -> Result<&'t str, FileCommandError> {
    let body = *rest;
    let mut length = 0;
    loop {
        let Some((line, ended)) = next_line(rest) else {
            return Err(FileCommandError::DelimiterNotFound(delimiter.to_owned()));
        };
        if line == delimiter {
            // The line feed before the delimiter is not part of the value.
            return Ok(body
                .get(..length)
                .map_or("", |value| value.strip_suffix('\n').unwrap_or(value)));
        }
        if !ended {
            return Err(FileCommandError::MissingNewline);
        }
        length += line.len() + 1;
    }
}

/// Takes the next line, and tells whether it ends with a line feed.
fn next_line<'t>(rest: &mut &'t str) -> Option<(&'t str, bool)> {
    if rest.is_empty() {
        return None;
    }
    if let Some((line, after)) = rest.split_once('\n') {
        *rest = after;
        return Some((line, true));
    }
    Some((std::mem::take(rest), false))
}

/// Reads the format of `GITHUB_PATH`: a directory a line, empty lines skipped.
pub fn parse_paths(text: &str) -> Vec<String> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Adds a directory to those that stand before `PATH`; one that is there already moves to the end of the list.
pub fn add_path(added: &mut Vec<String>, directory: String) {
    added.retain(|other| *other != directory);
    added.push(directory);
}

/// The value of `PATH`: the added directories, the latest first, and the original value.
pub fn join_path(added: &[String], original: &str) -> String {
    let mut all: Vec<&str> = added.iter().rev().map(String::as_str).collect();
    if !original.is_empty() {
        all.push(original);
    }
    all.join(":")
}

/// The text of the error if `GITHUB_ENV` may not set this variable; the step does not fail by it.
///
/// A NUL ends a value in the environment of a process: no later step could be started with it.
pub fn refuse_env(name: &str, value: &str) -> Option<String> {
    if name.eq_ignore_ascii_case("NODE_OPTIONS") {
        return Some("Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.".to_owned());
    }
    (name.contains('\0') || value.contains('\0')).then(|| {
        let name = name.replace('\0', "\\0");
        format!("Can't store {name} using '$GITHUB_ENV' command, as it holds a NUL character.")
    })
}

/// The text of the error if a step summary of `size` bytes is too big; the step does not fail by it.
pub fn refuse_summary(size: u64) -> Option<String> {
    (size > SUMMARY_LIMIT).then(|| {
        format!(
            "$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of {}k, got {}k. For more \
             information see: https://docs.github.com/actions/using-workflows/workflow-commands-for-github-actions\
             #adding-a-markdown-summary",
            SUMMARY_LIMIT / 1024,
            size / 1024
        )
    })
}

/// The text of the first error of a command file that failed; `file` is `env`, `output`, `state` or `path`.
pub fn failure_text(file: &str) -> String {
    format!("Unable to process file command '{file}' successfully.")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(text: &str) -> String {
        let (pairs, error) = parse_pairs(text);
        let mut parts: Vec<_> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        parts.extend(error.map(|error| error.to_string()));
        parts.join(" | ")
    }

    #[test]
    fn pairs_are_read() {
        let cases = [
            ("", ""),
            ("\n\n", ""),
            ("a=1", r#"a="1""#),
            ("a=1\nb=2\na=3\n", r#"a="1" | b="2" | a="3""#),
            ("a=\n", r#"a="""#),
            (" a = 1 \n", r#" a =" 1 ""#),
            ("a=1\r\n", r#"a="1\r""#),
            ("a=x=y\n", r#"a="x=y""#),
            ("a=x<<y\n", r#"a="x<<y""#),
            ("a<<E\nE\n", r#"a="""#),
            ("a<<E\nE", r#"a="""#),
            ("a<<E\n\nE\n", r#"a="""#),
            ("a<<E\n\n\nx\n\nE\nb=1\n", r#"a="\n\nx\n" | b="1""#),
            ("a<<E\none\ntwo\nE\n", r#"a="one\ntwo""#),
            ("a<<E=F\none\nE=F\n", r#"a="one""#),
            ("a<<E\n E\nE \nE\n", r#"a=" E\nE ""#),
            ("a<<E\r\nx\r\nE\r\n", r#"a="x\r""#),
            ("a<<<E\nx\n<E\n", r#"a="x""#),
            ("ok=1\nbad\nlater=1\n", r#"ok="1" | Invalid format 'bad'"#),
            ("=1\n", "Invalid format '=1'. Name must not be empty"),
            (
                "<<E\nE\n",
                "Invalid format '<<E'. Name must not be empty and delimiter must not be empty",
            ),
            (
                "a<<\n\n",
                "Invalid format 'a<<'. Name must not be empty and delimiter must not be empty",
            ),
            ("a<<E\nx\n", "Invalid value. Matching delimiter not found 'E'"),
            ("a<<E\nx", "Invalid value. EOF marker missing new line."),
            ("a<<E", "Invalid value. Matching delimiter not found 'E'"),
        ];
        for (text, expected) in cases {
            assert_eq!(show(text), expected, "{text:?}");
        }
    }

    #[test]
    fn bytes_are_decoded() {
        assert_eq!(decode(b"\xEF\xBB\xBFa=1"), "a=1");
        assert_eq!(decode(b"a=\xFF"), "a=\u{FFFD}");
    }

    #[test]
    fn later_directories_come_first() {
        let mut added = Vec::new();
        for directory in parse_paths("/a\n\n/b\r\n/a\n/c d") {
            add_path(&mut added, directory);
        }
        assert_eq!(join_path(&added, "/usr/bin:/bin"), "/c d:/a:/b:/usr/bin:/bin");
        assert_eq!(join_path(&added, ""), "/c d:/a:/b");
    }

    #[test]
    fn what_is_refused_has_its_text() {
        assert!(refuse_env("node_options", "").is_some());
        assert!(refuse_env("NODE_OPTION", "x").is_none());
        let text = "Can't store A using '$GITHUB_ENV' command, as it holds a NUL character.";
        assert_eq!(refuse_env("A", "b\0c").as_deref(), Some(text));
        assert!(refuse_summary(SUMMARY_LIMIT).is_none());
        let text = refuse_summary(1100 * 1024).unwrap();
        assert!(text.starts_with(
            "$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k, got 1100k."
        ));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "([a-c=<\\n\\r]|<<){0,30}") {
            parse_pairs(&text);
        }

        #[test]
        fn heredocs_keep_their_values(value in "[a-z=<\\r\\n ]{0,40}") {
            let (pairs, error) = parse_pairs(&format!("name<<DELIMITER\n{value}\nDELIMITER\n"));
            prop_assert_eq!(error, None);
            prop_assert_eq!(pairs, [("name".to_owned(), value)]);
        }
    }
}
