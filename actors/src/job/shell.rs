//! The shell around a job's machine.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use actix::{
    Actor, ActorContext, ActorFutureExt, Addr, AsyncContext, Context, Handler, ResponseFuture, WrapFuture,
};
use gantry_engine::chain::Chain;
use gantry_engine::commands::Customs;
use gantry_engine::job::StepPlan;
use gantry_engine::plan::{Conclusion, JobPlan};
use gantry_engine::run::{Entry, JobRuntime, Rows, Stop, StopSwitch, wind_up};
use gantry_protocols::forge::{Report, TaskId};
use indexmap::IndexMap;
use tokio::sync::{mpsc, oneshot};

use super::loose_ends::{LooseEnds, Word};
use super::messages::{CancelJob, CancelReason, JobEnded, KillJob, RunJob};
use super::prepare::{Prepared, prepare};
use super::state::{Effect, Limits, State};
use super::{JobSpec, wire_conclusion};
use crate::backoff::Backoff;
use crate::courier::{Attempt, attempt, forget};
use crate::log_stream::{CloseLog, Delivery, LogClosed, LogStream, SealLog, Sealed};
use crate::mailbox::{answer, tell};
use crate::operator::{Aftermath, LogCopy};
use crate::step::{RunStep, Step, StopStep};

/// How many entries may wait between a job and its log stream: each is at most a few hundred kilobytes of rows.
const ENTRY_BUFFER: usize = 16;

/// One claimed job.
pub struct Job {
    spec: JobSpec,
    state: State,
    entries: Option<mpsc::Sender<Entry>>,
    log: Option<Addr<LogStream>>,
    step: Option<Addr<Step>>,
    /// Stops the set-up and the winding up, as long as there is no step to stop.
    around: Option<StopSwitch>,
    runtime: Option<Arc<JobRuntime>>,
    plan: Option<JobPlan>,
    /// How the job ends if its steps cannot run.
    without_steps: Conclusion,
    started: SystemTime,
    /// What the forge is told in the end.
    report: Option<Report>,
    backoff: Backoff,
    /// Where the job's workspace is, if it ever had one.
    workspace: String,
    copy: Option<LogCopy>,
    /// Kills the operator's program after the job.
    post_task: Option<StopSwitch>,
    loose_ends: LooseEnds,
    reply: Option<oneshot::Sender<(Conclusion, Option<oneshot::Receiver<()>>)>>,
    /// Resolves what a reply has promised before the forge knew.
    delivered: Option<oneshot::Sender<()>>,
}

impl Actor for Job {
    type Context = Context<Self>;
}

impl Job {
    /// Starts the actor; it waits for [`RunJob`].
    pub fn start_new(spec: JobSpec) -> Addr<Self> {
        let started = spec.context.clock.now();
        let backoff = Backoff::new(spec.claim.task);
        Self {
            spec,
            state: State::new(),
            entries: None,
            log: None,
            step: None,
            around: None,
            runtime: None,
            plan: None,
            without_steps: Conclusion::Failure,
            started,
            report: None,
            backoff,
            workspace: String::new(),
            copy: None,
            post_task: None,
            loose_ends: LooseEnds::default(),
            reply: None,
            delivered: None,
        }
        .start()
    }

    fn task(&self) -> TaskId {
        self.spec.claim.task
    }

    fn apply(&mut self, effects: Vec<Effect>, context: &mut Context<Self>) {
        for effect in effects {
            match effect {
                Effect::Prepare => self.prepare(context),
                Effect::ArmTimeout(after) => Self::arm_timeout(after, context),
                Effect::ArmKill(after) => {
                    context.run_later(after, Self::kill);
                }
                Effect::RunStep(plan) => self.run_step(*plan, context),
                Effect::StopStep(stop) => self.stop_step(stop),
                Effect::Log(row) => self.log_row(&row, context),
                Effect::WindUp => self.wind_up(context),
                Effect::SealLog => self.seal_log(context),
                Effect::Keep {
                    conclusion,
                    outputs,
                    sealed,
                } => self.keep(conclusion, outputs, sealed, context),
                Effect::CloseLog { patient } => self.close_log(patient, context),
                Effect::Report => self.report(context),
                Effect::ReportAfter(pause) => {
                    context.run_later(pause, Self::report);
                }
                Effect::Park(conclusion) => self.say(Word::Parked(conclusion), context),
                Effect::Reply(conclusion) => self.say(Word::Known(conclusion), context),
            }
        }
    }

