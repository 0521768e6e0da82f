//! Conformance tables: one JSON value a line.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The rows of the table `name` in `tests/data`, and of its namesakes in and below the directory that
/// `GANTRY_EXTRA_CASES` names.
pub fn rows(name: &str) -> Vec<Value> {
    let mut files = vec![
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data")
            .join(name),
    ];
    if let Some(directory) = std::env::var_os("GANTRY_EXTRA_CASES") {
        collect(Path::new(&directory), name, &mut files);
    }
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let texts: Vec<_> = files.iter().map(read).collect();
    texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.trim().is_empty())
        .map(parse)
        .collect()
}

fn collect(directory: &Path, name: &str, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("GANTRY_EXTRA_CASES names a directory");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("the directory can be listed").path())
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            collect(&path, name, files);
        } else if path.file_name().is_some_and(|file| file == name) {
            files.push(path);
        }
    }
}

fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}
