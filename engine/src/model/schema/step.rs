//! Steps of a job.

use super::common::{NON_EMPTY, STRING};
use super::names::{self, STEP};
use super::{Definition, Shape, Text, map, optional, plain, record, required, within};

/// `if` of a job.
pub(in crate::model) static JOB_IF: Definition = within(&names::JOB_IF, Shape::Text(Text::Any));
/// `if` of a step.
pub(in crate::model) static STEP_IF: Definition = within(&names::STEP_IF, Shape::Text(Text::Any));

/// `steps`
pub(super) static STEPS: Definition = plain(Shape::Sequence(&ITEM));
static ITEM: Definition = plain(Shape::OneOf(&[&RUN_STEP, &USES_STEP]));

static RUN_STEP: Definition = plain(record(&[
    optional("name", &STEP_STRING),
    optional("id", &NON_EMPTY),
    optional("if", &STEP_IF),
    optional("timeout-minutes", &STEP_NUMBER),
    required("run", &STEP_STRING),
    optional("continue-on-error", &STEP_BOOL),
    optional("env", &STEP_MAP),
    optional("working-directory", &STEP_STRING),
    optional("shell", &NON_EMPTY),
]));

static USES_STEP: Definition = plain(record(&[
    optional("name", &STEP_STRING),
    optional("id", &NON_EMPTY),
    optional("if", &STEP_IF),
    optional("continue-on-error", &STEP_BOOL),
    optional("timeout-minutes", &STEP_NUMBER),
    required("uses", &NON_EMPTY),
    optional("with", &STEP_MAP),
    optional("env", &STEP_MAP),
]));

static STEP_STRING: Definition = within(&STEP, Shape::Text(Text::Any));
static STEP_NUMBER: Definition = within(&STEP, Shape::Number);
static STEP_BOOL: Definition = within(&STEP, Shape::Bool);
static STEP_MAP: Definition = within(&STEP, map(&STRING));
