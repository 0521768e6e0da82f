//! The use of the registration token, and what comes of it.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use gantry_actors::protocols::forge::Error;
use gantry_actors::protocols::gitea::{Registered, Registration};

use super::Ready;
use super::wishes::Wishes;
use crate::cli::exit::{self, Exit};
use crate::runner::connection::VERSION;
use crate::runner::file::RunnerFile;
use crate::runner::labels::{Label, Place};
use crate::signals::Signals;

/// Registers the runner and keeps what the forge answers.
///
/// # Errors
/// The forge refuses, or the file cannot be written.
///
/// # Cancel safety
/// Must not be dropped: the forge would know a runner whose token nobody has.
pub async fn finish(ready: Ready, path: &Path, signals: &mut Signals) -> exit::Result {
    let Ready {
        wishes,
        draft,
        registrar,
    } = ready;
    let registration = Registration {
        name: wishes.name.clone(),
        token: wishes.token.clone(),
        version: VERSION.to_owned(),
        labels: wishes.labels.names(),
        ephemeral: wishes.ephemeral,
    };
    let answer = tokio::select! {
        answer = registrar.register(&registration) => answer,
        () = insistence(signals) => return Ok(Exit::Cancelled),
    };
    let registered = answer.map_err(|error| explain(&error, &wishes))?;
    if registered.ephemeral != wishes.ephemeral {
        tracing::error!(
            "the forge is too old to remove a runner after one job; `gantry daemon` will take one job and end"
        );
    }
    let runner = runner_of(registered, &wishes);
    draft.finish(&runner).context(
        "the forge has registered the runner, but its token is lost; remove it there, and register again",
    )?;
    said(&runner, &wishes, path)?;
    Ok(Exit::Success)
}

/// Resolves at the second signal: the first one would throw an answer away that is on its way.
async fn insistence(signals: &mut Signals) {
    signals.next().await;
    tracing::warn!(
        "waiting for the answer of the forge, so that the registration is not lost; once more to end anyway"
    );
    signals.next().await;
}

fn runner_of(registered: Registered, wishes: &Wishes) -> RunnerFile {
    let name = Some(registered.name).filter(|name| !name.is_empty());
    let mut runner = RunnerFile::new(
        registered.id,
        registered.credentials,
        name.unwrap_or_else(|| wishes.name.clone()),
        wishes.address.to_string(),
    );
    runner.labels = wishes.labels.texts();
    runner.ephemeral = wishes.ephemeral;
    runner
}

/// Says what an operator can do. A server may repeat the token in its text; it is not shown.
fn explain(error: &Error, wishes: &Wishes) -> anyhow::Error {
    let text = error.to_string().replace(wishes.token.reveal(), "***");
    let advice = match error {
        Error::Refused { reason, .. } if reason.contains("token") => {
            "; the forge shows a valid token where its runners are administrated"
        }
        Error::Unavailable { .. } => {
            "; the forge may know a runner of this name now that has no file: look there before you register again"
        }
        _ => "",
    };
    anyhow::anyhow!("{text}{advice}").context("the runner is not registered")
}

fn said(runner: &RunnerFile, wishes: &Wishes, path: &Path) -> anyhow::Result<()> {
    let label = |label: &Label| {
        let place = match label.place() {
            Place::Host => "on this machine itself".to_owned(),
            Place::Docker(image) if image.is_empty() => "in Docker, with the default image".to_owned(),
            Place::Docker(image) => format!("in Docker, with {image}"),
            Place::Kubernetes(image) => format!("in Kubernetes, with {image}"),
        };
        format!("  {}: {place}\n", label.name())
    };
    let text = format!(
        "Runner registered successfully.\n{} at {} is kept in {}\n{}",
        runner.name,
        runner.address,
        path.display(),
        wishes.labels.iter().map(label).collect::<String>()
    );
    io::stdout()
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}