    /// Time in which the job waits for a person does not count for its time-out.
    fn arm_timeout(after: Duration, context: &mut Context<Self>) {
        context.run_later(after, |job, context| {
            let held = job.runtime.as_ref().and_then(|runtime| runtime.take_held());
            match held {
                Some(held) => Self::arm_timeout(held, context),
                None => job.cancel(CancelReason::Timeout, context),
            }
        });
    }

    fn prepare(&mut self, context: &mut Context<Self>) {
        let (sender, receiver) = mpsc::channel(ENTRY_BUFFER);
        self.entries = Some(sender.clone());
        let own = context.address().downgrade().recipient();
        let copies = self.spec.context.copies.as_ref();
        self.copy = copies.map(|copies| copies.begin(self.task(), self.started));
        let delivery = Delivery {
            copy: self.copy.clone(),
            forge: self.spec.context.forge.clone(),
            batching: self.spec.context.batching,
            journal: self.spec.journal.clone(),
        };
        self.log = Some(LogStream::start_new(self.task(), delivery, receiver, own));
        self.watch_for_cancel(context);
        let shared = self.spec.context.clone();
        let claim = self.spec.claim.clone();
        let (switch, stop) = StopSwitch::new();
        self.around = Some(switch);
        let work = tokio::spawn(prepare(shared, claim, sender, stop));
        context.spawn(work.into_actor(self).map(|joined, job, context| match joined {
            Ok(prepared) => job.on_prepared(prepared, context),
            Err(panic) => {
                job.log_row(&runner_bug(&panic), context);
                job.on_prepared(Prepared::failed(), context);
            }
        }));
    }

    /// Forges that can push say that a job is to be cancelled without being asked.
    fn watch_for_cancel(&self, context: &mut Context<Self>) {
        let (forge, task) = (self.spec.context.forge.clone(), self.task());
        let watch = async move { forge.cancelled(task).await };
        context.spawn(
            watch
                .into_actor(self)
                .map(|(), job, context| job.cancel(CancelReason::Requested, context)),
        );
    }

    fn on_prepared(&mut self, prepared: Prepared, context: &mut Context<Self>) {
        let settings = &self.spec.context.settings;
        let (max_timeout, customs) = (settings.max_timeout, settings.customs);
        let limits = prepared
            .plan
            .as_ref()
            .map_or_else(Limits::default, |plan| Limits {
                timeout: plan.timeout.into_iter().chain(max_timeout).min(),
                cancel_timeout: plan.cancel_timeout,
                late: match customs {
                    Customs::Gitea => Conclusion::Failure,
                    Customs::GitHub => Conclusion::Cancelled,
                },
            });
        self.around = None;
        if let Some(runtime) = &prepared.runtime {
            self.workspace.clone_from(&runtime.sandbox.layout().workspace);
        }
        self.runtime = prepared.runtime;
        self.plan = prepared.plan;
        self.without_steps = prepared.conclusion;
        let effects = self.state.on_prepared(prepared.machine, limits);
        self.apply(effects, context);
    }

    fn run_step(&mut self, plan: StepPlan, context: &mut Context<Self>) {
        let Some(runtime) = self.runtime.clone() else {
            return;
        };
        let step = Step::start_new();
        self.step = Some(step.clone());
        let ask = step.send(RunStep { runtime, plan });
        context.spawn(ask.into_actor(self).map(|answer, job, context| {
            job.step = None;
            let ended = answer.unwrap_or_else(|error| Err(error.to_string()));
            let effects = job.state.on_step_ended(ended);
            job.apply(effects, context);
        }));
    }

    fn stop_step(&self, stop: Stop) {
        if let Some(step) = &self.step {
            tell(step, StopStep(stop));
        }
        if let Some(around) = &self.around {
            around.raise(stop);
        }
    }

    /// Writes a row of the runner's own; it belongs to no step.
    fn log_row(&self, row: &str, context: &mut Context<Self>) {
        let Some(entries) = self.entries.clone() else {
            return;
        };
        let rows = Rows::of_lines(self.spec.context.clock.now(), None, row);
        let send = async move { entries.send(Entry::Rows(rows)).await };
        context.spawn(send.into_actor(self).map(|sent, job, _| {
            if sent.is_err() {
                tracing::error!(task = %job.task(), "the job's log stream is gone; rows are lost");
            }
        }));
    }

