//! One line of output as a command: `::name k=v,k2=v2::data` or `##[name k=v;k2=v2]data`.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};

/// A command that the runner knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// `set-output`
    SetOutput,
    /// `save-state`
    SaveState,
    /// `set-env`
    SetEnv,
    /// `add-path`
    AddPath,
    /// `add-mask`
    AddMask,
    /// `add-matcher`
    AddMatcher,
    /// `remove-matcher`
    RemoveMatcher,
    /// `debug`
    Debug,
    /// `notice`
    Notice,
    /// `warning`
    Warning,
    /// `error`
    Error,
    /// `group`
    Group,
    /// `endgroup`
    EndGroup,
    /// `echo`
    Echo,
    /// `stop-commands`
    StopCommands,
    /// The token that a former `stop-commands` named.
    Resume,
}

const NAMES: [(&str, Name); 15] = [
    ("set-output", Name::SetOutput),
    ("save-state", Name::SaveState),
    ("set-env", Name::SetEnv),
    ("add-path", Name::AddPath),
    ("add-mask", Name::AddMask),
    ("add-matcher", Name::AddMatcher),
    ("remove-matcher", Name::RemoveMatcher),
    ("debug", Name::Debug),
    ("notice", Name::Notice),
    ("warning", Name::Warning),
    ("error", Name::Error),
    ("group", Name::Group),
    ("endgroup", Name::EndGroup),
    ("echo", Name::Echo),
    ("stop-commands", Name::StopCommands),
];

impl Name {
    /// The command of this name, compared ignoring case.
    pub fn from_text(text: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text))
            .map(|&(_, kind)| kind)
    }

    /// The name as the documentation spells it; empty for a resume token.
    pub fn as_str(self) -> &'static str {
        NAMES
            .iter()
            .find(|&&(_, kind)| kind == self)
            .map_or("", |&(name, _)| name)
    }
}

/// A command with its properties and data, unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command<'l> {
    /// Which command it is.
    pub name: Name,
    /// Properties in the order of the line; of two with one name the later counts.
    pub properties: Vec<(&'l str, Cow<'l, str>)>,
    /// What stands behind the command.
    pub data: Cow<'l, str>,
}

impl Command<'_> {
    /// The value of a property, its name compared ignoring case.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.properties
            .iter()
            .rev()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }
}

/// The escapes of each place. `%25` comes last in every list, so that `%250A` yields `%0A` and not a newline;
/// as no other replacement yields a `%`, one pass from the left gives the same as one replacement after the other.
const DATA: &[(&[u8; 3], char)] = &[(b"%0D", '\r'), (b"%0A", '\n'), (b"%25", '%')];
const PROPERTY: &[(&[u8; 3], char)] = &[
    (b"%0D", '\r'),
    (b"%0A", '\n'),
    (b"%3A", ':'),
    (b"%2C", ','),
    (b"%25", '%'),
];
const BRACKET: &[(&[u8; 3], char)] = &[
    (b"%3B", ';'),
    (b"%0D", '\r'),
    (b"%0A", '\n'),
    (b"%5D", ']'),
    (b"%25", '%'),
];

/// Reads a line without its line end as a command.
///
/// `resume` is the token that ends a `stop-commands`, if one is in force. Only registered names make a command: any
/// other `::word::` line is ordinary output. Lines that cannot be commands are refused without an allocation.
pub fn parse<'l>(line: &'l str, resume: Option<&str>) -> Option<Command<'l>> {
    let name_of = |text: &str| match resume {
        Some(token) if token.to_lowercase() == text.to_lowercase() => Some(Name::Resume),
        _ => Name::from_text(text),
    };
    // A carriage return before the line feed belongs to the line end.
    let line = line.strip_suffix('\r').unwrap_or(line);
    parse_colons(line, name_of).or_else(|| parse_bracket(line, name_of))
}

/// Tells whether any line of a text may be a command; most output can be passed on without a look at its lines.
pub fn may_hold_command(text: &str) -> bool {
    memmem::find(text.as_bytes(), b"::").is_some() || memmem::find(text.as_bytes(), b"##[").is_some()
}

fn parse_colons(line: &str, name_of: impl Fn(&str) -> Option<Name>) -> Option<Command<'_>> {
    let (head, data) = line.trim_start().strip_prefix("::")?.split_once("::")?;
    let (name, properties) = split_name(head);
    let name = name_of(name)?;
    let properties = properties.trim();
    Some(Command {
        name,
        properties: split_properties(properties, ',', PROPERTY),
        data: unescape(data, DATA),
    })
}

