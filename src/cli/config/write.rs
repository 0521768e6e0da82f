//! Writing the configuration file: all of it or nothing.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use tempfile::{Builder, NamedTempFile};

/// Replaces a file that is there; links are followed, and its mode and its owner stay.
///
/// # Errors
/// The directory cannot be written to, or the owner cannot stay.
pub fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let subject = || format!("failed to write {}", path.display());
    let target = fs::canonicalize(path).with_context(subject)?;
    let old = fs::metadata(&target).with_context(subject)?;
    let (file, directory) = written(&target, text).with_context(subject)?;
    let new = file.as_file().metadata().with_context(subject)?;
    if (old.uid(), old.gid()) != (new.uid(), new.gid()) {
        let (uid, gid) = (
            rustix::fs::Uid::from_raw(old.uid()),
            rustix::fs::Gid::from_raw(old.gid()),
        );
        rustix::fs::fchown(file.as_file(), Some(uid), Some(gid))
            .with_context(|| format!("failed to keep the owner of {}", path.display()))?;
    }
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))
        .with_context(subject)?;
    file.as_file().sync_all().with_context(subject)?;
    file.persist(&target)
        .map_err(|error| error.error)
        .with_context(subject)?;
    sync(&directory).with_context(subject)
}

/// Writes a new file that only its owner can read.
///
/// # Errors
/// The directory cannot be written to, or there is a file already.
pub fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    let subject = || format!("failed to write {}", path.display());
    let (file, directory) = written(path, text).with_context(subject)?;
    file.as_file().sync_all().with_context(subject)?;
    let persisted = file.persist_noclobber(path);
    persisted.map_err(|error| error.error).with_context(subject)?;
    sync(&directory).with_context(subject)
}

/// A file beside the target, with the text in it and mode 0600.
fn written(target: &Path, text: &str) -> anyhow::Result<(NamedTempFile, PathBuf)> {
    let parent = target.parent().ok_or_else(|| anyhow!("it is no file"))?;
    let directory = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let mut file = Builder::new().prefix(".gantry-config-").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    Ok((file, directory.to_owned()))
}

fn sync(directory: &Path) -> anyhow::Result<()> {
    File::open(directory)?.sync_all()?;
    Ok(())
}
