//! Actions and workflows of other repositories, through `gantry exec`.

mod harness;

#[path = "../engine/tests/support/git_server.rs"]
mod git_server;

use std::time::Duration;

use git_server::GitServer;
use harness::{Outcome, Project};
use rustix::process::Signal;

const SOON: Duration = Duration::from_secs(30);

/// A JavaScript action whose parts say which they are.
const NODE_ACTION: &str = "
name: node
inputs:
  who: {default: world}
outputs:
  said: {description: what was said}
runs: {using: node20, pre: pre.js, main: main.js, post: post.js}
";
const NODE_PRE: &str = r#"
const fs = require("fs");
console.log("pre for " + process.env.INPUT_WHO);
fs.appendFileSync(process.env.GITHUB_STATE, "from=pre\n");
"#;
const NODE_MAIN: &str = r#"
const fs = require("fs");
console.log(`main for ${process.env.INPUT_WHO} after ${process.env.STATE_from}`);
console.log("action repository " + process.env.GITHUB_ACTION_REPOSITORY + "@" + process.env.GITHUB_ACTION_REF);
fs.appendFileSync(process.env.GITHUB_OUTPUT, "said=hello " + process.env.INPUT_WHO + "\n");
fs.appendFileSync(process.env.GITHUB_STATE, "then=main\n");
"#;
const NODE_POST: &str = r"
console.log(`post after ${process.env.STATE_from} and ${process.env.STATE_then}`);
";

/// A composite action that uses the other one, and a script of its own.
const COMPOSITE_ACTION: &str = "
name: composite
outputs:
  said: {value: '${{ steps.inner.outputs.said }}'}
runs:
  using: composite
  steps:
    - run: sh \"$GITHUB_ACTION_PATH/script.sh\"
      shell: bash
    - uses: acme/node@v1
      id: inner
      with: {who: composite}
";

fn server() -> GitServer {
    let server = GitServer::start();
    let node = server.repository("acme/node");
    let commit = node.commit(
        "main",
        &[
            ("100644", "action.yml", NODE_ACTION),
            ("100644", "pre.js", NODE_PRE),
            ("100644", "main.js", NODE_MAIN),
            ("100644", "post.js", NODE_POST),
        ],
    );
    node.tag("v1", &commit);
    server.repository("acme/tools").commit(
        "main",
        &[
            ("100644", "deep/composite/action.yaml", COMPOSITE_ACTION),
            (
                "100755",
                "deep/composite/script.sh",
                "echo script of the action\ntouch \"$0.made\"\n",
            ),
        ],
    );
    server
}

fn project(steps: &str) -> Project {
    Project::with_workflow(&format!(
        "name: t\non: push\njobs:\n  a:\n    runs-on: x\n    steps:\n{steps}"
    ))
}

fn exec(project: &Project, server: &GitServer, more: &[&str]) -> Outcome {
    project.exec(&[&["--default-actions-url", &server.url()], more].concat())
}

#[test]
fn actions_of_other_repositories_run() {
    let server = server();
    let project = project(
        "      - uses: acme/tools/deep/composite@main\n        id: one\n      - run: echo \"outputs ${{ \
         steps.one.outputs.said }}\"\n",
    );
    let outcome = exec(&project, &server, &[]);
    outcome.assert_code(0);
    outcome
        .assert_contains("Download action repository 'acme/tools@main' (SHA:")
        .assert_contains("Download action repository 'acme/node@v1' (SHA:")
        .assert_contains("pre for composite")
        .assert_contains("script of the action")
        .assert_contains("main for composite after pre")
        .assert_contains("post after pre and main")
        .assert_contains("action repository acme/node@v1")
        .assert_contains("outputs hello composite");
    project.assert_nothing_left();

    let fetched = server.fetches();
    exec(&project, &server, &[]).assert_code(0);
    assert_eq!(server.fetches(), fetched, "the second run has everything");
    let url = server.url();
    drop(server);
    let offline = project.exec(&["--default-actions-url", &url, "--offline"]);
    offline.assert_code(0).assert_contains("outputs hello composite");
    let down = project.exec(&["--default-actions-url", &url]);
    down.assert_code(1)
        .assert_contains(
            "Unable to resolve action `acme/tools/deep/composite@main`, cannot fetch `main` from",
        )
        .assert_contains("; with --offline, ");
}

