//! Conformance tables: one JSON value a line.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The rows of the table `name` in `tests/data`, and of its namesake in the directory that `GANTRY_EXTRA_CASES` names.
pub fn rows(name: &str) -> Vec<Value> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let extra = std::env::var_os("GANTRY_EXTRA_CASES").map(|dir| PathBuf::from(dir).join(name));
    let extra = extra.filter(|path| path.exists());
    let read =
        |path: PathBuf| std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    std::iter::once(own)
        .chain(extra)
        .map(read)
        .flat_map(|text| {
            text.lines()
                .filter(|line| !line.trim().is_empty())
                .map(parse)
                .collect::<Vec<_>>()
        })
        .collect()
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}
