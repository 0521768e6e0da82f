//! `gantry register` and `gantry create-runner-file`, against servers with the rules of Gitea and of Forgejo.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

mod harness;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use gantry_actors::protocols::connect::Code;
use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Calls, DIALECTS, Dialect, Fault, Feature, Method};
use gantry_fakes::http::{Answer, HttpServer, Reply};
use gantry_fakes::tls::Authority;
use harness::screen::Session;
use harness::{Outcome, Project};
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;

const SECRET: &str = "7c31591e8b67225a116d4a4519ea8e507e08f71f";
const UUID: &str = "37633331-3539-3165-3862-363732323561";

fn forge(dialect: Dialect) -> FakeForge {
    FakeForge::start_on_thread(dialect.rules())
}

fn file(project: &Project) -> PathBuf {
    project.directory.join(".runner")
}

fn content(project: &Project) -> Value {
    let text = fs::read_to_string(file(project)).expect("a runner file");
    serde_json::from_str(&text).expect("JSON")
}

/// Runs `gantry register --no-interactive --wait 0s` with a name and more arguments.
fn register(project: &Project, args: &[&str]) -> Outcome {
    let fixed = ["register", "--no-interactive", "--wait", "0s", "--name", "one"];
    project.run(&[&fixed, args].concat())
}

