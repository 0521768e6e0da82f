//! Finding and reading workflow and action files, with bounds on what a strange tree or file may cost.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Where a forge looks for workflows; the first that exists counts.
pub const WORKFLOW_DIRECTORIES: [&str; 3] = [".gitea/workflows", ".forgejo/workflows", ".github/workflows"];

/// Directories deeper than this are not searched.
const MAX_DEPTH: usize = 24;

/// Searching ends after this many entries.
const MAX_ENTRIES: usize = 200_000;

/// More than a workflow file or an event may have, so that the parser names its own limit.
const MAX_BYTES: u64 = 32 << 20;

/// Directories that hold no files of this project.
const NOT_SEARCHED: [&str; 3] = [".git", "node_modules", "target"];

/// The YAML files in `directory` in the order of their paths, with those of its subdirectories if `recurse`.
///
/// Links to directories are not followed.
///
/// # Errors
/// A directory cannot be read, or there is too much to search.
pub fn yaml_files(directory: &Path, recurse: bool) -> anyhow::Result<Vec<PathBuf>> {
    search(directory, recurse, &|path| is_yaml(path) && path.is_file())
}

/// All files below `directory` in the order of their paths, but for directories that hold no files of a project.
///
/// # Errors
/// As for [`yaml_files`].
pub fn all_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    search(directory, true, &|_| true)
}

fn search(directory: &Path, recurse: bool, wanted: &dyn Fn(&Path) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut entries = 0;
    let mut open = vec![(directory.to_owned(), 0)];
    while let Some((directory, depth)) = open.pop() {
        let subject = || format!("cannot search {}", directory.display());
        for entry in fs::read_dir(&directory).with_context(subject)? {
            let entry = entry.with_context(subject)?;
            entries += 1;
            if entries > MAX_ENTRIES {
                bail!("too many files below {}", directory.display());
            }
            let path = entry.path();
            let kind = entry.file_type().with_context(subject)?;
            let searched = !NOT_SEARCHED.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && recurse && depth < MAX_DEPTH && searched {
                open.push((path, depth + 1));
            } else if !kind.is_dir() && wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Tells whether a file is YAML by its name.
pub fn is_yaml(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "yml" || extension == "yaml")
}

/// Tells whether a file is the metadata of an action by its name.
pub fn is_action(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "action.yml" || name == "action.yaml")
}

/// Reads a text file whole.
///
/// # Errors
/// It is no regular file, cannot be read, is far too long, or is not UTF-8.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    let subject = || format!("cannot read {}", path.display());
    // A FIFO or a device would block or never end.
    if !fs::metadata(path).with_context(subject)?.is_file() {
        bail!("cannot read {}: it is not a regular file", path.display());
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).with_context(subject)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(subject)?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!(
            "cannot read {}: it is longer than {MAX_BYTES} bytes",
            path.display()
        );
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = valid.split(|byte| *byte == b'\n').count();
        anyhow::anyhow!("cannot read {}: line {line} is not UTF-8 text", path.display())
    })
}

/// `path` as a person names it from within `base`: without the base if it lies below it.
pub fn shown<'a>(path: &'a Path, base: &Path) -> &'a Path {
    path.strip_prefix(base).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_files_are_found_in_order_and_links_are_not_followed() {
        let root = tempfile::tempdir().expect("a directory");
        let path = |name: &str| root.path().join(name);
        for directory in ["a/b", "node_modules"] {
            fs::create_dir_all(path(directory)).expect("a directory");
        }
        for file in ["z.yml", "a/b/c.yaml", "a/no.txt", "node_modules/x.yml"] {
            fs::write(path(file), "").expect("a file");
        }
        std::os::unix::fs::symlink(root.path(), path("a/loop")).expect("a link");
        let names = |recurse| {
            let files = yaml_files(root.path(), recurse).expect("searchable");
            files
                .iter()
                .map(|file| shown(file, root.path()).display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(true), ["a/b/c.yaml", "z.yml"]);
        assert_eq!(names(false), ["z.yml"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join("w.yml");
        fs::write(&file, b"a\n\xff").expect("a file");
        let text = |path: &Path| format!("{:#}", read_text(path).expect_err("unreadable"));
        assert!(text(&file).ends_with("w.yml: line 2 is not UTF-8 text"));
        assert!(text(root.path()).ends_with("it is not a regular file"));
        assert!(text(&root.path().join("absent")).contains("absent: No such file"));
    }
}
