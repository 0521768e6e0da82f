//! What steps say of their work in Markdown, for servers that show it.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::Value;

use super::service::Secret;
use crate::connect::{Client, Request, Verb};
use crate::forge::{Claim, Summary};

/// The server's word for taking summaries.
const CAPABILITY: &str = "job-summary";
/// How long a step's summary may be, in bytes.
const LIMIT: usize = 1024 * 1024;
/// What stands at the end of a summary that was longer.
const CUT: &str = "\n\n**This summary was longer than 1 MiB; its end is missing.**\n";
/// How long one upload may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// How long all uploads of one update may take: no log row should wait longer for them.
const ALL_DEADLINE: Duration = Duration::from_secs(15);
/// The pause before the one repetition of an upload.
const PAUSE: Duration = Duration::from_secs(1);

/// The summaries of one task.
#[derive(Default)]
pub(super) struct Summaries {
    target: Option<Target>,
    texts: BTreeMap<usize, String>,
}

/// Where the summaries of a task go.
#[derive(Clone)]
struct Target {
    /// The path of the job.
    path: String,
    token: Secret,
}

/// A step's summary that is to be uploaded.
pub(super) struct Upload {
    target: Target,
    step: usize,
    text: String,
}

impl Summaries {
    /// The summaries of a claimed task; a server that does not take them gets none.
    pub fn of(claim: &Claim) -> Self {
        Self {
            target: target(claim),
            texts: BTreeMap::new(),
        }
    }

    /// Adds to the summaries of steps, and returns those that have changed.
    ///
    /// A server keeps one text for each step, so what several parts of a step say is put together here.
    pub fn add(&mut self, summaries: Vec<Summary>) -> Vec<Upload> {
        let Some(target) = &self.target else {
            return Vec::new();
        };
        let mut changed = Vec::new();
        for Summary { step, text } in summaries {
            let Some(step) = step else { continue };
            append(self.texts.entry(step).or_default(), &text);
            if !changed.contains(&step) {
                changed.push(step);
            }
        }
        let upload = |step| Upload {
            target: target.clone(),
            step,
            text: self.texts.get(&step).cloned().unwrap_or_default(),
        };
        changed.into_iter().map(upload).collect()
    }
}

/// Uploads summaries. Nothing of a job depends on them, so one that cannot be uploaded is logged and dropped.
pub(super) async fn upload(client: &Client, uploads: Vec<Upload>) {
    let all = async {
        for summary in &uploads {
            if let Err(reason) = upload_one(client, summary).await {
                tracing::warn!(step = summary.step, reason, "failed to upload a job summary");
            }
        }
    };
    if tokio::time::timeout(ALL_DEADLINE, all).await.is_err() {
        tracing::warn!("failed to upload job summaries: time is up");
    }
}

async fn upload_one(client: &Client, upload: &Upload) -> Result<(), String> {
    match try_upload(client, upload).await {
        Err((_, true)) => {}
        done => return done.map_err(|(reason, _)| reason),
    }
    tokio::time::sleep(PAUSE).await;
    try_upload(client, upload).await.map_err(|(reason, _)| reason)
}

/// Uploads once; an error comes with whether another try makes sense.
async fn try_upload(client: &Client, upload: &Upload) -> Result<(), (String, bool)> {
    let request = Request {
        verb: Verb::Put,
        path: format!("{}/steps/{}/summary", upload.target.path, upload.step),
        headers: vec![
            (
                "authorization",
                format!("Bearer {}", upload.target.token.reveal()),
            ),
            ("content-type", "text/markdown; charset=utf-8".to_owned()),
        ],
        body: upload.text.clone().into(),
    };
    let answer = client.send(request, DEADLINE).await;
    let answer = answer.map_err(|error| (error.to_string(), true))?;
    match answer.status {
        200..=299 => Ok(()),
        status => {
            let again = matches!(status, 408 | 429 | 500..=599);
            Err((format!("HTTP status {status}"), again))
        }
    }
}

fn target(claim: &Claim) -> Option<Target> {
    let given = &claim.given;
    if !given
        .capabilities
        .split(',')
        .any(|offered| offered.trim() == CAPABILITY)
    {
        return None;
    }
    let text = |key: &str| match given.context.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let token = text("forgejo_runtime_token").or_else(|| text("gitea_runtime_token"))?;
    let job = job_of(&token)?;
    let run = text("run_id").filter(|run| !run.is_empty() && run.bytes().all(|c| c.is_ascii_digit()))?;
    Some(Target {
        path: format!("api/actions_pipeline/_apis/pipelines/workflows/{run}/jobs/{job}"),
        token: Secret::new(token),
    })
}

/// The job that a runtime token (a JWT) is for. Its signature is the server's affair.
fn job_of(token: &str) -> Option<u64> {
    let claims = token.split('.').nth(1)?;
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    claims.get("JobID")?.as_u64().filter(|job| *job > 0)
}

fn append(summary: &mut String, text: &str) {
    if summary.ends_with(CUT) {
        return;
    }
    if !summary.is_empty() && !summary.ends_with('\n') {
        summary.push('\n');
    }
    summary.push_str(text);
    if summary.len() > LIMIT {
        let mut end = LIMIT - CUT.len();
        while !summary.is_char_boundary(end) {
            end -= 1;
        }
        summary.truncate(end);
        summary.push_str(CUT);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::forge::{Given, TaskId};

    fn token(claims: &Value) -> String {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
        format!("e30.{claims}.c2ln")
    }

    fn path(capabilities: &str, context: Value) -> Option<String> {
        let Value::Object(context) = context else {
            panic!("no object")
        };
        let given = Given {
            context,
            capabilities: capabilities.to_owned(),
            ..Given::default()
        };
        let claim = Claim {
            given: Arc::new(given),
            ..Claim::of(TaskId(1))
        };
        target(&claim).map(|target| target.path)
    }

    #[test]
    fn summaries_go_where_the_token_says_if_the_server_takes_them() {
        let good = token(&json!({"JobID": 34, "RunID": 12}));
        let context = json!({"run_id": "12", "gitea_runtime_token": good});
        let expected = "api/actions_pipeline/_apis/pipelines/workflows/12/jobs/34";
        assert_eq!(
            path("a, job-summary ,b", context.clone()).as_deref(),
            Some(expected)
        );
        let number = json!({"run_id": 12, "forgejo_runtime_token": good});
        assert_eq!(path("job-summary", number).as_deref(), Some(expected));
        let table = [
            ("", context.clone()),
            ("job-summary-2", context),
            ("job-summary", json!({"run_id": "12"})),
            ("job-summary", json!({"gitea_runtime_token": good})),
            (
                "job-summary",
                json!({"run_id": "../1", "gitea_runtime_token": good}),
            ),
            (
                "job-summary",
                json!({"run_id": "12", "gitea_runtime_token": "0123456789abcdef"}),
            ),
            (
                "job-summary",
                json!({"run_id": "12", "gitea_runtime_token": token(&json!({"JobID": "x"}))}),
            ),
        ];
        for (capabilities, context) in table {
            assert_eq!(
                path(capabilities, context.clone()),
                None,
                "{capabilities} {context}"
            );
        }
    }

    #[test]
    fn parts_of_a_step_are_one_text_with_a_bound() {
        let mut text = String::new();
        append(&mut text, "a");
        append(&mut text, "b\n");
        append(&mut text, "c");
        assert_eq!(text, "a\nb\nc");
        append(&mut text, &"é".repeat(LIMIT));
        assert!(text.len() <= LIMIT && text.ends_with(CUT));
        let cut = text.clone();
        append(&mut text, "d");
        assert_eq!(text, cut);
    }
}
