//! A job.

use indexmap::IndexMap;

use super::ids::Ids;
use super::{
    Entry, concurrency, condition, container, entries, matrix, permissions, runs_on, snapshot, steps,
};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{self, Definition};
use crate::model::{
    CallJob, CallSecrets, Concurrency, Condition, Environment, Field, Job, JobBody, Node, NodeKind,
    Permissions, Position, Spanned, StepsJob, Strategy, WorkflowRef,
};

/// What jobs of both kinds have.
#[derive(Default)]
struct Common {
    name: Option<Field<String>>,
    needs: Vec<Spanned<String>>,
    has_condition: bool,
    condition: Option<Condition>,
    strategy: Option<Strategy>,
    permissions: Option<Permissions>,
    concurrency: Option<Field<Concurrency>>,
}

/// Converts a job: its id and what stands below. A job whose `if` is no expression is none.
pub(super) fn convert(job: Entry, errors: &mut Diagnostics) -> Option<Job> {
    let Entry {
        name: id,
        key: position,
        value: node,
        definition,
    } = job;
    if let Err(message) = Ids::default().take(&id) {
        errors.error(position, message);
    }
    let mut common = Common::default();
    let body = match node.get("uses") {
        Some(_) => call_job(node, definition, &mut common, errors),
        None => steps_job(node, definition, &mut common, errors),
    };
    if !common.has_condition {
        common.condition = condition::wrapped(None, &schema::JOB_IF, errors);
    }
    Some(Job {
        id: id.to_string(),
        position,
        name: common.name,
        needs: common.needs,
        condition: common.condition?,
        strategy: common.strategy,
        permissions: common.permissions,
        concurrency: common.concurrency,
        body,
    })
}

impl Common {
    /// Takes an entry that jobs of both kinds may have; gives back any other.
    fn take(&mut self, entry: Entry, errors: &mut Diagnostics) -> Option<Entry> {
        match &*entry.name {
            "name" if entry.value.as_str() == Some("") => {}
            "name" => self.name = Some(entry.field(errors)),
            "needs" => self.needs = needs(&entry.value),
            "if" => {
                self.has_condition = true;
                self.condition = condition::wrapped(Some(&entry.value), &schema::JOB_IF, errors);
            }
            "strategy" => {
                matrix::check_strategy(&entry.value, errors);
                self.strategy = Some(Strategy { node: entry.value });
            }
            "permissions" => self.permissions = Some(permissions::convert(&entry.value)),
            "concurrency" => {
                concurrency::check(&entry.value, errors);
                self.concurrency = Some(entry.field(errors));
            }
            _ => return Some(entry),
        }
        None
    }
}

fn needs(node: &Node) -> Vec<Spanned<String>> {
    let one = std::iter::once(node);
    let nodes = one.chain(node.items());
    nodes
        .filter_map(|node| {
            Some(Spanned {
                value: node.as_str()?.to_owned(),
                position: node.position,
            })
        })
        .collect()
}

fn steps_job(
    node: Node,
    definition: &'static Definition,
    common: &mut Common,
    errors: &mut Diagnostics,
) -> JobBody {
    // Without `runs-on`, which the schema requires of authors, a job goes to any runner.
    let mut job = StepsJob::nowhere(errors.file().clone(), node.position);
    for entry in entries(node, definition) {
        if let Some(entry) = common.take(entry, errors) {
            set_steps_job(&mut job, entry, errors);
        }
    }
    JobBody::Steps(Box::new(job))
}

fn set_steps_job(job: &mut StepsJob, entry: Entry, errors: &mut Diagnostics) {
    match &*entry.name {
        "runs-on" => {
            runs_on::check(&entry.value, errors);
            job.runs_on = entry.field(errors);
        }
        "timeout-minutes" => job.timeout_minutes = Some(entry.field(errors)),
        "cancel-timeout-minutes" => job.cancel_timeout_minutes = Some(entry.field(errors)),
        "continue-on-error" => job.continue_on_error = Some(entry.field(errors)),
        "container" => {
            container::check(&entry.value, errors);
            job.container = Some(entry.field(errors));
        }
        "services" => {
            container::check_services(&entry.value, errors);
            job.services = Some(entry.field(errors));
        }
        "env" => job.env = Some(entry.field(errors)),
        "environment" => job.environment = environment(entry, errors),
        "outputs" => job.outputs = Some(entry.field(errors)),
        "defaults" => job.defaults = Some(entry.field(errors)),
        "steps" => job.steps = steps::convert(entry.value, entry.definition, &schema::STEP_IF, errors),
        "snapshot" => snapshot::check(&entry.value, errors),
        _ => {}
    }
}

/// An environment without a name is none.
fn environment(entry: Entry, errors: &Diagnostics) -> Option<Environment> {
    if !matches!(entry.value.kind, NodeKind::Mapping(_)) {
        let is_empty = entry.value.as_str() == Some("");
        return (!is_empty).then(|| Environment {
            name: entry.field(errors),
            url: None,
        });
    }
    let (mut name, mut url) = (None, None);
    for entry in entries(entry.value, entry.definition) {
        match &*entry.name {
            "name" if entry.value.as_str() != Some("") => name = Some(entry.field(errors)),
            "url" => url = Some(entry.field(errors)),
            _ => {}
        }
    }
    name.map(|name| Environment { name, url })
}

fn call_job(
    node: Node,
    definition: &'static Definition,
    common: &mut Common,
    errors: &mut Diagnostics,
) -> JobBody {
    let mut job = CallJob {
        uses: Spanned {
            value: WorkflowRef::Local(String::new()),
            position: node.position,
        },
        with: IndexMap::new(),
        with_positions: IndexMap::new(),
        secrets: CallSecrets::Listed(IndexMap::new()),
    };
    for entry in entries(node, definition) {
        let Some(entry) = common.take(entry, errors) else {
            continue;
        };
        match &*entry.name {
            "uses" => job.uses = uses(&entry, errors),
            "with" => {
                for input in entries(entry.value, entry.definition) {
                    let name = input.name.to_string();
                    job.with_positions.insert(name.clone(), input.key);
                    job.with.insert(name, input.field(errors));
                }
            }
            "secrets" if entry.value.as_str().is_some() => job.secrets = CallSecrets::Inherit,
            "secrets" => {
                let listed = entries(entry.value, entry.definition);
                let listed = listed.map(|secret| (secret.name.to_string(), secret.field(errors)));
                job.secrets = CallSecrets::Listed(listed.collect());
            }
            _ => {}
        }
    }
    JobBody::Call(Box::new(job))
}

fn uses(entry: &Entry, errors: &mut Diagnostics) -> Spanned<WorkflowRef> {
    let position: Position = entry.value.position;
    let value = WorkflowRef::parse(entry.value.as_str().unwrap_or_default()).unwrap_or_else(|reason| {
        errors.error(position, format!("invalid value workflow reference: {reason}"));
        WorkflowRef::Local(String::new())
    });
    Spanned { value, position }
}
