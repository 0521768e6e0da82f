//! The data of a run: frames, their jobs, and the jobs' legs.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::super::{Conclusion, matrix};
use crate::expr::{Explanation, Object};
use crate::model::{Job, Workflow, WorkflowRef};

/// The number of a frame in its run. Frames are never removed, so a number stays valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FrameId(pub usize);

impl FrameId {
    /// The frame of the workflow that the run is for.
    pub const ROOT: Self = Self(0);
}

/// A job of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct JobRef {
    pub frame: FrameId,
    pub job: usize,
}

/// A leg of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LegRef {
    pub job: JobRef,
    pub leg: usize,
}

/// Who may hold a concurrency group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    /// A workflow, by its `concurrency`.
    Frame(FrameId),
    /// A leg of a job, by the job's `concurrency`.
    Leg(LegRef),
}

/// One workflow within a run: the root, or a reusable one for one leg that calls it.
#[derive(Debug)]
pub(super) struct Frame {
    pub workflow: Arc<Workflow>,
    /// Where the workflow comes from, if it was called; local references in it mean the same repository.
    pub reference: Option<WorkflowRef>,
    pub inputs: Arc<Object>,
    pub secrets: Arc<Object>,
    /// The leg that called the workflow.
    pub caller: Option<LegRef>,
    /// What stands before the keys and names of its jobs.
    pub key_prefix: String,
    pub name_prefix: String,
    pub phase: FramePhase,
    pub cancelled: bool,
    /// How many jobs are not done.
    pub open_jobs: usize,
    pub jobs: Vec<JobNode>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FramePhase {
    /// Has not asked for its concurrency group yet.
    New,
    /// Waits for its concurrency group.
    Blocked,
    /// Its jobs are decided on and run.
    Open,
    /// All its jobs are done, or it never got its turn.
    Closed,
}

/// A job with its place in the graph.
#[derive(Debug)]
pub(super) struct JobNode {
    pub job: Arc<Job>,
    /// Direct needs, as indices into the frame's jobs.
    pub needs: Vec<usize>,
    pub dependents: Vec<usize>,
    /// How many needs are not done.
    pub missing: usize,
    pub phase: JobPhase,
    pub fail_fast: bool,
    pub max_parallel: usize,
    pub legs: Vec<LegNode>,
    /// Outputs of all legs; the last that is not empty counts.
    pub outputs: IndexMap<String, String>,
    /// What its condition came to when it was its turn.
    pub explanation: Option<Arc<Explanation>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobPhase {
    Waiting,
    Expanded,
    Done(Conclusion),
}

/// One leg of a job.
#[derive(Debug)]
pub(super) struct LegNode {
    pub leg: matrix::Leg,
    pub key: String,
    /// The name that a person sees, with those of the callers before it.
    pub name: String,
    pub phase: LegPhase,
    /// `continue-on-error`: a failure counts as success.
    pub tolerated: bool,
    /// It was told to end.
    pub cancelling: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LegPhase {
    /// Waits for `max-parallel`.
    Queued,
    /// Waits for its concurrency group.
    Blocked,
    Running,
    Calling(FrameId),
    Done(Conclusion),
}

impl Frame {
    /// The frame of a workflow that nobody calls, with the selected jobs only.
    pub fn new(
        workflow: Arc<Workflow>,
        selected: &[Arc<Job>],
        inputs: Arc<Object>,
        secrets: Arc<Object>,
    ) -> Self {
        let jobs = nodes(selected);
        Self {
            workflow,
            reference: None,
            inputs,
            secrets,
            caller: None,
            key_prefix: String::new(),
            name_prefix: String::new(),
            phase: FramePhase::New,
            cancelled: false,
            open_jobs: jobs.len(),
            jobs,
        }
    }

    /// How the workflow ended, of the conclusions of its jobs.
    pub fn conclusion(&self) -> Conclusion {
        merge(self.jobs.iter().filter_map(|node| match node.phase {
            JobPhase::Done(conclusion) => Some(conclusion),
            _ => None,
        }))
    }

    /// The jobs that `job` needs, directly or not.
    pub fn ancestors(&self, job: usize) -> Vec<usize> {
        let mut seen = vec![false; self.jobs.len()];
        let mut found = Vec::new();
        let mut open = self.jobs[job].needs.clone();
        while let Some(next) = open.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                found.push(next);
                open.extend(&self.jobs[next].needs);
            }
        }
        found
    }
}

impl JobNode {
    /// Merges the outputs of a leg: the leg that finishes last wins, but an empty output hides none that another leg
    /// has set.
    pub fn take_outputs(&mut self, outputs: IndexMap<String, String>) {
        for (name, value) in outputs {
            if !value.is_empty() || !self.outputs.contains_key(&name) {
                self.outputs.insert(name, value);
            }
        }
    }
}

impl LegNode {
    /// The conclusion that counts for needs and for the run.
    pub fn effective(&self) -> Option<Conclusion> {
        match self.phase {
            LegPhase::Done(Conclusion::Failure) if self.tolerated => Some(Conclusion::Success),
            LegPhase::Done(conclusion) => Some(conclusion),
            _ => None,
        }
    }

    /// Tells whether the leg takes one of the places that `max-parallel` gives.
    pub fn is_active(&self) -> bool {
        matches!(
            self.phase,
            LegPhase::Blocked | LegPhase::Running | LegPhase::Calling(_)
        )
    }
}

/// Failure outweighs cancellation, which outweighs success; skipped is only what is skipped as a whole.
pub(super) fn merge(conclusions: impl Iterator<Item = Conclusion>) -> Conclusion {
    let weight = |conclusion: &Conclusion| match conclusion {
        Conclusion::Skipped => 0,
        Conclusion::Success => 1,
        Conclusion::Cancelled => 2,
        Conclusion::Failure => 3,
    };
    conclusions.max_by_key(weight).unwrap_or(Conclusion::Skipped)
}

/// Makes the graph of `jobs`; needs outside of them are ignored, which the parser has made impossible.
pub(super) fn nodes(jobs: &[Arc<Job>]) -> Vec<JobNode> {
    let indices: HashMap<&str, usize> = jobs
        .iter()
        .enumerate()
        .map(|(index, job)| (job.id.as_str(), index))
        .collect();
    let mut nodes: Vec<JobNode> = jobs.iter().map(|job| node(job, &indices)).collect();
    for index in 0..nodes.len() {
        for need in nodes[index].needs.clone() {
            nodes[need].dependents.push(index);
        }
    }
    nodes
}

fn node(job: &Arc<Job>, indices: &HashMap<&str, usize>) -> JobNode {
    let mut needs: Vec<usize> = job
        .needs
        .iter()
        .filter_map(|need| indices.get(need.value.as_str()).copied())
        .collect();
    needs.sort_unstable();
    needs.dedup();
    JobNode {
        job: Arc::clone(job),
        missing: needs.len(),
        needs,
        dependents: Vec::new(),
        phase: JobPhase::Waiting,
        fail_fast: true,
        max_parallel: usize::MAX,
        legs: Vec::new(),
        outputs: IndexMap::new(),
        explanation: None,
    }
}
