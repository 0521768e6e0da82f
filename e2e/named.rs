//! The scenarios that need only a server's REST interface, against a server that the environment names.

use std::process::{Command, Stdio};

use gantry_fakes::FakeForge;
use gantry_fakes::forge::Dialect;

/// One of each kind: what waits, what lists runners, what dispatches, what is left behind.
const SCENARIOS: [&str; 5] = [
    "cli::cli_labels_override",
    "cli::cli_once",
    "jobs::dispatch_types_its_inputs",
    "jobs::ephemeral",
    "jobs::label_routing",
];

#[test]
#[expect(clippy::disallowed_methods, reason = "it starts this program once more")]
fn a_server_that_the_environment_names_is_driven_as_the_fake_is() {
    let forge = FakeForge::start_on_thread(Dialect::Gitea.rules());
    let output = Command::new(std::env::current_exe().expect("this program"))
        .arg("--exact")
        .args(SCENARIOS)
        .env("GANTRY_E2E_GITEA_URL", forge.url())
        .env("GANTRY_E2E_ADMIN_TOKEN", forge.admin_token())
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains(&format!(" {} passed", SCENARIOS.len())), "{said}");
    let left = forge.read(|state| state.runners().count());
    assert_eq!(left, 0, "every scenario removes its runner");
}
