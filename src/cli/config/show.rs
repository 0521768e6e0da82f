//! `gantry config show`: the values that count.

use std::fmt::Write;
use std::path::Path;

use super::super::exit::{self, Result};
use super::print;
use crate::config::{self, Given, Place};

/// Prints every key with its value, and where it comes from if somebody asks.
///
/// # Errors
/// The configuration cannot be used.
pub fn run(given: Given, with_origin: bool) -> Result {
    let loaded = config::load(given).map_err(exit::configuration)?;
    for warning in loaded.warnings() {
        eprintln!("gantry: {warning}");
    }
    let rows: Vec<(String, String)> = loaded
        .origins()
        .into_iter()
        .map(|(leaf, place)| {
            let value = format!("{}: {}", leaf.name(), leaf.shown());
            (value, origin(&place, loaded.file()))
        })
        .collect();
    let width = rows.iter().map(|(value, _)| value.chars().count().min(60)).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for (value, origin) in &rows {
        let written = if with_origin {
            writeln!(text, "{value:width$}  # {origin}")
        } else {
            writeln!(text, "{value}")
        };
        written.map_err(anyhow::Error::from)?;
    }
    print(&text)
}

fn origin(place: &Place, file: Option<&Path>) -> String {
    match place {
        Place::Default => "default".to_owned(),
        Place::File { line, .. } => {
            let file = file.map_or_else(String::new, |file| file.display().to_string());
            format!("{file}:{line}")
        }
        Place::Variable(name) => format!("environment variable {name}"),
        Place::Flag(name) => format!("flag {name}"),
    }
}
