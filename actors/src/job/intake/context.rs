//! The `github` context of a claimed job, made of what the forge sends with it.

use gantry_engine::expr::{Object, Value};
use serde_json::{Map, Value as Json};

/// What a forge adds to the context for the runner alone. Nothing of it may reach a workflow: there are tokens among it.
const FOR_THE_RUNNER: [&str; 6] = [
    "default_actions_url",
    "runtime_token",
    "server_version",
    "actions_id_token_request_url",
    "actions_id_token_request_token",
    "workflow_call",
];

/// The prefixes that forges put before their own keys; where both are there, the first one counts
/// (protocol facts, "Task context").
const PREFIXES: [&str; 3] = ["forgejo_", "gitea_", ""];

/// What the forge has sent with a job.
pub(super) struct Sent<'a>(pub &'a Map<String, Json>);

impl<'a> Sent<'a> {
    /// A text or a number of the context itself; what is empty is not there.
    pub fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(scalar).filter(|text| !text.is_empty())
    }

    /// A key of the forge's own, under whichever prefix.
    pub fn own(&self, key: &str) -> Option<&'a Json> {
        PREFIXES
            .iter()
            .filter_map(|prefix| self.0.get(&format!("{prefix}{key}")))
            .find(|value| !matches!(value, Json::Null))
    }

    /// The text of such a key; what is empty is not there.
    pub fn own_text(&self, key: &str) -> Option<String> {
        self.own(key).and_then(scalar).filter(|text| !text.is_empty())
    }

    /// The inputs of the event, as the forge has them.
    pub fn event_inputs(&self) -> Option<&'a Map<String, Json>> {
        self.0.get("event")?.get("inputs")?.as_object()
    }

    /// The address of the server without a slash at its end: everything that is made of it adds one.
    pub fn server_url(&self) -> Option<String> {
        Some(self.text("server_url")?.trim_end_matches('/').to_owned())
    }

    /// The `github` context. Numbers become texts, since ids are texts on GitHub; only `event` keeps its shape.
    pub fn github(&self, fallback_server: &str) -> Object {
        let mut github = Object::new();
        for (key, value) in self.0.iter().filter(|(key, _)| !is_for_the_runner(key)) {
            let value = match scalar(value) {
                Some(text) if !matches!(value, Json::Bool(_)) => Value::from(text),
                _ => value_of(value),
            };
            github.insert(key.as_str(), value);
        }
        let server = self.server_url().unwrap_or_else(|| fallback_server.to_owned());
        let api = self
            .text("api_url")
            .map(|url| url.trim_end_matches('/').to_owned());
        github.insert("api_url", api.unwrap_or_else(|| format!("{server}/api/v1")));
        github.insert("server_url", server);
        if self.text("graphql_url").is_none() {
            github.insert("graphql_url", "");
        }
        if !self.0.contains_key("event") {
            github.insert("event", Value::object(Object::new()));
        }
        self.restore_event(&mut github);
        github
    }

    /// A called workflow sees the event of the run, which the forge has replaced by the call.
    fn restore_event(&self, github: &mut Object) {
        let Some(call) = self.own("workflow_call").and_then(Json::as_object) else {
            return;
        };
        if let Some(name) = call.get("original_event_name").and_then(Json::as_str) {
            github.insert("event_name", name);
        }
        let mut event = self
            .0
            .get("event")
            .and_then(Json::as_object)
            .cloned()
            .unwrap_or_default();
        match call.get("original_event_inputs") {
            Some(inputs) if !inputs.is_null() => event.insert("inputs".to_owned(), inputs.clone()),
            _ => event.remove("inputs"),
        };
        github.insert("event", value_of(&Json::Object(event)));
    }

    /// The inputs of a called workflow, which are typed already.
    pub fn call_inputs(&self) -> Option<Object> {
        let inputs = self.own("workflow_call")?.get("inputs")?.as_object()?;
        let mut object = Object::new();
        for (name, value) in inputs {
            object.insert(name.as_str(), value_of(value));
        }
        Some(object)
    }
}

fn is_for_the_runner(key: &str) -> bool {
    PREFIXES.iter().any(|prefix| {
        key.strip_prefix(prefix)
            .is_some_and(|rest| FOR_THE_RUNNER.contains(&rest))
    })
}

/// The text of a scalar; the struct of the wire has only floating numbers, and the client has made integers of them.
fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The same value in the language of expressions.
pub(super) fn value_of(value: &Json) -> Value {
    // What serde_json writes is standard JSON.
    Value::from_json(&value.to_string()).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn github(context: Json) -> Json {
        let Json::Object(context) = context else { panic!() };
        let object = Sent(&context).github("https://fallback.example");
        serde_json::from_str(&Value::object(object).to_json()).unwrap()
    }

    #[test]
    fn ids_are_texts_and_addresses_end_without_a_slash() {
        let github = github(serde_json::json!({
            "run_id": 12, "run_number": "7", "server_url": "https://x.example/git/", "ref_protected": true,
            "gitea_runtime_token": "t", "gitea_default_actions_url": "u", "forgejo_server_version": "1",
            "actions_id_token_request_token": "t", "token": "kept", "event": {"number": 3},
        }));
        let wanted = serde_json::json!({
            "run_id": "12", "run_number": "7", "server_url": "https://x.example/git", "ref_protected": true,
            "token": "kept", "event": {"number": 3}, "api_url": "https://x.example/git/api/v1", "graphql_url": "",
        });
        assert_eq!(github, wanted);
    }

    #[test]
    fn what_is_not_sent_follows_from_the_instance() {
        let github = github(serde_json::json!({"api_url": "https://x.example/api/v1/"}));
        let wanted = serde_json::json!({
            "api_url": "https://x.example/api/v1", "server_url": "https://fallback.example", "graphql_url": "",
            "event": {},
        });
        assert_eq!(github, wanted);
    }

    #[test]
    fn a_called_workflow_sees_the_event_of_the_run() {
        for (original, wanted) in [
            (Json::Null, serde_json::json!({"a": 1})),
            (
                serde_json::json!({"i": "x"}),
                serde_json::json!({"a": 1, "inputs": {"i": "x"}}),
            ),
        ] {
            let context = serde_json::json!({
                "event_name": "workflow_call", "event": {"a": 1, "inputs": {"v": 2}},
                "gitea_workflow_call": {
                    "original_event_name": "push", "original_event_inputs": original, "inputs": {"v": 2, "b": true},
                },
            });
            let Json::Object(map) = &context else { panic!() };
            let inputs = Sent(map).call_inputs().unwrap();
            assert_eq!(
                Value::object(inputs).to_json().replace([' ', '\n'], ""),
                r#"{"v":2,"b":true}"#
            );
            let github = github(context);
            assert_eq!(github["event_name"], "push");
            assert_eq!(github["event"], wanted);
        }
    }

    #[test]
    fn forgejos_own_keys_come_before_giteas() {
        let context = serde_json::json!({
            "gitea_runtime_token": "g", "forgejo_runtime_token": "f", "gitea_default_actions_url": "",
        });
        let Json::Object(map) = &context else { panic!() };
        assert_eq!(Sent(map).own_text("runtime_token").as_deref(), Some("f"));
        assert_eq!(Sent(map).own_text("default_actions_url"), None);
    }
}
