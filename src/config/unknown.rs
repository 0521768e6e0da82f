//! The names of a file, and of the environment, that are not in the table.

use super::mistake::Mistake;
use super::names;
use super::root;
use super::shape::{Entry, Shape};
use super::yaml::{Node, Place};

/// Names the keys of a file that are not in the table, each with the key that was probably meant.
pub fn keys(file: &Node) -> Vec<Mistake> {
    let mut found = Vec::new();
    collect(file, root(), "", &mut found);
    found
}

/// No section of the table lies deeper than its keys, so the recursion is bounded by the table.
fn collect(node: &Node, entries: &'static [Entry], prefix: &str, found: &mut Vec<Mistake>) {
    for entry in node.entries() {
        let name = match entry.key.text() {
            // A dot within a name is no path.
            Some(name) if !name.contains('.') => name.to_owned(),
            Some(name) => format!("'{name}'"),
            None => "''".to_owned(),
        };
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        let known = entries.iter().find(|known| known.name == name);
        match known.map(|known| known.shape) {
            Some(Shape::Key(_)) => {}
            Some(Shape::Section(entries)) => collect(&entry.value, entries, &path, found),
            Some(Shape::Named(entries)) => {
                for named in entry.value.entries() {
                    let own = named.key.text().unwrap_or_default();
                    collect(&named.value, entries, &format!("{path}.{own}"), found);
                }
            }
            None => found.push(Mistake::about(
                entry.key.place.clone(),
                format!(
                    "unknown key `{path}`{}",
                    names::suggestion(path.trim_matches('\''))
                ),
            )),
        }
    }
}

/// Warns of a variable that begins like those of the keys of a section, and is none of them.
pub fn variable(name: &str) -> Option<Mistake> {
    let rest = name.strip_prefix(names::PREFIX)?;
    let in_section = |entry: &Entry| {
        let after = rest.strip_prefix(&names::upper(entry.name));
        after.is_some_and(|after| after.starts_with('_'))
    };
    root().iter().find(|entry| in_section(entry))?;
    let rows = names::rows();
    let known: Vec<String> = rows.iter().map(|row| names::variable_of(&row.path)).collect();
    let meant = names::nearest(name, known.iter().map(String::as_str));
    let hint = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    let message = format!("it overrides no key{hint}");
    Some(Mistake::about(Place::Variable(name.to_owned()), message))
}
