//! Keys whose values are evaluated while a workflow runs.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::evaluate::{self, evaluate};
use super::schema::{ANY, Definition, STRATEGY};
use super::{Diagnostic, Node, Position};
use crate::expr::Scope;

/// A key's value whose type is known to be `T` once it is evaluated.
///
/// Template text is evaluated exactly once: what evaluation yields is data and never looked at again.
pub struct Field<T> {
    node: Arc<Node>,
    file: Arc<str>,
    definition: &'static Definition,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        let Self {
            node,
            file,
            definition,
            kind,
        } = self;
        Self {
            node: node.clone(),
            file: file.clone(),
            definition,
            kind: *kind,
        }
    }
}

impl<T> fmt::Debug for Field<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Field").field(&self.node).finish()
    }
}

impl<T> Field<T> {
    /// Makes a field of a node of `file` that no schema knows; only the conversion to `T` checks its value.
    pub fn new(file: Arc<str>, node: Node) -> Self {
        Self::checked(file, node, &ANY)
    }

    /// Makes a field whose value, once evaluated, is checked against `definition`.
    pub(super) fn checked(file: Arc<str>, node: Node, definition: &'static Definition) -> Self {
        Self {
            node: Arc::new(node),
            file,
            definition,
            kind: PhantomData,
        }
    }

    /// The node as it is written.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The file in which the value stands.
    pub fn file(&self) -> &Arc<str> {
        &self.file
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
    /// `hashFiles` needs a digest first; see [`crate::expr::EvalError::NeedsFiles`].
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
    pub fn evaluate(&self, scope: Scope<'_>) -> Result<T, FieldError> {
        let node = evaluate(&self.file, &self.node, self.definition, scope)?;
        T::from_node(&self.file, &node).map_err(FieldError::Invalid)
    }

    /// The value, if nothing in it depends on an expression.
    pub fn literal(&self) -> Option<T> {
        let node = evaluate::literal(&self.file, &self.node, self.definition).ok()?;
        T::from_node(&self.file, &node).ok()
    }
}

/// Evaluates `strategy` once: the result has no expressions and fits the schema of `strategy`.
///
/// # Errors
/// See [`FieldError`].
pub fn evaluate_node(file: &Arc<str>, node: &Node, scope: Scope<'_>) -> Result<Node, FieldError> {
    evaluate(file, node, &STRATEGY, scope)
}
