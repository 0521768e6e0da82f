//! Waiting for a forge that is to be asked something.

use std::time::Duration;

use anyhow::{Context, anyhow};
use gantry_actors::protocols::forge::{Error, Retry};
use tokio::time::Instant;

use crate::config::GoDuration;

/// How long a forge may be unreachable if nobody is there who could end the wait.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the first answer may take, also if nobody wants to wait.
const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// Reads the value of `--wait`.
pub fn duration(text: &str) -> Result<GoDuration, String> {
    let duration = GoDuration::parse(text).filter(|duration| !duration.is_negative());
    duration.ok_or_else(|| "expected a duration such as 90s or 5m".to_owned())
}

/// Asks for a sign of life every second until there is one, for at most `limit`.
///
/// What no wait mends ends it at once: another program, another address, a certificate that is not trusted. Everything
/// else is said once.
///
/// # Errors
/// There is no sign of life.
///
/// # Cancel safety
/// May be dropped.
pub async fn reach<F>(limit: Option<Duration>, mut ping: impl FnMut() -> F) -> anyhow::Result<()>
where
    F: Future<Output = Result<(), Error>>,
{
    let start = Instant::now();
    let mut said = String::new();
    loop {
        let least = if said.is_empty() { FIRST_ANSWER } else { PAUSE };
        let patience = left(limit, start).max(least);
        let reason = match tokio::time::timeout(patience, ping()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) if is_lasting(&error) => return Err(error).context("the forge cannot be used"),
            Ok(Err(error)) => error.to_string(),
            Err(_elapsed) if said.is_empty() => "there was no answer".to_owned(),
            Err(_elapsed) => said.clone(),
        };
        let left = left(limit, start);
        if left.is_zero() {
            let waited = match limit {
                Some(limit) if !limit.is_zero() => format!("the forge could not be reached within {limit:?}"),
                _ => "the forge could not be reached".to_owned(),
            };
            return Err(anyhow!(reason)).context(waited);
        }
        if reason != said {
            tracing::warn!("{reason}; trying again every second");
            said = reason;
        }
        tokio::time::sleep(PAUSE.min(left)).await;
    }
}

fn left(limit: Option<Duration>, start: Instant) -> Duration {
    limit.map_or(Duration::MAX, |limit| limit.saturating_sub(start.elapsed()))
}

/// Tells whether waiting is of no use.
fn is_lasting(error: &Error) -> bool {
    matches!(error, Error::Unusable { .. }) || matches!(error.retry(), Retry::Never | Retry::Unregistered)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn unavailable(reason: &str) -> Error {
        Error::Unavailable {
            operation: "Ping",
            reason: reason.to_owned(),
        }
    }

    fn unusable() -> Error {
        Error::Unusable {
            operation: "Ping",
            reason: "a page".to_owned(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_forge_that_comes_late_is_reached() {
        let count = Cell::new(0);
        let ping = || {
            count.set(count.get() + 1);
            let answer = if count.get() < 200 {
                Err(unavailable("no"))
            } else {
                Ok(())
            };
            async { answer }
        };
        reach(None, ping).await.expect("reached");
        assert_eq!(count.get(), 200);
    }

    #[tokio::test(start_paused = true)]
    async fn a_forge_that_does_not_come_is_given_up_with_the_last_reason() {
        for (seconds, attempts) in [(0, 1), (3, 4), (60, 61)] {
            let count = Cell::new(0);
            let ping = || {
                count.set(count.get() + 1);
                let error = unavailable(&format!("reason {}", count.get()));
                async { Err(error) }
            };
            let error = reach(Some(Duration::from_secs(seconds)), ping).await;
            let text = format!("{:#}", error.expect_err("not reached"));
            let within = match seconds {
                0 => String::new(),
                _ => format!(" within {seconds}s"),
            };
            let expected = format!(
                "the forge could not be reached{within}: Ping: the forge is unavailable: reason {attempts}"
            );
            assert_eq!(text, expected);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_forge_that_never_answers_is_given_up_in_time() {
        let start = Instant::now();
        let error = reach(Some(Duration::from_secs(10)), std::future::pending).await;
        let text = format!("{:#}", error.expect_err("not reached"));
        assert_eq!(
            text,
            "the forge could not be reached within 10s: there was no answer"
        );
        assert_eq!(start.elapsed(), Duration::from_secs(10));
    }

    #[tokio::test(start_paused = true)]
    async fn what_no_wait_mends_ends_it_at_once() {
        let error = reach(None, || async { Err(unusable()) }).await;
        let text = format!("{:#}", error.expect_err("not reached"));
        assert_eq!(text, "the forge cannot be used: Ping: a page");
    }
}
