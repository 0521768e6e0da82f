//! What happens before a job's first step: masks, contexts, the event file, the job's environment.

use std::sync::Arc;

use super::download::download_actions;
use super::hooks::{Moment, run_hook};
use super::log::StepLog;
use super::observe::{Observation, Phase};
use super::stop::StopSignal;
use super::{EntrySender, JobRuntime, Settings};
use crate::action::ActionAccess;
use crate::backend::{Layout, Sandbox};
use crate::chain::failed_to;
use crate::clock::Clock;
use crate::expr::{Object, Value};
use crate::job::{Machine, evaluate_setup};
use crate::mask::Masks;
use crate::model::Step;
use crate::plan::{Conclusion, JobPlan};

/// Secrets that switch debug output on; their values are words like `true` and are not masked.
const DEBUG_SWITCHES: [&str; 2] = ["ACTIONS_STEP_DEBUG", "ACTIONS_RUNNER_DEBUG"];

/// What [`set_up`] starts from.
pub struct SetUp {
    /// The job.
    pub plan: JobPlan,
    /// Where it runs.
    pub sandbox: Arc<dyn Sandbox>,
    /// Where its entries go.
    pub entries: EntrySender,
    /// The time of rows.
    pub clock: Clock,
    /// What the operator or the command line has decided.
    pub settings: Settings,
    /// `runner.name`.
    pub runner_name: String,
    /// Ends what takes long.
    pub stop: StopSignal,
}

/// Prepares a job: afterwards its steps can run.
///
/// Without a machine the job cannot run: the reasons are in its log already, and it only remains to wind it up.
pub async fn set_up(request: SetUp) -> (Arc<JobRuntime>, JobPlan, Option<Machine>) {
    let SetUp {
        mut plan,
        sandbox,
        entries,
        clock,
        settings,
        runner_name,
        stop,
    } = request;
    let masks = Masks::default();
    let mut settings = settings;
    settings.step_debug |= is_switched_on(&plan, "ACTIONS_STEP_DEBUG");
    settings.actions = settings.actions.map(|access| with_token(access, &plan));
    let runtime = JobRuntime::new(sandbox, masks, entries, clock, settings).observed_as(&plan);
    let runtime = Arc::new(runtime);
    let mark = runtime.mark();
    runtime.observe(|| Observation::Planned(plan.conditions.clone()));
    let mut log = StepLog::open(&runtime, None);
    add_secrets(&runtime, &plan, &mut log);
    announce(&mut log, &runner_name);

    let layout = runtime.sandbox.layout().clone();
    complete_github(&mut plan, &layout);
    let runner = Arc::new(runner_context(&runtime, &layout, &runner_name));
    let mut machine = prepare(&runtime, &plan, &layout, runner, &mut log).await;
    if let Some(machine) = &mut machine {
        // The hook has a log of its own, and its rows come after those that are here.
        log.flush().await;
        start_hook(&runtime, &plan, machine, &stop).await;
    }
    let machine = match machine {
        Some(mut machine) if fetch(&runtime, machine.steps(), &stop, &mut log).await => {
            machine.set_pres(runtime.remote.pres(machine.steps()).await);
            Some(machine)
        }
        _ => None,
    };
    log.line(format_args!("Complete job name: {}", plan.name));
    log.finish().await;
    runtime.phase(Phase::SetUp, mark);
    (runtime, plan, machine)
}

/// Runs the operator's hook before the job's first step, for at most the time that the job has.
async fn start_hook(runtime: &JobRuntime, plan: &JobPlan, machine: &mut Machine, stop: &StopSignal) {
    let limit = plan.timeout.into_iter().chain(runtime.settings.max_timeout).min();
    let (view, frame) = (machine.view().clone(), machine.frame());
    if let Some(hooked) = run_hook(runtime, Moment::Started, view, &frame, limit, stop.clone()).await {
        machine.on_hook_finished(&hooked.view, hooked.outcome == Conclusion::Failure);
    }
    // It is set once: a job is set up once.
    runtime
        .hooked
        .get_or_init(|| (machine.view().clone(), machine.frame()));
}

async fn fetch(runtime: &JobRuntime, steps: &[Arc<Step>], stop: &StopSignal, log: &mut StepLog) -> bool {
    let mark = runtime.mark();
    let fetched = download_actions(runtime, steps, stop, log).await;
    runtime.phase(Phase::Fetch, mark);
    fetched
}

