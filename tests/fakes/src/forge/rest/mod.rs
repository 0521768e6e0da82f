//! The part of the servers' REST interface that tests drive them with: repositories, files, runs, jobs, logs, runners.
//!
//! Names and statuses are those of the real interface, so that the same test can drive a real server.

mod view;

use std::sync::Arc;
use std::time::SystemTime;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::record::Trigger;
use super::rules::Feature;
use super::runners::Registration;
use super::state::{Repository, State};
use super::wait::Shared;
use super::{logs, workflow};
use crate::http::{Answer, Received, Reply};

/// Where the forges look for workflows.
const WORKFLOWS: [&str; 3] = [".gitea/workflows/", ".forgejo/workflows/", ".github/workflows/"];
const MAIN: &str = "main";

/// Answers a request by its path below `/api/v1`.
pub(super) fn answer(shared: &Arc<Shared>, path: &str, received: &Received) -> Reply {
    let wanted = shared.read(|state| state.admin_token.clone());
    let given = received.header("authorization");
    if ![format!("token {wanted}"), format!("Bearer {wanted}")].contains(&given.to_owned()) {
        return failed(401, "token is required").into();
    }
    let body = serde_json::from_slice(&received.body).unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let call = Call {
        verb: received.method(),
        body,
    };
    shared
        .change(|state, now| state.rest(&call, &segments, now))
        .into()
}

/// Answers an upload of a summary by its path below `/api/actions_pipeline`.
pub(super) fn summary(shared: &Arc<Shared>, path: &str, received: &Received) -> Reply {
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (
        [
            "_apis",
            "pipelines",
            "workflows",
            run,
            "jobs",
            job,
            "steps",
            step,
            "summary",
        ],
        "PUT",
    ) = (segments.as_slice(), received.method())
    else {
        return failed(404, "not found").into();
    };
    let token = received.header("authorization").trim_start_matches("Bearer ");
    let ids = (run.parse(), job.parse(), step.parse());
    let (Ok(run), Ok(job), Ok(step)) = ids else {
        return failed(400, "not a number").into();
    };
    let text = String::from_utf8_lossy(&received.body).into_owned();
    shared
        .change(|state, _| state.keep_summary(token, (run, job, step), text))
        .into()
}

struct Call<'a> {
    verb: &'a str,
    body: Value,
}

impl Call<'_> {
    fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_default()
    }
}

impl State {
    fn rest(&mut self, call: &Call<'_>, segments: &[&str], now: SystemTime) -> Answer {
        match (call.verb, segments) {
            ("GET", ["version"]) => found(&json!({ "version": "1.27.0" })),
            ("GET", ["user"]) => found(&json!({ "login": "octo", "is_admin": true })),
            ("POST", ["user", "repos"]) => self.make_repository(&format!("octo/{}", call.text("name"))),
            (verb, ["admin", "actions", rest @ ..] | ["admin", rest @ ..]) => {
                self.rest_runners(verb, rest, now)
            }
            (_, ["repos", owner, name, rest @ ..]) => {
                let repository = format!("{owner}/{name}");
                if !self.repositories.contains_key(&repository) {
                    return missing("repository");
                }
                self.rest_repository(call, &repository, rest, now)
            }
            _ => missing("path"),
        }
    }

    fn make_repository(&mut self, name: &str) -> Answer {
        if self.repositories.contains_key(name) {
            return failed(409, "The repository with the same name already exists.");
        }
        self.repositories.insert(name.to_owned(), Repository::default());
        Answer::json(201, &view::repository(name, &self.url))
    }

