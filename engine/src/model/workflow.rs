//! A workflow file as typed values.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{ActionRef, Field, InputValue, Node, NodeKind, Position, Spanned, Triggers, WorkflowRef};
use crate::expr::Expression;

/// A workflow file that has passed every static check.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// The file as the user named it; it stands in every diagnostic.
    pub file: Arc<str>,
    /// `name`, raw text.
    pub name: Option<String>,
    /// `run-name`.
    pub run_name: Option<Field<String>>,
    /// `on`.
    pub on: Triggers,
    /// `env`.
    pub env: Option<Field<StringMap>>,
    /// `defaults`.
    pub defaults: Option<Field<Defaults>>,
    /// `permissions`.
    pub permissions: Option<Permissions>,
    /// `concurrency`.
    pub concurrency: Option<Field<Concurrency>>,
    /// `jobs` in the order of the file.
    pub jobs: Vec<Arc<Job>>,
}

/// A mapping of strings in the order of the file, such as `env`, `with` and `outputs`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StringMap(pub IndexMap<String, String>);

/// `permissions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Permissions {
    /// `read-all`
    ReadAll,
    /// `write-all`
    WriteAll,
    /// A mapping; scopes that are not listed are `none`.
    Scopes(IndexMap<String, Access>),
}

/// What a token may do in one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// `none`
    None,
    /// `read`
    Read,
    /// `write`
    Write,
}

/// `concurrency`, evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Concurrency {
    /// `group`, at most 400 characters.
    pub group: String,
    /// `cancel-in-progress`.
    pub cancel_in_progress: bool,
}

/// `defaults.run`, evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defaults {
    /// `shell`.
    pub shell: Option<String>,
    /// `working-directory`.
    pub working_directory: Option<String>,
}

/// The `if` of a job or step: always an expression, wrapped as GitHub wraps it.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The expression that decides, such as `success() && (github.ref == 'x')`.
    pub expression: Expression,
    /// The file that it belongs to.
    pub file: Arc<str>,
    /// Where it is written, if it is.
    pub position: Option<Position>,
}

impl Condition {
    /// What the author wrote, without what was wrapped around it; nothing if there is no `if`.
    pub fn written(&self) -> Option<&str> {
        self.position?;
        let source = self.expression.source();
        let inner = source
            .strip_prefix("success() && (")
            .and_then(|source| source.strip_suffix(')'));
        Some(inner.unwrap_or(source))
    }
}

/// A job.
#[derive(Debug, Clone)]
pub struct Job {
    /// The key under `jobs`.
    pub id: String,
    /// Where the key stands.
    pub position: Position,
    /// `name`.
    pub name: Option<Field<String>>,
    /// `needs`: ids as the needed jobs spell them.
    pub needs: Vec<Spanned<String>>,
    /// `if`.
    pub condition: Condition,
    /// `strategy`, evaluated by `plan::matrix`; contexts github, inputs, vars, needs.
    pub strategy: Option<Strategy>,
    /// `permissions`.
    pub permissions: Option<Permissions>,
    /// `concurrency`.
    pub concurrency: Option<Field<Concurrency>>,
    /// What the job does.
    pub body: JobBody,
}

/// `strategy` as it is written: one mapping, or one expression that yields it.
#[derive(Debug, Clone)]
pub struct Strategy {
    /// The checked node; `plan::matrix` evaluates it with [`super::evaluate_node`].
    pub node: Node,
}

/// What a job does.
#[derive(Debug, Clone)]
pub enum JobBody {
    /// A job with steps.
    Steps(Box<StepsJob>),
    /// A job that calls a reusable workflow.
    Call(Box<CallJob>),
}

/// A job with steps.
#[derive(Debug, Clone)]
pub struct StepsJob {
    /// `runs-on`.
    pub runs_on: Field<RunsOn>,
    /// `timeout-minutes`, default 360.
    pub timeout_minutes: Option<Field<f64>>,
    /// `cancel-timeout-minutes`, default 5.
    pub cancel_timeout_minutes: Option<Field<f64>>,
    /// `continue-on-error`.
    pub continue_on_error: Option<Field<bool>>,
    /// `container`.
    pub container: Option<Field<Container>>,
    /// `services` by id.
    pub services: Option<Field<Services>>,
    /// `env`.
    pub env: Option<Field<StringMap>>,
    /// `environment`: name, and url which is evaluated at the end of the job.
    pub environment: Option<Environment>,
    /// `outputs`.
    pub outputs: Option<Field<StringMap>>,
    /// `defaults`.
    pub defaults: Option<Field<Defaults>>,
    /// `steps`.
    pub steps: Vec<Arc<Step>>,
}

