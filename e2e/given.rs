//! What a job is given, and what the server is told of it beyond its rows: secrets, variables, summaries, annotations, hooks.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use gantry_fakes::forge::{DIALECTS, Dialect, Status};

use super::harness::Daemon;
use super::scene::Scene;

#[test]
fn secrets_are_masked_in_the_servers_log() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let forge = &scene.forge;
        forge.set_secret("octo/demo", "deploy", "correct horse battery");
        forge.set_secret("octo/demo", "lines", "first-line-of-it\nsecond-line-of-it");
        forge.set_var("octo/demo", "color", "red");
        let daemon = scene.daemon();
        scene.succeed(include_str!("workflows/secrets.yaml"));
        let said = daemon.stop();
        let log = scene.log("tell");
        let token = forge.read(|state| state.task_of("tell").expect("the task").token.clone());
        let runtime = forge.read(|state| state.task_of("tell").expect("the task").runtime_token.clone());
        for hidden in [
            "correct horse battery",
            "first-line-of-it",
            "second-line-of-it",
            "Y29ycmVjdCBob3JzZSBiYXR0ZXJ5",
            "made-on-the-way",
            &token,
            &runtime,
        ] {
            assert!(!log.contains(hidden), "{hidden:?} is in {log}");
            assert!(!said.text.contains(hidden), "{hidden:?} is in {}", said.text);
        }
        for shown in [
            "deploy ***, color red",
            "length 21",
            "the token ***",
            "mask ***",
            "end",
        ] {
            assert!(log.contains(shown), "{shown:?} is not in {log}");
        }
        let outputs = forge.read(|state| state.task_of("tell").expect("the task").outputs.clone());
        assert_eq!(outputs.get("plain").map(String::as_str), Some("kept"));
        assert_eq!(outputs.get("secret"), None, "what holds a secret is no output");
    }
}

#[test]
fn a_job_sees_the_environment_of_the_forges_runners() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let mut command = scene.place.command(&["daemon"]);
        command
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .env("OF_THE_RUNNER", "not for jobs");
        let mut daemon = Daemon::start(command);
        daemon.wait_for("declare successfully");
        let run = scene.succeed(include_str!("workflows/environment.yaml"));
        daemon.stop();
        let seen = fs::read_to_string(scene.place.path("environment")).expect("the job's file");
        let seen: BTreeMap<&str, &str> = seen
            .split('\0')
            .filter_map(|entry| entry.split_once('='))
            .collect();
        for (name, value) in expected(&scene, run) {
            assert_eq!(seen.get(name).copied(), Some(value.as_str()), "{name}: {seen:#?}");
        }
        for name in THERE {
            assert!(
                seen.get(name).is_some_and(|value| !value.is_empty()),
                "{name}: {seen:#?}"
            );
        }
        for name in COMMAND_FILES {
            assert_eq!(
                seen.get(format!("GITHUB_{name}").as_str()),
                seen.get(format!("GITEA_{name}").as_str()),
                "{name}"
            );
        }
        assert!(!seen.contains_key("OF_THE_RUNNER"));
        assert_eq!(seen.contains_key("FORGEJO_ACTIONS"), dialect == Dialect::Forgejo);
        assert_eq!(
            seen.contains_key("GITEA_ACTIONS_CAPABILITIES"),
            dialect == Dialect::Gitea
        );
    }
}

const COMMAND_FILES: [&str; 5] = ["OUTPUT", "STATE", "PATH", "ENV", "STEP_SUMMARY"];

/// Variables whose values are this machine's, or new for each job.
const THERE: [&str; 17] = [
    "GITEA_ACTIONS_RUNNER_VERSION",
    "GITHUB_ACTION",
    "GITHUB_ENV",
    "GITHUB_EVENT_PATH",
    "GITHUB_OUTPUT",
    "GITHUB_PATH",
    "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_WORKFLOW",
    "GITHUB_WORKSPACE",
    "ImageOS",
    "RUNNER_ARCH",
    "RUNNER_OS",
    "RUNNER_TEMP",
    "RUNNER_TOOL_CACHE",
    "RUNNER_TRACKING_ID",
    "RUNNER_WORKSPACE",
];

