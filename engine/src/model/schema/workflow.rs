//! The root of a workflow file.

use super::common::{BOOL, NON_EMPTY, RAW_STRING, STRING};
use super::names::{RUN, WORKFLOW_ENV};
use super::{Definition, Shape, Text, events, job, map, optional, plain, record, required, within};

/// A workflow file.
pub(in crate::model) static WORKFLOW: Definition = plain(record(&[
    optional("on", &events::ON),
    optional("name", &RAW_STRING),
    optional("description", &STRING),
    optional("run-name", &RUN_NAME),
    optional("defaults", &DEFAULTS),
    optional("env", &ENV),
    optional("permissions", &PERMISSIONS),
    optional("concurrency", &CONCURRENCY),
    required("jobs", &job::JOBS),
]));

static RUN_NAME: Definition = within(&RUN, Shape::Text(Text::Any));
static ENV: Definition = within(&WORKFLOW_ENV, map(&STRING));

static DEFAULTS: Definition = plain(record(&[optional("run", &DEFAULTS_RUN)]));
static DEFAULTS_RUN: Definition = plain(record(&[
    optional("shell", &NON_EMPTY),
    optional("working-directory", &NON_EMPTY),
]));

static CONCURRENCY: Definition = within(&RUN, Shape::OneOf(&[&STRING, &CONCURRENCY_GROUP]));
/// A group with its options, in workflows and jobs.
pub(super) static CONCURRENCY_GROUP: Definition = plain(record(&[
    required("group", &NON_EMPTY),
    optional("cancel-in-progress", &BOOL),
]));

/// `permissions` of workflows and jobs.
pub(super) static PERMISSIONS: Definition = plain(Shape::OneOf(&[&PERMISSION_SCOPES, &PERMISSION_SHORTHAND]));
static PERMISSION_SHORTHAND: Definition = plain(Shape::Text(Text::OneOf(&["read-all", "write-all"])));
static LEVEL: Definition = plain(Shape::Text(Text::OneOf(&["read", "write", "none"])));
static READ_LEVEL: Definition = plain(Shape::Text(Text::OneOf(&["read", "none"])));
static WRITE_LEVEL: Definition = plain(Shape::Text(Text::OneOf(&["write", "none"])));
static PERMISSION_SCOPES: Definition = plain(record(&[
    optional("actions", &LEVEL),
    optional("artifact-metadata", &LEVEL),
    optional("attestations", &LEVEL),
    optional("checks", &LEVEL),
    optional("contents", &LEVEL),
    optional("deployments", &LEVEL),
    optional("discussions", &LEVEL),
    optional("id-token", &WRITE_LEVEL),
    optional("issues", &LEVEL),
    optional("models", &READ_LEVEL),
    optional("packages", &LEVEL),
    optional("pages", &LEVEL),
    optional("pull-requests", &LEVEL),
    optional("repository-projects", &LEVEL),
    optional("security-events", &LEVEL),
    optional("statuses", &LEVEL),
    optional("vulnerability-alerts", &READ_LEVEL),
]));