impl StepsJob {
    /// A job of which only is known where it runs.
    pub fn on(runs_on: Field<RunsOn>) -> Self {
        Self {
            runs_on,
            timeout_minutes: None,
            cancel_timeout_minutes: None,
            continue_on_error: None,
            container: None,
            services: None,
            env: None,
            environment: None,
            outputs: None,
            defaults: None,
            steps: Vec::new(),
        }
    }

    /// A job that runs nowhere and does nothing, in the place of one that is not to run here.
    pub fn nowhere(file: Arc<str>, position: Position) -> Self {
        let kind = NodeKind::Sequence(Vec::new());
        Self::on(Field::new(file, Node { position, kind }))
    }
}

/// `environment` of a job.
#[derive(Debug, Clone)]
pub struct Environment {
    /// `name`.
    pub name: Field<String>,
    /// `url`.
    pub url: Option<Field<String>>,
}

/// `runs-on`, evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsOn {
    /// `group`.
    pub group: Option<String>,
    /// Labels; a job runs where all of them are offered.
    pub labels: Vec<String>,
}

/// `container` or one service, evaluated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Container {
    /// `image`; empty means no container.
    pub image: String,
    /// `options`.
    pub options: Option<String>,
    /// `env`.
    pub env: StringMap,
    /// `ports`.
    pub ports: Vec<String>,
    /// `volumes`.
    pub volumes: Vec<String>,
    /// `credentials`: user name and password.
    pub credentials: Option<(String, String)>,
    /// `entrypoint` (services only).
    pub entrypoint: Option<String>,
    /// `command` (services only).
    pub command: Option<String>,
}

/// `services`, evaluated, by id in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Services(pub IndexMap<String, Container>);

/// A job that calls a reusable workflow.
#[derive(Debug, Clone)]
pub struct CallJob {
    /// `uses`.
    pub uses: Spanned<WorkflowRef>,
    /// `with`: typed scalars by input name.
    pub with: IndexMap<String, Field<InputValue>>,
    /// The places of the keys of `with`.
    pub with_positions: IndexMap<String, Position>,
    /// `secrets`.
    pub secrets: CallSecrets,
}

/// `secrets` of a job that calls a workflow.
#[derive(Debug, Clone)]
pub enum CallSecrets {
    /// `inherit`: all that the caller had.
    Inherit,
    /// Those listed; nothing if the key is absent.
    Listed(IndexMap<String, Field<String>>),
}

/// A step of a job or of a composite action.
#[derive(Debug, Clone)]
pub struct Step {
    /// The id, generated if none is written; generated ids start with `__` and have no entry in `steps`.
    pub id: String,
    /// Where the step stands.
    pub position: Position,
    /// `name`.
    pub name: Option<Field<String>>,
    /// `if`.
    pub condition: Condition,
    /// `continue-on-error`.
    pub continue_on_error: Option<Field<bool>>,
    /// `timeout-minutes`.
    pub timeout_minutes: Option<Field<f64>>,
    /// `env`.
    pub env: Option<Field<StringMap>>,
    /// What the step does.
    pub action: StepAction,
}

/// What a step does.
#[derive(Debug, Clone)]
pub enum StepAction {
    /// `run`
    Run(RunStep),
    /// `uses`
    Uses(UsesStep),
}

/// A `run` step.
#[derive(Debug, Clone)]
pub struct RunStep {
    /// `run`.
    pub script: Field<String>,
    /// `shell`: literal in a workflow, may be an expression in a composite action.
    pub shell: Option<Field<String>>,
    /// `working-directory`.
    pub working_directory: Option<Field<String>>,
}

/// A `uses` step.
#[derive(Debug, Clone)]
pub struct UsesStep {
    /// `uses`.
    pub uses: Spanned<ActionRef>,
    /// `with`.
    pub with: Option<Field<StringMap>>,
}