    fn rest_runners(&mut self, verb: &str, segments: &[&str], now: SystemTime) -> Answer {
        match (verb, segments) {
            ("GET" | "POST", ["runners", "registration-token"]) => {
                let token = super::random_token();
                self.registrations.insert(token.clone(), Registration::Reusable);
                found(&json!({ "token": token }))
            }
            ("GET", ["runners"]) => found(&view::runners(self)),
            ("GET", ["runners", id]) => match self.runners().find(|runner| runner.id.to_string() == *id) {
                Some(runner) => found(&view::runner(self, runner)),
                None => missing("runner"),
            },
            ("DELETE", ["runners", id]) => {
                self.remove_runner(id.parse().unwrap_or_default(), now);
                Answer::new(204, "text/plain", "")
            }
            _ => missing("path"),
        }
    }

    fn rest_repository(
        &mut self,
        call: &Call<'_>,
        repository: &str,
        segments: &[&str],
        now: SystemTime,
    ) -> Answer {
        match (call.verb, segments) {
            ("GET", []) => found(&view::repository(repository, &self.url)),
            ("DELETE", []) => {
                self.repositories.remove(repository);
                Answer::new(204, "text/plain", "")
            }
            ("POST" | "PUT", ["contents", path @ ..]) => {
                self.write_file(call, repository, &path.join("/"), now)
            }
            (_, ["actions", rest @ ..]) => self.rest_actions(call, repository, rest, now),
            _ => missing("path"),
        }
    }

    fn rest_actions(
        &mut self,
        call: &Call<'_>,
        repository: &str,
        segments: &[&str],
        now: SystemTime,
    ) -> Answer {
        let done = |status| Answer::new(status, "text/plain", "");
        let of_id = |state: &Self, id: &str| {
            let runs = state
                .runs()
                .iter()
                .filter(|run| run.trigger.repository == repository);
            runs.map(|run| run.id).find(|run| run.to_string() == id)
        };
        match (call.verb, segments) {
            ("PUT", ["secrets", name]) => {
                let secrets = &mut self
                    .repositories
                    .entry(repository.to_owned())
                    .or_default()
                    .secrets;
                secrets.insert(name.to_uppercase(), call.text("data").to_owned());
                done(201)
            }
            ("POST" | "PUT", ["variables", name]) => {
                let vars = &mut self.repositories.entry(repository.to_owned()).or_default().vars;
                vars.insert(name.to_uppercase(), call.text("value").to_owned());
                done(if call.verb == "POST" { 201 } else { 204 })
            }
            ("POST", ["workflows", file, "dispatches"]) => {
                self.dispatch_workflow(call, repository, file, now)
            }
            ("GET", ["runs"]) => found(&view::runs(self, repository)),
            (verb, ["runs", id, rest @ ..]) => match of_id(self, id) {
                Some(run) => self.rest_run(verb, run, rest, now),
                None => missing("run"),
            },
            ("GET", ["jobs", id, rest @ ..]) => {
                match self.jobs().iter().find(|job| job.id.to_string() == *id) {
                    Some(job) if rest.is_empty() => found(&view::job(self, job)),
                    Some(job) if rest == ["logs"] => {
                        let rows = job
                            .task
                            .and_then(|id| self.task(id))
                            .map(|task| task.rows.as_slice());
                        let lines = rows.unwrap_or_default().iter().map(|row| logs::line(row) + "\n");
                        Answer::new(200, "text/plain; charset=utf-8", lines.collect::<String>())
                    }
                    _ => missing("job"),
                }
            }
            _ => missing("path"),
        }
    }

    fn rest_run(&mut self, verb: &str, id: i64, segments: &[&str], now: SystemTime) -> Answer {
        match (verb, segments) {
            ("GET", []) => match self.runs().iter().find(|run| run.id == id) {
                Some(run) => found(&view::run(self, run)),
                None => missing("run"),
            },
            ("GET", ["jobs"]) => found(&view::jobs(self, id)),
            ("POST", ["cancel"]) => {
                self.cancel_run(id, now);
                Answer::new(202, "text/plain", "")
            }
            _ => missing("path"),
        }
    }

