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

mod credential;
mod error;
mod git;
mod prefetch;
mod reference;
mod remote;
mod store;
mod unpack;
mod workflow;

pub use credential::{Credential, Token};
pub use error::{Error, Refusal};
pub use prefetch::{ActionKey, Download, Downloads, remote_uses};
pub use reference::{Remote, Sources};
pub use store::{Fetched, Store, StoreOptions};
pub use workflow::WorkflowError;
