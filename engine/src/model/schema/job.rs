//! `jobs` and what stands in a job, but for its steps.

use super::common::{ANY, BOOL, NON_EMPTY, NUMBER, SEQUENCE, STRING, STRING_OR_STRINGS, STRINGS};
use super::names::{CREDENTIALS, JOB as JOB_NAMES, JOB_DEFAULTS, JOB_SECRETS, RUNNER, RUNNER_NO_SECRETS};
use super::step::{JOB_IF, STEPS};
use super::workflow::{CONCURRENCY_GROUP, PERMISSIONS};
use super::{Definition, Shape, Text, map, names, open, optional, plain, record, required, within};

/// `jobs`
pub(super) static JOBS: Definition = plain(map(&JOB));
static JOB: Definition = plain(Shape::OneOf(&[&STEPS_JOB, &CALL_JOB]));

static STEPS_JOB: Definition = plain(record(&[
    optional("needs", &STRING_OR_STRINGS),
    optional("if", &JOB_IF),
    optional("strategy", &STRATEGY),
    optional("name", &JOB_STRING),
    required("runs-on", &RUNS_ON),
    optional("timeout-minutes", &JOB_NUMBER),
    optional("cancel-timeout-minutes", &JOB_NUMBER),
    optional("continue-on-error", &JOB_BOOL),
    optional("container", &CONTAINER),
    optional("services", &SERVICES),
    optional("env", &ENV),
    optional("environment", &ENVIRONMENT),
    optional("permissions", &PERMISSIONS),
    optional("concurrency", &CONCURRENCY),
    optional("outputs", &OUTPUTS),
    optional("defaults", &DEFAULTS),
    optional("steps", &STEPS),
    optional("snapshot", &SNAPSHOT),
]));

static CALL_JOB: Definition = plain(record(&[
    optional("name", &JOB_STRING),
    required("uses", &NON_EMPTY),
    optional("with", &CALL_WITH),
    optional("secrets", &CALL_SECRETS),
    optional("needs", &STRING_OR_STRINGS),
    optional("if", &JOB_IF),
    optional("permissions", &PERMISSIONS),
    optional("concurrency", &CONCURRENCY),
    optional("strategy", &STRATEGY),
]));

static CALL_WITH: Definition = plain(map(&CALL_INPUT));
static CALL_INPUT: Definition = within(&JOB_NAMES, SCALAR_SHAPE);
static CALL_SECRETS: Definition = plain(Shape::OneOf(&[&CALL_SECRETS_LISTED, &INHERIT]));
static CALL_SECRETS_LISTED: Definition = plain(map(&CALL_SECRET));
static CALL_SECRET: Definition = within(&JOB_SECRETS, SCALAR_SHAPE);
static INHERIT: Definition = plain(Shape::Text(Text::OneOf(&["inherit"])));
const SCALAR_SHAPE: Shape = Shape::OneOf(&[&STRING, &BOOL, &NUMBER]);

static JOB_STRING: Definition = within(&JOB_NAMES, Shape::Text(Text::Any));
static JOB_NUMBER: Definition = within(&JOB_NAMES, Shape::Number);
static JOB_BOOL: Definition = within(&JOB_NAMES, Shape::Bool);

/// `strategy`
pub(in crate::model) static STRATEGY: Definition = within(
    &names::STRATEGY,
    record(&[
        optional("fail-fast", &BOOL),
        optional("max-parallel", &NUMBER),
        optional("matrix", &MATRIX),
    ]),
);
static MATRIX: Definition = plain(open(
    &[
        optional("include", &MATRIX_FILTER),
        optional("exclude", &MATRIX_FILTER),
    ],
    &SEQUENCE,
));
static MATRIX_FILTER: Definition = plain(Shape::Sequence(&MATRIX_FILTER_ITEM));
static MATRIX_FILTER_ITEM: Definition = plain(map(&ANY));

static RUNS_ON: Definition = within(&JOB_NAMES, Shape::OneOf(&[&NON_EMPTY, &STRINGS, &RUNS_ON_GROUP]));
static RUNS_ON_GROUP: Definition = plain(record(&[
    optional("group", &NON_EMPTY),
    optional("labels", &STRING_OR_STRINGS),
]));

static ENV: Definition = within(&JOB_SECRETS, map(&STRING));
static CONCURRENCY: Definition = within(&JOB_NAMES, Shape::OneOf(&[&NON_EMPTY, &CONCURRENCY_GROUP]));

static ENVIRONMENT: Definition = within(&JOB_NAMES, Shape::OneOf(&[&STRING, &ENVIRONMENT_RECORD]));
static ENVIRONMENT_RECORD: Definition = plain(record(&[
    required("name", &JOB_STRING),
    optional("url", &ENVIRONMENT_URL),
]));
static ENVIRONMENT_URL: Definition = within(&RUNNER_NO_SECRETS, Shape::Text(Text::Any));

static DEFAULTS: Definition = plain(record(&[optional("run", &DEFAULTS_RUN)]));
static DEFAULTS_RUN: Definition = within(
    &JOB_DEFAULTS,
    record(&[
        optional("shell", &NON_EMPTY),
        optional("working-directory", &NON_EMPTY),
    ]),
);

static OUTPUTS: Definition = plain(map(&RUNNER_STRING));
static RUNNER_STRING: Definition = within(&RUNNER, Shape::Text(Text::Any));

static SNAPSHOT: Definition = within(&JOB_NAMES, Shape::OneOf(&[&NON_EMPTY, &SNAPSHOT_RECORD]));
static SNAPSHOT_RECORD: Definition = plain(record(&[
    required("image-name", &NON_EMPTY),
    optional("if", &JOB_STRING),
    optional("version", &NON_EMPTY),
]));

static CONTAINER: Definition = within(&JOB_NAMES, Shape::OneOf(&[&STRING, &CONTAINER_RECORD]));
static CONTAINER_RECORD: Definition = plain(record(&[
    optional("image", &STRING),
    optional("options", &STRING),
    optional("env", &CONTAINER_ENV),
    optional("ports", &STRINGS),
    optional("volumes", &STRINGS),
    optional("credentials", &CONTAINER_CREDENTIALS),
]));
static SERVICES: Definition = within(&JOB_NAMES, map(&SERVICE));
static SERVICE: Definition = within(&JOB_NAMES, Shape::OneOf(&[&STRING, &SERVICE_RECORD]));
static SERVICE_RECORD: Definition = plain(record(&[
    optional("image", &STRING),
    optional("options", &STRING),
    optional("entrypoint", &STRING),
    optional("command", &STRING),
    optional("env", &CONTAINER_ENV),
    optional("ports", &STRINGS),
    optional("volumes", &STRINGS),
    optional("credentials", &CONTAINER_CREDENTIALS),
]));
static CONTAINER_ENV: Definition = plain(map(&RUNNER_STRING));
static CONTAINER_CREDENTIALS: Definition = within(
    &CREDENTIALS,
    record(&[optional("username", &NON_EMPTY), optional("password", &NON_EMPTY)]),
);
