//! The matchers at work on the lines of one step.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memchr;
use regex::Captures;

use super::Matchers;
use super::config::{MESSAGE, Matcher, PROPERTIES, Pattern};
use crate::commands::annotations::{Annotation, Level, relative_to};

/// Longer lines are not matched: no compiler writes them, and they would cost time.
const LINE_LIMIT: usize = 64 * 1024;

/// The state of each active matcher within one step.
#[derive(Debug, Default)]
pub struct Running {
    machines: Vec<Machine>,
}

/// A line that a matcher recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match<'l> {
    /// What it means.
    pub annotation: Annotation,
    /// The line without colours; the log shows it in place of the line.
    pub line: Cow<'l, str>,
}

#[derive(Debug)]
struct Machine {
    matcher: Arc<Matcher>,
    /// What the patterns before the last have captured so far, by pattern.
    partial: Vec<Option<Captured>>,
}

/// The texts of the groups, in the order of [`PROPERTIES`].
type Captured = [Option<String>; PROPERTIES.len()];

impl Running {
    /// Follows a change of the job's matchers. The state of matchers that stay is kept.
    pub fn update(&mut self, matchers: &Matchers) {
        let mut old = std::mem::take(&mut self.machines);
        self.machines = matchers
            .active
            .iter()
            .map(|matcher| {
                let known = old
                    .iter()
                    .position(|machine| Arc::ptr_eq(&machine.matcher, matcher));
                known.map_or_else(|| Machine::new(matcher.clone()), |index| old.swap_remove(index))
            })
            .collect();
    }

    /// Tries the matchers, the newest first. The first that recognises the line resets the others.
    pub fn on_line<'l>(&mut self, line: &'l str, workspaces: &[String]) -> Option<Match<'l>> {
        if self.machines.is_empty() || line.len() > LINE_LIMIT {
            return None;
        }
        let line = strip_colors(line);
        for index in 0..self.machines.len() {
            let Some(captured) = self
                .machines
                .get_mut(index)
                .and_then(|machine| machine.on_line(&line))
            else {
                continue;
            };
            for (_, other) in self
                .machines
                .iter_mut()
                .enumerate()
                .filter(|(other, _)| *other != index)
            {
                other.reset();
            }
            let matcher = self.machines.get(index).map(|machine| &machine.matcher)?;
            if let Some(annotation) = annotate(matcher, &captured, workspaces) {
                return Some(Match { annotation, line });
            }
        }
        None
    }
}

impl Machine {
    fn new(matcher: Arc<Matcher>) -> Self {
        let partial = vec![None; matcher.patterns.len().saturating_sub(1)];
        Self { matcher, partial }
    }

    fn reset(&mut self) {
        self.partial.fill(None);
    }

    /// Goes through the patterns from the last to the first, so that a line takes part in one pattern only.
    fn on_line(&mut self, line: &str) -> Option<Captured> {
        let matcher = self.matcher.clone();
        let (last, leading) = matcher.patterns.split_last()?;
        if leading.is_empty() {
            return last
                .regex
                .captures(line)
                .map(|groups| capture(last, &groups, None));
        }
        if let Some(before) = self.partial.last_mut().and_then(Option::take)
            && let Some(groups) = last.regex.captures(line)
        {
            let found = capture(last, &groups, Some(&before));
            self.reset();
            if last.repeats
                && let Some(slot) = self.partial.last_mut()
            {
                *slot = Some(before);
            }
            return Some(found);
        }
        for (index, pattern) in leading.iter().enumerate().rev() {
            let before = index
                .checked_sub(1)
                .and_then(|previous| self.partial.get(previous)?.as_ref());
            let groups = if index == 0 || before.is_some() {
                pattern.regex.captures(line)
            } else {
                None
            };
            let found = groups.map(|groups| capture(pattern, &groups, before));
            if let Some(slot) = self.partial.get_mut(index) {
                *slot = found;
            }
        }
        None
    }
}

/// What earlier patterns have captured stays; each property is set by one pattern only.
fn capture(pattern: &Pattern, groups: &Captures<'_>, before: Option<&Captured>) -> Captured {
    let mut captured = before.cloned().unwrap_or_default();
    for (slot, group) in captured.iter_mut().zip(pattern.groups) {
        if let (None, Some(group)) = (&slot, group) {
            *slot = Some(groups.get(group).map_or("", |text| text.as_str()).to_owned());
        }
    }
    captured
}

fn annotate(matcher: &Matcher, captured: &Captured, workspaces: &[String]) -> Option<Annotation> {
    let [file, line, column, severity, code, message, from_path] = captured;
    debug_assert_eq!(PROPERTIES.get(MESSAGE), Some(&"message"));
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let severity = severity
        .as_deref()
        .filter(|text| !text.is_empty())
        .unwrap_or(&matcher.severity);
    let level = match severity.to_ascii_lowercase().as_str() {
        "" | "error" => Level::Error,
        "warning" => Level::Warning,
        "notice" => Level::Notice,
        _ => return None,
    };
    let mut annotation = Annotation::new(level, &given(message)?);
    annotation.line = line.as_ref().and_then(|text| text.parse().ok());
    annotation.column = column.as_ref().and_then(|text| text.parse().ok());
    annotation
        .data
        .extend(given(code).map(|code| ("code".to_owned(), code.trim().to_owned())));
    let from_path = given(from_path).unwrap_or_else(|| matcher.from_path.clone());
    annotation.file = given(file).and_then(|file| locate(&file, &from_path, workspaces));
    Some(annotation)
}

/// The path of `file` relative to the workspace, or nothing if it lies elsewhere.
///
/// A relative file is taken from the directory of `from_path` (a project file), and that from the workspace.
fn locate(file: &str, from_path: &str, workspaces: &[String]) -> Option<String> {
    let directory = from_path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let alone = file.starts_with('/') || directory.is_empty();
    let joined = if alone {
        file.to_owned()
    } else {
        format!("{directory}/{file}")
    };
    let inside = relative_to(&joined, workspaces);
    if inside.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in inside.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Removes the escape sequences `ESC [ ... m` (and other sequences of digits and semicolons).
fn strip_colors(line: &str) -> Cow<'_, str> {
    if memchr(0x1B, line.as_bytes()).is_none() {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1B}[") {
        out.push_str(before);
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = after.strip_prefix(['m', 'K']).unwrap_or(after);
    }
    out.push_str(rest);
    Cow::Owned(out)
}