#[test]
fn processes_share_what_they_fetch() {
    let server = server();
    let project = project("      - uses: acme/tools/deep/composite@main\n");
    let url = server.url();
    let start = || project.start(&["exec", "-i", "host", "--default-actions-url", &url]);
    for running in [start(), start(), start()] {
        running
            .finish(SOON)
            .assert_code(0)
            .assert_contains("main for composite after pre");
    }
    assert_eq!(server.fetches(), 2, "one for each repository");
    project.assert_nothing_left();
}

#[test]
fn pre_runs_first_and_its_post_runs_also_if_main_does_not() {
    let server = server();
    let project = project("      - run: echo first\n      - uses: acme/node@v1\n        if: false\n");
    let outcome = exec(&project, &server, &[]);
    outcome
        .assert_code(0)
        .assert_contains("post after pre and undefined");
    let place = |text: &str| outcome.stdout.find(text);
    assert!(place("pre for world") < place("] first"), "{}", outcome.stdout);
    outcome.assert_absent("main for world");
    assert_eq!(outcome.stdout.matches("] post after").count(), 1);
}

#[test]
fn a_url_names_an_action_anywhere() {
    let (server, other) = (server(), GitServer::start());
    other.repository("x/y").commit(
        "main",
        &[
            ("100644", "action.yml", COMPOSITE_ACTION),
            ("100644", "script.sh", "echo of x/y\n"),
        ],
    );
    let project = project(&format!("      - uses: {}/x/y@main\n", other.url()));
    let outcome = exec(&project, &server, &["-s", "GITHUB_TOKEN=t0ken"]);
    outcome.assert_code(0).assert_contains("of x/y");
    let shown: Vec<_> = other
        .requests()
        .into_iter()
        .filter_map(|request| request.authorization)
        .collect();
    assert!(shown.is_empty(), "the token stays with its own server: {shown:?}");
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.authorization.is_some())
    );
}

#[test]
fn an_action_that_is_not_to_be_had_fails_the_set_up() {
    let server = server();
    server
        .repository("acme/empty")
        .commit("main", &[("100644", "README", "")]);
    let url = server.url();
    let rows = [
        ("acme/none@v1", format!("Unable to resolve action `acme/none@v1`, repository not found: {url}/acme/none")),
        (
            "acme/node@v9",
            format!("Unable to resolve action `acme/node@v9`, unable to find version `v9`: {url}/acme/node has no such"),
        ),
        (
            "acme/empty@main",
            "Unable to resolve action `acme/empty@main`, can't find 'action.yml', 'action.yaml' or 'Dockerfile' in \
             the root of"
                .to_owned(),
        ),
    ];
    for (uses, expected) in rows {
        let project = project(&format!("      - run: echo first\n      - uses: {uses}\n"));
        let outcome = exec(&project, &server, &[]);
        outcome
            .assert_code(1)
            .assert_contains(&expected)
            .assert_absent("first");
        project.assert_nothing_left();
    }
}

#[test]
fn a_rejected_token_is_told_and_left_out() {
    let server = server();
    server.rules(|rules| rules.accepted = vec!["Basic other".to_owned()]);
    let project = project("      - uses: acme/node@v1\n");
    let outcome = exec(&project, &server, &["-s", "GITHUB_TOKEN=hunter2hunter2"]);
    outcome
        .assert_code(0)
        .assert_contains("/acme/node has rejected the credential 'secret GITHUB_TOKEN'")
        .assert_contains("main for world")
        .assert_absent("hunter2hunter2");
}

