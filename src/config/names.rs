//! The names of keys: as paths, as environment variables, and those that were probably meant.

use super::root;
use super::shape::{Entry, Key, Shape};

/// What the names of the variables begin with that override keys.
pub const PREFIX: &str = "GANTRY_";

/// A key of the table with its path; a name of the user's own is `<name>` there.
#[derive(Debug, Clone)]
#[cfg_attr(not(test), allow(dead_code, reason = "the tests hold the page to it"))]
pub struct Row {
    /// The names that lead to it.
    pub path: String,
    /// What it means.
    pub docs: &'static [&'static str],
    /// What the table says of it.
    pub key: Key,
}

/// Keys of Forgejo's runner that mean what a key of another name means here.
const ELSEWHERE: [(&str, &str); 3] = [
    ("runner.report_interval", "runner.log_report_interval"),
    ("cache.secret", "cache.external_secret"),
    (
        "container.enable_ipv6",
        "container.network_create_options.enable_ipv6",
    ),
];

/// Every key of the table, in its order.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    collect("", root(), &mut rows);
    rows
}

fn collect(prefix: &str, entries: &'static [Entry], rows: &mut Vec<Row>) {
    for entry in entries {
        let path = join(prefix, entry.name);
        match entry.shape {
            Shape::Key(key) => rows.push(Row {
                path,
                docs: entry.docs,
                key,
            }),
            Shape::Section(entries) => collect(&path, entries, rows),
            Shape::Named(entries) => collect(&join(&path, "<name>"), entries, rows),
        }
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// Finds what a path names: its names, and its row or the section that it is.
pub fn find(entries: &'static [Entry], path: &str) -> Option<(Vec<String>, Shape)> {
    let (name, rest) = path
        .split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)));
    let entry = entries.iter().find(|entry| entry.name == name)?;
    let mut names = vec![name.to_owned()];
    let (rest, entries) = match (entry.shape, rest) {
        (shape, None) => return Some((names, shape)),
        (Shape::Key(_), Some(_)) => return None,
        (Shape::Section(entries), Some(rest)) => (rest, entries),
        (Shape::Named(entries), Some(rest)) => {
            let (own, rest) = rest
                .split_once('.')
                .map_or((rest, None), |(own, rest)| (own, Some(rest)));
            names.push(own.to_owned());
            match rest {
                None => return Some((names, Shape::Section(entries))),
                Some(rest) => (rest, entries),
            }
        }
    };
    let (below, shape) = find(entries, rest)?;
    names.extend(below);
    Some((names, shape))
}

/// A name as a part of a variable's name.
pub fn upper(name: &str) -> String {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    name.chars().map(upper).collect()
}

/// The variable that overrides a key of the table.
pub fn variable_of(path: &str) -> String {
    let names = path.split('.').map(|name| match name {
        "<name>" => "<NAME>".to_owned(),
        name => upper(name),
    });
    format!("{PREFIX}{}", names.collect::<Vec<_>>().join("_"))
}

/// The name that was probably meant, among these.
pub fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let distance = |name: &&str| strsim::damerau_levenshtein(wrong, name);
    let found = names.into_iter().min_by_key(distance)?;
    (distance(&found) <= 1 + wrong.chars().count() / 3).then_some(found)
}

/// What a path that is no key was probably meant to be, as the end of a sentence.
pub fn suggestion(path: &str) -> String {
    let elsewhere = ELSEWHERE.iter().find(|(other, _)| *other == path);
    if let Some((_, ours)) = elsewhere {
        return format!("; it is called `{ours}` here");
    }
    let rows = rows();
    let (parent, name) = path.rsplit_once('.').unwrap_or(("", path));
    // A key in the right section is meant more often than one that looks alike elsewhere.
    let siblings = rows.iter().filter_map(|row| {
        let (section, name) = row.path.rsplit_once('.')?;
        (section == parent).then_some(name)
    });
    let sibling = nearest(name, siblings).map(|name| join(parent, name));
    let found =
        sibling.or_else(|| nearest(path, rows.iter().map(|row| row.path.as_str())).map(str::to_owned));
    let same_name = || {
        let ends = |row: &&Row| row.path.rsplit('.').next() == Some(name);
        let mut found = rows.iter().filter(ends);
        let first = found.next().map(|row| row.path.clone());
        first.filter(|_| found.next().is_none())
    };
    match found.or_else(same_name) {
        Some(meant) => format!("; did you mean `{meant}`?"),
        None => String::new(),
    }
}
