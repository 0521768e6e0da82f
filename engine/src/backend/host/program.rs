//! Finds programs.

use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// Looks a program up in a search path; a name with a slash is taken from `cwd`.
///
/// Empty and relative entries of the search path are skipped: they would depend on the directory of the step, which
/// may hold a stranger's files.
pub(crate) fn find(name: &str, search: &str, cwd: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return executable(Path::new(cwd).join(name));
    }
    if name.is_empty() {
        return None;
    }
    search
        .split(':')
        .filter(|directory| directory.starts_with('/'))
        .find_map(|directory| executable(Path::new(directory).join(name)))
}

fn executable(path: PathBuf) -> Option<PathBuf> {
    (path.is_file() && access(&path, Access::EXEC_OK).is_ok()).then_some(path)
}
