//! A forge as a program, for measurements: it prints where it is, runs the workflows that it is given, and says how.
//!
//! Each line of stdin is the path of a workflow file. Each line of stdout is a JSON object: first the address and a
//! registration token, then what came of each workflow.

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::time::{Duration, SystemTime};

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Call, Dialect, Job, Method, State, Task};
use gantry_protocols::gitea::wire;
use serde_json::{Value, json};

/// So many rows of a log are shown at most.
const SHOWN: usize = 50;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let forge = FakeForge::start(Dialect::Gitea).await;
    say(&json!({ "url": forge.url(), "token": forge.registration_token() }))?;
    while let Some(path) = next_line().await? {
        let run = forge.push(&std::fs::read_to_string(path)?);
        // Runs of any length are waited for, so the waits of tests with their deadline are of no use here.
        while !forge.read(|state| state.status_of(run).is_done()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let told: Vec<Value> = forge.read(|state| {
            let jobs = state.jobs_of(run);
            jobs.filter_map(|job| Some(described(state, job, state.task(job.task?)?)))
                .collect()
        });
        say(&Value::Array(told))?;
    }
    Ok(())
}

/// Reads a line of stdin without keeping the server from its work.
async fn next_line() -> Result<Option<String>, Box<dyn Error>> {
    let line = tokio::task::spawn_blocking(|| stdin().lock().lines().next()).await?;
    Ok(line.transpose()?)
}

fn say(value: &Value) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}

/// What is to be known of a job: times are seconds since the epoch.
fn described(state: &State, job: &Job, task: &Task) -> Value {
    let of_task = |call: &&Call| matches!(call.method, Method::UpdateLog | Method::UpdateTask);
    let calls = state.calls().iter().filter(of_task);
    let calls = calls.filter(|call| call.at >= task.started);
    let steps = task.steps.iter().map(|step| {
        let at = |time: Option<wire::Timestamp>| Some(seconds(SystemTime::try_from(time?).ok()?));
        json!([at(step.started_at), at(step.stopped_at)])
    });
    json!({
        "job": job.name,
        "status": format!("{:?}", job.status),
        "claimed": seconds(task.started),
        "reported": task.states.last().map(|told| seconds(told.at)),
        "rows": task.rows.len(),
        "first_row": task.rows.first().map(|row| seconds(row.received)),
        "last_row": task.rows.last().map(|row| seconds(row.received)),
        "log": task.texts().into_iter().take(SHOWN).collect::<Vec<_>>(),
        "steps": steps.collect::<Vec<_>>(),
        "calls": calls.map(|call| seconds(call.at)).collect::<Vec<_>>(),
    })
}

fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}
