//! Workflow and action files as typed values with line and column.
//!
//! A file passes through three layers: `yaml` makes events of its text, `reader` checks them against the tables in
//! `schema` and parses the expressions, `convert` makes typed values of the checked tree. Whatever may hold an
//! expression becomes a [`Field`], which is evaluated later, once.

mod action;
mod convert;
mod diagnostic;
mod evaluate;
mod from_node;
mod node;
mod reader;
mod reference;
mod schema;
mod template;
mod trigger;
mod workflow;
mod yaml;

pub use action::*;
pub use convert::{ClaimedWorkflow, check_matrix};
pub use diagnostic::{Diagnostic, Position, Spanned};
pub use node::{Node, NodeKind};
pub use reference::{ActionRef, WorkflowRef};
pub use template::{Field, FieldError, FromNode, evaluate_node};
pub use trigger::*;
pub use workflow::*;

#[cfg(test)]
mod tests;
