//! Where the directories of jobs on this machine are.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use gantry_actors::local::HostSandboxes;

use super::super::ExecFlags;
use crate::config::Config;

/// Who shares the tool cache of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ToolCacheMode {
    /// Each job has one of its own, which goes with the job
    None,
    /// All jobs of all runs have the same one
    Shared,
}

/// Makes sandboxes whose jobs work on copies of `source`.
pub fn sandboxes(flags: &ExecFlags, config: &Config, source: &Path) -> HostSandboxes {
    let parent = &config.host.workdir_parent;
    HostSandboxes {
        root: if parent.is_empty() {
            default_root()
        } else {
            PathBuf::from(parent)
        },
        source: source.to_owned(),
        copy_ignored: !flags.use_gitignore,
        tool_cache: match flags.tool_cache_mode {
            ToolCacheMode::None => None,
            ToolCacheMode::Shared => Some(cache().join("tools")),
        },
        allowed_environment: Vec::new(),
    }
}

/// A directory of this user's own, because others may write to the directory around it.
fn default_root() -> PathBuf {
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
    cache.map_or_else(default_root, |cache| cache.join("gantry"))
}
