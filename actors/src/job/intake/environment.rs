//! The variables that a runner of a forge gives every process of a job beyond GitHub's.

use super::context::Sent;

/// The variables of one job, and those of their values that nothing may show.
pub(super) struct Variables {
    pub env: Vec<(String, String)>,
    pub masks: Vec<(String, String)>,
}

/// Makes them of what the forge has sent.
///
/// `instance` is the address of the forge without a slash at its end, `capabilities` what it says it can do, `version` the
/// runner's.
pub(super) fn variables(sent: &Sent<'_>, instance: &str, capabilities: &str, version: &str) -> Variables {
    let mut env = Vec::new();
    let mut masks = Vec::new();
    let mut add = |name: &str, value: String| env.push((name.to_owned(), value));
    let runtime_token = sent.own_text("runtime_token").or_else(|| sent.text("token"));
    add("GITEA_ACTIONS", "true".to_owned());
    add("GITEA_ACTIONS_RUNNER_VERSION", version.to_owned());
    if !capabilities.is_empty() {
        add("GITEA_ACTIONS_CAPABILITIES", capabilities.to_owned());
    }
    if let Some(run) = sent.text("run_id") {
        add("GITEA_RUN_ID", run);
    }
    add("ACTIONS_RUNTIME_URL", format!("{instance}/api/actions_pipeline/"));
    add("ACTIONS_RESULTS_URL", instance.to_owned());
    if let Some(token) = runtime_token {
        masks.push(("ACTIONS_RUNTIME_TOKEN".to_owned(), token.clone()));
        add("ACTIONS_RUNTIME_TOKEN", token);
    }
    if let Some(url) = sent.own_text("actions_id_token_request_url") {
        add("ACTIONS_ID_TOKEN_REQUEST_URL", url);
    }
    if let Some(token) = sent.own_text("actions_id_token_request_token") {
        masks.push(("ACTIONS_ID_TOKEN_REQUEST_TOKEN".to_owned(), token.clone()));
        add("ACTIONS_ID_TOKEN_REQUEST_TOKEN", token);
    }
    if let Some(token) = sent.text("token") {
        masks.push(("github.token".to_owned(), token));
    }
    if sent.0.keys().any(|key| key.starts_with("forgejo_")) {
        add("FORGEJO_ACTIONS", "true".to_owned());
    }
    Variables { env, masks }
}
