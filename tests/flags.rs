//! What each flag of `gantry exec` does, and the commands that speak of flags.

mod harness;

use std::fs;

use harness::Project;

/// A project with one job; the steps are written at the depth of a list.
fn project(steps: &str) -> Project {
    Project::with_workflow(&format!(
        "name: t\non: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}"
    ))
}

#[test]
fn a_workflow_can_tell_that_it_runs_locally() {
    let show = "      - run: echo \"$ACT/$ACT_EXEC/${ACT_SKIP_CHECKOUT-unset}/${{ env.ACT }}\"\n";
    for (flags, expected) in [
        (&[][..], "true/true/true/true"),
        (&["--no-skip-checkout"], "true/true/unset/true"),
        (&["--env", "ACT=no"], "no/true/true/no"),
    ] {
        let outcome = project(show).exec(flags);
        outcome.assert_code(0).assert_contains(&format!("] {expected}\n"));
        // They are the same in every step, and no news.
        outcome.assert_absent("ACT_EXEC: true");
    }
}

#[test]
fn subdirectories_are_searched_unless_told_not_to() {
    let one = |text: &str| format!("on: push\njobs: {{a: {{runs-on: x, steps: [{{run: echo {text}}}]}}}}\n");
    let project =
        Project::with_workflow(&one("of-the-top")).file(".github/workflows/sub/u.yml", &one("of-below"));
    project
        .exec(&[])
        .assert_code(0)
        .assert_contains("of-the-top")
        .assert_contains("of-below");
    project
        .exec(&["--no-recurse"])
        .assert_code(0)
        .assert_contains("of-the-top")
        .assert_absent("of-below");
}

#[test]
fn the_event_is_the_flag_or_the_only_one_or_the_first_if_wanted_or_push() {
    let workflow = |on: &str| {
        let job = "jobs: {a: {runs-on: x, steps: [{run: 'echo \"event=$GITHUB_EVENT_NAME\"'}]}}\n";
        Project::with_workflow(&format!("on: {on}\n{job}"))
    };
    let several = "[pull_request, push, release]";
    for (on, flags, expected) in [
        (several, &["-E", "release", "--detect-event"][..], "release"),
        ("issues", &[], "issues"),
        ("issues", &["--detect-event"], "issues"),
        (several, &["--detect-event"], "pull_request"),
        (several, &[], "push"),
    ] {
        let outcome = workflow(on).exec(flags);
        outcome
            .assert_code(0)
            .assert_contains(&format!("event={expected}\n"));
    }
}

#[test]
fn inputs_come_from_a_file_and_flags_win() {
    let workflow = "
on: {workflow_dispatch: {inputs: {one: {}, two: {}}}}
jobs: {a: {runs-on: x, steps: [{run: 'echo \"${{ inputs.one }} ${{ inputs.two }}\"'}]}}
";
    let project = Project::with_workflow(workflow).file("in.env", "one=file\ntwo=file\n");
    let outcome = project.exec(&["--input-file", "in.env", "--input", "two=flag"]);
    outcome.assert_code(0).assert_contains("] file flag\n");
    let missing = project.exec(&["--input-file", "none.env"]);
    missing.assert_code(2).assert_contains("none.env");
}

#[test]
fn secrets_are_shown_only_to_who_asks_for_that() {
    let steps = "      - {name: 'with ${{ secrets.TOKEN }}', run: 'echo \"::warning::it is ${{ secrets.TOKEN }}\"; exit 1'}\n";
    let project = project(steps);
    let masked = project.exec(&["-s", "TOKEN=hunter2-hunter2"]);
    masked
        .assert_code(1)
        .assert_contains("it is ***")
        .assert_absent("hunter2");
    let shown = project.exec(&["-s", "TOKEN=hunter2-hunter2", "--insecure-secrets"]);
    shown
        .assert_code(1)
        .assert_contains("with hunter2-hunter2")
        .assert_contains("##[warning]it is hunter2-hunter2")
        .assert_absent("***");
    // What is kept on disk is no log that somebody asked to see.
    let explained = project.run(&["explain", "a/1", "--env"]);
    explained.assert_code(0).assert_absent("hunter2");
}

