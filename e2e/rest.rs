//! A client of a server's REST interface.

use std::time::Duration;

use serde_json::Value;
use ureq::http::Request;
use ureq::{Agent, Body};

/// The interface of one server, with an administrator's token.
pub struct Rest {
    agent: Agent,
    url: String,
    token: String,
}

impl Rest {
    /// The interface of the server with this address.
    pub fn new(url: &str, token: &str) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_secs(30)))
            .proxy(None)
            .build();
        Self {
            agent: config.into(),
            url: url.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
        }
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What is at a path, which has to be there.
    pub fn get(&self, path: &str) -> Value {
        json_of(&self.good("GET", path, ""))
    }

    /// What is at a path, if the server knows it.
    pub fn try_get(&self, path: &str) -> Option<Value> {
        let (status, body) = self.call("GET", path, "");
        (status == 200).then(|| json_of(&body))
    }

    /// The text at a path, which has to be there.
    pub fn text(&self, path: &str) -> String {
        self.good("GET", path, "")
    }

    /// Posts a value, which has to go well.
    pub fn post(&self, path: &str, value: &Value) -> Value {
        json_of(&self.good("POST", path, &value.to_string()))
    }

    /// Posts a value, if the server knows the path.
    pub fn try_post(&self, path: &str, value: &Value) -> Option<Value> {
        let (status, body) = self.call("POST", path, &value.to_string());
        (200..300).contains(&status).then(|| json_of(&body))
    }

    /// Deletes what is at a path.
    pub fn delete(&self, path: &str) {
        self.good("DELETE", path, "");
    }

    fn good(&self, verb: &str, path: &str, body: &str) -> String {
        let (status, text) = self.call(verb, path, body);
        assert!((200..300).contains(&status), "{verb} {path}: {status} {text}");
        text
    }

    fn call(&self, verb: &str, path: &str, body: &str) -> (u16, String) {
        let request = Request::builder()
            .method(verb)
            .uri(format!("{}/api/v1/{path}", self.url))
            .header("authorization", format!("token {}", self.token))
            .header("content-type", "application/json")
            .body(body.to_owned())
            .expect("a request");
        let mut response: ureq::http::Response<Body> = self.agent.run(request).expect("the server answers");
        let text = response.body_mut().read_to_string().expect("a text");
        (response.status().as_u16(), text)
    }
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
