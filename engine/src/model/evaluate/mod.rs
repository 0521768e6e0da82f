//! Evaluates a checked tree: each expression once, its result in its place, checked against the schema again.

use std::sync::Arc;

use super::diagnostic::Diagnostics;
use super::reader::{KeyCheck, Place, Verdict, checked_scalar, size};
use super::schema::Definition;
use super::{FieldError, Node, NodeKind, Position};
use crate::expr::{EvalError, Expression, Scope, Value};

/// How deep a value may nest; data from expressions may nest deeper than a file.
const MAX_DEPTH: usize = 100;
/// Bytes that a value may have, counted as the reader counts.
const MAX_SIZE: usize = 10 * 1024 * 1024;

/// Evaluates `node` against `definition`.
pub(super) fn evaluate(
    file: &Arc<str>,
    node: &Node,
    definition: &'static Definition,
    scope: Scope<'_>,
) -> Result<Node, FieldError> {
    run(file, node, definition, Some(scope))
}

/// The same for a node without expressions; one that has any is an error.
pub(super) fn literal(
    file: &Arc<str>,
    node: &Node,
    definition: &'static Definition,
) -> Result<Node, FieldError> {
    run(file, node, definition, None)
}

fn run(
    file: &Arc<str>,
    node: &Node,
    definition: &'static Definition,
    scope: Option<Scope<'_>>,
) -> Result<Node, FieldError> {
    let mut evaluator = Evaluator {
        scope,
        errors: Diagnostics::new(file.clone()),
        depth: 0,
        size: 0,
    };
    match evaluator.value(node, Place::root(definition)) {
        Ok(node) => evaluator.errors.into_result(node).map_err(FieldError::Invalid),
        Err(Stop::NeedsFiles(patterns)) => Err(FieldError::NeedsFiles(patterns)),
        Err(Stop::Limit(message)) => {
            evaluator.errors.abort(message);
            Err(FieldError::Invalid(evaluator.errors.into_vec()))
        }
    }
}

/// Why evaluation ends early.
enum Stop {
    NeedsFiles(Vec<String>),
    Limit(&'static str),
}

struct Evaluator<'a> {
    scope: Option<Scope<'a>>,
    errors: Diagnostics,
    depth: usize,
    size: usize,
}