/// Runs the binary with variables and with a text on stdin.
fn with_input(mut command: Command, input: &str) -> Outcome {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // Whoever does not ask leaves the input unread.
    stdin.write_all(input.as_bytes()).ok();
    drop(stdin);
    let output = child.wait_with_output().expect("the binary ends");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn a_runner_is_registered_and_its_file_is_private() {
    for dialect in DIALECTS {
        let forge = forge(dialect);
        let project = Project::new();
        let (url, token) = (format!("{}/", forge.url()), forge.one_time_token());
        let labels = "build:host, node:docker://node:22,pool:7";
        let args = ["--instance", &url, "--token", &token, "--labels", labels];
        let outcome = register(&project, &args);
        outcome
            .assert_code(0)
            .assert_contains("Runner registered successfully.")
            .assert_contains("node: in Docker, with node:22")
            .assert_absent(&token);
        let mode = fs::metadata(file(&project)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let kept = content(&project);
        forge.read(|state| {
            let runner = state.runners().next().expect("a runner");
            assert_eq!(runner.labels, ["build", "node", "pool:7"]);
            assert_eq!(kept["id"], runner.id);
            assert_eq!(kept["uuid"], *runner.uuid);
            assert_eq!(kept["token"], *runner.token);
            outcome.assert_absent(&runner.token);
        });
        assert_eq!(
            (&kept["name"], &kept["address"]),
            (&"one".into(), &forge.url().into())
        );
        assert_eq!(
            kept["labels"],
            serde_json::json!(["build:host", "node:docker://node:22", "pool:7"])
        );
        assert_eq!(kept["ephemeral"], false);
    }
}

#[test]
fn a_token_comes_from_a_file_a_flag_stdin_or_a_variable() {
    let forge = forge(Dialect::Gitea);
    let (url, token) = (forge.url(), forge.registration_token());
    let project = Project::new().file("token", &format!("{token}\n"));
    let file_wins = ["--token", "wrong", "--token-file", "token"];
    register(&project, &[&["--instance", &url], &file_wins[..]].concat()).assert_code(0);
    let fixed = ["register", "--no-interactive", "--instance", &url];
    let command = project.command(&[&fixed[..], &["--token-file", "-"]].concat());
    with_input(command, &token).assert_code(0);
    for variable in [
        "GANTRY_REGISTRATION_TOKEN",
        "GITEA_RUNNER_REGISTRATION_TOKEN",
        "FORGEJO_RUNNER_REGISTRATION_TOKEN",
    ] {
        let mut command = project.command(&fixed);
        command.env(variable, format!(" {token}\n"));
        with_input(command, "")
            .assert_code(0)
            .assert_contains("it is replaced")
            .assert_absent("unknown");
    }
    let labels = content(&project)["labels"].as_array().expect("labels").len();
    assert_eq!((labels, forge.read(|state| state.runners().count())), (3, 5));
}

#[test]
fn a_token_that_is_wrong_or_used_up_is_one_clear_text() {
    for dialect in DIALECTS {
        let forge = forge(dialect);
        let project = Project::new();
        let (url, once) = (forge.url(), forge.one_time_token());
        let used = "the runner is not registered: Register: the forge refused: ";
        register(&project, &["--instance", &url, "--token", "hunter2"])
            .assert_code(1)
            .assert_contains(used)
            .assert_contains("runner registration token not found; the forge shows a valid token")
            .assert_absent("hunter2");
        register(&project, &["--instance", &url, "--token", &once]).assert_code(0);
        fs::remove_file(file(&project)).expect("removed");
        register(&project, &["--instance", &url, "--token", &once])
            .assert_code(1)
            .assert_contains(used)
            .assert_contains("has been invalidated");
        assert!(!file(&project).exists());
    }
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let forge = forge(Dialect::Gitea);
    let url = forge.url();
    let table: [(&[&str], &str); 7] = [
        (&[], "missing the address of the forge: give it with --instance"),
        (
            &["--instance", &url],
            "missing the registration token: give it with --token-file",
        ),
        (
            &["--instance", "forge.example", "--token", "t"],
            "forge.example is no address of a forge: an address starts with http:// or https://",
        ),
        (
            &["--instance", &url, "--token-file", "no-such-file"],
            "cannot use --token-file no-such-file: No such file",
        ),
        (
            &["--instance", &url, "--token", "t", "--labels", "a,:host"],
            "the label `:host` has no name",
        ),
        (
            &[
                "--instance",
                &url,
                "--token",
                "t",
                "--set",
                "runner.file=missing/.runner",
            ],
            "cannot write the runner file missing/.runner: ",
        ),
        (
            &[
                "--instance",
                &url,
                "--token",
                "t",
                "--set",
                "runner.tls.ca_file=missing.pem",
            ],
            "failed to read missing.pem: No such file",
        ),
    ];
    for (args, text) in table {
        let project = Project::new();
        register(&project, args).assert_code(1).assert_contains(text);
        assert!(!file(&project).exists());
    }
    assert_eq!(forge.read(|state| state.count(Method::Register)), 0);
}

#[test]
fn what_is_no_forge_is_said_at_once() {
    let table = [
        (
            Fault::page(404),
            "HTTP status 404: there is no Gitea or Forgejo with Actions",
        ),
        (Fault::page(200), "the forge cannot be used: Ping: "),
        (Fault::page(403), "something before it wants to know who we are"),
    ];
    for (fault, text) in table {
        let forge = forge(Dialect::Forgejo);
        forge.fail(Method::Ping, Calls::All, fault);
        let project = Project::new();
        let url = forge.url();
        // Nothing is waited for, although there would be an hour.
        let args = [
            "register",
            "--no-interactive",
            "--wait",
            "1h",
            "--instance",
            &url,
            "--token",
            "t",
        ];
        project.run(&args).assert_code(1).assert_contains(text);
        assert!(!file(&project).exists());
    }
}

#[test]
fn a_forge_that_is_not_there_is_given_up() {
    let forge = forge(Dialect::Gitea);
    let url = forge.url();
    forge.fail(Method::Ping, Calls::All, Fault::page(502));
    let project = Project::new();
    let not_reached = "the forge could not be reached: Ping: the forge is unavailable: ";
    register(&project, &["--instance", &url, "--token", "t"])
        .assert_code(1)
        .assert_contains(not_reached)
        .assert_contains("HTTP status 502");
    drop(forge);
    register(&project, &["--instance", &url, "--token", "t"])
        .assert_code(1)
        .assert_contains(not_reached);
}

#[test]
fn a_forge_that_comes_late_is_waited_for_and_the_reason_is_said_once() {
    let forge = forge(Dialect::Forgejo);
    forge.fail(Method::Ping, Calls::First(3), Fault::page(503));
    let (url, token) = (forge.url(), forge.registration_token());
    let project = Project::new();
    let args = [
        "register",
        "--no-interactive",
        "--instance",
        &url,
        "--token",
        &token,
    ];
    let outcome = project.run(&args);
    outcome.assert_code(0);
    let said = outcome.stderr.matches("trying again every second").count();
    assert_eq!(said, 1, "{}", outcome.stderr);
}

#[test]
fn a_certificate_is_trusted_only_if_the_configuration_says_so() {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let authority = Authority::new("forge's own");
    let identity = authority.issue(&["127.0.0.1"]);
    let page = || Reply::from(Answer::new(404, "text/plain", "nothing"));
    let server = HttpServer::start_tls([page(), page()], Authority::server(&identity, None));
    let server = runtime.block_on(server);
    let url = format!("https://{}", server.address());
    let project = Project::new().file("ca.pem", &authority.pem());
    let given = ["--instance", &url, "--token", "t"];
    register(&project, &given)
        .assert_code(1)
        .assert_contains("the forge cannot be used: Ping: ")
        .assert_contains("TLS: ");
    for setting in ["runner.tls.ca_file=ca.pem", "runner.insecure=true"] {
        register(&project, &[&given[..], &["--set", setting]].concat())
            .assert_code(1)
            .assert_contains("HTTP status 404");
    }
}

#[test]
fn a_lost_answer_to_a_registration_is_explained() {
    let forge = forge(Dialect::Gitea);
    forge.fail(Method::Register, Calls::All, Fault::LoseAnswer);
    let (url, token) = (forge.url(), forge.registration_token());
    let project = Project::new();
    register(&project, &["--instance", &url, "--token", &token])
        .assert_code(1)
        .assert_contains("the forge may know a runner of this name now that has no file");
    let left = fs::read_dir(&project.directory).expect("readable").flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, [".runner.lock"]);
}

#[test]
fn a_token_that_a_forge_repeats_is_not_shown() {
    let forge = forge(Dialect::Gitea);
    let refusal = Fault::Refuse(Code::NotFound, "token hunter2 not found".to_owned());
    forge.fail(Method::Register, Calls::All, refusal);
    let project = Project::new();
    register(&project, &["--instance", &forge.url(), "--token", "hunter2"])
        .assert_code(1)
        .assert_contains("token *** not found")
        .assert_absent("hunter2");
}

#[test]
fn a_runner_for_one_job_stays_one_on_a_forge_that_knows_none() {
    for (rules, is_old) in [
        (Dialect::Gitea.rules(), false),
        (Dialect::Gitea.rules().without(Feature::Ephemeral), true),
    ] {
        let forge = FakeForge::start_on_thread(rules);
        let (url, token) = (forge.url(), forge.registration_token());
        let project = Project::new();
        let outcome = register(&project, &["--instance", &url, "--token", &token, "--ephemeral"]);
        outcome.assert_code(0);
        assert_eq!(content(&project)["ephemeral"], true);
        assert_eq!(outcome.stderr.contains("too old"), is_old, "{}", outcome.stderr);
    }
}

#[test]
fn labels_of_the_configuration_win() {
    let forge = forge(Dialect::Gitea);
    let (url, token) = (forge.url(), forge.registration_token());
    let project = Project::new();
    let args = [
        "--instance",
        &url,
        "--token",
        &token,
        "--labels",
        "x",
        "--set",
        "runner.labels=[a:host, b]",
    ];
    register(&project, &args)
        .assert_code(0)
        .assert_contains("--labels is ignored");
    assert_eq!(content(&project)["labels"], serde_json::json!(["a:host", "b"]));
}

#[test]
fn a_second_process_is_refused() {
    let project = Project::new();
    let mut first = project
        .command(&["register"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut asked = [0];
    // Its first question comes with the lock in its hands.
    let mut stderr = first.stderr.take().expect("a pipe");
    stderr.read_exact(&mut asked).expect("a question");
    register(&project, &["--instance", "http://127.0.0.1:1", "--token", "t"])
        .assert_code(1)
        .assert_contains(
            "another process is already using .runner (it holds the lock .runner.lock); stop it first",
        );
    drop(first.stdin.take());
    stderr.read_to_end(&mut Vec::new()).expect("its output");
    assert_eq!(first.wait().expect("an end").code(), Some(1));
}

/// Answers questions on a terminal: waits for each text, then types; yields the exit code and what was shown.
fn on_a_terminal(project: &Project, args: &[&str], script: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut session = Session::start(&project.command(args));
    for (question, answer) in script {
        session.wait_for(question).type_keys(answer);
    }
    let keyboard = session.keyboard();
    let end = session.finish();
    let mode = tcgetattr(keyboard).expect("a terminal");
    assert!(mode.local_modes.contains(LocalModes::ECHO), "the echo is off");
    end
}

#[test]
fn a_person_is_asked_for_everything_that_is_missing() {
    let forge = forge(Dialect::Forgejo);
    let (url, token) = (forge.url(), forge.one_time_token());
    let project = Project::new();
    let (address, secret) = (format!("{url}\n"), format!("{token}\n"));
    let script = [
        ("https://forge.example): ", "\n"),
        ("https://forge.example): ", "forge.example\n"),
        ("forge.example is no address of a forge", ""),
        ("https://forge.example): ", address.as_str()),
        ("(it is not shown): ", "\n"),
        ("(it is not shown): ", secret.as_str()),
        ("The name of the runner [", "two\n"),
        ("The labels", ":host\n"),
        ("the label `:host` has no name", ""),
        ("The labels", "build:host\n"),
    ];
    let (code, shown) = on_a_terminal(&project, &["register"], &script);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("Runner registered successfully."), "{shown}");
    assert!(!shown.contains(&token), "{shown}");
    let kept = content(&project);
    assert_eq!(
        (&kept["name"], &kept["labels"][0]),
        (&"two".into(), &"build:host".into())
    );

    let (code, shown) = on_a_terminal(&project, &["register"], &[("Overwrite it? [y/N]", "n\n")]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains(&format!("the runner two at {url} already")),
        "{shown}"
    );
    assert_eq!(content(&project), kept);

    let token = forge.registration_token();
    let given = ["register", "--instance", &url, "--token", &token];
    let script = [
        ("Overwrite it? [y/N]", "y\n"),
        ("The name", "\n"),
        ("The labels", "\n"),
    ];
    let (code, shown) = on_a_terminal(&project, &given, &script);
    assert_eq!(code, Some(0), "{shown}");
    let labels = content(&project)["labels"].as_array().expect("labels").len();
    assert_eq!(labels, 3);
}

#[test]
fn an_interrupt_ends_questions_and_leaves_the_terminal_as_it_was() {
    let project = Project::new();
    let given = ["register", "--instance", "http://127.0.0.1:1"];
    let script = [("(it is not shown): ", "\u{3}")];
    let (code, shown) = on_a_terminal(&project, &given, &script);
    assert_eq!(code, Some(130), "{shown}");
    assert!(!file(&project).exists());
}

#[test]
fn answers_may_come_from_a_pipe() {
    let forge = forge(Dialect::Gitea);
    let project = Project::new();
    let input = format!("{}\n{}\npiped\n", forge.url(), forge.one_time_token());
    with_input(project.command(&["register"]), &input).assert_code(0);
    assert_eq!(content(&project)["name"], "piped");
    with_input(project.command(&["register"]), "")
        .assert_code(1)
        .assert_contains("nobody says whether it may be replaced");
    fs::remove_file(file(&project)).expect("removed");
    with_input(project.command(&["register"]), "")
        .assert_code(1)
        .assert_contains(
            "stdin has ended before the address of the forge was given: give it with --instance",
        );
}

#[test]
fn the_file_of_a_runner_with_a_shared_secret_is_made_and_kept_up_to_date() {
    let project = Project::new().file("secret", &format!("{SECRET}\n"));
    let create = |args: &[&str]| {
        let fixed = ["create-runner-file", "--secret-file", "secret"];
        project.run(&[&fixed, args].concat())
    };
    create(&[
        "--instance",
        "https://one.example/",
        "--name",
        "one",
        "--labels",
        "a:host",
    ])
    .assert_code(0)
    .assert_absent(SECRET);
    let mode = fs::metadata(file(&project)).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = content(&project);
    assert_eq!((&kept["uuid"], &kept["token"]), (&UUID.into(), &SECRET.into()));
    create(&["--instance", "https://two.example"])
        .assert_code(0)
        .assert_absent("replaced");
    let changed = content(&project);
    assert_eq!(changed["address"], "https://two.example");
    assert_eq!(
        (&changed["name"], &changed["labels"]),
        (&kept["name"], &kept["labels"])
    );
    let other = SECRET.replace('7', "8");
    let mut command = project.command(&["create-runner-file", "--instance", "https://two.example"]);
    command.env("FORGEJO_RUNNER_SECRET", &other);
    with_input(command, "")
        .assert_code(0)
        .assert_contains("of the runner one at https://two.example is replaced");
    assert_eq!(content(&project)["token"], *other);
}

#[test]
fn a_shared_secret_that_is_none_is_refused_and_not_shown() {
    let create = |args: &[&str]| {
        let fixed = ["create-runner-file", "--instance", "https://forge.example"];
        Project::new().run(&[&fixed, args].concat())
    };
    create(&[])
        .assert_code(1)
        .assert_contains("missing the secret: give it with --secret-file");
    create(&["--secret", "hunter2"])
        .assert_code(1)
        .assert_contains("the secret has to be 40 hexadecimal digits")
        .assert_absent("hunter2");
    Project::new()
        .run(&["create-runner-file", "--secret", SECRET])
        .assert_code(1)
        .assert_contains("missing the address of the forge");
}

#[test]
fn a_forge_is_asked_whether_it_knows_the_runner() {
    for dialect in DIALECTS {
        let forge = forge(dialect);
        let url = forge.url();
        let project = Project::new();
        let args = [
            "create-runner-file",
            "--connect",
            "--instance",
            &url,
            "--secret",
            SECRET,
            "--labels",
            "a:host",
        ];
        project.run(&args).assert_code(1).assert_contains(
            "the forge does not know the runner: register it there with the same secret first",
        );
        assert!(!file(&project).exists());
        forge.share_secret("given", SECRET);
        project.run(&args).assert_code(0);
        assert!(file(&project).exists());
        forge.read(|state| assert_eq!(state.runners().next().expect("a runner").labels, ["a"]));
    }
}
