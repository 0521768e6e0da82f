//! The matrix of a job: vectors, `exclude`, `include`, and the legs that come of them.

mod build;
mod filter;
mod name;
mod read;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::expr::{Object, Scope, Value};
use crate::model::{Diagnostic, Field, FieldError, Job, Node, NodeKind, check_matrix, evaluate_node};

pub(super) use name::shorten;
use read::Definition;

/// The greatest number of legs of one matrix (GitHub: docs, "Usage limits").
pub const MAX_LEGS: usize = 256;

/// The id of the only leg of a job without a matrix.
pub const DEFAULT_LEG: &str = "__default";

/// A job's strategy, evaluated.
#[derive(Debug, Clone)]
pub struct Strategy {
    /// `fail-fast`, default true: the first failing leg cancels the others.
    pub fail_fast: bool,
    /// `max-parallel`: how many legs may run at the same time; absent means all.
    pub max_parallel: Option<usize>,
    /// The legs in their order; at least one.
    pub legs: Vec<Leg>,
}

/// One leg of a job: a job without a matrix has exactly one.
#[derive(Debug, Clone)]
pub struct Leg {
    /// Unique among the legs, such as `_1_x`, or [`DEFAULT_LEG`].
    pub id: String,
    /// The default display name, such as `test (1, x)`.
    pub name: String,
    /// The `matrix` context: an object, or null.
    pub matrix: Value,
    /// The `strategy` context.
    pub strategy: Arc<Object>,
}

/// Evaluates the strategy of `job`, which stands in `file`.
///
/// # Errors
/// Everything that is wrong with the evaluated strategy.
pub fn expand(job: &Job, file: &Arc<str>, scope: Scope<'_>) -> Result<Strategy, FieldError> {
    let Some(strategy) = &job.strategy else {
        return Ok(assemble(&Definition::default(), base_name(job), Vec::new()));
    };
    let node = evaluate_node(file, &strategy.node, scope)?;
    expand_node(job, file, &node).map_err(FieldError::Invalid)
}

/// Finds what is wrong with a strategy that depends on no expression, so that it shows before anything runs.
pub fn check(job: &Job, file: &Arc<str>) -> Vec<Diagnostic> {
    match &job.strategy {
        Some(strategy) if !strategy.node.has_expression() => {
            expand_node(job, file, &strategy.node).err().unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn expand_node(job: &Job, file: &Arc<str>, strategy: &Node) -> Result<Strategy, Vec<Diagnostic>> {
    let base = base_name(job);
    let definition = read::definition(strategy);
    let Some(matrix) = strategy.get("matrix") else {
        return Ok(assemble(&definition, base, Vec::new()));
    };
    check_matrix(file, matrix)?;
    let legs = build::legs(&read::matrix(matrix), base).ok_or_else(|| {
        let message = format!(
            "Strategy expansion exceeded {MAX_LEGS} results for job '{}'",
            job.id
        );
        vec![Diagnostic {
            file: Arc::clone(file),
            position: Some(matrix.position),
            reached: None,
            message,
        }]
    })?;
    Ok(assemble(&definition, base, legs))
}

/// The name that legs are called by unless `name` is an expression, which is evaluated later and for each leg.
pub(super) fn base_name(job: &Job) -> &str {
    match job.name.as_ref().map(Field::node).map(|node| &node.kind) {
        Some(NodeKind::String(name)) if !name.is_empty() => name,
        _ => &job.id,
    }
}

fn assemble(definition: &Definition, base: &str, legs: Vec<build::RawLeg>) -> Strategy {
    let fail_fast = definition.fail_fast;
    let max_parallel = definition.max_parallel;
    if legs.is_empty() {
        let leg = Leg {
            id: DEFAULT_LEG.to_owned(),
            name: shorten(base),
            matrix: Value::Null,
            strategy: strategy_context(fail_fast, 0, 1, 1),
        };
        return Strategy {
            fail_fast,
            max_parallel,
            legs: vec![leg],
        };
    }
    let total = legs.len();
    let parallel = max_parallel.unwrap_or(total);
    let legs = legs
        .into_iter()
        .enumerate()
        .map(|(index, leg)| Leg {
            id: leg.id,
            name: leg.name,
            matrix: Value::object(leg.matrix),
            strategy: strategy_context(fail_fast, index, total, parallel),
        })
        .collect();
    Strategy {
        fail_fast,
        max_parallel,
        legs,
    }
}

fn strategy_context(fail_fast: bool, index: usize, total: usize, parallel: usize) -> Arc<Object> {
    let mut context = Object::new();
    context.insert("fail-fast", fail_fast);
    context.insert("job-index", count(index));
    context.insert("job-total", count(total));
    context.insert("max-parallel", count(parallel));
    Arc::new(context)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts are at most 2^31, which a double holds exactly"
)]
fn count(count: usize) -> Value {
    Value::Number(count as f64)
}
