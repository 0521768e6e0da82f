//! Actions of other repositories.

#[path = "../engine/tests/support/git_server.rs"]
mod git_server;

use gantry_fakes::forge::DIALECTS;
use git_server::{GitServer, Repository};

use super::scene::Scene;

const ACTION: &str = include_str!("workflows/action.yaml");

fn release(repository: &Repository, version: &str) {
    let action = format!(
        "name: greeter\ninputs:\n  who: {{default: world}}\nruns:\n  using: composite\n  steps:\n    - shell: bash\n      \
         run: echo \"{version} greets ${{{{ inputs.who }}}}\"\n"
    );
    let commit = repository.commit("main", &[("100644", "action.yml", &action)]);
    repository.tag("v1", &commit);
}

#[test]
fn moving_action_ref() {
    for dialect in DIALECTS {
        let git = GitServer::start();
        let repository = git.repository("acme/greeter");
        let scene = Scene::new(dialect, "");
        scene
            .forge
            .change_rules(|rules| rules.default_actions_url = Some(git.url()));
        let daemon = scene.daemon();
        for version in ["one", "two"] {
            release(&repository, version);
            scene.succeed(ACTION);
            let log = scene.log("use");
            assert!(log.contains(&format!("{version} greets everyone")), "{log}");
        }
        let fetches = git.fetches();
        scene.succeed(ACTION);
        assert_eq!(
            git.fetches(),
            fetches,
            "a ref that has not moved is not fetched again"
        );
        daemon.stop();
    }
}
