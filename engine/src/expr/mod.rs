//! The expression language: lexer, parser, typed values, functions and evaluation.

mod ast;
mod casing;
mod compare;
mod eval;
mod explain;
mod format;
mod functions;
mod json;
mod lexer;
mod memory;
mod number;
mod object;
mod parser;
#[cfg(test)]
mod tests;
mod value;
mod written;

pub(crate) use explain::shown;
pub use explain::{Explanation, Operand, Operands, TEXT_LIMIT};
pub use json::JsonError;
pub use number::number_text;
pub use object::{Array, Object};
pub use value::{Kind, Value};

use std::fmt;
use std::sync::Arc;

use ast::{Builtin, Literal, Node};

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
///
/// `Display` gives the canonical text: no needless parentheses, names as the documentation spells them. Parsed again
/// with the same names it is the same expression.
#[derive(Clone)]
pub struct Expression {
    parsed: Arc<Parsed>,
}

struct Parsed {
    source: String,
    root: Node,
    calls_status_function: bool,
}

/// Why a text is not an expression. Its `Display` is the text that the workflow's author reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The text is empty.
    #[error("An expression was expected")]
    Empty,
    /// The text has more than 21000 UTF-16 units.
    #[error("Exceeded max expression length 21000")]
    TooLong,
    /// Operators, functions and indexes nest more than 50 levels deep.
    #[error("Exceeded max expression depth 50")]
    TooDeep,
    /// A symbol that is no token, or a token that cannot stand there.
    #[error("Unexpected symbol: {0}")]
    UnexpectedSymbol(Place),
    /// The text ends after a symbol that needs something behind it, or with an open bracket.
    #[error("Unexpected end of expression: {0}")]
    UnexpectedEnd(Place),
    /// A name that is no context which is legal there.
    #[error("Unrecognized named-value: {0}")]
    UnrecognizedNamedValue(Place),
    /// A name that is no function which is legal there.
    #[error("Unrecognized function: {0}")]
    UnrecognizedFunction(Place),
    /// A call lacks arguments.
    #[error("Too few parameters supplied: {0}")]
    TooFewParameters(Place),
    /// A call has more arguments than the function takes.
    #[error("Too many parameters supplied: {0}")]
    TooManyParameters(Place),
    /// A call of `case` lacks its default.
    #[error("Even number of parameters supplied, requires an odd number of parameters: {0}")]
    EvenParameters(Place),
}

/// Where in an expression a mistake is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The offending symbol as it is written.
    pub symbol: String,
    /// The position of its first character in the expression, in UTF-16 units from 1.
    pub position: usize,
    /// The whole expression.
    pub expression: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            symbol,
            position,
            expression,
        } = self;
        write!(
            f,
            "'{symbol}'. Located at position {position} within expression: {expression}"
        )
    }
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
    pub fn parse(source: &str, names: Names<'_>) -> Result<Self, ParseError> {
        let root = parser::parse(source, names)?;
        let calls_status_function = nodes(&root).any(|node| {
            matches!(
                node,
                Node::Call {
                    function: Builtin::Status(_),
                    ..
                }
            )
        });
        Ok(Self {
            parsed: Arc::new(Parsed {
                source: source.to_owned(),
                root,
                calls_status_function,
            }),
        })
    }

    /// The text that was parsed.
    pub fn source(&self) -> &str {
        &self.parsed.source
    }

    /// The text of the literal, if the whole expression is one string literal.
    pub fn as_string_literal(&self) -> Option<&str> {
        match &self.parsed.root {
            Node::Literal(Literal(value)) => value.as_str(),
            _ => None,
        }
    }

    /// Tells whether `always`, `success`, `failure` or `cancelled` is called anywhere in the expression.
    pub fn calls_status_function(&self) -> bool {
        self.parsed.calls_status_function
    }

    /// The names of the contexts that the expression uses, one for each use.
    pub fn contexts_used(&self) -> impl Iterator<Item = &str> {
        nodes(&self.parsed.root).filter_map(|node| match node {
            Node::Context(name) => Some(name.as_ref()),
            _ => None,
        })
    }

    /// Evaluates the expression.
    ///
    /// # Errors
    /// Returns the first failure; see [`EvalError`].
    pub fn evaluate(&self, scope: Scope<'_>) -> Result<Value, EvalError> {
        eval::evaluate(&self.parsed.root, scope)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.source()).finish()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parsed.root.fmt(f)
    }
}

/// All nodes of a tree, each before its children.
fn nodes(root: &Node) -> impl Iterator<Item = &Node> {
    let mut next = vec![root];
    std::iter::from_fn(move || {
        let node = next.pop()?;
        next.extend(node.children().into_iter().rev());
        Some(node)
    })
}
