//! Annotations: notes, warnings and errors that point at a place in the code.

use super::stdout::Command;

/// The greatest length of an annotation's message in characters.
pub const MESSAGE_LIMIT: usize = 4096;
/// How many annotations of each level one step may make; the log shows all of them.
pub const LEVEL_LIMIT: usize = 10;

/// How grave an annotation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// `notice`
    Notice,
    /// `warning`
    Warning,
    /// `error`
    Error,
}

impl Level {
    /// The word that commands and log rows use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// How grave it is.
    pub level: Level,
    /// What it says, at most [`MESSAGE_LIMIT`] characters.
    pub message: String,
    /// A short title.
    pub title: Option<String>,
    /// The file, relative to the workspace if it lies there.
    pub file: Option<String>,
    /// First line, from 1.
    pub line: Option<u32>,
    /// Last line, from 1.
    pub end_line: Option<u32>,
    /// First column, from 1.
    pub column: Option<u32>,
    /// Last column, from 1.
    pub end_column: Option<u32>,
    /// Properties that have no field of their own, such as the `code` of a problem matcher.
    pub data: Vec<(String, String)>,
}

impl Annotation {
    /// Place and title as a row says them before the text: `file:line:column: title: `.
    pub(super) fn head(&self) -> String {
        let mut place: Vec<String> = self.file.iter().cloned().collect();
        if self.file.is_some() {
            let column = self.line.and(self.column);
            place.extend(self.line.iter().chain(&column).map(u32::to_string));
        }
        let parts = [Some(place.join(":")), self.title.clone()];
        let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
        parts.map(|part| part + ": ").collect()
    }

    /// An annotation without a place.
    pub fn new(level: Level, message: &str) -> Self {
        Self {
            level,
            message: message.chars().take(MESSAGE_LIMIT).collect(),
            title: None,
            file: None,
            line: None,
            end_line: None,
            column: None,
            end_column: None,
            data: Vec::new(),
        }
    }

    /// Makes an annotation of a `notice`, `warning` or `error` command.
    ///
    /// Places that contradict themselves are corrected; `note` receives a sentence about each correction.
    pub fn from_command(
        level: Level,
        command: &Command<'_>,
        workspaces: &[String],
        note: &mut dyn FnMut(String),
    ) -> Self {
        let mut annotation = Self::new(level, &command.data);
        for (key, value) in &command.properties {
            annotation.set(key, value, workspaces);
        }
        annotation.correct(note);
        annotation
    }

    fn set(&mut self, key: &str, value: &str, workspaces: &[String]) {
        match key.to_ascii_lowercase().as_str() {
            "file" => self.file = Some(relative_to(value, workspaces)),
            "title" => self.title = Some(value.to_owned()),
            "line" => self.line = number(value),
            "endline" => self.end_line = number(value),
            "col" => self.column = number(value),
            "endcolumn" => self.end_column = number(value),
            _ => self.data.push((key.to_owned(), value.to_owned())),
        }
    }

    fn correct(&mut self, note: &mut dyn FnMut(String)) {
        let level = self.level.as_str();
        let mut invalid = |what: &str| note(format!("Invalid {level} command value. {what}"));
        let has_columns = self.column.is_some() || self.end_column.is_some();
        if self.end_line.is_some() && self.line.is_none() {
            invalid("'endLine' can only be set if 'line' is provided");
            self.line = self.end_line;
        }
        if self.end_column.is_some() && self.column.is_none() {
            invalid("'endColumn' can only be set if 'col' is provided");
            self.column = self.end_column;
        }
        if has_columns && self.line.is_none() {
            invalid("'col' and 'endColumn' can only be set if 'line' value is provided.");
            (self.column, self.end_column) = (None, None);
        }
        if has_columns && self.end_line.is_some() && self.end_line != self.line {
            invalid("'col' and 'endColumn' cannot be set if 'line' and 'endLine' are different values.");
            (self.column, self.end_column) = (None, None);
        }
        if self.end_line.is_some() && self.end_line < self.line {
            invalid("'endLine' cannot be less than 'line'.");
            self.end_line = None;
        }
        if self.end_column.is_some() && self.end_column < self.column {
            invalid("'endColumn' cannot be less than 'col'.");
            self.end_column = None;
        }
    }
}

fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok()
}

/// Makes `file` relative if it lies in one of the workspaces; all of these name the same directory, such as the
/// path on the host and the path in the job's container.
pub(super) fn relative_to(file: &str, workspaces: &[String]) -> String {
    workspaces
        .iter()
        .filter_map(|root| file.strip_prefix(root.trim_end_matches('/'))?.strip_prefix('/'))
        .map(|rest| rest.trim_start_matches('/'))
        .find(|rest| !rest.is_empty())
        .unwrap_or(file)
        .to_owned()
}

/// Counts the annotations of one step.
#[derive(Debug, Clone, Default)]
pub struct Counts([usize; 3]);

impl Counts {
    /// Counts one more, and tells whether it is still within [`LEVEL_LIMIT`].
    pub fn admit(&mut self, level: Level) -> bool {
        let [notices, warnings, errors] = &mut self.0;
        let count = match level {
            Level::Notice => notices,
            Level::Warning => warnings,
            Level::Error => errors,
        };
        *count += 1;
        *count <= LEVEL_LIMIT
    }
}

#[cfg(test)]
mod tests {
    use super::super::stdout::parse;
    use super::*;

    /// Shows the place of the annotation that a line makes, as `file line-end col-end`, and the number of notes.
    fn show(properties: &str) -> String {
        let line = format!("::warning {properties}::m");
        let mut notes = 0;
        let workspaces = ["/w/repo/".to_owned(), "/github/workspace".to_owned()];
        let a = Annotation::from_command(
            Level::Warning,
            &parse(&line, None).unwrap(),
            &workspaces,
            &mut |_| notes += 1,
        );
        let n = |v: Option<u32>| v.map_or("_".into(), |v| v.to_string());
        let file = a.file.unwrap_or_else(|| "_".into());
        format!(
            "{file} {}-{} {}-{} {notes}",
            n(a.line),
            n(a.end_line),
            n(a.column),
            n(a.end_column)
        )
    }

    #[test]
    fn contradictions_are_corrected() {
        let cases = [
            ("file=a.c,line=1,endLine=2", "a.c 1-2 _-_ 0"),
            ("file=/w/repo/src/a.c", "src/a.c _-_ _-_ 0"),
            ("file=/w/repository/a.c", "/w/repository/a.c _-_ _-_ 0"),
            ("file=/github/workspace/a.c", "a.c _-_ _-_ 0"),
            ("file=/w/repo/", "/w/repo/ _-_ _-_ 0"),
            ("LINE=1,COL=2,endcolumn=3", "_ 1-_ 2-3 0"),
            ("endLine=4", "_ 4-4 _-_ 1"),
            ("line=1,endColumn=4", "_ 1-_ 4-4 1"),
            ("col=1,endColumn=2", "_ _-_ _-_ 1"),
            ("line=1,endLine=2,col=1,endColumn=2", "_ 1-2 _-_ 1"),
            ("line=1,endLine=1,col=1,endColumn=2", "_ 1-1 1-2 0"),
            ("line=5,endLine=2", "_ 5-_ _-_ 1"),
            ("line=5,col=5,endColumn=2", "_ 5-_ 5-_ 1"),
            ("line=x,col=1", "_ _-_ _-_ 1"),
            ("line=-1,endLine=99999999999", "_ _-_ _-_ 0"),
        ];
        for (properties, expected) in cases {
            assert_eq!(show(properties), expected, "{properties}");
        }
    }

    #[test]
    fn unknown_properties_are_kept_and_long_messages_cut() {
        let line = format!("::error code=E1,title=T::{}", "ü".repeat(5000));
        let a = Annotation::from_command(Level::Error, &parse(&line, None).unwrap(), &[], &mut |_| {});
        assert_eq!(a.data, [("code".to_owned(), "E1".to_owned())]);
        assert_eq!(a.title.as_deref(), Some("T"));
        assert_eq!(a.message.chars().count(), MESSAGE_LIMIT);
    }

    #[test]
    fn ten_of_each_level_are_admitted() {
        let mut counts = Counts::default();
        let admitted = (0..25).filter(|_| counts.admit(Level::Error)).count();
        assert_eq!(admitted, LEVEL_LIMIT);
        assert!(counts.admit(Level::Warning));
    }
}
