//! What a job does next, without a clock and without a process.
//!
//! ```text
//! Waiting -> Preparing -> Running -> WindingUp -> Sealing -> Closing -> Reporting -> Done
//!                 '----- cannot run ----^                       '---- forge away: parked, no slot needed
//! ```

use std::time::Duration;

use gantry_engine::job::{Machine, Next, StepPlan, StepReport, Work};
use gantry_engine::plan::Conclusion;
use gantry_engine::run::Stop;
use indexmap::IndexMap;

use super::CancelReason;
use crate::log_stream::{LogClosed, Sealed};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not asked to run yet.
    Waiting,
    /// Its sandbox and contexts are being made.
    Preparing,
    /// Its steps run.
    Running,
    /// Outputs are evaluated, processes and directories removed.
    WindingUp,
    /// The last rows get their numbers, and the report is written down.
    Sealing,
    /// The log stream delivers what is left.
    Closing,
    /// The forge is told the conclusion.
    Reporting,
    /// The forge knows.
    Done,
}

/// What the shell is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// Make the job's sandbox and contexts.
    Prepare,
    /// Cancel the job when this time is over.
    ArmTimeout(Duration),
    /// Kill the job when this time is over.
    ArmKill(Duration),
    /// Run a step.
    RunStep(Box<StepPlan>),
    /// Tell the running step to stop.
    StopStep(Stop),
    /// Say something to the workflow's author.
    Log(String),
    /// Evaluate outputs and clean up.
    WindUp,
    /// Let the log stream take everything that was written.
    SealLog,
    /// Write the report down.
    Keep {
        /// How the job ended.
        conclusion: Conclusion,
        /// Its outputs.
        outputs: IndexMap<String, String>,
        /// The log and the steps.
        sealed: Sealed,
    },
    /// Let the log stream deliver everything.
    CloseLog {
        /// However long it takes.
        patient: bool,
    },
    /// Tell the forge what was written down.
    Report,
    /// The same after a pause.
    ReportAfter(Duration),
    /// Say that the job has ended, and that the forge does not know it yet.
    Park(Conclusion),
    /// Say that the job has ended and that the forge knows.
    Reply(Conclusion),
}

/// The limits of a job, known once it is planned.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// `timeout-minutes`
    pub timeout: Option<Duration>,
    /// How long steps may go on after a cancel.
    pub cancel_timeout: Duration,
    /// What a job is that was out of time.
    pub late: Conclusion,
}

impl Default for Limits {
    /// No time-out, and five minutes for clean-up (GitHub: `cancel-timeout-minutes`).
    fn default() -> Self {
        Self {
            timeout: None,
            cancel_timeout: Duration::from_mins(5),
            late: Conclusion::Cancelled,
        }
    }
}

/// A job from the moment it was claimed.
#[derive(Debug)]
pub struct State {
    phase: Phase,
    machine: Option<Machine>,
    limits: Limits,
    work: Option<Work>,
    cancelled: Option<CancelReason>,
    killed: bool,
    conclusion: Conclusion,
    outputs: IndexMap<String, String>,
    parked: bool,
}

impl State {
    /// A job that waits to be asked to run.
    pub fn new() -> Self {
        Self {
            phase: Phase::Waiting,
            machine: None,
            limits: Limits::default(),
            work: None,
            cancelled: None,
            killed: false,
            conclusion: Conclusion::Failure,
            outputs: IndexMap::new(),
            parked: false,
        }
    }

    /// Hands out the machine of the job's steps, if it could be set up: the job is about to be wound up.
    pub fn take_machine(&mut self) -> Option<Machine> {
        self.machine.take()
    }

    /// Tells whether nothing of the job may go on.
    pub fn is_killed(&self) -> bool {
        self.killed
    }

    /// The job is asked to run.
    pub fn on_run(&mut self) -> Vec<Effect> {
        if self.phase != Phase::Waiting {
            return Vec::new();
        }
        self.phase = Phase::Preparing;
        vec![Effect::Prepare]
    }

    /// The job is set up, or cannot run if there is no machine.
    pub fn on_prepared(&mut self, machine: Option<Machine>, limits: Limits) -> Vec<Effect> {
        self.machine = machine;
        self.limits = limits;
        self.phase = Phase::Running;
        if (self.cancelled.is_some() || self.killed)
            && let Some(machine) = &mut self.machine
        {
            machine.on_cancel();
        }
        let mut effects: Vec<Effect> = limits.timeout.map(Effect::ArmTimeout).into_iter().collect();
        effects.extend(self.advance());
        effects
    }

