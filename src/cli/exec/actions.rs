//! Where actions of other repositories come from and where they are kept.

use anyhow::anyhow;
use gantry_actors::engine::action::{ActionAccess, Sources, Store, StoreOptions};

use super::super::ExecFlags;
use super::super::exit::{Result, usage};
use super::host;
use crate::config::Config;

/// Opens the store of actions.
///
/// # Errors
/// `--default-actions-url` is no URL of a server.
pub fn access(flags: &ExecFlags, config: &Config) -> Result<ActionAccess> {
    let sources = Sources {
        default_url: flags.default_actions_url.clone(),
        github_mirror: Some(config.runner.github_mirror.clone()),
        credentials: Vec::new(),
    };
    // Any repository tells whether the URL before it can be used.
    if let Err(error) = sources.remote("owner/repository") {
        return Err(usage(
            anyhow!(error).context(format!("--default-actions-url {}", flags.default_actions_url)),
        ));
    }
    let root = if config.actions.dir.is_empty() {
        host::cache().join("actions")
    } else {
        // Git works in directories of its own, where a relative path would mean something else.
        std::path::absolute(&config.actions.dir).map_err(anyhow::Error::from)?
    };
    let store = Store::new(StoreOptions {
        root,
        size_cap: config.actions.max_size_mb.saturating_mul(1024 * 1024),
        offline: flags.offline || config.cache.offline_mode,
    });
    Ok(ActionAccess {
        store,
        sources,
        token_server: server(&flags.default_actions_url),
    })
}

/// The server of a URL: what a token given for it may be shown to.
fn server(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let host = authority.rsplit('@').next()?;
    Some(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_belongs_to_the_server_of_the_url() {
        for (url, expected) in [
            ("https://github.com", "https://github.com"),
            ("http://u:p@code.example:3000/git/", "http://code.example:3000"),
        ] {
            assert_eq!(server(url).as_deref(), Some(expected));
        }
    }
}
