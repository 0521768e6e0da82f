//! Known bugs of other runners: each fixture is a project, and its `expect.json` says what `gantry exec` must make of
//! it.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by a panic")]

mod harness;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::Project;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bugs")
}

fn texts<'a>(expect: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    expect[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Runs one fixture in a directory of this name and holds the run to `expect.json`.
fn check_in(id: &str, directory: &str) -> String {
    let fixture = fixtures().join(id);
    let text = fs::read_to_string(fixture.join("expect.json")).expect("the fixture has an expect.json");
    let expect: Value = serde_json::from_str(&text).expect("JSON");
    let project = Project::named(directory).copy_of(&fixture);
    let limit = Duration::from_secs(expect["max_seconds"].as_u64().unwrap_or(60));
    let outcome = project.run_within(limit, &["exec", "-i", "host"]);
    let code = match expect["conclusion"].as_str() {
        Some("success") => 0,
        Some("failure") => 1,
        other => panic!("{id}: unknown conclusion {other:?}"),
    };
    outcome.assert_code(code);
    for text in texts(&expect, "log_contains") {
        outcome.assert_contains(text);
    }
    for text in texts(&expect, "log_absent") {
        outcome.assert_absent(text);
    }
    project.assert_nothing_left();
    outcome.stdout
}

macro_rules! bugs {
    ($($name:ident $id:literal)*) => {
        const COVERED: &[&str] = &[$($id),*];
        $(
            #[test]
            fn $name() {
                check_in($id, "project");
            }
        )*
    };
}

bugs! {
    expression_truthy_strings "B01"
    expression_missing_index "B03"
    expression_tojson_steps "B05"
    yaml_hyphenated_ids "B07"
    matrix_strategy_context "B09"
    matrix_exclude_expression "B11"
    matrix_not_evaluated_when_skipped "B13"
    if_needs_always_after_failure "B15"
    if_needs_skipped_result "B17"
    if_needs_job_if_failure "B19"
    if_needs_step_outcome_conclusion "B21"
    outputs_percent_decoding "B23"
    env_files_precedence "B25"
    env_files_forms "B27"
    env_files_bom "B29"
    env_files_in_repeated_composite "B31"
    composite_bool_is_string "B33"
    composite_inner_env_leak "B35"
    composite_failure_outputs "B37"
    local_action_path "B39"
    local_action_generated "B41"
    post_order_state "B43"
    reusable_inputs_and_outputs "B45"
    reusable_job_result "B47"
    shell_custom "B49"
    paths_spaces_and_unicode "B51"
    hashfiles_symlinks "B53"
    masking_multiline "B55"
    logs_long_lines "B57"
    timeouts_step "B59"
    cancel_process_background "B61"
}

#[test]
fn every_fixture_has_a_test() {
    let entries = fs::read_dir(fixtures())
        .expect("readable")
        .map(|entry| entry.expect("readable").file_name());
    let found: BTreeSet<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    let covered: BTreeSet<String> = COVERED.iter().map(|id| (*id).to_owned()).collect();
    assert_eq!(found, covered);
}

#[test]
fn paths_spaces_and_unicode_in_the_workspace_root() {
    check_in("B51", "my wörk");
}

#[test]
fn post_markers_appear_once_per_job() {
    let log = check_in("B43", "project");
    for marker in ["POST-FIRST-101", "POST-SECOND-102"] {
        assert_eq!(log.matches(marker).count(), 2, "{marker}");
    }
}
