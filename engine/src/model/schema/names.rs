//! The names that expressions may use, by place. GitHub: docs, 'Contexts reference', 'Context availability'.

use crate::expr::{Function, Names};

/// The contexts and functions that expressions may use at one place.
#[derive(Debug)]
pub(in crate::model) struct Allowed {
    contexts: &'static [&'static str],
    functions: &'static [Function],
}

impl Allowed {
    /// The same as the expression parser wants it.
    pub(in crate::model) fn names(&self) -> Names<'static> {
        Names {
            contexts: self.contexts,
            functions: self.functions,
        }
    }

    /// Tells whether no expression is legal here.
    pub(in crate::model) fn is_empty(&self) -> bool {
        self.contexts.is_empty() && self.functions.is_empty()
    }
}

const fn contexts(contexts: &'static [&'static str]) -> Allowed {
    Allowed {
        contexts,
        functions: &[],
    }
}

const fn function(name: &'static str, min: usize, max: usize) -> Function {
    Function { name, min, max }
}

const HASH_FILES: Function = function("hashFiles", 1, 255);

/// A step asks only about its own job.
const STEP_STATUS: [Function; 5] = [
    HASH_FILES,
    function("always", 0, 0),
    function("failure", 0, 0),
    function("cancelled", 0, 0),
    function("success", 0, 0),
];

/// A job may name the jobs that it asks about.
const JOB_STATUS: [Function; 4] = [
    function("always", 0, 0),
    function("failure", 0, 255),
    function("cancelled", 0, 0),
    function("success", 0, 255),
];

/// Nothing: expressions are not legal.
pub(in crate::model) static NOTHING: Allowed = contexts(&[]);
/// `run-name`, workflow concurrency, defaults of call inputs.
pub(super) static RUN: Allowed = contexts(&["github", "inputs", "vars"]);
/// `env` of the workflow.
pub(super) static WORKFLOW_ENV: Allowed = contexts(&["github", "inputs", "vars", "secrets"]);
/// Outputs of a called workflow.
pub(super) static CALL_OUTPUT: Allowed = contexts(&["github", "inputs", "vars", "jobs"]);
/// `if` of a job.
pub(super) static JOB_IF: Allowed = Allowed {
    contexts: &["github", "inputs", "vars", "needs"],
    functions: &JOB_STATUS,
};
/// `strategy`.
pub(super) static STRATEGY: Allowed = contexts(&["github", "inputs", "vars", "needs"]);
/// What is decided before a job starts.
pub(super) static JOB: Allowed = contexts(&["github", "inputs", "vars", "needs", "strategy", "matrix"]);
/// The same, where secrets are legal.
pub(super) static JOB_SECRETS: Allowed = contexts(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets",
]);
/// `defaults.run` of a job.
pub(super) static JOB_DEFAULTS: Allowed =
    contexts(&["github", "inputs", "vars", "strategy", "matrix", "needs", "env"]);
/// Credentials of a container.
pub(super) static CREDENTIALS: Allowed = contexts(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets", "env",
]);
/// What is evaluated by the runner while a job runs, without functions of files.
pub(super) static RUNNER: Allowed = contexts(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets", "steps", "job", "runner", "env",
]);
/// `environment.url`.
pub(super) static RUNNER_NO_SECRETS: Allowed = contexts(&[
    "github", "inputs", "vars", "needs", "strategy", "matrix", "steps", "job", "runner", "env",
]);
/// Keys of a step.
pub(super) static STEP: Allowed = Allowed {
    contexts: &[
        "github", "inputs", "vars", "needs", "strategy", "matrix", "secrets", "steps", "job", "runner", "env",
    ],
    functions: &[HASH_FILES],
};
/// `if` of a step: no secrets.
pub(super) static STEP_IF: Allowed = Allowed {
    contexts: &[
        "github", "inputs", "vars", "needs", "strategy", "matrix", "steps", "job", "runner", "env",
    ],
    functions: &STEP_STATUS,
};
/// `default` of an action's input.
pub(super) static ACTION_DEFAULT: Allowed = Allowed {
    contexts: &["github", "strategy", "matrix", "job", "runner"],
    functions: &[HASH_FILES],
};
/// `args` and `env` of a Docker action.
pub(super) static ACTION_INPUTS: Allowed = contexts(&["inputs"]);
/// Outputs of a composite action.
pub(super) static ACTION_OUTPUT: Allowed = contexts(&[
    "github", "strategy", "matrix", "steps", "inputs", "job", "runner", "env",
]);
/// Keys of a step of a composite action.
pub(super) static ACTION_STEP: Allowed = Allowed {
    contexts: &[
        "github", "inputs", "strategy", "matrix", "steps", "job", "runner", "env",
    ],
    functions: &[HASH_FILES],
};
/// `if` of a step of a composite action, and `pre-if` and `post-if`.
pub(super) static ACTION_IF: Allowed = Allowed {
    contexts: &[
        "github", "inputs", "strategy", "matrix", "steps", "job", "runner", "env",
    ],
    functions: &STEP_STATUS,
};
