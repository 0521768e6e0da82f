//! Where actions of other repositories come from and where they are kept.

use std::cell::RefCell;
use std::collections::HashMap;

use anyhow::anyhow;
use gantry_actors::engine::action::{ActionAccess, Sources};
use gantry_actors::engine::model::WorkflowRef;
use gantry_actors::runtime;

use super::super::ExecFlags;
use super::super::exit::{Result, usage};
use super::super::sources::Fetch;
use super::given::Values;
use super::place::instance;
use crate::config::Config;
use crate::directories;

/// Opens the store of actions.
///
/// # Errors
/// `--default-actions-url` or `--gitea-instance` is no URL of a server.
pub fn access(flags: &ExecFlags, config: &Config) -> Result<ActionAccess> {
    let sources = Sources {
        default_url: flags.default_actions_url.clone(),
        github_mirror: Some(config.runner.github_mirror.clone()),
        credentials: Vec::new(),
        trusts: Vec::new(),
    };
    // Any repository tells whether the URL before it can be used.
    if let Err(error) = sources.remote("owner/repository") {
        return Err(usage(
            anyhow!(error).context(format!("--default-actions-url {}", flags.default_actions_url)),
        ));
    }
    let store = directories::actions(config, flags.offline).map_err(anyhow::Error::from)?;
    Ok(ActionAccess {
        store,
        sources,
        token_server: server(instance(flags)?.as_deref().unwrap_or(&flags.default_actions_url)),
    })
}

/// Gets reusable workflows through the store.
pub fn workflows(access: ActionAccess, secrets: &Values) -> Box<Fetch> {
    let token = ["GITHUB_TOKEN", "GITEA_TOKEN"]
        .into_iter()
        .find_map(|name| Some((name, secrets.get(name)?)));
    let access = match token {
        Some((name, token)) => access.with_job_token(&format!("secret {name}"), token),
        None => access,
    };
    // All files of a called repository are of one commit, also if its branch moves meanwhile.
    let pinned: RefCell<HashMap<(String, String), String>> = RefCell::default();
    Box::new(move |reference| {
        let WorkflowRef::Remote {
            repository,
            path,
            git_ref,
        } = reference
        else {
            return Err("it is not in another repository".to_owned());
        };
        let place = (repository.clone(), git_ref.clone());
        let known = pinned.borrow().get(&place).cloned();
        let git_ref = known.as_deref().unwrap_or(git_ref);
        let fetch = access.workflow(repository, path, git_ref);
        let fetched = runtime::block_on(fetch).map_err(|error| error.to_string())?;
        let (commit, text) = fetched.map_err(|error| error.to_string())?;
        pinned.borrow_mut().insert(place, commit);
        Ok(text)
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
