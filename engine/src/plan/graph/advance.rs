//! The transitions of jobs and legs.

use std::sync::Arc;

use indexmap::IndexMap;

use super::super::{Conclusion, matrix};
use super::condition::Decision;
use super::evaluate::{failed, scope};
use super::frame::{
    FrameId, FramePhase, Holder, JobNode, JobPhase, JobRef, LegNode, LegPhase, LegRef, merge,
};
use super::{CancelReason, Effect, Run, Work};
use crate::model::{Job, NodeKind};

/// The greatest number of jobs and legs in a run: nested calls with matrices could make any number of them.
const MAX_RUN_SIZE: usize = 5_000;

impl Run {
    pub(super) fn job(&self, at: JobRef) -> &JobNode {
        &self.frames[at.frame.0].jobs[at.job]
    }

    pub(super) fn job_mut(&mut self, at: JobRef) -> &mut JobNode {
        &mut self.frames[at.frame.0].jobs[at.job]
    }

    pub(super) fn leg(&self, at: LegRef) -> &LegNode {
        &self.job(at.job).legs[at.leg]
    }

    pub(super) fn leg_mut(&mut self, at: LegRef) -> &mut LegNode {
        &mut self.job_mut(at.job).legs[at.leg]
    }

    /// Decides on a job whose needs are done, and expands it if it runs.
    pub(super) fn consider(&mut self, at: JobRef) {
        let node = self.job(at);
        if node.phase != JobPhase::Waiting || node.missing > 0 {
            return;
        }
        // The matrix is evaluated only once it is sure that the job runs: it may use outputs that are not there.
        let (decision, explanation) = self.decide_explained(at);
        self.job_mut(at).explanation = Some(Arc::new(explanation));
        match decision {
            Ok(Decision::Run) => {
                if let Err(reason) = self.expand(at) {
                    self.conclude_job(at, Conclusion::Failure, reason);
                }
            }
            Ok(Decision::Skip(reason)) => self.conclude_job(at, Conclusion::Skipped, reason),
            Err(reason) => self.conclude_job(at, Conclusion::Failure, reason),
        }
    }

    fn expand(&mut self, at: JobRef) -> Result<(), String> {
        let frame = self.frame(at.frame);
        let job = &self.job(at).job;
        let strategy = matrix::expand(job, &frame.workflow.file, scope(&self.job_contexts(at)))
            .map_err(|error| failed("strategy", job, error))?;
        let (key, name) = (
            format!("{}{}", frame.key_prefix, job.id),
            frame.name_prefix.clone(),
        );
        self.grow(strategy.legs.len())?;
        let legs = strategy
            .legs
            .into_iter()
            .map(|leg| leg_node(leg, &key, &name))
            .collect();
        let node = self.job_mut(at);
        node.phase = JobPhase::Expanded;
        node.fail_fast = strategy.fail_fast;
        node.max_parallel = strategy.max_parallel.unwrap_or(usize::MAX);
        node.legs = legs;
        for leg in 0..self.job(at).legs.len() {
            self.name_leg(LegRef { job: at, leg });
        }
        self.fill(at);
        Ok(())
    }

    /// Makes room for more jobs or legs.
    pub(super) fn grow(&mut self, count: usize) -> Result<(), String> {
        self.size += count;
        if self.size > MAX_RUN_SIZE {
            return Err(format!("the run has more than {MAX_RUN_SIZE} jobs"));
        }
        Ok(())
    }

    /// Names a leg by the job's `name`, if that is an expression with a value.
    fn name_leg(&mut self, at: LegRef) {
        let name = self.job(at.job).job.name.clone();
        let Some(field) = name.filter(|field| !matches!(field.node().kind, NodeKind::String(_))) else {
            return;
        };
        match self.leg_field(at, "name", Some(&field), &self.leg_contexts(at)) {
            Ok(Some(name)) if !name.is_empty() => {
                let prefix = &self.frame(at.job.frame).name_prefix;
                let name = format!("{prefix}{}", matrix::shorten(&name));
                self.leg_mut(at).name = name;
            }
            Ok(_) => {}
            Err(reason) => self.conclude_leg(at, Conclusion::Failure, reason),
        }
    }

    /// Starts queued legs in their order while `max-parallel` allows it.
    pub(super) fn fill(&mut self, at: JobRef) {
        loop {
            let node = self.job(at);
            let active = node.legs.iter().filter(|leg| leg.is_active()).count();
            let next = node.legs.iter().position(|leg| leg.phase == LegPhase::Queued);
            let Some(leg) = next.filter(|_| active < node.max_parallel) else {
                return;
            };
            let at = LegRef { job: at, leg };
            let contexts = self.leg_contexts(at);
            match self.leg_field(
                at,
                "concurrency",
                self.job(at.job).job.concurrency.as_ref(),
                &contexts,
            ) {
                Ok(concurrency) => {
                    self.leg_mut(at).phase = LegPhase::Blocked;
                    self.admit(Holder::Leg(at), concurrency);
                }
                Err(reason) => self.conclude_leg(at, Conclusion::Failure, reason),
            }
        }
    }

