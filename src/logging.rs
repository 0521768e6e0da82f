//! What the runner says about itself: tracing events on stderr.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::config::Level;
use crate::render::Screen;

/// The variable that overrides `log.level`; a level, or a filter such as `info,gantry_engine=trace`.
const VARIABLE: &str = "GANTRY_LOG";

/// Sends tracing events of `level` and above to stderr, beside what is live on the screen.
///
/// A filter in `GANTRY_LOG` wins; one that cannot be read is reported and ignored.
pub fn start(level: Level, screen: Screen) {
    let wanted = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let parsed = wanted.as_deref().map(EnvFilter::try_new);
    let (filter, problem) = match parsed {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (EnvFilter::new(level.as_str()), Some(error)),
        None => (EnvFilter::new(level.as_str()), None),
    };
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(screen)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .compact();
    // A second subscriber exists only in tests of this very program; the first one keeps working.
    if subscriber.try_init().is_err() {
        return;
    }
    if let Some(error) = problem {
        tracing::warn!(%error, "{VARIABLE} is ignored");
    }
}