    fn cancel(&mut self, reason: CancelReason, context: &mut Context<Self>) {
        let effects = self.state.on_cancel(reason);
        self.apply(effects, context);
    }

    fn kill(&mut self, context: &mut Context<Self>) {
        let effects = self.state.on_kill();
        self.apply(effects, context);
    }

    fn wind_up(&mut self, context: &mut Context<Self>) {
        let (Some(runtime), Some(plan)) = (self.runtime.take(), self.plan.take()) else {
            self.on_wound_up(self.without_steps, IndexMap::new(), context);
            return;
        };
        let machine = self.state.take_machine();
        let (switch, stop) = StopSwitch::new();
        if self.state.is_killed() {
            switch.raise(Stop::Kill);
        }
        self.around = Some(switch);
        let work = tokio::spawn(async move { wind_up(&runtime, &plan, machine.as_ref(), stop).await });
        context.spawn(work.into_actor(self).map(|joined, job, context| {
            let (conclusion, mut outputs) = match joined {
                Ok(wound) => (wound.conclusion, wound.outputs),
                Err(panic) => {
                    job.log_row(&runner_bug(&panic), context);
                    (Conclusion::Failure, IndexMap::new())
                }
            };
            job.around = None;
            job.refuse_outputs(&mut outputs, context);
            job.on_wound_up(conclusion, outputs, context);
        }));
    }

    fn on_wound_up(
        &mut self,
        conclusion: Conclusion,
        outputs: IndexMap<String, String>,
        context: &mut Context<Self>,
    ) {
        self.run_post_task(conclusion, context);
        let effects = self.state.on_wound_up(conclusion, outputs);
        self.apply(effects, context);
    }

    /// Runs the operator's program, while the last rows and the report go out.
    fn run_post_task(&mut self, conclusion: Conclusion, context: &mut Context<Self>) {
        let Some(program) = self.spec.context.post_task.clone() else {
            return;
        };
        let workspace = std::mem::take(&mut self.workspace);
        let aftermath = Aftermath::of(&self.spec.claim, workspace, wire_conclusion(conclusion));
        let (switch, mut stop) = StopSwitch::new();
        self.post_task = Some(switch);
        let run = async move {
            let stopped = async move {
                stop.above(Stop::No).await;
            };
            program.run(&aftermath, stopped).await;
        };
        self.loose_end(run, context);
    }

    /// Does something that must be over before the job's place is free.
    fn loose_end(&mut self, work: impl Future<Output = ()> + Send + 'static, context: &mut Context<Self>) {
        self.loose_ends.on_begun();
        let work = tokio::spawn(work);
        context.spawn(work.into_actor(self).map(|joined, job, context| {
            if let Err(panic) = joined {
                tracing::error!(task = %job.task(), %panic, "runner bug, please report it");
            }
            if let Some(word) = job.loose_ends.on_over() {
                job.answer(word, context);
            }
        }));
    }

    /// Drops the outputs that the forge would not keep, and says so while the log is still open.
    fn refuse_outputs(&self, outputs: &mut IndexMap<String, String>, context: &mut Context<Self>) {
        let forge = &self.spec.context.forge;
        let mut notes = Vec::new();
        outputs.retain(|key, value| {
            let note = forge.refuse_output(key, value);
            let keep = note.is_none();
            notes.extend(note);
            keep
        });
        for note in notes {
            self.log_row(&format!("##[warning]{note}"), context);
        }
    }

    fn seal_log(&mut self, context: &mut Context<Self>) {
        // The stream ends once nobody can write to it any more.
        self.entries = None;
        let Some(log) = self.log.clone() else { return };
        let seal = async move { log.send(SealLog).await };
        context.spawn(seal.into_actor(self).map(|answer, job, context| {
            let sealed = answer.unwrap_or_else(|error| {
                tracing::error!(task = %job.task(), %error, "the job's log stream has died; rows are lost");
                Sealed::default()
            });
            let effects = job.state.on_sealed(sealed);
            job.apply(effects, context);
        }));
    }

