//! An action's metadata file (`action.yml`) as typed values.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Condition, Field, Step};

/// The metadata of an action.
#[derive(Debug, Clone)]
pub struct Action {
    /// The file as the user would name it.
    pub file: Arc<str>,
    /// `name`.
    pub name: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// `inputs` in the order of the file.
    pub inputs: IndexMap<String, ActionInput>,
    /// `outputs`: the `value` of each (composite actions), in the order of the file.
    pub outputs: IndexMap<String, Option<Field<String>>>,
    /// `runs`.
    pub runs: Runs,
}

/// One input of an action.
#[derive(Debug, Clone)]
pub struct ActionInput {
    /// `required`; not enforced by the runner.
    pub required: bool,
    /// `default`; contexts github, strategy, matrix, job, runner and `hashFiles`.
    pub default: Option<Field<String>>,
    /// `deprecationMessage`.
    pub deprecation_message: Option<String>,
}

/// `runs` of an action.
#[derive(Debug, Clone)]
pub enum Runs {
    /// `using: composite`
    Composite(Vec<Arc<Step>>),
    /// `using: node*`
    Node(NodeRuns),
    /// `using: docker`
    Docker(DockerRuns),
}

/// `runs` of a JavaScript action.
#[derive(Debug, Clone)]
pub struct NodeRuns {
    /// The major version that `using` names, such as 20.
    pub version: u32,
    /// `main`.
    pub main: String,
    /// `pre`.
    pub pre: Option<String>,
    /// `pre-if`, default `always()`, not wrapped.
    pub pre_if: Condition,
    /// `post`.
    pub post: Option<String>,
    /// `post-if`, default `always()`, not wrapped.
    pub post_if: Condition,
}

/// `runs` of a Docker action.
#[derive(Debug, Clone)]
pub struct DockerRuns {
    /// `image`: a path to a Dockerfile or `docker://image`.
    pub image: String,
    /// `entrypoint`.
    pub entrypoint: Option<String>,
    /// `args`; context inputs.
    pub args: Option<Vec<Field<String>>>,
    /// `env`; context inputs.
    pub env: IndexMap<String, Field<String>>,
    /// `pre-entrypoint`.
    pub pre_entrypoint: Option<String>,
    /// `pre-if`.
    pub pre_if: Condition,
    /// `post-entrypoint`.
    pub post_entrypoint: Option<String>,
    /// `post-if`.
    pub post_if: Condition,
}
