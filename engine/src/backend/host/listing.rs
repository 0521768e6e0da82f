//! Which files of the user's tree jobs get: git is asked once, however many jobs work on copies of the tree.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;

use super::copy::Selection;
use super::git;

/// What git says of a tree, shared by all jobs that get a copy of it.
///
/// The first who needs it asks, and the others wait for the answer. What vanishes from the tree later is left out of
/// later copies; what is added later is in none.
#[derive(Clone, Default)]
pub struct Listing(Arc<OnceCell<Option<Arc<[PathBuf]>>>>);

impl Listing {
    /// Asks git already now.
    ///
    /// # Cancel safety
    /// A dropped call leaves the question to the next caller.
    pub async fn prepare(&self, source: &Path) {
        if let Ok(source) = source.canonicalize() {
            self.files(&source).await;
        }
    }

    /// What is copied of the tree: without git's answer everything.
    pub(super) async fn selection(&self, source: &Path) -> Selection {
        self.files(source)
            .await
            .map_or(Selection::Everything, Selection::Listed)
    }

    async fn files(&self, source: &Path) -> Option<Arc<[PathBuf]>> {
        let ask = async || {
            if git::is_in_work_tree(source) {
                git::list_files(source).await.map(Arc::from)
            } else {
                None
            }
        };
        self.0.get_or_init(ask).await.clone()
    }
}

impl fmt::Debug for Listing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.0.get().map(|files| files.as_ref().map(|files| files.len()));
        formatter.debug_tuple("Listing").field(&count).finish()
    }
}
