//! Telling a forge who the runner is today, however long it takes until it listens.

use std::time::Duration;

use anyhow::anyhow;
use gantry_actors::protocols::forge::{Error, Retry};
use gantry_actors::protocols::gitea::GiteaForge;

use crate::runner::connection::VERSION;
use crate::runner::labels::Labels;

/// The pause after a first failure; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Declares the runner. An outage of the forge is waited for; a forge that is too old for the call is served without.
///
/// # Errors
/// The forge does not know the runner, or refuses it.
///
/// # Cancel safety
/// May be dropped.
pub async fn declare(forge: &GiteaForge, name: &str, labels: &Labels) -> anyhow::Result<()> {
    let names = labels.names();
    let mut pause = FIRST_PAUSE;
    let mut failing = false;
    loop {
        let error = match forge.declare(VERSION, &names).await {
            Ok(_) => {
                tracing::info!(
                    "runner: {name}, with version: {VERSION}, with labels: {names:?}, declare successfully"
                );
                return Ok(());
            }
            Err(Error::Unsupported { .. }) => {
                tracing::warn!(
                    "runner: {name}: the forge is too old to be told about the labels; those of the registration go on to count"
                );
                return Ok(());
            }
            Err(error) => error,
        };
        let wait = match error.retry() {
            Retry::Unregistered => {
                return Err(anyhow!(error).context(UNREGISTERED));
            }
            Retry::Never => return Err(anyhow!(error).context("the forge does not accept the runner")),
            Retry::After(wanted) => wanted,
            Retry::Later => pause,
        };
        if !std::mem::replace(&mut failing, true) {
            tracing::warn!(%error, "runner: {name} cannot be declared, trying again until the forge answers");
        }
        tokio::time::sleep(wait).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What an operator has to do about a runner that the forge does not know any more.
pub const UNREGISTERED: &str = "runner is no longer registered with the server; please register it again";