    /// Writes a file in a commit of its own, which is a push.
    fn write_file(&mut self, call: &Call<'_>, repository: &str, path: &str, now: SystemTime) -> Answer {
        let Ok(content) = BASE64_STANDARD.decode(call.text("content")) else {
            return failed(422, "the content is not base64");
        };
        let kept = self.repositories.entry(repository.to_owned()).or_default();
        let text = String::from_utf8_lossy(&content).into_owned();
        let is_new = kept.files.insert(path.to_owned(), text).is_none();
        let branch = Some(call.text("branch"))
            .filter(|name| !name.is_empty())
            .unwrap_or(MAIN);
        let sha = super::random_token();
        let workflows: Vec<(String, String)> = kept
            .files
            .iter()
            .filter(|(file, text)| is_workflow(file) && workflow::listens(text, "push"))
            .map(|(file, text)| (file.clone(), text.clone()))
            .collect();
        for (file, text) in workflows {
            let trigger = Trigger {
                git_ref: format!("refs/heads/{branch}"),
                sha: sha.clone(),
                payload: json!({ "ref": format!("refs/heads/{branch}"), "after": sha }),
                ..Trigger::push(text).in_repository(repository).of_file(&file)
            };
            // A workflow that makes no jobs is shown as broken by a server, and starts no run.
            drop(self.add_run(trigger, now));
        }
        let status = if is_new { 201 } else { 200 };
        Answer::json(
            status,
            &json!({ "content": { "path": path }, "commit": { "sha": sha } }),
        )
    }

    fn dispatch_workflow(
        &mut self,
        call: &Call<'_>,
        repository: &str,
        file: &str,
        now: SystemTime,
    ) -> Answer {
        let files = self.repositories.get(repository).map(|kept| &kept.files);
        let named = files
            .into_iter()
            .flatten()
            .find(|(path, _)| is_workflow(path) && path.rsplit('/').next() == Some(file));
        let Some((path, text)) = named.map(|(path, text)| (path.clone(), text.clone())) else {
            return missing("workflow");
        };
        if !workflow::listens(&text, "workflow_dispatch") {
            return failed(422, "the workflow has no workflow_dispatch event");
        }
        let given = call.text("ref");
        let git_ref = if given.starts_with("refs/") {
            given.to_owned()
        } else {
            format!("refs/heads/{given}")
        };
        let inputs = call.body.get("inputs").cloned().unwrap_or_else(|| json!({}));
        let trigger = Trigger {
            payload: json!({ "inputs": inputs, "ref": git_ref, "workflow": path }),
            git_ref,
            ..Trigger::dispatch(text, &inputs)
                .in_repository(repository)
                .of_file(&path)
        };
        match self.add_run(trigger, now) {
            Ok(_) => Answer::new(204, "text/plain", ""),
            Err(reason) => failed(422, &reason),
        }
    }

    fn keep_summary(&mut self, token: &str, (run, job, step): (i64, i64, usize), text: String) -> Answer {
        let task = self.tasks.values_mut().find(|task| task.runtime_token == token);
        let Some(task) = task.filter(|_| self.rules.has(Feature::RuntimeToken)) else {
            return failed(401, "bad authorization header");
        };
        let is_its_own = self
            .jobs
            .iter()
            .any(|known| known.id == job && known.run == run && task.job == job);
        if !is_its_own {
            return failed(400, "run or job does not match the token");
        }
        let size = text.len();
        if size > 1 << 20 {
            return failed(413, "the summary is longer than 1 MiB");
        }
        task.summaries.insert(step, text);
        found(&json!({ "message": "success", "sizeBytes": size, "runAttempt": 1 }))
    }
}

fn is_workflow(path: &str) -> bool {
    WORKFLOWS.iter().any(|folder| path.starts_with(folder))
}

fn found(value: &Value) -> Answer {
    Answer::json(200, value)
}

fn failed(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "message": message }))
}

fn missing(what: &str) -> Answer {
    failed(404, &format!("{what} not found"))
}
