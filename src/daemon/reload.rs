//! SIGHUP: the configuration is read again.

use crate::config::{Change, Loaded, changes};

/// Keys whose values are used only at the start.
const AT_START: [&str; 9] = [
    "log.",
    "runner.file",
    "runner.insecure",
    "runner.tls.",
    "runner.extra_headers.",
    "runner.fetch_timeout",
    "server.connections.",
    "journal.",
    "metrics.",
];

/// Reads the configuration again and says what has changed; without a value the old one goes on to count.
pub fn reload(old: &Loaded) -> Option<Loaded> {
    let new = match old.reload() {
        Ok(new) => new,
        Err(rejected) => {
            tracing::error!("the configuration is not reloaded, the old one goes on to count");
            for line in rejected.lines() {
                tracing::error!("{line}");
            }
            return None;
        }
    };
    for warning in new.warnings() {
        tracing::warn!("{warning}");
    }
    let changes = changes(&old.values, &new.values);
    if changes.is_empty() {
        tracing::info!("the configuration is reloaded; nothing has changed");
    }
    for change in &changes {
        tracing::info!("the configuration is reloaded: {}", described(change));
    }
    Some(new)
}

fn described(change: &Change) -> String {
    let late = if is_at_start(&change.key) {
        " (counts after a restart)"
    } else {
        ""
    };
    format!("{change}{late}")
}

fn is_at_start(key: &str) -> bool {
    // The labels and the pace of a connection can change while it stands.
    let may_change = key.ends_with(".labels") || key.ends_with(".fetch_interval");
    !may_change && AT_START.iter().any(|prefix| key.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_at_the_start_counts_after_a_restart() {
        for (key, expected) in [
            ("runner.file", true),
            ("runner.capacity", false),
            ("runner.tls.ca_file", true),
            ("server.connections.a.url", true),
            ("server.connections.a.labels", false),
            ("log.level", true),
        ] {
            assert_eq!(is_at_start(key), expected, "{key}");
        }
    }
}
