//! Where the directories of jobs on this machine are.

use std::path::{Path, PathBuf};

use gantry_actors::local::HostSandboxes;

use crate::config::Config;

/// Makes sandboxes whose jobs work on copies of `source`.
pub fn sandboxes(config: &Config, source: &Path) -> HostSandboxes {
    let parent = &config.host.workdir_parent;
    HostSandboxes {
        root: if parent.is_empty() {
            default_root()
        } else {
            PathBuf::from(parent)
        },
        source: source.to_owned(),
        tool_cache: tool_cache(),
        allowed_environment: Vec::new(),
    }
}

/// A directory of this user's own, because others may write to the directory around it.
fn default_root() -> PathBuf {
    std::env::temp_dir().join(format!("gantry-{}", rustix::process::getuid().as_raw()))
}

/// Where tools are kept from one job to the next.
fn tool_cache() -> PathBuf {
    cache().join("tools")
}

/// Where things are kept from one run to the next: in the user's cache.
pub fn cache() -> PathBuf {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let cache = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    cache.map_or_else(default_root, |cache| cache.join("gantry"))
}