fn expected(scene: &Scene, run: i64) -> Vec<(&'static str, String)> {
    let url = scene.forge.url();
    let runtime = scene
        .forge
        .read(|state| state.task_of("look").expect("the task").runtime_token.clone());
    let fixed = [
        ("ACT", "true"),
        ("CI", "true"),
        ("GITEA_ACTIONS", "true"),
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_ACTOR", "octo"),
        ("GITHUB_BASE_REF", ""),
        ("GITHUB_EVENT_NAME", "push"),
        ("GITHUB_GRAPHQL_URL", ""),
        ("GITHUB_HEAD_REF", ""),
        ("GITHUB_JOB", "look"),
        ("GITHUB_REF", "refs/heads/main"),
        ("GITHUB_REF_NAME", "main"),
        ("GITHUB_REF_TYPE", "branch"),
        ("GITHUB_REPOSITORY", "octo/demo"),
        ("GITHUB_REPOSITORY_OWNER", "octo"),
        ("GITHUB_RUN_ATTEMPT", "1"),
        ("GITHUB_RUN_NUMBER", "1"),
        ("GITHUB_SHA", "5f1d38a0c1e9b7a6f00d5f1d38a0c1e9b7a6f00d"),
        ("HTTPS_PROXY", "http://127.0.0.1:9"),
        ("NO_PROXY", "localhost,127.0.0.1,::1"),
        ("RUNNER_ENVIRONMENT", "self-hosted"),
        ("RUNNER_NAME", "e2e"),
        ("RUNNER_PERFLOG", "/dev/null"),
        ("https_proxy", "http://127.0.0.1:9"),
        ("no_proxy", "localhost,127.0.0.1,::1"),
    ];
    let mut all: Vec<_> = fixed.map(|(name, value)| (name, value.to_owned())).into();
    all.extend([
        ("ACTIONS_RESULTS_URL", url.clone()),
        ("ACTIONS_RUNTIME_TOKEN", runtime),
        ("ACTIONS_RUNTIME_URL", format!("{url}/api/actions_pipeline/")),
        ("E2E", scene.place.path("").display().to_string()),
        ("GITEA_RUN_ID", run.to_string()),
        ("GITHUB_API_URL", format!("{url}/api/v1")),
        ("GITHUB_RUN_ID", run.to_string()),
        ("GITHUB_SERVER_URL", url),
    ]);
    all
}

#[test]
fn summaries_are_uploaded_where_the_server_takes_them() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        scene.forge.set_secret("octo/demo", "deploy", "correct-horse");
        let daemon = scene.daemon();
        scene.succeed(include_str!("workflows/summary.yaml"));
        daemon.stop();
        let summaries = scene
            .forge
            .read(|state| state.task_of("report").expect("the task").summaries.clone());
        let texts: Vec<&str> = summaries.values().map(String::as_str).collect();
        match dialect {
            Dialect::Gitea => assert_eq!(texts, ["# Well done\n", "the secret is ***\n"]),
            Dialect::Forgejo => assert!(texts.is_empty(), "{texts:?}"),
        }
    }
}

#[test]
fn annotations_are_rows_that_the_servers_show() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let daemon = scene.daemon();
        scene.succeed(include_str!("workflows/annotations.yaml"));
        daemon.stop();
        let log = scene.log("annotate");
        for row in [
            "##[error]src/a.c:3:4: Title: it does not compile",
            "##[warning]take care",
            "##[notice]by the way",
        ] {
            assert!(log.lines().any(|line| line == row), "{row:?} is not in {log}");
        }
    }
}

#[test]
fn hooks_of_the_operator_are_a_part_of_the_job() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let hook = |name: &str, script: &str| {
            let path = scene.place.path(name);
            fs::write(&path, script).expect("a script");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script");
            path.display().to_string()
        };
        let before = hook(
            "before.sh",
            "echo \"the hook before\"\necho HOOKED=yes >> \"$GITHUB_ENV\"\n",
        );
        let after = hook("after.sh", "echo \"the hook after\"\n");
        scene.configure(&format!(
            "  hooks: {{job_started: '{before}', job_completed: '{after}'}}\n"
        ));
        let daemon = scene.daemon();
        scene.succeed(include_str!("workflows/hooked.yaml"));
        daemon.stop();
        let log = scene.log("hooked");
        let place = |text: &str| {
            log.find(text)
                .unwrap_or_else(|| panic!("{text:?} is not in {log}"))
        };
        assert!(place("the hook before") < place("hooked yes"));
        assert!(place("hooked yes") < place("the hook after"));
    }
}

#[test]
fn a_tolerated_job_does_not_fail_its_run_where_the_server_counts_so() {
    for dialect in DIALECTS {
        let scene = Scene::new(dialect, "");
        let daemon = scene.daemon();
        let run = scene.forge.push(include_str!("workflows/tolerated.yaml"));
        let status = scene.wait(run);
        daemon.stop();
        // The runner tells the truth of the job; what that means for the run is the server's affair.
        let job = scene
            .forge
            .read(|state| state.job("weak").expect("the job").status);
        assert_eq!(job, Status::Failure);
        match dialect {
            Dialect::Gitea => assert_eq!(status, Status::Success),
            Dialect::Forgejo => assert_eq!(status, Status::Failure),
        }
    }
}