async fn prepare(
    runtime: &JobRuntime,
    plan: &JobPlan,
    layout: &Layout,
    runner: Arc<Object>,
    log: &mut StepLog,
) -> Option<Machine> {
    let event = plan
        .contexts
        .github
        .get("event")
        .map_or_else(|| "{}".to_owned(), Value::to_json);
    let path = event_path(layout);
    if let Err(error) = runtime.sandbox.write_file(&path, event.as_bytes()).await {
        log.error(failed_to(&error));
        return None;
    }
    match evaluate_setup(plan, &runtime.settings.env) {
        Ok(setup) => {
            runtime.note_layers(&setup.layers);
            Some(Machine::new(plan, setup, runner, Arc::new(job_context(plan))))
        }
        Err(diagnostics) => {
            for diagnostic in diagnostics {
                log.error(diagnostic);
            }
            None
        }
    }
}

fn is_switched_on(plan: &JobPlan, name: &str) -> bool {
    let contexts = &plan.contexts;
    [&contexts.secrets, &contexts.vars]
        .iter()
        .any(|context| context.get(name).is_some_and(|value| value.to_text() == "true"))
}

/// The job's own token opens only the server that gave it.
fn with_token(access: ActionAccess, plan: &JobPlan) -> ActionAccess {
    let secrets = &plan.contexts.secrets;
    let token = |name: &'static str| Some((name, secrets.get(name)?.to_text()));
    match token("GITHUB_TOKEN").or_else(|| token("GITEA_TOKEN")) {
        Some((name, token)) => access.with_job_token(&format!("secret {name}"), &token),
        None => access,
    }
}

fn add_secrets(runtime: &JobRuntime, plan: &JobPlan, log: &mut StepLog) {
    for (name, value) in &runtime.settings.masks {
        // They are the runner's own; the author cannot do anything about one that is too short.
        if let Err(refusal) = runtime.masks.add_secret(name, value) {
            tracing::debug!(name, %refusal, "a value is not masked");
        }
    }
    for (name, value) in plan.contexts.secrets.iter() {
        if DEBUG_SWITCHES
            .iter()
            .any(|switch| switch.eq_ignore_ascii_case(name))
        {
            continue;
        }
        if let Err(refusal) = runtime.masks.add_secret(name, &value.to_text()) {
            log.line(format_args!("##[warning]{refusal}"));
        }
    }
}

fn announce(log: &mut StepLog, runner_name: &str) {
    log.line("##[group]Set up job");
    log.line(format_args!(
        "Current runner version: '{}'",
        env!("CARGO_PKG_VERSION")
    ));
    log.line(format_args!("Runner name: '{runner_name}'"));
    log.line("Secret source: Actions");
    log.line("Prepare workflow directory");
    log.line("##[endgroup]");
}

fn event_path(layout: &Layout) -> String {
    format!("{}/event.json", layout.workflow)
}

/// Adds what is known of `github` only now that the job has its place.
fn complete_github(plan: &mut JobPlan, layout: &Layout) {
    let github = Arc::make_mut(&mut plan.contexts.github);
    github.insert("workspace", Value::from(layout.workspace.as_str()));
    github.insert("event_path", Value::from(event_path(layout).as_str()));
    github.insert("job", Value::from(plan.job.id.as_str()));
    if let Some(token) = plan.contexts.secrets.get("GITHUB_TOKEN") {
        github.insert("token", token.clone());
    }
}

fn runner_context(runtime: &JobRuntime, layout: &Layout, name: &str) -> Object {
    let mut runner = Object::new();
    for (key, value) in [
        ("name", name),
        ("os", layout.os),
        ("arch", layout.arch),
        ("temp", &layout.temp),
        ("tool_cache", &layout.tool_cache),
        ("environment", "self-hosted"),
        ("workspace", &layout.runner_workspace),
    ] {
        runner.insert(key, Value::from(value));
    }
    if runtime.settings.step_debug {
        runner.insert("debug", Value::from("1"));
    }
    runner
}

/// `job` without its status. On the host there is neither a container nor a service, so that neither is named.
fn job_context(plan: &JobPlan) -> Object {
    let github = &plan.contexts.github;
    let mut job = Object::new();
    for (key, source) in [
        ("workflow_ref", "workflow_ref"),
        ("workflow_sha", "workflow_sha"),
        ("workflow_repository", "repository"),
    ] {
        if let Some(value) = github.get(source) {
            job.insert(key, value.clone());
        }
    }
    job.insert("workflow_file_path", Value::from(&*plan.workflow.file));
    job
}
