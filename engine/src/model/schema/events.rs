//! `on`: the events, their activity types and their filters. GitHub: docs, 'Events that trigger workflows'.

use super::common::{BOOL, NON_EMPTY, NULL, SCALAR, STRING, STRINGS};
use super::names::{CALL_OUTPUT, RUN};
use super::{Definition, Shape, Text, map, optional, plain, record, required, within};

/// `on`
pub(super) static ON: Definition = plain(Shape::OneOf(&[&NAME, &NAMES, &CONFIGURED]));
static NAMES: Definition = plain(Shape::Sequence(&NAME));

/// A filter: one pattern or several.
static PATTERNS: Definition = plain(Shape::OneOf(&[&NULL, &NON_EMPTY, &STRINGS]));

/// An event with activity types, and with further filters where it has any.
macro_rules! event {
    ($name:ident, [$($word:literal),*] $(, $filter:literal)*) => {
        static $name: Definition = {
            static WORD: Definition = plain(Shape::Text(Text::OneOf(&[$($word),*])));
            static WORDS: Definition = plain(Shape::Sequence(&WORD));
            static TYPES: Definition = plain(Shape::OneOf(&[&NULL, &WORD, &WORDS]));
            static FILTERS: Definition =
                plain(record(&[optional("types", &TYPES), $(optional($filter, &PATTERNS)),*]));
            plain(Shape::OneOf(&[&NULL, &FILTERS]))
        };
    };
}

event!(BRANCH_PROTECTION_RULE, ["created", "edited", "deleted"]);
event!(
    CHECK_RUN,
    ["completed", "created", "rerequested", "requested_action"]
);
event!(CHECK_SUITE, ["completed"]);
// Comments, labels: what is only made, changed and removed.
event!(CHANGES, ["created", "edited", "deleted"]);
event!(
    DISCUSSION,
    [
        "created",
        "edited",
        "deleted",
        "transferred",
        "pinned",
        "unpinned",
        "labeled",
        "unlabeled",
        "locked",
        "unlocked",
        "category_changed",
        "answered",
        "unanswered"
    ]
);
event!(
    IMAGE_VERSION,
    ["created", "ready", "deleted"],
    "names",
    "versions"
);
event!(
    ISSUES,
    [
        "opened",
        "edited",
        "deleted",
        "transferred",
        "pinned",
        "unpinned",
        "closed",
        "reopened",
        "assigned",
        "unassigned",
        "labeled",
        "unlabeled",
        "locked",
        "unlocked",
        "milestoned",
        "demilestoned",
        "typed",
        "untyped"
    ]
);
event!(MERGE_GROUP, ["checks_requested"], "branches", "branches-ignore");
event!(MILESTONE, ["created", "closed", "opened", "edited", "deleted"]);
event!(PROJECT, ["created", "closed", "reopened", "edited", "deleted"]);
event!(
    PROJECT_CARD,
    ["created", "moved", "converted", "edited", "deleted"]
);
event!(PROJECT_COLUMN, ["created", "updated", "moved", "deleted"]);
event!(
    PULL_REQUEST,
    [
        "assigned",
        "unassigned",
        "labeled",
        "unlabeled",
        "opened",
        "edited",
        "closed",
        "reopened",
        "synchronize",
        "converted_to_draft",
        "ready_for_review",
        "locked",
        "unlocked",
        "enqueued",
        "dequeued",
        "milestoned",
        "demilestoned",
        "review_requested",
        "review_request_removed",
        "auto_merge_enabled",
        "auto_merge_disabled"
    ],
    "branches",
    "branches-ignore",
    "paths",
    "paths-ignore"
);
event!(PULL_REQUEST_REVIEW, ["submitted", "edited", "dismissed"]);
event!(REGISTRY_PACKAGE, ["published", "updated"]);
event!(
    RELEASE,
    [
        "published",
        "unpublished",
        "created",
        "edited",
        "deleted",
        "prereleased",
        "released"
    ]
);
event!(WATCH, ["started"]);
event!(
    WORKFLOW_RUN,
    ["requested", "completed", "in_progress"],
    "workflows",
    "branches",
    "branches-ignore"
);

static PUSH: Definition = plain(Shape::OneOf(&[&NULL, &PUSH_FILTERS]));
static PUSH_FILTERS: Definition = plain(record(&[
    optional("branches", &PATTERNS),
    optional("branches-ignore", &PATTERNS),
    optional("tags", &PATTERNS),
    optional("tags-ignore", &PATTERNS),
    optional("paths", &PATTERNS),
    optional("paths-ignore", &PATTERNS),
]));

static REPOSITORY_DISPATCH: Definition = plain(Shape::OneOf(&[&NULL, &REPOSITORY_DISPATCH_FILTERS]));
static REPOSITORY_DISPATCH_FILTERS: Definition = plain(record(&[optional("types", &PATTERNS)]));

static SCHEDULE: Definition = plain(Shape::Sequence(&CRON));
static CRON: Definition = plain(record(&[
    required("cron", &NON_EMPTY),
    optional("timezone", &NON_EMPTY),
]));

