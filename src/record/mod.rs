//! What is kept of the last run of a directory, for `gantry explain`: why each job and step ran, and with what.
//!
//! ```text
//! engine --observations--.
//!                        +--> Recorder --> Record --> Store --> last.json --> `gantry explain`
//! local runs --events----'
//! ```

mod recorder;
mod store;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use recorder::Recorder;
pub use store::Store;

/// The version of the format; a record of another one is not read.
pub const VERSION: u32 = 1;

/// What is kept of one `gantry exec`. Every text in it is masked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`VERSION`]
    pub version: u32,
    /// The directory that the workflows were of.
    pub directory: String,
    /// The event that started them.
    pub event: String,
    /// When they started, as RFC 3339 writes it.
    pub started: String,
    /// The run was so large that a part of it is not here.
    pub truncated: bool,
    /// The jobs in the order in which they were decided on.
    pub jobs: Vec<Job>,
}

/// A job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What a person calls the workflow of the run.
    pub workflow: String,
    /// The key of the job, unique in its run.
    pub key: String,
    /// The name that a person sees.
    pub name: String,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// It failed, and its `continue-on-error` let the run go on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tolerated: bool,
    /// Why it never ran, if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Its condition, after those of the jobs that call its workflow.
    pub conditions: Vec<Condition>,
    /// Its steps in the order in which they ran.
    pub steps: Vec<Step>,
}

/// What a condition came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The key of the job whose condition it is; absent in a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The expression.
    #[serde(rename = "if")]
    pub text: String,
    /// Whether it holds; absent if it could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// Why it could not be evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was evaluated, in this order.
    pub operands: Vec<Operand>,
}

/// A part of an expression and its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operand {
    /// The part.
    pub text: String,
    /// Its value as the expression language writes it.
    pub value: String,
}

/// Which part of a step ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// What an action does before all steps.
    Pre,
    /// What the step is written for.
    Main,
    /// The clean-up of an action.
    Post,
}

/// A step of a job or of a composite action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its place: `2`, or `2.1` for the first step of a composite action in it.
    pub number: String,
    /// Which part of it.
    pub part: Part,
    /// Its id, if one is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The name that a person sees.
    pub name: String,
    /// The line on which it stands in its workflow or action.
    pub line: u32,
    /// How it ended before `continue-on-error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// How it ended after `continue-on-error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What its condition came to, if it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
    /// The environment of its process, if it had one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Variable>,
    /// The steps inside of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A variable of a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Where the value comes from.
    pub origin: Origin,
    /// The step that wrote it to `GITHUB_ENV`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The sandbox.
    Sandbox,
    /// What the command line or the configuration gives.
    Given,
    /// `env` of the workflow.
    Workflow,
    /// `env` of the job.
    Job,
    /// `GITHUB_ENV`.
    GithubEnv,
    /// `env` of a step that uses a composite action around.
    Composite,
    /// `env` of the step.
    Step,
    /// `runs.env` of the action.
    Action,
    /// What the action saved before.
    State,
    /// An input of the action.
    Input,
    /// `GITHUB_PATH`.
    GithubPath,
    /// The `github` context.
    Github,
    /// The `runner` context.
    Runner,
    /// The command files of the step.
    Files,
    /// Gantry itself.
    Gantry,
}

impl Origin {
    /// What a person reads.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "the job's sandbox",
            Self::Given => "--env, an .env file or the configuration",
            Self::Workflow => "env of the workflow",
            Self::Job => "env of the job",
            Self::GithubEnv => "GITHUB_ENV",
            Self::Composite => "env of a step around",
            Self::Step => "env of the step",
            Self::Action => "env of the action",
            Self::State => "state of the action",
            Self::Input => "input of the action",
            Self::GithubPath => "GITHUB_PATH before the sandbox's path",
            Self::Github => "the github context",
            Self::Runner => "the runner context",
            Self::Files => "the step's command files",
            Self::Gantry => "gantry",
        }
    }

    /// Tells whether somebody has given the variable, and not the runner by itself.
    pub fn is_given(self) -> bool {
        !matches!(
            self,
            Self::Sandbox | Self::Github | Self::Runner | Self::Files | Self::Gantry
        )
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(value: &bool) -> bool {
    !value
}
