//! `on` of a workflow as typed values: events with their filters, and the inputs of dispatched and called workflows.

use indexmap::IndexMap;

use super::{Field, Position};

/// `on`: each event with its filters.
#[derive(Debug, Clone, Default)]
pub struct Triggers {
    /// The events by name, in the order of the file.
    pub events: IndexMap<String, EventConfig>,
    /// `workflow_dispatch`.
    pub dispatch: Option<DispatchTrigger>,
    /// `workflow_call`.
    pub call: Option<CallTrigger>,
}

/// The filters of one event; an absent filter lets everything through.
#[derive(Debug, Clone, Default)]
pub struct EventConfig {
    /// `types`.
    pub types: Option<Vec<String>>,
    /// `branches`.
    pub branches: Option<Vec<String>>,
    /// `branches-ignore`.
    pub branches_ignore: Option<Vec<String>>,
    /// `tags`.
    pub tags: Option<Vec<String>>,
    /// `tags-ignore`.
    pub tags_ignore: Option<Vec<String>>,
    /// `paths`.
    pub paths: Option<Vec<String>>,
    /// `paths-ignore`.
    pub paths_ignore: Option<Vec<String>>,
    /// `workflows` of `workflow_run`.
    pub workflows: Option<Vec<String>>,
    /// `cron` entries of `schedule`.
    pub schedule: Vec<String>,
}

/// `on.workflow_dispatch`.
#[derive(Debug, Clone, Default)]
pub struct DispatchTrigger {
    /// `inputs` in the order of the file.
    pub inputs: IndexMap<String, DispatchInput>,
}

/// One input of `workflow_dispatch`.
#[derive(Debug, Clone)]
pub struct DispatchInput {
    /// `description`.
    pub description: Option<String>,
    /// `required`.
    pub required: bool,
    /// `default`, as text.
    pub default: Option<String>,
    /// `type`.
    pub kind: DispatchInputKind,
    /// Where the input is declared.
    pub position: Position,
}

/// The types of a dispatch input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatchInputKind {
    /// `string`, the default.
    String,
    /// `boolean`
    Boolean,
    /// `number`
    Number,
    /// `environment`
    Environment,
    /// `choice`, one of the options.
    Choice(Vec<String>),
}

/// `on.workflow_call`.
#[derive(Debug, Clone, Default)]
pub struct CallTrigger {
    /// `inputs` in the order of the file.
    pub inputs: IndexMap<String, CallInput>,
    /// `secrets` in the order of the file: name to `required`.
    pub secrets: IndexMap<String, bool>,
    /// `outputs` in the order of the file; contexts github, inputs, vars, jobs.
    pub outputs: IndexMap<String, Field<String>>,
}

/// One input of `workflow_call`.
#[derive(Debug, Clone)]
pub struct CallInput {
    /// `type`.
    pub kind: CallInputKind,
    /// `required`.
    pub required: bool,
    /// `default`; its value must have the input's type. Contexts github, inputs, vars.
    pub default: Option<Field<InputValue>>,
    /// Where the input is declared.
    pub position: Position,
}

/// The types of a call input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallInputKind {
    /// `string`
    String,
    /// `boolean`
    Boolean,
    /// `number`
    Number,
}

/// A typed scalar that is given to an input.
#[derive(Debug, Clone, PartialEq)]
pub enum InputValue {
    /// A string.
    String(String),
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(f64),
}
