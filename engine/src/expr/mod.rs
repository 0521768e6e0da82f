//! The expression language: lexer, parser, typed values, functions and evaluation.

mod casing;
mod compare;
mod json;
mod memory;
mod number;
mod object;
mod value;

pub use json::JsonError;
pub use number::number_text;
pub use object::{Array, Object};
pub use value::{Kind, Value};

use std::sync::Arc;

/// The names that an expression may use at the place where it is written.
///
/// The functions that are legal everywhere (`contains`, `format`, ...) are not listed.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Legal contexts, compared ignoring case.
    pub contexts: &'a [&'a str],
    /// Legal functions beyond those that are legal everywhere: `hashFiles` and the status functions.
    pub functions: &'a [Function],
}

/// A function that is legal only at some keys, with the number of parameters that it takes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// The name as the documentation spells it.
    pub name: &'static str,
    /// The least number of parameters.
    pub min: usize,
    /// The greatest number of parameters.
    pub max: usize,
}

/// A parsed expression. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Expression {
    source: Arc<str>,
}

/// Why a text is not an expression. Its `Display` is the text that the workflow's author reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// Placeholder.
    #[error("placeholder")]
    Placeholder,
}

/// What evaluation may see and ask for.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The contexts by name (`github`, `env`, ...); an absent one evaluates to null.
    pub contexts: &'a Object,
    /// The functions whose answers lie outside of the expression.
    pub host: &'a dyn Host,
    /// Where operand values are recorded, if anybody wants to know.
    pub recorder: Option<&'a dyn Recorder>,
}

/// The status functions, in the order of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFunction {
    /// `always()`
    Always,
    /// `success()`
    Success,
    /// `failure()`
    Failure,
    /// `cancelled()`
    Cancelled,
}

/// The functions whose answers lie outside of an expression.
pub trait Host {
    /// Answers a status function; `ids` are its arguments (job ids; always empty in a step).
    fn status(&self, function: StatusFunction, ids: &[String]) -> bool;

    /// Answers `hashFiles(patterns...)`: 64 hexadecimal digits, or nothing if no file matches.
    ///
    /// # Errors
    /// [`HashFilesError::Pending`] if the digest must be computed first: evaluation then ends with
    /// [`EvalError::NeedsFiles`] and is repeated by the caller once it has the answer.
    fn hash_files(&self, patterns: &[String]) -> Result<String, HashFilesError>;
}

/// Why `hashFiles` has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashFilesError {
    /// The digest is not known yet.
    Pending,
    /// The digest cannot be had, with the reason for the workflow's author.
    Failed(String),
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// `hashFiles` was called with patterns whose digest is not known yet.
    #[error("the digest of the files is not known yet")]
    NeedsFiles(Vec<String>),
    /// The evaluation failed, with the text that the workflow's author reads.
    #[error("{0}")]
    Failed(String),
}

/// Sees the value of every operand while an expression is evaluated; `gantry explain` shows them.
pub trait Recorder {
    /// Called once for each node of the expression that was evaluated, operands before the node that uses them.
    fn operand(&self, text: &str, value: &Value);
}

impl Expression {
    /// Parses `source`, the text between `${{` and `}}` without surrounding white space.
    ///
    /// # Errors
    /// Returns the first mistake, with its position in `source`.
    pub fn parse(_source: &str, _names: Names<'_>) -> Result<Self, ParseError> {
        Err(ParseError::Placeholder)
    }

    /// The text that was parsed.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text of the literal, if the whole expression is one string literal.
    pub fn as_string_literal(&self) -> Option<&str> {
        None
    }

    /// Tells whether `always`, `success`, `failure` or `cancelled` is called anywhere in the expression.
    pub fn calls_status_function(&self) -> bool {
        false
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// Returns the first failure; see [`EvalError`].
    pub fn evaluate(&self, _scope: Scope<'_>) -> Result<Value, EvalError> {
        Err(EvalError::Failed(String::new()))
    }
}
