//! The table of all keys, and the keys of a file that are not in it.

use serde_yaml::Value;

/// A key of the configuration file.
pub struct Key {
    /// Its path, such as `runner.timeout`.
    pub path: &'static str,
    /// Its default as YAML writes it on one line.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the tests hold the README and the example to it")
    )]
    pub default: &'static str,
}

/// Every key that the program knows, in the order of the example file.
pub const KEYS: [Key; 9] = [
    Key {
        path: "log.level",
        default: "info",
    },
    Key {
        path: "runner.envs",
        default: "{}",
    },
    Key {
        path: "runner.env_file",
        default: "\"\"",
    },
    Key {
        path: "runner.timeout",
        default: "3h",
    },
    Key {
        path: "runner.github_mirror",
        default: "\"\"",
    },
    Key {
        path: "actions.dir",
        default: "\"\"",
    },
    Key {
        path: "actions.max_size_mb",
        default: "4096",
    },
    Key {
        path: "cache.offline_mode",
        default: "false",
    },
    Key {
        path: "host.workdir_parent",
        default: "\"\"",
    },
];

/// Names the keys of a file that are not in the table, each with the key that was probably meant.
pub fn unknown(file: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(file, "", &mut found);
    found.iter().map(|path| warning(path)).collect()
}

/// Collects paths; no section of the table lies deeper than its keys, so the recursion is bounded by the table.
fn collect(value: &Value, prefix: &str, found: &mut Vec<String>) {
    let Value::Mapping(entries) = value else { return };
    for (key, value) in entries {
        let name = match key.as_str() {
            // A dot within a name is no path.
            Some(name) if !name.contains('.') => name.to_owned(),
            Some(name) => format!("'{name}'"),
            None => format!("{key:?}"),
        };
        let path = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}.{name}")
        };
        let section = format!("{path}.");
        if KEYS.iter().any(|known| known.path.starts_with(&section)) {
            collect(value, &path, found);
        } else if !KEYS.iter().any(|known| known.path == path) {
            found.push(path);
        }
    }
}

fn warning(path: &str) -> String {
    let nearest = KEYS
        .iter()
        .map(|key| key.path)
        .min_by_key(|known| distance(path, known));
    match nearest.filter(|known| distance(path, known) <= 1 + path.len() / 3) {
        Some(known) => format!("unknown configuration key `{path}` is ignored; did you mean `{known}`?"),
        None => format!("unknown configuration key `{path}` is ignored"),
    }
}

/// The number of characters to insert, remove or replace to get from one text to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replace = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
