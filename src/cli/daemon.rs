//! `gantry daemon`: from flags to the daemon.

use clap::Args;

use super::exit;
use crate::config::Loaded;
use crate::daemon::{self, Wishes};
use crate::runner::labels::listed;

/// The flags of `gantry daemon`.
#[derive(Debug, Args)]
pub struct Flags {
    /// Take one job, then exit
    #[arg(long)]
    once: bool,
    /// The labels with commas between them; they win over the configuration and the runner file
    #[arg(long, env = "GITEA_RUNNER_LABELS", value_name = "LABELS")]
    labels: Option<String>,
}

/// Claims and runs jobs until a signal.
pub fn run(flags: &Flags, loaded: Loaded) -> exit::Result {
    let labels = flags.labels.as_deref().unwrap_or_default();
    let wishes = Wishes {
        once: flags.once,
        labels: listed(labels).map(str::to_owned).collect(),
    };
    daemon::run(wishes, loaded)
}