static WORKFLOW_DISPATCH: Definition = plain(Shape::OneOf(&[&NULL, &DISPATCH]));
static DISPATCH: Definition = plain(record(&[optional("inputs", &DISPATCH_INPUTS)]));
static DISPATCH_INPUTS: Definition = plain(Shape::OneOf(&[&NULL, &DISPATCH_INPUT_MAP]));
static DISPATCH_INPUT_MAP: Definition = plain(map(&DISPATCH_INPUT));
static DISPATCH_INPUT: Definition = plain(Shape::OneOf(&[&NULL, &DISPATCH_INPUT_RECORD]));
static DISPATCH_INPUT_RECORD: Definition = plain(record(&[
    optional("description", &STRING),
    optional("type", &DISPATCH_TYPE),
    optional("required", &BOOL),
    optional("default", &SCALAR),
    optional("options", &STRINGS),
    optional("deprecationMessage", &STRING),
]));
static DISPATCH_TYPE: Definition = plain(Shape::Text(Text::OneOf(&[
    "string",
    "boolean",
    "number",
    "environment",
    "choice",
])));

static WORKFLOW_CALL: Definition = plain(Shape::OneOf(&[&NULL, &CALL]));
static CALL: Definition = plain(record(&[
    optional("inputs", &CALL_INPUTS),
    optional("secrets", &CALL_SECRETS),
    optional("outputs", &CALL_OUTPUTS),
]));
static CALL_INPUTS: Definition = plain(map(&CALL_INPUT));
static CALL_INPUT: Definition = plain(record(&[
    optional("description", &STRING),
    required("type", &CALL_TYPE),
    optional("required", &BOOL),
    optional("default", &CALL_DEFAULT),
    optional("deprecationMessage", &STRING),
]));
static CALL_TYPE: Definition = plain(Shape::Text(Text::OneOf(&["boolean", "number", "string"])));
static CALL_DEFAULT: Definition = within(&RUN, Shape::OneOf(&[&STRING, &BOOL, &super::common::NUMBER]));
static CALL_SECRETS: Definition = plain(map(&CALL_SECRET));
static CALL_SECRET: Definition = plain(Shape::OneOf(&[&NULL, &CALL_SECRET_RECORD]));
static CALL_SECRET_RECORD: Definition = plain(record(&[
    optional("description", &STRING),
    optional("required", &BOOL),
]));
static CALL_OUTPUTS: Definition = plain(map(&CALL_OUTPUT_RECORD));
static CALL_OUTPUT_RECORD: Definition = plain(record(&[
    optional("description", &STRING),
    required("value", &CALL_OUTPUT_VALUE),
]));
static CALL_OUTPUT_VALUE: Definition = within(&CALL_OUTPUT, Shape::Text(Text::Any));

static NAME: Definition = plain(Shape::Text(Text::OneOf(&[
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "gollum",
    "image_version",
    "issue_comment",
    "issues",
    "label",
    "merge_group",
    "milestone",
    "page_build",
    "project",
    "project_card",
    "project_column",
    "public",
    "pull_request",
    "pull_request_comment",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_target",
    "push",
    "registry_package",
    "release",
    "repository_dispatch",
    "schedule",
    "status",
    "watch",
    "workflow_call",
    "workflow_dispatch",
    "workflow_run",
])));

static CONFIGURED: Definition = plain(record(&[
    optional("branch_protection_rule", &BRANCH_PROTECTION_RULE),
    optional("check_run", &CHECK_RUN),
    optional("check_suite", &CHECK_SUITE),
    optional("create", &NULL),
    optional("delete", &NULL),
    optional("deployment", &NULL),
    optional("deployment_status", &NULL),
    optional("discussion", &DISCUSSION),
    optional("discussion_comment", &CHANGES),
    optional("fork", &NULL),
    optional("gollum", &NULL),
    optional("image_version", &IMAGE_VERSION),
    optional("issue_comment", &CHANGES),
    optional("issues", &ISSUES),
    optional("label", &CHANGES),
    optional("merge_group", &MERGE_GROUP),
    optional("milestone", &MILESTONE),
    optional("page_build", &NULL),
    optional("project", &PROJECT),
    optional("project_card", &PROJECT_CARD),
    optional("project_column", &PROJECT_COLUMN),
    optional("public", &NULL),
    optional("pull_request", &PULL_REQUEST),
    optional("pull_request_comment", &CHANGES),
    optional("pull_request_review", &PULL_REQUEST_REVIEW),
    optional("pull_request_review_comment", &CHANGES),
    optional("pull_request_target", &PULL_REQUEST),
    optional("push", &PUSH),
    optional("registry_package", &REGISTRY_PACKAGE),
    optional("release", &RELEASE),
    optional("repository_dispatch", &REPOSITORY_DISPATCH),
    optional("schedule", &SCHEDULE),
    optional("status", &NULL),
    optional("watch", &WATCH),
    optional("workflow_call", &WORKFLOW_CALL),
    optional("workflow_dispatch", &WORKFLOW_DISPATCH),
    optional("workflow_run", &WORKFLOW_RUN),
]));
