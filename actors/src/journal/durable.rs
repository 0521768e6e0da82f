//! Files that are whole or not there: written beside their place, synced, and moved into it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Outputs may hold anything, so only the runner's own user reads the journal.
const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// Makes a directory and those above it.
pub fn make_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(path)
}

/// Opens a file for writing, and makes it if it is not there.
pub fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(FILE_MODE)
        .open(path)
}

/// Gives a file this content; a crash at any moment leaves either the old content or the new one.
pub fn replace(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let temporary = directory.join(format!(".{name}.new"));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(FILE_MODE)
        .open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&temporary, directory.join(name))?;
    sync_directory(directory)
}

/// Makes the names in a directory survive a loss of power.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_replaced_file_is_whole_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a/b");
        make_directory(&path).unwrap();
        replace(&path, "cursor", b"one").unwrap();
        replace(&path, "cursor", b"two").unwrap();
        assert_eq!(std::fs::read(path.join("cursor")).unwrap(), b"two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("cursor"))), (0o700, 0o600));
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    }
}
