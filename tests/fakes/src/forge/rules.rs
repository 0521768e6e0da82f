//! What kind of server the fake is: its dialect, its age, its limits.

use std::collections::BTreeSet;
use std::time::Duration;

use gantry_protocols::connect::Code;

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Gitea: errors are wrapped in `unknown`, cancelling is a state of its own.
    Gitea,
    /// Forgejo: errors have their own codes, tasks come in numbers and are repeated by request key.
    Forgejo,
}

/// Both dialects, for tests that hold in both.
pub const DIALECTS: [Dialect; 2] = [Dialect::Gitea, Dialect::Forgejo];

/// What a server can do, or does its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// Knows `Declare`.
    Declare,
    /// Counts a version of its queue; without it the version is 0.
    TasksVersion,
    /// Registers runners that are for one task only; without it the wish is answered with false.
    Ephemeral,
    /// Lets a runner that can do it clean up before a cancelled task ends.
    Cancelling,
    /// Archives a log at `no_more` also if no row comes with it.
    ArchiveWithoutRows,
    /// Repeats the answer to a request for tasks that comes with a known key.
    RequestKeys,
    /// Hands out as many tasks as the runner has room for.
    TaskCapacity,
    /// Knows `FetchSingleTask`.
    FetchSingleTask,
    /// Writes the numbers of runs as text; older servers send them as numbers.
    TextIds,
    /// Leaves `needs` in the payload; otherwise they are only in the task.
    NeedsInPayload,
    /// Counts the failure of a job with `continue-on-error` as a success.
    ToleratedJobs,
    /// Gives tasks a token for artifacts and caches.
    RuntimeToken,
}

/// The rules of one server.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Whose server it is.
    pub dialect: Dialect,
    /// What it can do.
    pub features: BTreeSet<Feature>,
    /// After how much silence a running task is given up.
    pub zombie_after: Duration,
    /// After how much time a running task is given up although it is not silent.
    pub endless_after: Duration,
    /// For how long a removed runner may still report its last task.
    pub removed_grace: Duration,
    /// What the server says it can do, in the answer to `Declare`.
    pub capabilities: Option<String>,
    /// Where actions without a host come from; nothing leaves it out of the context.
    pub default_actions_url: Option<String>,
    /// From how many bytes on answers are packed.
    pub packs_from: usize,
}

impl Dialect {
    /// The rules of a server of today.
    pub fn rules(self) -> Rules {
        use Feature::{
            ArchiveWithoutRows, Cancelling, Declare, Ephemeral, FetchSingleTask, NeedsInPayload, RequestKeys,
            RuntimeToken, TaskCapacity, TasksVersion, TextIds, ToleratedJobs,
        };
        let common = [Declare, TasksVersion, Ephemeral, TextIds, RuntimeToken];
        let own: &[Feature] = match self {
            Self::Gitea => &[Cancelling, ArchiveWithoutRows, ToleratedJobs],
            Self::Forgejo => &[RequestKeys, TaskCapacity, FetchSingleTask, NeedsInPayload],
        };
        let is_gitea = self == Self::Gitea;
        Rules {
            dialect: self,
            features: common.iter().chain(own).copied().collect(),
            zombie_after: Duration::from_mins(10),
            endless_after: Duration::from_hours(3),
            removed_grace: Duration::from_secs(if is_gitea { 0 } else { 10 }),
            capabilities: is_gitea.then(|| "cancelling, job-summary".to_owned()),
            default_actions_url: Some("https://github.com".to_owned()),
            packs_from: 1024,
        }
    }
}

impl Rules {
    /// The same server without one feature.
    #[must_use]
    pub fn without(mut self, feature: Feature) -> Self {
        self.features.remove(&feature);
        self
    }

    /// The same server with one feature more.
    #[must_use]
    pub fn with(mut self, feature: Feature) -> Self {
        self.features.insert(feature);
        self
    }

    /// Tells whether the server can do something.
    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }
}

/// Why the server refuses a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code that the handler chose.
    pub code: Code,
    /// What it says.
    pub message: String,
}

impl Refusal {
    /// A refusal with this code and text.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// Status and body of the answer: Gitea's handlers return errors of gRPC, which Connect does not know.
    pub fn answer(&self, dialect: Dialect) -> (u16, String) {
        let (code, message) = match dialect {
            Dialect::Forgejo => (self.code, self.message.clone()),
            Dialect::Gitea => (
                Code::Unknown,
                format!("rpc error: code = {:?} desc = {}", self.code, self.message),
            ),
        };
        let body = serde_json::json!({ "code": code.name(), "message": message });
        (code.status(), body.to_string())
    }
}
