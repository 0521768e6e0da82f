//! Cancellation, concurrency groups, and what waits for itself.

use super::super::Conclusion;
use super::super::concurrency::Admission;
use super::condition::Decision;
use super::frame::{FrameId, FramePhase, Holder, JobPhase, JobRef, LegPhase, LegRef};
use super::{CancelReason, Effect, Run, Work};
use crate::model::Concurrency;

impl Run {
    /// Tells whether the frame, or anything that it is a part of, was cancelled.
    pub(super) fn is_cancelled(&self, frame: FrameId) -> bool {
        let mut next = Some(frame);
        while let Some(id) = next {
            if self.frame(id).cancelled {
                return true;
            }
            next = self.frame(id).caller.map(|leg| leg.job.frame);
        }
        false
    }

    /// Asks for the group of a holder, which goes on at once if it needs none.
    pub(super) fn admit(&mut self, holder: Holder, concurrency: Option<Concurrency>) {
        if let Holder::Frame(frame) = holder {
            self.frames[frame.0].phase = FramePhase::Blocked;
        }
        let Some(Concurrency {
            group,
            cancel_in_progress,
        }) = concurrency
        else {
            self.granted.push_back(holder);
            return;
        };
        if self.holds_above(holder, &group) {
            let reason = format!("Canceling since a deadlock for concurrency group '{group}' was detected");
            self.refuse(holder, reason);
            return;
        }
        match self.registry.request(holder, &group, cancel_in_progress) {
            Admission::Granted => self.granted.push_back(holder),
            Admission::Queued { replaced, cancel } => {
                if let Some(replaced) = replaced {
                    self.refuse(replaced, superseded(&group));
                }
                if let Some(running) = cancel {
                    self.stop(running, &CancelReason::Concurrency(group));
                }
            }
        }
    }

    /// Tells whether the group is held by what the holder is a part of: it would wait for itself.
    fn holds_above(&self, holder: Holder, group: &str) -> bool {
        let Some(owner) = self.registry.holder(group) else {
            return false;
        };
        let mut next = self.above(holder);
        while let Some(above) = next {
            if above == *owner {
                return true;
            }
            next = self.above(above);
        }
        false
    }

    fn above(&self, holder: Holder) -> Option<Holder> {
        match holder {
            Holder::Leg(at) => Some(Holder::Frame(at.job.frame)),
            Holder::Frame(frame) => self.frame(frame).caller.map(Holder::Leg),
        }
    }

    /// Ends a holder that waits for its group and will never get it.
    fn refuse(&mut self, holder: Holder, reason: String) {
        match holder {
            Holder::Leg(at) => self.conclude_leg(at, Conclusion::Cancelled, reason),
            Holder::Frame(frame) => {
                self.frames[frame.0].phase = FramePhase::Closed;
                if let Some(next) = self.registry.release(&holder) {
                    self.granted.push_back(next);
                }
                if let Some(caller) = self.frame(frame).caller {
                    self.conclude_leg(caller, Conclusion::Cancelled, reason);
                }
            }
        }
    }

    fn stop(&mut self, holder: Holder, reason: &CancelReason) {
        match holder {
            Holder::Leg(at) => self.cancel_leg(at, reason),
            Holder::Frame(frame) => self.cancel_frame(frame, reason),
        }
    }

    /// Cancels one leg whatever its condition says; a workflow that it calls is cancelled as a run is.
    pub(super) fn cancel_leg(&mut self, at: LegRef, reason: &CancelReason) {
        match self.leg(at).phase {
            LegPhase::Queued | LegPhase::Blocked => {
                self.conclude_leg(at, Conclusion::Cancelled, text(reason));
            }
            LegPhase::Running if !self.leg(at).cancelling => {
                self.leg_mut(at).cancelling = true;
                let key = self.leg(at).key.clone();
                self.effects.push(Effect::Cancel {
                    key,
                    reason: reason.clone(),
                });
            }
            LegPhase::Calling(frame) => self.cancel_frame(frame, reason),
            LegPhase::Running | LegPhase::Done(_) => {}
        }
    }

    /// Cancels the jobs of a frame whose conditions do not hold any more.
    ///
    /// Jobs that wait for others stay: they are decided on when their turn comes.
    pub(super) fn cancel_frame(&mut self, id: FrameId, reason: &CancelReason) {
        self.frames[id.0].cancelled = true;
        if self.frame(id).phase == FramePhase::Blocked {
            self.refuse(Holder::Frame(id), text(reason));
            return;
        }
        for job in 0..self.frame(id).jobs.len() {
            let at = JobRef { frame: id, job };
            if self.job(at).phase != JobPhase::Expanded {
                continue;
            }
            let stays = matches!(self.decide(at), Ok(Decision::Run));
            for leg in 0..self.job(at).legs.len() {
                let at = LegRef { job: at, leg };
                match self.leg(at).phase {
                    // Whether the jobs of a called workflow stay is their own matter.
                    LegPhase::Calling(frame) => self.cancel_frame(frame, reason),
                    _ if stays => {}
                    _ => self.cancel_leg(at, reason),
                }
            }
        }
    }

    /// Ends one thing that can never go on, so that the run finishes.
    pub(super) fn break_deadlock(&mut self) {
        let reason = "Canceling since a deadlock between concurrency groups was detected".to_owned();
        for frame in (0..self.frames.len()).map(FrameId) {
            if self.frame(frame).phase == FramePhase::Blocked {
                return self.refuse(Holder::Frame(frame), reason);
            }
            for job in 0..self.frame(frame).jobs.len() {
                let job = JobRef { frame, job };
                let blocked = self
                    .job(job)
                    .legs
                    .iter()
                    .position(|leg| leg.phase == LegPhase::Blocked);
                if let Some(leg) = blocked {
                    return self.refuse(Holder::Leg(LegRef { job, leg }), reason);
                }
            }
        }
        self.break_cycle();
    }

    /// Ends a job that waits for itself; the parser lets no such workflow through.
    fn break_cycle(&mut self) {
        for frame in (0..self.frames.len()).map(FrameId) {
            for job in 0..self.frame(frame).jobs.len() {
                let at = JobRef { frame, job };
                if self.frame(frame).phase == FramePhase::Open && self.job(at).phase == JobPhase::Waiting {
                    return self.conclude_job(at, Conclusion::Failure, "it waits for itself".to_owned());
                }
            }
        }
        self.work.push_back(Work::Close(FrameId::ROOT));
    }
}

fn superseded(group: &str) -> String {
    format!("Canceling since a higher priority waiting request for '{group}' exists")
}

fn text(reason: &CancelReason) -> String {
    match reason {
        CancelReason::FailFast => "another job of the matrix failed".to_owned(),
        CancelReason::Concurrency(group) => superseded(group),
        CancelReason::Requested => "the run was cancelled".to_owned(),
    }
}