#[test]
fn a_checkout_of_something_else_is_not_ignored() {
    let server = server();
    let action = "
name: checkout
inputs:
  repository: {default: ''}
  path: {default: ''}
runs: {using: node20, main: main.js}
";
    let main =
        "console.log(`real checkout of ${process.env.INPUT_REPOSITORY} to ${process.env.INPUT_PATH}`);\n";
    server.repository("actions/checkout").commit(
        "v4",
        &[("100644", "action.yml", action), ("100644", "main.js", main)],
    );
    let local = "The workspace already holds a copy of the repository";
    let rows = [
        ("{}", &[][..], local),
        ("{fetch-depth: 0, path: ./}", &[], local),
        ("{repository: '${{ github.repository }}'}", &[], local),
        ("{repository: acme/node}", &[], "real checkout of acme/node to"),
        ("{path: sub}", &[], "real checkout of  to sub"),
        ("{ref: '${{ github.sha }}'}", &[], local),
        ("{}", &["--no-skip-checkout"], "real checkout of  to"),
    ];
    for (with, flags, expected) in rows {
        let project = project(&format!(
            "      - uses: actions/checkout@v4\n        with: {with}\n"
        ));
        exec(&project, &server, flags)
            .assert_code(0)
            .assert_contains(expected);
    }
    // What is satisfied by the copy needs no network.
    let project = project("      - uses: actions/checkout@v4\n");
    exec(&project, &server, &["--offline"])
        .assert_code(0)
        .assert_contains(local);
}

#[test]
fn reusable_workflows_of_other_repositories_run() {
    let server = server();
    let called = "
on:
  workflow_call:
    inputs: {who: {type: string}}
    outputs: {said: {value: '${{ jobs.inner.outputs.said }}'}}
jobs:
  inner:
    runs-on: x
    outputs: {said: '${{ steps.node.outputs.said }}'}
    steps:
      - uses: acme/node@v1
        id: node
        with: {who: '${{ inputs.who }}'}
  deeper:
    uses: ./.github/workflows/deeper.yml
";
    let deeper = "on: workflow_call\njobs: {x: {runs-on: x, steps: [{run: echo deeper}]}}\n";
    let broken = "on: workflow_call\njobs: {x: {runs-on: x, stepz: []}}\n";
    server.repository("acme/flows").commit(
        "main",
        &[
            ("100644", ".github/workflows/called.yml", called),
            ("100644", ".github/workflows/deeper.yml", deeper),
            ("100644", ".github/workflows/broken.yml", broken),
        ],
    );
    let call = |file: &str| {
        Project::with_workflow(&format!(
            "on: push\njobs:\n  a:\n    uses: acme/flows/.github/workflows/{file}\n    with: {{who: caller}}\n  b:\n    \
             needs: a\n    runs-on: x\n    steps: [{{run: 'echo \"got ${{{{ needs.a.outputs.said }}}}\"'}}]\n"
        ))
    };
    let outcome = exec(&call("called.yml@main"), &server, &[]);
    outcome
        .assert_code(0)
        .assert_contains("main for caller")
        .assert_contains("] deeper")
        .assert_contains("got hello caller");
    let url = server.url();
    for (file, expected) in [
        (
            "none.yml@main",
            format!("cannot be used: workflow was not found: {url}/acme/flows at "),
        ),
        (
            "called.yml@v9",
            format!("cannot be used: unable to find version `v9`: {url}/acme/flows has no such"),
        ),
        (
            "broken.yml@main",
            "acme/flows/.github/workflows/broken.yml@main (Line: 2, Col: 24): Unexpected value 'stepz'"
                .to_owned(),
        ),
    ] {
        let outcome = exec(&call(file), &server, &[]);
        outcome.assert_code(1).assert_contains(&expected);
    }
}

