//! Reading the configuration file.

use std::path::Path;

use anyhow::{Context, anyhow};

use super::{Config, keys};

/// What a file yields: values, and what its author should know.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The values; keys that the file does not have are at their defaults.
    pub values: Config,
    /// One sentence for each unknown key.
    pub warnings: Vec<String>,
}

/// Reads a configuration file.
///
/// # Errors
/// The file cannot be read, is not YAML, or a value has the wrong type; the text names key, line and column.
pub fn load(path: &Path) -> anyhow::Result<Loaded> {
    let subject = || format!("invalid configuration file {}", path.display());
    let text = std::fs::read_to_string(path).with_context(subject)?;
    parse(&text).with_context(subject)
}

pub(super) fn parse(text: &str) -> anyhow::Result<Loaded> {
    let file: serde_yaml::Value = serde_yaml::from_str(text)?;
    if file.is_null() {
        return Ok(Loaded::default());
    }
    if !file.is_mapping() {
        return Err(anyhow!("the file is not a mapping of keys to values"));
    }
    // The text is read a second time because only then errors carry the key, the line and the column.
    let values = serde_yaml::from_str(text)?;
    Ok(Loaded {
        values,
        warnings: keys::unknown(&file),
    })
}