impl Evaluator<'_> {
    /// Evaluates a value. Recursion is bounded by [`MAX_DEPTH`].
    fn value(&mut self, node: &Node, place: Place) -> Result<Node, Stop> {
        match &node.kind {
            NodeKind::Expression(expression) => {
                // A failure is recorded; an empty text in its place lets the rest be checked too.
                let failed = || Node {
                    position: node.position,
                    kind: NodeKind::String(Arc::from("")),
                };
                match self.expression(expression, node.position)? {
                    Some(data) => self.data(&data, place),
                    None => Ok(failed()),
                }
            }
            _ => self.data(node, place),
        }
    }

    /// Checks a node that is no expression itself.
    fn data(&mut self, node: &Node, place: Place) -> Result<Node, Stop> {
        let position = node.position;
        self.grow(node)?;
        let kind = match &node.kind {
            NodeKind::Sequence(items) => {
                NodeKind::Sequence(self.nested(|this| this.items(position, items, place))?)
            }
            NodeKind::Mapping(entries) => {
                NodeKind::Mapping(self.nested(|this| this.entries(position, entries, place))?)
            }
            NodeKind::String(_) | NodeKind::Null | NodeKind::Bool(_) | NodeKind::Number(_) => {
                let text = || Arc::from(node.to_value().to_text().as_ref());
                return Ok(checked_scalar(node.clone(), place, text, &mut self.errors));
            }
            NodeKind::Expression(_) | NodeKind::Insert => {
                let message = "The expression directive 'insert' is not supported in this context";
                self.errors.error(position, message);
                NodeKind::Null
            }
        };
        Ok(Node { position, kind })
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Stop>) -> Result<T, Stop> {
        if self.depth >= MAX_DEPTH {
            return Err(Stop::Limit("Maximum object depth exceeded"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn items(&mut self, position: Position, items: &[Node], place: Place) -> Result<Vec<Node>, Stop> {
        let Some(definition) = place.definition.items() else {
            self.errors.error(position, "A sequence was not expected");
            return Ok(Vec::new());
        };
        let place = place.below(definition);
        let mut evaluated = Vec::with_capacity(items.len());
        for item in items {
            let NodeKind::Expression(expression) = &item.kind else {
                evaluated.push(self.data(item, place)?);
                continue;
            };
            // A list takes the place of the item that yields it; an item that failed is left out.
            match self.expression(expression, item.position)? {
                Some(Node {
                    kind: NodeKind::Sequence(spliced),
                    ..
                }) => {
                    for item in &spliced {
                        evaluated.push(self.data(item, place)?);
                    }
                }
                Some(data) => evaluated.push(self.data(&data, place)?),
                None => {}
            }
        }
        Ok(evaluated)
    }

    fn entries(
        &mut self,
        position: Position,
        entries: &[(Node, Node)],
        place: Place,
    ) -> Result<Vec<(Node, Node)>, Stop> {
        let Some(mut keys) = KeyCheck::new(place) else {
            self.errors.error(position, "A mapping was not expected");
            return Ok(Vec::new());
        };
        let mut evaluated = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match &key.kind {
                NodeKind::Insert => self.insert(value, &mut keys, &mut evaluated)?,
                NodeKind::Expression(expression) => {
                    if let Some(key) = self.key(expression, key.position)? {
                        self.entry(key, value, &mut keys, &mut evaluated)?;
                    }
                }
                _ => self.entry(key.clone(), value, &mut keys, &mut evaluated)?,
            }
        }
        keys.finish(position, &mut self.errors);
        Ok(evaluated)
    }

    fn entry(
        &mut self,
        key: Node,
        value: &Node,
        keys: &mut KeyCheck,
        evaluated: &mut Vec<(Node, Node)>,
    ) -> Result<(), Stop> {
        self.grow(&key)?;
        if let Verdict::Legal(key, place) = keys.check(key, &mut self.errors) {
            evaluated.push((key, self.value(value, place)?));
        }
        Ok(())
    }

    /// Merges the mapping at the key `${{ insert }}` into the one around it.
    fn insert(
        &mut self,
        value: &Node,
        keys: &mut KeyCheck,
        evaluated: &mut Vec<(Node, Node)>,
    ) -> Result<(), Stop> {
        let data;
        let inserted = match &value.kind {
            NodeKind::Expression(expression) => match self.expression(expression, value.position)? {
                Some(node) => {
                    data = node;
                    &data
                }
                None => return Ok(()),
            },
            _ => value,
        };
        let NodeKind::Mapping(entries) = &inserted.kind else {
            self.errors.error(value.position, "Expected a mapping");
            return Ok(());
        };
        for (key, value) in entries {
            self.entry(key.clone(), value, keys, evaluated)?;
        }
        Ok(())
    }

    /// Evaluates the key of an entry, which must be a scalar.
    fn key(&mut self, expression: &Expression, position: Position) -> Result<Option<Node>, Stop> {
        let Some(value) = self.evaluate(expression, position)? else {
            return Ok(None);
        };
        if !value.is_primitive() {
            self.errors.error(position, "Expected a string");
            return Ok(None);
        }
        let kind = NodeKind::String(Arc::from(value.to_text().as_ref()));
        Ok(Some(Node { position, kind }))
    }

    /// Evaluates an expression to data at its place; nothing if that failed.
    fn expression(&mut self, expression: &Expression, position: Position) -> Result<Option<Node>, Stop> {
        match self.evaluate(expression, position)? {
            Some(value) => node_of(&value, position, 0).map(Some),
            None => Ok(None),
        }
    }

    fn evaluate(&mut self, expression: &Expression, position: Position) -> Result<Option<Value>, Stop> {
        let Some(scope) = self.scope else {
            self.errors
                .error(position, "A template expression is not allowed in this context");
            return Ok(None);
        };
        match expression.evaluate(scope) {
            Ok(value) => Ok(Some(value)),
            Err(EvalError::NeedsFiles(patterns)) => Err(Stop::NeedsFiles(patterns)),
            Err(error) => {
                self.errors.error(position, error.to_string());
                Ok(None)
            }
        }
    }

    fn grow(&mut self, node: &Node) -> Result<(), Stop> {
        self.size += size(node);
        if self.size > MAX_SIZE {
            Err(Stop::Limit("Maximum object size exceeded"))
        } else {
            Ok(())
        }
    }
}

/// Turns a value into a tree at `position`. What a text looks like does not matter any more: it is data.
fn node_of(value: &Value, position: Position, depth: usize) -> Result<Node, Stop> {
    if depth > MAX_DEPTH {
        return Err(Stop::Limit("Maximum object depth exceeded"));
    }
    let kind = match value {
        Value::Null => NodeKind::Null,
        Value::Bool(value) => NodeKind::Bool(*value),
        Value::Number(value) => NodeKind::Number(*value),
        Value::String(text) => NodeKind::String(text.clone()),
        Value::Array(array) => {
            let items = array
                .items()
                .iter()
                .map(|item| node_of(item, position, depth + 1));
            NodeKind::Sequence(items.collect::<Result<_, _>>()?)
        }
        Value::Object(object) => {
            let entries = object.iter().map(|(key, value)| {
                let key = Node {
                    position,
                    kind: NodeKind::String(Arc::from(key)),
                };
                Ok((key, node_of(value, position, depth + 1)?))
            });
            NodeKind::Mapping(entries.collect::<Result<_, Stop>>()?)
        }
    };
    Ok(Node { position, kind })
}

#[cfg(test)]
mod tests;
