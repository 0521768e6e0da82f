//! Fetching and keeping what `uses` names in other repositories: actions and reusable workflows.
//!
//! ```text
//! uses --Sources::remote()--> Remote --Store::fetch()--> Fetched (a tree that nobody changes, keyed by its commit)
//!                                        |   ^
//!                             git (Git) -'   '- memory: which commit a ref was, for runs without a network
//! ```
//!
//! Git does the talking, in a repository that lives only as long as one fetch. What it brought is unpacked here, entry
//! by entry, because an action's tree is a stranger's.

mod checkout;
mod credential;
mod error;
mod git;
mod prefetch;
mod reference;
mod remote;
mod store;
mod trust;
mod unpack;
mod workflow;

use std::fmt;

use crate::model::UsesStep;

pub use checkout::{CheckedOut, Checkout};
pub use credential::{Credential, Token};
pub use error::{Error, Refusal};
pub use prefetch::{ActionKey, Download, Downloads, remote_uses};
pub use reference::{Remote, Sources};
pub use store::{Fetched, Store, StoreOptions};
pub use trust::Trust;

/// All that it takes to get an action: where it is kept, where it comes from, and what opens the doors there.
#[derive(Clone)]
pub struct ActionAccess {
    /// Where trees are kept.
    pub store: Store,
    /// Where they come from.
    pub sources: Sources,
    /// The server, such as `https://code.example`, that a job's own token belongs to.
    pub token_server: Option<String>,
}

impl ActionAccess {
    /// The access of a job with a token of its own, which is called `name` in messages.
    #[must_use]
    pub fn with_job_token(mut self, name: &str, token: &str) -> Self {
        if let Some(server) = self.token_server.as_deref().filter(|_| !token.is_empty()) {
            let credential = Credential::of_token(server, name, Token::new(token));
            self.sources.credentials.insert(0, credential);
        }
        self
    }

    /// Fetches actions and all wanted actions that those name.
    ///
    /// # Cancel safety
    /// As [`Store::fetch`].
    pub async fn prefetch(
        &self,
        actions: Vec<ActionKey>,
        is_wanted: &(dyn Fn(&UsesStep) -> bool + Sync),
    ) -> Downloads {
        self.store.prefetch(&self.sources, actions, is_wanted).await
    }
}

/// Tokens are not shown.
impl fmt::Debug for ActionAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActionAccess")
            .field("default_url", &self.sources.default_url)
            .field("token_server", &self.token_server)
            .finish_non_exhaustive()
    }
}
