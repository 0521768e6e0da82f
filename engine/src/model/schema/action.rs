//! An action's metadata file. GitHub: docs, 'Metadata syntax reference'.

use super::common::{ANY, NON_EMPTY, SCALAR, STRING};
use super::names::{ACTION_DEFAULT, ACTION_IF, ACTION_INPUTS, ACTION_OUTPUT, ACTION_STEP};
use super::{Definition, Shape, Text, map, open, optional, plain, record, required, within};

/// An action's metadata file; unknown keys are legal at its root and in inputs.
pub(in crate::model) static ACTION: Definition = plain(open(
    &[
        optional("name", &STRING),
        optional("description", &STRING),
        optional("inputs", &INPUTS),
        optional("outputs", &OUTPUTS),
        optional("runs", &RUNS),
    ],
    &ANY,
));

static INPUTS: Definition = plain(map(&INPUT));
static INPUT: Definition = plain(Shape::OneOf(&[&super::common::NULL, &INPUT_RECORD]));
static INPUT_RECORD: Definition = plain(open(
    &[
        optional("description", &STRING),
        optional("required", &SCALAR),
        optional("default", &INPUT_DEFAULT),
        optional("deprecationMessage", &STRING),
    ],
    &ANY,
));
static INPUT_DEFAULT: Definition = within(&ACTION_DEFAULT, Shape::Text(Text::Any));

static OUTPUTS: Definition = plain(map(&OUTPUT));
static OUTPUT: Definition = plain(record(&[
    optional("description", &STRING),
    optional("value", &OUTPUT_VALUE),
]));
static OUTPUT_VALUE: Definition = within(&ACTION_OUTPUT, Shape::Text(Text::Any));

static RUNS: Definition = plain(Shape::OneOf(&[&DOCKER_RUNS, &NODE_RUNS, &COMPOSITE_RUNS]));
static DOCKER_RUNS: Definition = plain(record(&[
    optional("using", &NON_EMPTY),
    optional("image", &NON_EMPTY),
    optional("entrypoint", &NON_EMPTY),
    optional("args", &DOCKER_ARGS),
    optional("env", &DOCKER_ENV),
    optional("pre-entrypoint", &NON_EMPTY),
    optional("pre-if", &CONDITION),
    optional("post-entrypoint", &NON_EMPTY),
    optional("post-if", &CONDITION),
]));
static DOCKER_ARGS: Definition = plain(Shape::Sequence(&DOCKER_ARG));
static DOCKER_ARG: Definition = within(&ACTION_INPUTS, Shape::Text(Text::Any));
static DOCKER_ENV: Definition = within(&ACTION_INPUTS, map(&STRING));

static NODE_RUNS: Definition = plain(record(&[
    optional("using", &NON_EMPTY),
    optional("main", &NON_EMPTY),
    optional("pre", &NON_EMPTY),
    optional("pre-if", &CONDITION),
    optional("post", &NON_EMPTY),
    optional("post-if", &CONDITION),
]));
static COMPOSITE_RUNS: Definition = plain(record(&[
    optional("using", &NON_EMPTY),
    optional("steps", &STEPS),
]));
/// `pre-if` and `post-if`.
pub(in crate::model) static CONDITION: Definition = within(&ACTION_IF, Shape::Text(Text::NonEmpty));

static STEPS: Definition = plain(Shape::Sequence(&ITEM));
static ITEM: Definition = plain(Shape::OneOf(&[&RUN_STEP, &USES_STEP]));
static RUN_STEP: Definition = plain(record(&[
    optional("name", &STEP_STRING),
    optional("id", &NON_EMPTY),
    optional("if", &STEP_IF),
    required("run", &STEP_STRING),
    optional("env", &STEP_MAP),
    optional("continue-on-error", &STEP_BOOL),
    optional("working-directory", &STEP_STRING),
    required("shell", &STEP_STRING),
]));
static USES_STEP: Definition = plain(record(&[
    optional("name", &STEP_STRING),
    optional("id", &NON_EMPTY),
    optional("if", &STEP_IF),
    required("uses", &NON_EMPTY),
    optional("continue-on-error", &STEP_BOOL),
    optional("with", &STEP_MAP),
    optional("env", &STEP_MAP),
]));
/// `if` of a composite action's step.
pub(in crate::model) static STEP_IF: Definition = within(&ACTION_IF, Shape::Text(Text::Any));
static STEP_STRING: Definition = within(&ACTION_STEP, Shape::Text(Text::Any));
static STEP_BOOL: Definition = within(&ACTION_STEP, Shape::Bool);
static STEP_MAP: Definition = within(&ACTION_STEP, map(&STRING));