    /// Goes on with a holder that has its group.
    pub(super) fn proceed(&mut self, holder: Holder) {
        match holder {
            Holder::Leg(at) if self.leg(at).phase == LegPhase::Blocked => self.launch(at),
            Holder::Frame(frame) if self.frame(frame).phase == FramePhase::Blocked => self.open(frame),
            // It was cancelled between the grant and its turn.
            Holder::Leg(_) | Holder::Frame(_) => {}
        }
    }

    fn open(&mut self, frame: FrameId) {
        self.frames[frame.0].phase = FramePhase::Open;
        for job in 0..self.frame(frame).jobs.len() {
            self.work.push_back(Work::Consider(JobRef { frame, job }));
        }
        if self.frame(frame).jobs.is_empty() {
            self.work.push_back(Work::Close(frame));
        }
    }

    /// Ends a leg that never ran.
    pub(super) fn conclude_leg(&mut self, at: LegRef, conclusion: Conclusion, reason: String) {
        let leg = self.leg(at);
        if matches!(leg.phase, LegPhase::Done(_)) {
            return;
        }
        let (key, name) = (leg.key.clone(), leg.name.clone());
        let conditions = self.conditions(at.job);
        self.effects.push(Effect::Concluded {
            key,
            name,
            conclusion,
            reason,
            conditions,
        });
        self.finish_leg(at, conclusion, IndexMap::new());
    }

    /// Ends a leg and, with the last one, its job.
    pub(super) fn finish_leg(
        &mut self,
        at: LegRef,
        conclusion: Conclusion,
        outputs: IndexMap<String, String>,
    ) {
        if matches!(self.leg(at).phase, LegPhase::Done(_)) {
            return;
        }
        self.leg_mut(at).phase = LegPhase::Done(conclusion);
        if let Some(next) = self.registry.release(&Holder::Leg(at)) {
            self.granted.push_back(next);
        }
        let node = self.job_mut(at.job);
        node.take_outputs(outputs);
        if node.fail_fast && node.legs[at.leg].effective() == Some(Conclusion::Failure) {
            for leg in 0..self.job(at.job).legs.len() {
                self.cancel_leg(LegRef { job: at.job, leg }, &CancelReason::FailFast);
            }
        }
        // The cancellation of the last other leg has ended the job already.
        if self.job(at.job).phase == JobPhase::Expanded {
            self.settle_legs(at.job);
        }
    }

    /// Ends a job whose last leg has ended, and otherwise gives the free place to the next leg.
    fn settle_legs(&mut self, at: JobRef) {
        let conclusions: Option<Vec<Conclusion>> = self.job(at).legs.iter().map(LegNode::effective).collect();
        match conclusions {
            Some(conclusions) => self.finish_job(at, merge(conclusions.into_iter())),
            None => self.work.push_back(Work::Fill(at)),
        }
    }

    /// Ends a job that never got legs.
    pub(super) fn conclude_job(&mut self, at: JobRef, conclusion: Conclusion, reason: String) {
        let frame = self.frame(at.frame);
        let job = &self.job(at).job;
        let key = format!("{}{}", frame.key_prefix, job.id);
        let name = format!("{}{}", frame.name_prefix, display_name(job));
        let conditions = self.conditions(at);
        self.effects.push(Effect::Concluded {
            key,
            name,
            conclusion,
            reason,
            conditions,
        });
        self.finish_job(at, conclusion);
    }

    fn finish_job(&mut self, at: JobRef, conclusion: Conclusion) {
        let frame = &mut self.frames[at.frame.0];
        frame.jobs[at.job].phase = JobPhase::Done(conclusion);
        frame.open_jobs = frame.open_jobs.saturating_sub(1);
        for job in frame.jobs[at.job].dependents.clone() {
            frame.jobs[job].missing = frame.jobs[job].missing.saturating_sub(1);
            if frame.jobs[job].missing == 0 {
                self.work
                    .push_back(Work::Consider(JobRef { frame: at.frame, job }));
            }
        }
        if frame.open_jobs == 0 {
            self.work.push_back(Work::Close(at.frame));
        }
    }
}

fn display_name(job: &Job) -> String {
    matrix::shorten(matrix::base_name(job))
}

fn leg_node(leg: matrix::Leg, key: &str, prefix: &str) -> LegNode {
    let key = if leg.id == matrix::DEFAULT_LEG {
        key.to_owned()
    } else {
        format!("{key}({})", leg.id)
    };
    let name = format!("{prefix}{}", leg.name);
    LegNode {
        leg,
        key,
        name,
        phase: LegPhase::Queued,
        tolerated: false,
        cancelling: false,
    }
}
