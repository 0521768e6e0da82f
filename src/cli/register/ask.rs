//! Questions to whoever registers a runner, on stderr; answers come from stdin, a terminal or not.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use anyhow::Context;
use tokio::sync::oneshot;

use crate::echo::{Quiet, Typed};

/// The longest answer, in bytes.
const LONGEST: u64 = 64 * 1024;

/// Asks a question; there is no answer if stdin is at its end.
///
/// # Errors
/// The question cannot be shown, or the answer cannot be read.
///
/// # Cancel safety
/// May be dropped; an answer that comes later is lost.
pub async fn ask(question: &str) -> anyhow::Result<Option<String>> {
    show(question)?;
    read().await
}

/// Asks a question whose answer a terminal does not show.
///
/// # Errors
/// As [`ask`].
///
/// # Cancel safety
/// As [`ask`]; the terminal shows again what is typed.
pub async fn ask_secretly(question: &str) -> anyhow::Result<Option<String>> {
    if !io::stdin().is_terminal() {
        return ask(question).await;
    }
    // Whoever sees the question may answer at once, and nobody is to see the answer.
    let quiet = Quiet::start(io::stdin(), Typed::Dropped).context("cannot turn the echo off")?;
    show(question)?;
    let answer = read().await?;
    drop(quiet);
    show("\n")?;
    Ok(answer)
}

/// Tells something to whoever is asked.
///
/// # Errors
/// It cannot be shown.
pub fn tell(text: &str) -> anyhow::Result<()> {
    show(&format!("{text}\n"))
}

fn show(text: &str) -> anyhow::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
        .context("cannot ask")
}

/// Reads on a thread of its own: a read that nobody waits for any more does not keep the program from ending.
async fn read() -> anyhow::Result<Option<String>> {
    let (sender, answer) = oneshot::channel();
    let reader = move || {
        let mut line = String::new();
        let read = io::stdin().lock().take(LONGEST).read_line(&mut line);
        let answer = read.map(|length| (length > 0).then(|| line.trim().to_owned()));
        if sender.send(answer).is_err() {
            tracing::debug!("an answer came when nobody waited for it any more");
        }
    };
    let thread = std::thread::Builder::new().name("answers".to_owned());
    thread.spawn(reader).context("cannot ask")?;
    let answer = answer.await.context("the answer is lost")?;
    answer.context("cannot read the answer")
}