    /// Writes the report down before anything is sent: a runner that is killed from here on still tells the truth.
    fn keep(
        &mut self,
        conclusion: Conclusion,
        outputs: IndexMap<String, String>,
        sealed: Sealed,
        context: &mut Context<Self>,
    ) {
        let report = Report {
            task: self.task(),
            conclusion: wire_conclusion(conclusion),
            outputs: outputs.into_iter().collect(),
            started: self.started,
            stopped: self.spec.context.clock.now(),
            steps: sealed.steps,
            rows: sealed.rows,
        };
        if let Some(copy) = self.copy.take() {
            let end = copy.end(report.stopped, report.task, report.conclusion);
            self.loose_end(end, context);
        }
        self.report = Some(report.clone());
        let Some(journal) = self.spec.journal.clone() else {
            let effects = self.state.on_kept();
            self.apply(effects, context);
            return;
        };
        let keep = async move { journal.keep(report).await };
        context.spawn(keep.into_actor(self).map(|kept, job, context| {
            if let Err(error) = kept {
                let error = Chain(&error);
                tracing::warn!(task = %job.task(), %error, "the job's report is kept in memory only");
            }
            let effects = job.state.on_kept();
            job.apply(effects, context);
        }));
    }

    fn close_log(&self, patient: bool, context: &mut Context<Self>) {
        let Some(log) = self.log.clone() else { return };
        // The address is held until the answer: an actor without one ends before its work is done.
        let close = async move { log.send(CloseLog { patient }).await };
        context.spawn(close.into_actor(self).map(|answer, job, context| {
            let closed = answer.unwrap_or_else(|error| {
                tracing::error!(task = %job.task(), %error, "the job's log stream has died; rows are lost");
                LogClosed::Delivered
            });
            let effects = job.state.on_log_closed(closed);
            job.apply(effects, context);
        }));
    }

    fn report(&mut self, context: &mut Context<Self>) {
        let Some(report) = self.report.clone() else { return };
        let forge = self.spec.context.forge.clone();
        let journal = self.spec.journal.clone();
        let task = self.task();
        let mut backoff = std::mem::replace(&mut self.backoff, Backoff::new(task));
        let try_it = async move {
            let attempt = attempt(&forge, &report, &mut backoff).await;
            if attempt == Attempt::Done {
                forget(journal).await;
            }
            (attempt, backoff)
        };
        context.spawn(try_it.into_actor(self).map(|(attempt, backoff), job, context| {
            job.backoff = backoff;
            let effects = match attempt {
                Attempt::Done => job.state.on_completed(),
                Attempt::Again(pause) => job.state.on_report_delayed(pause),
            };
            job.apply(effects, context);
        }));
    }

    fn say(&mut self, word: Word, context: &mut Context<Self>) {
        if let Some(word) = self.loose_ends.on_word(word) {
            self.answer(word, context);
        }
    }

    fn answer(&mut self, word: Word, context: &mut Context<Self>) {
        match word {
            Word::Parked(conclusion) => self.park(conclusion),
            Word::Known(conclusion) => self.finish(conclusion, context),
        }
    }

    fn park(&mut self, conclusion: Conclusion) {
        let (delivered, parked) = oneshot::channel();
        self.delivered = Some(delivered);
        if let Some(reply) = self.reply.take() {
            answer(reply, (conclusion, Some(parked)));
        }
    }

    fn finish(&mut self, conclusion: Conclusion, context: &mut Context<Self>) {
        if let Some(reply) = self.reply.take() {
            answer(reply, (conclusion, None));
        }
        if let Some(delivered) = self.delivered.take() {
            answer(delivered, ());
        }
        context.stop();
    }
}

/// What the workflow's author reads when the runner's own work for the job has panicked.
fn runner_bug(panic: &dyn std::fmt::Display) -> String {
    format!("##[error]runner bug, please report it: {panic}")
}

impl Handler<RunJob> for Job {
    type Result = ResponseFuture<Option<JobEnded>>;

    fn handle(&mut self, RunJob: RunJob, context: &mut Self::Context) -> Self::Result {
        let (sender, receiver) = oneshot::channel();
        self.reply = Some(sender);
        let effects = self.state.on_run();
        self.apply(effects, context);
        let task = self.task();
        Box::pin(async move {
            let (conclusion, parked) = receiver.await.ok()?;
            Some(JobEnded {
                task,
                conclusion: wire_conclusion(conclusion),
                parked,
            })
        })
    }
}

impl Handler<CancelJob> for Job {
    type Result = ();

    fn handle(&mut self, CancelJob(reason): CancelJob, context: &mut Self::Context) {
        self.cancel(reason, context);
    }
}

impl Handler<KillJob> for Job {
    type Result = ();

    fn handle(&mut self, KillJob: KillJob, context: &mut Self::Context) {
        if let Some(post_task) = &self.post_task {
            post_task.raise(Stop::Kill);
        }
        self.kill(context);
    }
}
