//! What an operator has the runner do beside its jobs.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use gantry_fakes::forge::{DIALECTS, Method};

use super::scene::Scene;

const HELLO: &str = include_str!("workflows/hello.yaml");

/// Writes a program of the operator; yields its path.
fn program(scene: &Scene, name: &str, script: &str) -> String {
    let path = scene.place.path(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script");
    path.display().to_string()
}

#[test]
fn a_script_hears_of_each_job_and_a_copy_of_its_log_is_kept() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let script = program(
            &scene,
            "after.sh",
            "echo \"heard of $GITEA_REPOSITORY: $GITEA_JOB_RESULT\"",
        );
        let copies = scene.place.path("copies");
        scene.configure(&format!(
            "  post_task_script: '{script}'\nlog: {{job: {{dir: '{}'}}}}\n",
            copies.display()
        ));
        let daemon = scene.daemon();
        scene.succeed(HELLO);
        let said = daemon.stop();
        assert!(said.text.contains("heard of octo/demo: success"), "{}", said.text);
        let copy = fs::read_dir(&copies).expect("the copies").next().expect("a copy");
        let copy = fs::read_to_string(copy.expect("an entry").path()).expect("the copy");
        assert!(copy.contains("Z ##[group]Set up job\n"), "{copy}");
        assert!(copy.trim_end().ends_with("finished: success"), "{copy}");
    }
}

#[test]
fn a_runner_that_is_unwell_claims_nothing_until_it_is_well() {
    let scene = Scene::new(DIALECTS[0], "");
    let sick = scene.place.path("sick");
    fs::write(&sick, "").expect("a file");
    let test = format!(
        "[ ! -e '{}' ] || {{ echo \"it is sick\"; exit 1; }}",
        sick.display()
    );
    let script = program(&scene, "health.sh", &test);
    scene.configure(&format!(
        "health_check: {{enabled: true, min_free_disk_space_mb: 1, script: '{script}', interval: 1ms}}\n"
    ));
    let mut daemon = scene.daemon();
    daemon.wait_for("runner temporarily unavailable");
    let run = scene.forge.push(HELLO);
    assert_eq!(scene.forge.read(|state| state.count(Method::FetchTask)), 0);
    fs::remove_file(&sick).expect("a file");
    daemon.wait_for("runner local health recovered");
    scene.wait(run);
    let said = daemon.stop();
    assert!(said.text.contains("it is sick"), "{}", said.text);
}