    /// A step has ended; a text instead of a report is a panic of the runner's own.
    pub fn on_step_ended(&mut self, ended: Result<StepReport, String>) -> Vec<Effect> {
        let Some(work) = self.work.take() else {
            return Vec::new();
        };
        let mut effects = Vec::new();
        match (ended, &mut self.machine) {
            (Ok(report), Some(machine)) => machine.on_step_finished(&work, report),
            (Err(panic), Some(machine)) => {
                machine.on_failure();
                effects.push(Effect::Log(format!(
                    "##[error]runner bug, please report it: {panic}"
                )));
            }
            (_, None) => {}
        }
        effects.extend(self.advance());
        effects
    }

    /// The job is to be cancelled.
    pub fn on_cancel(&mut self, reason: CancelReason) -> Vec<Effect> {
        if self.cancelled >= Some(reason) || !self.may_stop() {
            return Vec::new();
        }
        let first = self.cancelled.is_none();
        self.cancelled = Some(reason);
        let mut effects = Vec::new();
        // While it is wound up, only a hook of the operator can take time, and it says itself that it was ended.
        if reason == CancelReason::Timeout && self.phase != Phase::WindingUp {
            let limit = self.limits.timeout.unwrap_or_default().as_secs();
            let (count, unit) = if limit < 60 {
                (limit, "seconds")
            } else {
                (limit / 60, "minutes")
            };
            effects.push(Effect::Log(format!(
                "##[error]The job has exceeded the maximum execution time of {count} {unit}."
            )));
        }
        if first {
            if let Some(machine) = &mut self.machine {
                machine.on_cancel();
            }
            effects.push(Effect::StopStep(Stop::Cancel));
            effects.push(Effect::ArmKill(self.limits.cancel_timeout));
        }
        effects
    }

    /// Nothing of the job may go on.
    pub fn on_kill(&mut self) -> Vec<Effect> {
        if self.killed || !self.may_stop() {
            return Vec::new();
        }
        self.killed = true;
        if let Some(machine) = &mut self.machine {
            machine.on_cancel();
        }
        vec![Effect::StopStep(Stop::Kill)]
    }

    /// The job is wound up.
    pub fn on_wound_up(&mut self, conclusion: Conclusion, outputs: IndexMap<String, String>) -> Vec<Effect> {
        let is_late = self.cancelled == Some(CancelReason::Timeout) && conclusion == Conclusion::Cancelled;
        self.conclusion = if is_late { self.limits.late } else { conclusion };
        self.outputs = outputs;
        self.phase = Phase::Sealing;
        vec![Effect::SealLog]
    }

    /// Every row has its number.
    pub fn on_sealed(&mut self, sealed: Sealed) -> Vec<Effect> {
        vec![Effect::Keep {
            conclusion: self.conclusion,
            outputs: std::mem::take(&mut self.outputs),
            sealed,
        }]
    }

    /// The report is written down, or cannot be.
    pub fn on_kept(&mut self) -> Vec<Effect> {
        self.phase = Phase::Closing;
        vec![Effect::CloseLog { patient: false }]
    }

    /// Every row is acknowledged, or the forge cannot be reached.
    pub fn on_log_closed(&mut self, closed: LogClosed) -> Vec<Effect> {
        match closed {
            LogClosed::Delivered => {
                self.phase = Phase::Reporting;
                vec![Effect::Report]
            }
            LogClosed::Away => {
                let mut effects = self.park();
                effects.push(Effect::CloseLog { patient: true });
                effects
            }
        }
    }

    /// The forge cannot be told the conclusion before this pause is over.
    pub fn on_report_delayed(&mut self, pause: Duration) -> Vec<Effect> {
        let mut effects = self.park();
        effects.push(Effect::ReportAfter(pause));
        effects
    }

    /// The forge knows the conclusion, or will never take it.
    pub fn on_completed(&mut self) -> Vec<Effect> {
        self.phase = Phase::Done;
        vec![Effect::Reply(self.conclusion)]
    }

    /// Nothing of the job runs any more: whoever waits for its slot need not wait for its forge.
    fn park(&mut self) -> Vec<Effect> {
        if std::mem::replace(&mut self.parked, true) {
            return Vec::new();
        }
        vec![Effect::Park(self.conclusion)]
    }

    fn may_stop(&self) -> bool {
        matches!(
            self.phase,
            Phase::Waiting | Phase::Preparing | Phase::Running | Phase::WindingUp
        )
    }

    fn advance(&mut self) -> Vec<Effect> {
        let next = match &mut self.machine {
            Some(machine) if !self.killed => machine.advance(),
            _ => Next::Complete,
        };
        match next {
            Next::Step(plan) => {
                self.work = Some(plan.work.clone());
                vec![Effect::RunStep(plan)]
            }
            Next::Complete => {
                self.phase = Phase::WindingUp;
                vec![Effect::WindUp]
            }
        }
    }
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