/// A project whose repository has the server as its origin.
fn project_of(server: &GitServer, steps: &str) -> Project {
    let url = server.url();
    project(steps)
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(
            ".git/config",
            &format!("[remote \"origin\"]\nurl = {url}/acme/own.git\n"),
        )
        .file(".git/objects/none", "")
        .file(".git/refs/none", "")
}

/// `Basic` and `x-access-token:t0ken`
const HEADER: &str = "Basic eC1hY2Nlc3MtdG9rZW46dDBrZW4=";

#[test]
fn the_builtin_checkout_needs_no_node() {
    let server = server();
    let other = server.repository("acme/other");
    let first = other.commit("main", &[("100644", "file", "one\n")]);
    other.commit(
        "main",
        &[("100644", "file", "two\n"), ("120000", "link", "/nowhere")],
    );
    other.tag("v1", &first);
    server.rules(|rules| _ = rules.private.insert("acme/other".into(), HEADER.into()));
    let rows = [
        ("", "1 commits, file two, branch none"),
        (", ref: main, fetch-depth: 0", "2 commits, file two, branch main"),
        (", ref: refs/heads/main", "1 commits, file two, branch main"),
        (", ref: v1", "1 commits, file one, branch none"),
    ];
    let show = "test -z \"$(git status --short)\" && branch=$(git branch --show-current) && echo \"$(git log --format=%s | \
                wc -l) commits, file $(cat file), branch ${branch:-none}\" && echo \"origin $(git remote get-url origin)\"";
    for (more, expected) in rows {
        let steps = format!(
            "      - run: mkdir sub && touch sub/old\n      - uses: builtin:checkout\n        with: {{repository: \
             acme/other, path: sub{more}}}\n      - run: {show}\n        working-directory: sub\n"
        );
        let outcome = exec(
            &project_of(&server, &steps),
            &server,
            &["-s", "GITHUB_TOKEN=t0ken"],
        );
        outcome
            .assert_code(0)
            .assert_contains(&format!("] {expected}\n"))
            .assert_contains(&format!("] origin {}/acme/other\n", server.url()));
    }
}

#[test]
fn the_builtin_checkout_of_the_own_repository_is_the_copy() {
    let server = server();
    let local = "The workspace already holds a copy of the repository";
    let rows = [
        ("{}", 0, local),
        ("{path: ., fetch-depth: 0}", 0, local),
        ("{repository: acme/own}", 0, local),
        (
            "{repository: acme/none}",
            1,
            "Unable to check out acme/none, repository not found: ",
        ),
        (
            "{path: sub, clean: true}",
            1,
            "Unexpected input 'clean' of builtin:checkout",
        ),
        (
            "{path: ../sub}",
            1,
            "'path' is a path in the workspace, and not '../sub'",
        ),
        (
            "{path: x, fetch-depth: -1}",
            1,
            "'fetch-depth' is a number of commits, and not '-1'",
        ),
    ];
    for (with, code, expected) in rows {
        let project = project_of(
            &server,
            &format!("      - uses: builtin:checkout\n        with: {with}\n"),
        );
        exec(&project, &server, &[])
            .assert_code(code)
            .assert_contains(expected);
    }
}

#[test]
fn a_cancel_reaches_a_fetch() {
    let server = server();
    server.rules(|rules| rules.mute = true);
    let project = project("      - run: echo first\n      - uses: acme/node@v1\n");
    let url = server.url();
    let mut running = project.start(&["exec", "-i", "host", "--default-actions-url", &url]);
    running.wait_for("Getting action download info", SOON);
    running.signal(Signal::INT);
    let outcome = running.finish(SOON);
    outcome.assert_code(130).assert_absent("] first");
    project.assert_nothing_left();
}

#[test]
fn a_wrong_server_is_a_usage_error() {
    let project = project("      - run: echo\n");
    let outcome = project.exec(&["--default-actions-url", "code.example"]);
    outcome
        .assert_code(2)
        .assert_contains("--default-actions-url code.example");
}
