//! Lists: what is in them already stays where it is, with its comments.

use serde_json::Value as Json;

use super::super::scalar::text_in;
use super::super::yaml::{Content, Node};
use super::target::Target;
use super::{Error, proof, read, splice, stuck};

/// Gives a list all of its values, element by element.
///
/// # Errors
/// The file is written in a way in which the list cannot be changed safely.
pub fn set(text: &str, target: &Target, values: &[String]) -> Result<String, Error> {
    let mut changed = text.to_owned();
    let before = elements(text, target)?;
    if before.is_empty() {
        changed = splice::put(text, &target.path, &values.iter().map(String::as_str).collect())?;
    } else {
        for (index, value) in values.iter().enumerate() {
            changed = match before.get(index) {
                Some(old) if old == value => changed,
                Some(_) => replace(&changed, target, index, value)?,
                None => append(&changed, target, value)?,
            };
        }
        for index in (values.len()..before.len()).rev() {
            changed = drop(&changed, target, index)?;
        }
    }
    prove(text, changed, target, values)
}

/// Adds a value at the end of a list.
///
/// # Errors
/// It is in the list already, or the list cannot be changed safely.
pub fn add(text: &str, target: &Target, value: &str) -> Result<String, Error> {
    let mut values = elements(text, target)?;
    if values.iter().any(|known| known == value) {
        return Err(Error::Usage(format!("`{}` has '{value}' already", target.name())));
    }
    let changed = if values.is_empty() {
        splice::put(text, &target.path, &Json::from(vec![value]))?
    } else {
        append(text, target, value)?
    };
    values.push(value.to_owned());
    prove(text, changed, target, &values)
}

/// Takes a value out of a list.
///
/// # Errors
/// It is not in the list, or the list cannot be changed safely.
pub fn remove(text: &str, target: &Target, value: &str) -> Result<String, Error> {
    let mut values = elements(text, target)?;
    let Some(index) = values.iter().position(|known| known == value) else {
        return Err(Error::Usage(format!("`{}` has no '{value}'", target.name())));
    };
    let changed = drop(text, target, index)?;
    values.remove(index);
    prove(text, changed, target, &values)
}

fn prove(old: &str, new: String, target: &Target, values: &[String]) -> Result<String, Error> {
    let wanted: Json = values.iter().map(String::as_str).collect();
    proof::check(old, &new, target, &wanted)?;
    Ok(new)
}

/// The texts of a list; none if it is not there.
fn elements(text: &str, target: &Target) -> Result<Vec<String>, Error> {
    let root = read(text)?;
    let Some(node) = root.at(target.path.iter().map(String::as_str)) else {
        return Ok(Vec::new());
    };
    match &node.content {
        _ if node.is_null() => Ok(Vec::new()),
        Content::List(items) => items
            .iter()
            .map(|item| item.text().map(str::to_owned).ok_or_else(|| stuck(&target.path)))
            .collect(),
        _ => Err(stuck(&target.path)),
    }
}

/// The list, where it can be changed in place.
struct List {
    items: Vec<Node>,
    is_flow: bool,
    /// The byte behind the colon of its key.
    colon: usize,
}

fn list(text: &str, target: &Target) -> Result<List, Error> {
    let wrong = || stuck(&target.path);
    let root = read(text)?;
    let (name, parents) = target.path.split_last().ok_or_else(wrong)?;
    let parent = root.at(parents.iter().map(String::as_str)).ok_or_else(wrong)?;
    let entry = parent
        .entries()
        .iter()
        .find(|entry| entry.key.text() == Some(name))
        .ok_or_else(wrong)?;
    let Content::List(items) = &entry.value.content else {
        return Err(wrong());
    };
    let is_special = entry.value.is_special || parent.is_special || items.iter().any(|item| item.is_special);
    if is_special {
        return Err(wrong());
    }
    Ok(List {
        items: items.clone(),
        is_flow: text
            .get(entry.value.span.start..)
            .is_some_and(|rest| rest.starts_with('[')),
        colon: splice::colon_after(text, entry).ok_or_else(wrong)?,
    })
}

fn replace(text: &str, target: &Target, index: usize, value: &str) -> Result<String, Error> {
    let list = list(text, target)?;
    let item = list.items.get(index).ok_or_else(|| stuck(&target.path))?;
    Ok(splice::replaced(text, item.span.clone(), &text_in(value, true)))
}

fn append(text: &str, target: &Target, value: &str) -> Result<String, Error> {
    let wrong = || stuck(&target.path);
    let List { items, is_flow, .. } = list(text, target)?;
    let last = items.last().ok_or_else(wrong)?;
    let value = text_in(value, true);
    if is_flow {
        return Ok(splice::replaced(
            text,
            last.span.end..last.span.end,
            &format!(", {value}"),
        ));
    }
    let dash = dash_before(text, last).ok_or_else(wrong)?;
    let indent = splice::indent_of(text, dash).ok_or_else(wrong)?;
    let line = format!("{indent}- {value}{}", splice::eol(text));
    let end = text.get(..last.span.end).unwrap_or_default().trim_end().len();
    Ok(splice::insert_lines(text, splice::line_end(text, end), &line))
}

fn drop(text: &str, target: &Target, index: usize) -> Result<String, Error> {
    let wrong = || stuck(&target.path);
    let list = list(text, target)?;
    let item = list.items.get(index).ok_or_else(wrong)?;
    if list.is_flow {
        let next = list
            .items
            .get(index + 1)
            .map(|next| item.span.start..next.span.start);
        let before = index.checked_sub(1).and_then(|index| list.items.get(index));
        let range = next.or_else(|| before.map(|before| before.span.end..item.span.end));
        return Ok(splice::replaced(
            text,
            range.unwrap_or_else(|| item.span.clone()),
            "",
        ));
    }
    let dash = dash_before(text, item).ok_or_else(wrong)?;
    let end = text.get(..item.span.end).unwrap_or_default().trim_end().len();
    let mut start = splice::line_start(text, dash);
    let end = splice::line_end(text, end);
    if end == text.len() && !text.ends_with('\n') {
        // The last line of the file had no end, and its new last line has none either.
        start = text
            .get(..start)
            .unwrap_or_default()
            .trim_end_matches(['\r', '\n'])
            .len();
    }
    splice::indent_of(text, dash).ok_or_else(wrong)?;
    let text = splice::replaced(text, start..end, "");
    if list.items.len() > 1 {
        return Ok(text);
    }
    Ok(splice::replaced(&text, list.colon..list.colon, " []"))
}

/// The byte of the dash in front of an element.
fn dash_before(text: &str, item: &Node) -> Option<usize> {
    let head = text.get(..item.span.start)?.trim_end_matches([' ', '\t']);
    head.ends_with('-').then(|| head.len() - 1)
}
