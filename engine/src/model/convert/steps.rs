//! Steps of jobs and of composite actions.

use std::sync::Arc;

use super::ids::Ids;
use super::{condition, entries};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::Definition;
use crate::model::{
    ActionRef, Field, Node, NodeKind, RunStep, Spanned, Step, StepAction, StringMap, UsesStep,
};

/// Converts `steps`; `condition` defines their `if`.
pub(super) fn convert(
    node: Node,
    definition: &'static Definition,
    condition: &'static Definition,
    errors: &mut Diagnostics,
) -> Vec<Arc<Step>> {
    let NodeKind::Sequence(items) = node.kind else {
        return Vec::new();
    };
    let Some(item) = definition.items() else {
        return Vec::new();
    };
    let mut ids = Ids::default();
    let steps = items
        .into_iter()
        .filter_map(|node| step(node, item, condition, &mut ids, errors));
    let mut steps: Vec<_> = steps.collect();
    // Generated ids give way to all ids that are written, so they come last.
    for step in steps.iter_mut().filter(|step| step.id.is_empty()) {
        step.id = ids.generate(&default_id(&step.action));
    }
    steps.into_iter().map(Arc::new).collect()
}

/// What a generated id is made of.
fn default_id(action: &StepAction) -> String {
    let StepAction::Uses(uses) = action else {
        return "run".to_owned();
    };
    match &uses.uses.value {
        ActionRef::Docker(image) if image.is_empty() => "run".to_owned(),
        ActionRef::Docker(image) => image.clone(),
        ActionRef::Local(_) => "self".to_owned(),
        ActionRef::Builtin(name) => name.clone(),
        ActionRef::Remote { repository, .. } => {
            let mut parts: Vec<_> = repository.rsplitn(3, '/').take(2).collect();
            parts.reverse();
            parts.join("/")
        }
    }
}

/// The keys of a step before it is known what it does.
#[derive(Default)]
struct Keys {
    id: String,
    name: Option<Field<String>>,
    condition: Option<Node>,
    continue_on_error: Option<Field<bool>>,
    timeout_minutes: Option<Field<f64>>,
    env: Option<Field<StringMap>>,
    run: Option<Field<String>>,
    shell: Option<Field<String>>,
    working_directory: Option<Field<String>>,
    uses: Option<Node>,
    with: Option<Field<StringMap>>,
}

fn step(
    node: Node,
    definition: &'static Definition,
    condition: &'static Definition,
    ids: &mut Ids,
    errors: &mut Diagnostics,
) -> Option<Step> {
    let position = node.position;
    let keys = keys(node, definition, ids, errors);
    let condition = condition::wrapped(keys.condition.as_ref(), condition, errors);
    let action = match (keys.run, keys.uses) {
        (Some(script), _) => StepAction::Run(RunStep {
            script,
            shell: keys.shell,
            working_directory: keys.working_directory,
        }),
        (None, Some(node)) => StepAction::Uses(UsesStep {
            uses: uses(&node, errors)?,
            with: keys.with,
        }),
        // The schema requires one of the two.
        (None, None) => return None,
    };
    Some(Step {
        id: keys.id,
        position,
        name: keys.name,
        condition: condition?,
        continue_on_error: keys.continue_on_error,
        timeout_minutes: keys.timeout_minutes,
        env: keys.env,
        action,
    })
}

fn keys(node: Node, definition: &'static Definition, ids: &mut Ids, errors: &mut Diagnostics) -> Keys {
    let mut keys = Keys::default();
    for entry in entries(node, definition) {
        match &*entry.name {
            "id" => {
                keys.id = entry.text().unwrap_or_default();
                if let Err(message) = ids.take(&keys.id) {
                    errors.error(entry.value.position, message);
                }
            }
            "name" => keys.name = Some(entry.field(errors)),
            "if" => keys.condition = Some(entry.value),
            "continue-on-error" => keys.continue_on_error = Some(entry.field(errors)),
            "timeout-minutes" => keys.timeout_minutes = Some(entry.field(errors)),
            "env" => keys.env = Some(entry.field(errors)),
            "run" => keys.run = Some(entry.field(errors)),
            "shell" => keys.shell = Some(entry.field(errors)),
            "working-directory" => keys.working_directory = Some(entry.field(errors)),
            "uses" => keys.uses = Some(entry.value),
            "with" => keys.with = Some(entry.field(errors)),
            _ => {}
        }
    }
    keys
}

fn uses(node: &Node, errors: &mut Diagnostics) -> Option<Spanned<ActionRef>> {
    let text = node.as_str().unwrap_or_default();
    let value = ActionRef::parse(text);
    if value.is_none() {
        errors.error(
            node.position,
            format!("Expected format {{org}}/{{repo}}[/path]@ref. Actual '{text}'"),
        );
    }
    Some(Spanned {
        value: value?,
        position: node.position,
    })
}
