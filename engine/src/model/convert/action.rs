//! An action's metadata file.

use std::sync::Arc;

use super::{Entry, condition, entries, steps};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{ACTION, ACTION_CONDITION, ACTION_STEP_IF, Definition};
use crate::model::{
    Action, ActionInput, Condition, Diagnostic, DockerRuns, Field, Node, NodeKind, NodeRuns, Position, Runs,
    reader,
};

/// The values of `using` that a message offers.
const OFFERED: &str = "'docker', 'node12', 'node16', 'node20' or 'node24'";

impl Action {
    /// Reads an action's metadata file.
    ///
    /// # Errors
    /// Up to ten mistakes in the order in which they were found.
    pub fn parse(file: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let file: Arc<str> = Arc::from(file);
        let mut errors = Diagnostics::new(file.clone());
        let root = reader::read(text, &ACTION, &mut errors);
        let action = match root {
            Some(root) if errors.is_empty() => convert(file, root, &mut errors),
            _ => None,
        };
        match action {
            Some(action) => errors.into_result(action),
            None => Err(errors.into_vec()),
        }
    }
}

fn convert(file: Arc<str>, root: Node, errors: &mut Diagnostics) -> Option<Action> {
    let (mut name, mut description, mut runs) = (None, None, None);
    let (mut inputs, mut outputs) = (indexmap::IndexMap::new(), indexmap::IndexMap::new());
    let mut has_runs = false;
    for entry in entries(root, &ACTION) {
        match &*entry.name {
            "name" => name = entry.text(),
            "description" => description = entry.text(),
            "inputs" => {
                let all = entries(entry.value, entry.definition);
                inputs = all
                    .map(|entry| (entry.name.to_string(), input(entry, errors)))
                    .collect();
            }
            "outputs" => {
                let all = entries(entry.value, entry.definition);
                outputs = all
                    .map(|entry| (entry.name.to_string(), output(entry, errors)))
                    .collect();
            }
            "runs" => {
                has_runs = true;
                runs = convert_runs(entry.value, entry.definition, errors);
            }
            _ => {}
        }
    }
    if !has_runs {
        errors.abort(format!("Top level 'runs:' section is required for {file}"));
    }
    Some(Action {
        file,
        name,
        description,
        inputs,
        outputs,
        runs: runs?,
    })
}

/// Whether an input is required is written as a bool or as its text; GitHub looks at neither.
fn input(input: Entry, errors: &Diagnostics) -> ActionInput {
    let mut converted = ActionInput {
        required: false,
        default: None,
        deprecation_message: None,
    };
    for entry in entries(input.value, input.definition) {
        match &*entry.name {
            "required" => converted.required = &*entry.value.to_value().to_text() == "true",
            "default" => converted.default = Some(entry.field(errors)),
            "deprecationMessage" => converted.deprecation_message = entry.text(),
            _ => {}
        }
    }
    converted
}

fn output(output: Entry, errors: &Diagnostics) -> Option<Field<String>> {
    entries(output.value, output.definition)
        .find(|entry| &*entry.name == "value")
        .map(|entry| entry.field(errors))
}

fn convert_runs(node: Node, definition: &'static Definition, errors: &mut Diagnostics) -> Option<Runs> {
    let position = node.position;
    let Some(using) = node.get("using") else {
        errors.error(
            position,
            format!("Missing 'using' value. 'using' requires 'composite', {OFFERED}."),
        );
        return None;
    };
    let using_position = using.position;
    let name = using.as_str().unwrap_or_default().to_owned();
    let folded = name.to_ascii_lowercase();
    match (&*folded, node_version(&folded)) {
        ("docker", _) => docker(node, definition, position, errors),
        ("composite", _) => composite(node, definition, position, errors),
        (_, Some(version)) => javascript(version, &node, position, errors),
        _ => {
            errors.error(
                using_position,
                format!("'using: {name}' is not supported, use {OFFERED} instead."),
            );
            None
        }
    }
}

fn node_version(using: &str) -> Option<u32> {
    match using {
        "node12" => Some(12),
        "node16" => Some(16),
        "node20" => Some(20),
        "node24" => Some(24),
        _ => None,
    }
}

/// The text of a key that must be there.
fn needed(
    node: &Node,
    key: &str,
    message: &str,
    position: Position,
    errors: &mut Diagnostics,
) -> Option<String> {
    let text = text(node, key);
    if text.is_none() {
        errors.error(position, message);
    }
    text
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key).and_then(Node::as_str).map(str::to_owned)
}

/// `pre-if` or `post-if`.
fn condition(node: &Node, key: &str, errors: &mut Diagnostics) -> Option<Condition> {
    condition::unwrapped(node.get(key), &ACTION_CONDITION, errors)
}

fn javascript(version: u32, node: &Node, position: Position, errors: &mut Diagnostics) -> Option<Runs> {
    let main = needed(
        node,
        "main",
        "Entry javascript file is not provided.",
        position,
        errors,
    );
    let (pre_if, post_if) = (
        condition(node, "pre-if", errors),
        condition(node, "post-if", errors),
    );
    Some(Runs::Node(NodeRuns {
        version,
        main: main?,
        pre: text(node, "pre"),
        pre_if: pre_if?,
        post: text(node, "post"),
        post_if: post_if?,
    }))
}

fn docker(
    node: Node,
    definition: &'static Definition,
    position: Position,
    errors: &mut Diagnostics,
) -> Option<Runs> {
    let image = needed(&node, "image", "Image is not provided.", position, errors);
    let (pre_if, post_if) = (
        condition(&node, "pre-if", errors),
        condition(&node, "post-if", errors),
    );
    let mut runs = DockerRuns {
        image: image?,
        entrypoint: text(&node, "entrypoint"),
        args: None,
        env: indexmap::IndexMap::new(),
        pre_entrypoint: text(&node, "pre-entrypoint"),
        pre_if: pre_if?,
        post_entrypoint: text(&node, "post-entrypoint"),
        post_if: post_if?,
    };
    for entry in entries(node, definition) {
        match (&*entry.name, entry.definition.items()) {
            ("args", Some(item)) => {
                let NodeKind::Sequence(items) = entry.value.kind else {
                    continue;
                };
                let file = errors.file();
                let args = items
                    .into_iter()
                    .map(|node| Field::checked(file.clone(), node, item));
                runs.args = Some(args.collect());
            }
            ("env", _) => {
                let env = entries(entry.value, entry.definition);
                runs.env = env
                    .map(|entry| (entry.name.to_string(), entry.field(errors)))
                    .collect();
            }
            _ => {}
        }
    }
    Some(Runs::Docker(runs))
}

fn composite(
    node: Node,
    definition: &'static Definition,
    position: Position,
    errors: &mut Diagnostics,
) -> Option<Runs> {
    let steps = entries(node, definition).find(|entry| &*entry.name == "steps");
    let Some(steps) = steps else {
        errors.error(position, "No steps provided.");
        return None;
    };
    Some(Runs::Composite(steps::convert(
        steps.value,
        steps.definition,
        &ACTION_STEP_IF,
        errors,
    )))
}
