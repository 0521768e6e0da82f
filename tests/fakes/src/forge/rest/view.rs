//! What the REST interface shows.

use std::time::SystemTime;

use gantry_protocols::gitea::wire;
use serde_json::{Value, json};

use crate::forge::record::{Job, Run, Runner, Status};
use crate::forge::state::State;

pub(super) fn repository(name: &str, url: &str) -> Value {
    let (owner, short) = name.split_once('/').unwrap_or_default();
    json!({
        "full_name": name,
        "name": short,
        "owner": { "login": owner },
        "default_branch": super::MAIN,
        "clone_url": format!("{url}{name}.git"),
    })
}

pub(super) fn runners(state: &State) -> Value {
    let all: Vec<Value> = state.runners().map(|known| runner(state, known)).collect();
    json!({ "total_count": all.len(), "runners": all })
}

pub(super) fn runner(state: &State, runner: &Runner) -> Value {
    let busy = state
        .tasks()
        .any(|task| task.runner == runner.id && !task.status.is_done());
    let labels = runner.labels.iter().enumerate();
    let labels = labels.map(|(id, name)| json!({ "id": id, "name": name, "type": "custom" }));
    json!({
        "id": runner.id,
        "name": runner.name,
        "status": "online",
        "busy": busy,
        "disabled": runner.disabled,
        "ephemeral": runner.ephemeral,
        "labels": labels.collect::<Vec<_>>(),
    })
}

pub(super) fn runs(state: &State, repository: &str) -> Value {
    let of_repository = state
        .runs()
        .iter()
        .rev()
        .filter(|run| run.trigger.repository == repository);
    let all: Vec<Value> = of_repository.map(|known| run(state, known)).collect();
    json!({ "total_count": all.len(), "workflow_runs": all })
}

pub(super) fn run(state: &State, run: &Run) -> Value {
    let (status, conclusion) = words(state.status_of(run.id));
    let branch = run.trigger.git_ref.trim_start_matches("refs/heads/");
    let file = run.trigger.file.rsplit('/').next().unwrap_or_default();
    json!({
        "id": run.id,
        "run_number": run.number,
        "run_attempt": run.attempt,
        "event": run.trigger.event,
        "path": format!("{file}@{}", run.trigger.git_ref),
        "display_title": run.workflow,
        "head_branch": branch,
        "head_sha": run.trigger.sha,
        "status": status,
        "conclusion": conclusion,
        "started_at": time(run.created),
    })
}

pub(super) fn jobs(state: &State, run: i64) -> Value {
    let all: Vec<Value> = state.jobs_of(run).map(|known| job(state, known)).collect();
    json!({ "total_count": all.len(), "jobs": all })
}

pub(super) fn job(state: &State, job: &Job) -> Value {
    let task = job.task.and_then(|id| state.task(id));
    let (status, conclusion) = words(job.status);
    let runner = task.and_then(|task| state.runners.iter().find(|runner| runner.id == task.runner));
    json!({
        "id": job.id,
        "run_id": job.run,
        "name": job.name,
        "labels": job.runs_on,
        "status": status,
        "conclusion": conclusion,
        "runner_id": runner.map_or(0, |runner| runner.id),
        "runner_name": runner.map_or("", |runner| runner.name.as_str()),
        "started_at": task.map(|task| time(task.started)),
        "completed_at": task.and_then(|task| task.stopped).map(time),
        "steps": steps(job, task.map_or(&[], |task| task.steps.as_slice())),
    })
}

fn steps(job: &Job, told: &[wire::StepState]) -> Vec<Value> {
    let stamp = |time: Option<wire::Timestamp>| time.map(|time| time.to_string());
    let numbered = job.steps.iter().zip(told).enumerate();
    numbered
        .map(|(number, (name, step))| {
            let ended = Status::of_result(step.result());
            let running = if step.started_at.is_some() {
                Status::Running
            } else {
                Status::Waiting
            };
            let (status, conclusion) = words(ended.unwrap_or(running));
            json!({
                "name": name,
                "number": number,
                "status": status,
                "conclusion": conclusion,
                "started_at": stamp(step.started_at),
                "completed_at": stamp(step.stopped_at),
            })
        })
        .collect()
}

/// Status and conclusion in the words of the interface.
fn words(status: Status) -> (&'static str, Option<&'static str>) {
    match status {
        Status::Success => ("completed", Some("success")),
        Status::Failure => ("completed", Some("failure")),
        Status::Cancelled => ("completed", Some("cancelled")),
        Status::Skipped => ("completed", Some("skipped")),
        Status::Waiting => ("queued", None),
        Status::Blocked => ("waiting", None),
        Status::Running | Status::Cancelling => ("in_progress", None),
    }
}

fn time(time: SystemTime) -> String {
    wire::Timestamp::from(time).to_string()
}
