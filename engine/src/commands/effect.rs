//! What goes into the interpreter and what comes out of it.

use std::borrow::Cow;

use super::annotations::Annotation;

/// What the interpreter must know about the step.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `ACTIONS_STEP_DEBUG`: debug rows are shown, commands are echoed.
    pub step_debug: bool,
    /// `ACTIONS_ALLOW_UNSECURE_COMMANDS`: `set-env` and `add-path` work.
    pub allow_unsecure_commands: bool,
    /// `ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS`: any stop token is accepted.
    pub allow_unsecure_stop_tokens: bool,
    /// Whether the row of an annotation names its place and title.
    pub customs: Customs,
    /// Every path of the workspace: the host's, and the one in the step's container.
    pub workspaces: Vec<String>,
}

/// Whose customs hold where those of the forges differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Customs {
    /// Annotations are kept beside the log, and a job that is out of time was cancelled.
    #[default]
    GitHub,
    /// Only rows are kept, so that they name the places of annotations; a job that is out of time has failed.
    Gitea,
}

/// What the shell has to do for a line, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Effect<'l> {
    /// Show this row. It is not masked yet.
    Print(Cow<'l, str>),
    /// Mask this value and each of its lines from the next row on.
    AddMask(String),
    /// Set an output of the step.
    SetOutput {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// Keep a value for the later phases of the same action.
    SaveState {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// Set a variable for the later steps.
    SetEnv {
        /// The name.
        name: String,
        /// The value.
        value: String,
    },
    /// Put a directory in front of `PATH` for the later steps.
    AddPath(String),
    /// Read a problem matcher file and give it to [`super::Interpreter::on_matcher_file`].
    ReadMatchers(MatcherRequest),
    /// Report this annotation; its row is printed by an effect of its own.
    Annotate(Annotation),
    /// The step fails, whatever its exit status.
    FailStep,
}

/// A problem matcher file that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatcherRequest {
    /// The path as the command gives it: maybe relative to the workspace, maybe a path in the container.
    pub path: String,
    /// The line of the command.
    pub(super) line: String,
    /// `remove-matcher` and not `add-matcher`.
    pub(super) remove: bool,
}

/// Receives the effects of a line in order.
pub type Emit<'e, 'l> = &'e mut dyn FnMut(Effect<'l>);
