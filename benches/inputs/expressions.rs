//! Small expressions, and the contexts in which they are evaluated.

use gantry_engine::expr::{Function, Names, Object, Value};

/// One of each kind that workflows are full of.
pub const SMALL: [&str; 10] = [
    "success()",
    "matrix.os",
    "github.ref == 'refs/heads/main'",
    "github.event_name == 'push' && github.ref_type == 'branch'",
    "steps.build.outputs.changed == 'true'",
    "!cancelled() && needs.test.result == 'success'",
    "contains(github.event.head_commit.message, '[skip]')",
    "startsWith(github.ref, 'refs/tags/v')",
    "format('{0}-{1}', matrix.os, matrix.version)",
    "env.LEVEL || 'debug'",
];

/// The names that they may use.
pub const NAMES: Names<'static> = Names {
    contexts: &["env", "github", "matrix", "needs", "steps"],
    functions: &[
        Function {
            name: "success",
            min: 0,
            max: 0,
        },
        Function {
            name: "cancelled",
            min: 0,
            max: 0,
        },
    ],
};

const CONTEXTS: &str = r#"{
    "env": {"CI": "true", "LEVEL": ""},
    "github": {
        "actor": "someone", "event_name": "push", "job": "build", "ref": "refs/heads/main", "ref_name": "main",
        "ref_type": "branch", "repository": "owner/repository", "run_id": "1", "sha":
        "0123456789abcdef0123456789abcdef01234567", "workflow": "ci",
        "event": {"head_commit": {"id": "0123456789abcdef", "message": "Read rows in larger pieces"}}
    },
    "matrix": {"os": "ubuntu-24.04", "version": 22},
    "needs": {"test": {"result": "success", "outputs": {}}},
    "steps": {"build": {"outcome": "success", "conclusion": "success", "outputs": {"changed": "true"}}}
}"#;

/// What the expressions are evaluated with.
#[expect(clippy::expect_used, reason = "the text is valid")]
pub fn contexts() -> Object {
    let contexts = Value::from_json(CONTEXTS).expect("JSON");
    Object::clone(contexts.as_object().expect("an object"))
}
