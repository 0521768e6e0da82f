//! Where things are kept on this machine.

use std::path::PathBuf;

use gantry_actors::engine::action::{Store, StoreOptions};

use crate::config::Config;

/// Where the directories of jobs are made.
pub fn jobs(config: &Config) -> PathBuf {
    let parent = &config.host.workdir_parent;
    if parent.is_empty() {
        own_temporary()
    } else {
        PathBuf::from(parent)
    }
}

/// A directory of this user's own, because others may write to the directory around it.
fn own_temporary() -> PathBuf {
    std::env::temp_dir().join(format!("gantry-{}", rustix::process::getuid().as_raw()))
}

/// Where things are kept from one run to the next: in the user's cache.
pub fn cache() -> PathBuf {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.map_or_else(own_temporary, |cache| cache.join("gantry"))
}

/// The store of actions of other repositories.
///
/// # Errors
/// The working directory is not known, and the store's path is relative to it.
pub fn actions(config: &Config, offline: bool) -> std::io::Result<Store> {
    let root = if config.actions.dir.is_empty() {
        cache().join("actions")
    } else {
        // Git works in directories of its own, where a relative path would mean something else.
        std::path::absolute(&config.actions.dir)?
    };
    Ok(Store::new(StoreOptions {
        root,
        size_cap: config.actions.max_size_mb.saturating_mul(1024 * 1024),
        offline: offline || config.cache.offline_mode,
    }))
}