#[test]
fn a_secret_that_nobody_can_be_asked_for_is_a_usage_error() {
    let outcome = project("      - run: 'true'\n").exec(&["-s", "nobody_knows"]);
    outcome.assert_code(2).assert_contains(
        "--secret nobody_knows has no value, and there is no terminal to ask at: write nobody_knows=VALUE",
    );
}

#[test]
fn what_git_ignores_is_copied_on_request() {
    let steps = "      - run: ls; echo \"in all $(ls | wc -l)\"\n";
    let project = project(steps)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/config", "")
        .file(".git/objects/none", "")
        .file(".git/refs/none", "")
        .file(".gitignore", "*.out\n")
        .file("kept", "")
        .file("made.out", "");
    for (flags, count) in [
        (&[][..], 1),
        (&["--use-gitignore"], 1),
        (&["--use-gitignore=true"], 1),
        (&["--use-gitignore=false"], 2),
    ] {
        let outcome = project.exec(flags);
        outcome
            .assert_code(0)
            .assert_contains(&format!("in all {count}\n"));
    }
    project.exec(&["--use-gitignore=maybe"]).assert_code(2);
}

#[test]
fn debug_rows_are_shown_on_request() {
    let steps = "      - run: 'echo \"::debug::from the $(echo depth)\"; echo \"RUNNER_DEBUG=${RUNNER_DEBUG-unset} \
                 secret=${{ secrets.ACTIONS_STEP_DEBUG }} context=${{ runner.debug }}\"'\n";
    let project = project(steps);
    let quiet = project.exec(&[]);
    quiet
        .assert_code(0)
        .assert_contains("RUNNER_DEBUG=unset secret= context=\n")
        .assert_absent("from the depth");
    for flag in ["-d", "--debug"] {
        let outcome = project.exec(&[flag]);
        outcome
            .assert_code(0)
            .assert_contains("##[debug]from the depth")
            .assert_contains("RUNNER_DEBUG=1 secret=true context=1\n");
    }
}

#[test]
fn a_tool_cache_is_of_one_job_or_of_all() {
    let job = "{runs-on: x, steps: [{run: 'ls \"$RUNNER_TOOL_CACHE\"; touch \"$RUNNER_TOOL_CACHE/tool\"'}]}";
    let workflow = format!("on: push\njobs: {{a: {job}, b: {{needs: a, {}}}\n", &job[1..]);
    let project = Project::with_workflow(&workflow);
    for _ in 0..2 {
        project.exec(&[]).assert_code(0).assert_absent("] tool\n");
    }
    project.assert_nothing_left();
    let shared = ["--tool-cache-mode", "shared"];
    let first = project.exec(&shared);
    first
        .assert_code(0)
        .assert_contains("/b] tool\n")
        .assert_absent("/a] tool\n");
    project.exec(&shared).assert_code(0).assert_contains("/a] tool\n");
    project.exec(&["--tool-cache-mode", "some"]).assert_code(2);
}

#[test]
fn a_run_can_be_said_to_be_of_another_forge() {
    let steps = "      - run: 'echo \"${{ github.server_url }} ${{ github.api_url }} $GITHUB_REPOSITORY $GITHUB_SERVER_URL\"'\n";
    let project = project(steps)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            ".git/config",
            "[remote \"origin\"]\nurl = https://code.example/git/me/own.git\n",
        )
        .file(".git/objects/none", "")
        .file(".git/refs/none", "");
    for (instance, server, repository) in [
        ("code.example/git/", "https://code.example/git", "me/own"),
        ("http://10.0.0.1:3000", "http://10.0.0.1:3000", "local/project"),
    ] {
        let outcome = project.exec(&["--gitea-instance", instance]);
        let expected = format!("] {server} {server}/api/v1 {repository} {server}\n");
        outcome.assert_code(0).assert_contains(&expected);
    }
    for wrong in [
        "",
        "ftp://code.example",
        "https://",
        "https://me:pass@code.example",
    ] {
        let outcome = project.exec(&["--gitea-instance", wrong]);
        outcome
            .assert_code(2)
            .assert_contains("--gitea-instance expects the URL of a server")
            .assert_absent("pass");
    }
}

