//! Where the directories of jobs on this machine are.

use std::path::Path;

use clap::ValueEnum;
use gantry_actors::engine::backend::host::Listing;
use gantry_actors::local::HostSandboxes;

use super::super::ExecFlags;
use crate::config::Config;
use crate::directories;

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
    HostSandboxes {
        root: directories::jobs(config),
        source: Some(source.to_owned()),
        copy_ignored: !flags.use_gitignore,
        listing: Listing::default(),
        tool_cache: match flags.tool_cache_mode {
            ToolCacheMode::None => None,
            ToolCacheMode::Shared => Some(directories::cache().join("tools")),
        },
        allowed_environment: Vec::new(),
    }
}
