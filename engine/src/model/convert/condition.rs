//! `if`: always an expression, which asks for success unless it asks for a status itself.

use crate::expr::{Expression, ParseError};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{Definition, NOTHING};
use crate::model::{Condition, Node, NodeKind, Position};

/// The condition that is meant if none is written.
const SUCCESS: &str = "success()";

/// Makes the condition of a job or step. What calls no status function holds only after success.
///
/// Nothing is made of a text that is no expression; the mistake is recorded.
pub(super) fn wrapped(
    node: Option<&Node>,
    definition: &'static Definition,
    errors: &mut Diagnostics,
) -> Option<Condition> {
    let parse = |source: &str| parse(source, definition);
    let position = node.map(|node| node.position);
    let Some(written) = node.and_then(source).filter(|source| !source.trim().is_empty()) else {
        return finish(parse(SUCCESS), position, errors);
    };
    let expression = parse(written).and_then(|expression| {
        if expression.calls_status_function() {
            return Ok(expression);
        }
        parse(&format!("{SUCCESS} && ({written})"))
    });
    finish(expression, position, errors)
}

/// Makes a condition of an action's `pre-if` or `post-if`, which holds whatever happened before.
pub(super) fn unwrapped(
    node: Option<&Node>,
    definition: &'static Definition,
    errors: &mut Diagnostics,
) -> Option<Condition> {
    let written = node
        .and_then(source)
        .filter(|source| !source.trim().is_empty())
        .unwrap_or("always()");
    finish(parse(written, definition), node.map(|node| node.position), errors)
}

fn parse(source: &str, definition: &'static Definition) -> Result<Expression, ParseError> {
    Expression::parse(source, definition.allowed.unwrap_or(&NOTHING).names())
}

fn finish(
    expression: Result<Expression, ParseError>,
    position: Option<Position>,
    errors: &mut Diagnostics,
) -> Option<Condition> {
    match (expression, position) {
        (Ok(expression), position) => Some(Condition {
            expression,
            file: errors.file().clone(),
            position,
        }),
        (Err(error), Some(position)) => {
            errors.error(position, error.to_string());
            None
        }
        (Err(error), None) => {
            errors.abort(error.to_string());
            None
        }
    }
}

/// The text of the expression, without `${{ }}`.
fn source(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::String(text) => Some(text),
        NodeKind::Expression(expression) => Some(expression.source()),
        _ => None,
    }
}
