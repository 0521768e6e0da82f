//! Inputs, secrets and outputs of `workflow_dispatch` and `workflow_call`.

use super::{Entry, entries, texts};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema;
use crate::model::{
    CallInput, CallInputKind, CallTrigger, DispatchInput, DispatchInputKind, DispatchTrigger, Field,
    InputValue, Node, NodeKind, Position,
};

/// Converts `on.workflow_dispatch`.
pub(super) fn dispatch(event: Entry, errors: &mut Diagnostics) -> DispatchTrigger {
    let mut trigger = DispatchTrigger::default();
    for inputs in entries(event.value, event.definition) {
        for input in entries(inputs.value, inputs.definition) {
            let name = input.name.to_string();
            trigger.inputs.insert(name, dispatch_input(input, errors));
        }
    }
    trigger
}

fn dispatch_input(input: Entry, errors: &mut Diagnostics) -> DispatchInput {
    let Entry {
        name,
        key: position,
        value: node,
        ..
    } = input;
    let options = node.get("options").map(texts);
    let kind = match node.get("type").and_then(Node::as_str) {
        Some("boolean") => DispatchInputKind::Boolean,
        Some("number") => DispatchInputKind::Number,
        Some("environment") => DispatchInputKind::Environment,
        Some("choice") => DispatchInputKind::Choice(options.unwrap_or_default()),
        _ => DispatchInputKind::String,
    };
    if matches!(&kind, DispatchInputKind::Choice(options) if options.is_empty()) {
        errors.error(position, format!("Missing 'options' for choice input '{name}'"));
    }
    let default = node.get("default");
    if let Some(default) = default.filter(|default| !fits(default, &kind)) {
        errors.error(
            default.position,
            format!("Unexpected value '{}'", default.to_value().to_text()),
        );
    }
    DispatchInput {
        description: node.get("description").and_then(Node::as_str).map(str::to_owned),
        required: is_true(node.get("required")),
        default: default.map(|default| default.to_value().to_text().into_owned()),
        kind,
        position,
    }
}

/// Tells whether a default can be given to an input; a text that reads like the type will do, as forms send texts.
fn fits(default: &Node, kind: &DispatchInputKind) -> bool {
    let value = default.to_value();
    let text = value.to_text();
    match kind {
        DispatchInputKind::Boolean => matches!(&*text, "true" | "false" | ""),
        DispatchInputKind::Number => !value.to_number().is_nan(),
        DispatchInputKind::Choice(options) => text.is_empty() || options.iter().any(|option| *option == text),
        DispatchInputKind::String | DispatchInputKind::Environment => true,
    }
}

/// Converts `on.workflow_call`.
pub(super) fn call(event: Entry, errors: &mut Diagnostics) -> CallTrigger {
    let mut trigger = CallTrigger::default();
    for part in entries(event.value, event.definition) {
        let kind = part.name.clone();
        for item in entries(part.value, part.definition) {
            let name = item.name.to_string();
            match &*kind {
                "inputs" => {
                    trigger.inputs.insert(name, call_input(&item, errors));
                }
                "secrets" => {
                    trigger.secrets.insert(name, is_true(item.value.get("required")));
                }
                _ => {
                    let value = entries(item.value, item.definition).find(|entry| &*entry.name == "value");
                    trigger
                        .outputs
                        .extend(value.map(|value| (name, value.field(errors))));
                }
            }
        }
    }
    trigger
}

fn call_input(input: &Entry, errors: &mut Diagnostics) -> CallInput {
    let position: Position = input.key;
    let (kind, definition) = match input.value.get("type").and_then(Node::as_str) {
        Some("boolean") => (CallInputKind::Boolean, &schema::BOOL),
        Some("number") => (CallInputKind::Number, &schema::NUMBER),
        _ => (CallInputKind::String, &schema::STRING),
    };
    let default = input.value.get("default").map(|default| {
        let field: Field<InputValue> = Field::checked(errors.file().clone(), default.clone(), definition);
        if !default.has_expression() && field.literal().is_none() {
            errors.error(
                default.position,
                format!("Unexpected value '{}'", default.to_value().to_text()),
            );
        }
        field
    });
    CallInput {
        kind,
        required: is_true(input.value.get("required")),
        default,
        position,
    }
}

fn is_true(node: Option<&Node>) -> bool {
    matches!(node.map(|node| &node.kind), Some(NodeKind::Bool(true)))
}