#[test]
fn flags_of_containers_are_taken_and_said_to_have_no_effect() {
    let flags = [
        "-p",
        "--rebuild",
        "--privileged",
        "--userns=host",
        "--container-architecture=linux/arm64",
        "--container-daemon-socket=-",
        "--container-cap-add=NET_ADMIN",
        "--container-cap-add=SYS_PTRACE",
        "--container-cap-drop=ALL",
        "--container-opts=--cpus 2",
        "--network=none",
    ];
    let project = project("      - run: echo it runs\n");
    let outcome = project.exec(&flags);
    outcome.assert_code(0).assert_contains("it runs").assert_contains(
        "gantry: --pull, --rebuild, --privileged, --userns, --container-architecture, --container-daemon-socket, \
         --container-cap-add, --container-cap-drop, --container-opts, --network have no effect: jobs run on this \
         machine, and no container is made\n",
    );
    let artifacts = [
        "--artifact-server-path=x",
        "--artifact-server-addr=127.0.0.1",
        "--artifact-server-port=1",
    ];
    let outcome = project.exec(&artifacts);
    outcome.assert_code(0).assert_contains(
        "gantry: --artifact-server-path, --artifact-server-addr, --artifact-server-port have no effect: no artifact \
         server is started\n",
    );
    project.exec(&[]).assert_code(0).assert_absent("no effect");
}

#[test]
fn every_shell_gets_a_completion() {
    let project = Project::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let outcome = project.run(&["completion", shell]);
        outcome.assert_code(0);
        for text in ["gantry", "use-gitignore", "tool-cache-mode", "validate"] {
            assert!(outcome.stdout.contains(text), "{shell} completes no {text}");
        }
    }
    project
        .run(&["completion", "dos"])
        .assert_code(2)
        .assert_contains("elvish");
}

#[test]
fn the_manual_is_printed_or_written_as_one_page_for_each_command() {
    let project = Project::new();
    let printed = project.run(&["man"]);
    printed
        .assert_code(0)
        .assert_contains(".TH gantry 1")
        .assert_contains(".TH gantry-exec 1");
    project.run(&["man", "made/man1"]).assert_code(0);
    let directory = project.directory.join("made/man1");
    let mut all = String::new();
    let names = [
        "",
        "-bug-report",
        "-completion",
        "-exec",
        "-explain",
        "-man",
        "-validate",
    ];
    for name in names {
        let text = fs::read_to_string(directory.join(format!("gantry{name}.1"))).unwrap();
        assert!(text.contains(&format!(".TH gantry{name} 1")), "{text}");
        all.push_str(&text);
    }
    assert!(
        printed.stdout.contains(&all[..200]) && all.contains("\\-\\-detect\\-event"),
        "{all}"
    );
    project
        .run(&["man", "made/man1/gantry.1"])
        .assert_code(1)
        .assert_contains("cannot write made/man1/gantry.1/gantry.1");
}

#[test]
fn a_bug_report_names_version_and_machine() {
    let outcome = Project::new().run(&["bug-report"]);
    outcome.assert_code(0);
    let names: Vec<&str> = outcome
        .stdout
        .lines()
        .map(|line| line.split_once(':').unwrap().0)
        .collect();
    assert_eq!(names, ["version", "os/arch", "cores", "git", "node"]);
    outcome.assert_contains(&format!("version: {}\n", env!("CARGO_PKG_VERSION")));
    let bare = Project::new().with_programs_only(&[]).run(&["bug-report"]);
    bare.assert_code(0)
        .assert_contains("git:     not found\nnode:    not found\n");
}