fn parse_bracket(line: &str, name_of: impl Fn(&str) -> Option<Name>) -> Option<Command<'_>> {
    // Few lines hold a `#`; looking for that one byte first costs less than a search for the whole prefix.
    let bytes = line.as_bytes();
    let start = memchr_iter(b'#', bytes)
        .find(|&at| bytes.get(at..).is_some_and(|rest| rest.starts_with(b"##[")))?
        + 3;
    let (head, data) = line.get(start..)?.split_once(']')?;
    let (name, properties) = split_name(head);
    let name = name_of(name)?;
    Some(Command {
        name,
        properties: split_properties(properties, ';', BRACKET),
        data: unescape(data, BRACKET),
    })
}

fn split_name(head: &str) -> (&str, &str) {
    head.split_once(' ').unwrap_or((head, ""))
}

fn split_properties<'l>(
    text: &'l str,
    separator: char,
    escapes: &[(&[u8; 3], char)],
) -> Vec<(&'l str, Cow<'l, str>)> {
    text.split(separator)
        .filter_map(|pair| pair.split_once('='))
        .filter(|(key, value)| !key.is_empty() && !value.is_empty())
        .map(|(key, value)| (key, unescape(value, escapes)))
        .collect()
}

fn unescape<'l>(text: &'l str, escapes: &[(&[u8; 3], char)]) -> Cow<'l, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(found) = memchr(b'%', text.as_bytes().get(from..).unwrap_or_default()) {
        let at = from + found;
        let token = text.as_bytes().get(at..at + 3).unwrap_or_default();
        if let Some(&(_, char)) = escapes.iter().find(|(escape, _)| *escape == token) {
            out.push_str(text.get(copied..at).unwrap_or_default());
            out.push(char);
            copied = at + 3;
            from = copied;
        } else {
            from = at + 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Shows a command as `name{k=v;k=v}data`, with line ends visible; `-` for a line that is none.
    fn show(line: &str) -> String {
        let Some(command) = parse(line, Some("Tok-EN")) else {
            return "-".into();
        };
        let name = match command.name {
            Name::Resume => "resume",
            name => name.as_str(),
        };
        let properties: Vec<_> = command
            .properties
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        format!("{name}{{{}}}{}", properties.join(";"), command.data)
            .replace('\n', "\\n")
            .replace('\r', "\\r")
    }

    #[test]
    fn lines_are_read_as_commands() {
        let cases = [
            ("", "-"),
            ("plain", "-"),
            ("::", "-"),
            ("::::", "-"),
            ("::set-output name=a", "-"),
            ("::set-output name=a::b", "set-output{name=a}b"),
            (" \t::set-output name=a::b", "set-output{name=a}b"),
            ("x::set-output name=a::b", "-"),
            ("::unknown::b", "-"),
            ("::SET-Output name=a::b::c", "set-output{name=a}b::c"),
            ("::endgroup::", "endgroup{}"),
            ("::endgroup::\r", "endgroup{}"),
            ("::error file=a=b,,line=3,=x,y=,z::m", "error{file=a=b;line=3}m"),
            ("::error  file=a ::m", "error{file=a}m"),
            (
                "::error title=a%3Ab%2Cc%0A%0D%253A%3a::m",
                "error{title=a:b,c\\n\\r%3A%3a}m",
            ),
            (
                "::debug::50%25 %250A %0A%0D %3A %0a %",
                "debug{}50% %0A \\n\\r %3A %0a %",
            ),
            ("pre ##[error file=a;line=2]m", "error{file=a;line=2}m"),
            (
                "##[error file=a%3Bb%5D%25]m%3B%5D%0A%3A",
                "error{file=a;b]%}m;]\\n%3A",
            ),
            ("##[error file=a", "-"),
            ("##[section]x", "-"),
            ("##[x] ##[error]m", "-"),
            ("::x::##[warning]m", "warning{}m"),
            ("::tok-en::", "resume{}"),
            ("##[TOK-EN]", "resume{}"),
            ("::error::ünï 日本", "error{}ünï 日本"),
        ];
        for (line, expected) in cases {
            assert_eq!(show(line), expected, "{line}");
        }
    }

    #[test]
    fn of_two_properties_with_one_name_the_later_counts() {
        let command = parse("::error file=a,FILE=b::m", None).unwrap();
        assert_eq!(command.property("file"), Some("b"));
        assert_eq!(command.property("line"), None);
    }

    proptest! {
        #[test]
        fn any_line_is_read_without_panic(line in "(::|##\\[)?(error|add-mask)?[ =,;:%0-9A-F\\]]{0,20}.{0,20}") {
            parse(&line, Some("::"));
        }

        #[test]
        fn data_survives_escaping(data in ".{0,40}") {
            let escaped = data.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
            let line = format!("::debug::{escaped}");
            prop_assert_eq!(parse(&line, None).unwrap().data, data);
        }
    }
}
