//! What is known of the runs, from their events alone.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_actors::engine::plan::Conclusion;
use gantry_actors::engine::plan::graph::PlannedJob;
use gantry_actors::engine::run::ObservedJob;
use gantry_actors::local::{Event, JobRef, RunRef};
use gantry_actors::protocols::forge::LogBatch;

use super::tail::{Log, Tail};

/// Of a step that was cancelled, this many rows are shown: it is rarely to blame.
const ROWS_OF_CANCELLED: usize = 5;

/// How far something has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It runs since then.
    Running(SystemTime),
    /// It has run.
    Ended {
        /// How it ended, before anything tolerated that.
        outcome: Conclusion,
        /// Whether a failure does not count.
        tolerated: bool,
        /// How long it took.
        duration: Duration,
    },
    /// It ended and never ran.
    NeverRan {
        /// How it ended.
        conclusion: Conclusion,
        /// Why, if that is known.
        reason: Option<String>,
    },
}

impl State {
    /// Tells whether it ran and did not end well.
    pub fn is_bad(&self) -> bool {
        let bad = [Conclusion::Failure, Conclusion::Cancelled];
        matches!(self, Self::Ended { outcome, .. } if bad.contains(outcome))
    }
}

/// A workflow that runs.
#[derive(Debug)]
pub struct RunNode {
    /// What a person calls the workflow.
    pub title: Arc<str>,
    /// How far it has come.
    pub state: State,
    /// Its jobs in the order in which they began.
    pub jobs: Vec<JobNode>,
    /// Those that have not begun, in the order of the file.
    waiting: Vec<PlannedJob>,
}

/// A job.
#[derive(Debug)]
pub struct JobNode {
    key: Arc<str>,
    /// The name that a person sees.
    pub name: Arc<str>,
    /// How far it has come.
    pub state: State,
    /// Its steps in the order in which they began; once it has ended, only those that did not end well or never ran.
    pub steps: Vec<StepNode>,
    /// Rows that belong to no step.
    tail: Tail,
}

/// A step.
#[derive(Debug)]
pub struct StepNode {
    index: usize,
    /// The name that a person sees.
    pub name: String,
    /// How far it has come.
    pub state: State,
    /// Its last rows, while it runs.
    pub tail: Tail,
}

/// The log of something that did not end well, to be shown at once.
#[derive(Debug)]
pub struct Expanded {
    /// Workflow, job and step.
    pub title: String,
    /// How it ended.
    pub outcome: Conclusion,
    /// All rows, or as much of them as is worth it.
    pub log: Log,
}

/// All runs.
#[derive(Debug, Default)]
pub struct Model {
    runs: Vec<RunNode>,
}

impl Model {
    /// The runs in order.
    pub fn runs(&self) -> &[RunNode] {
        &self.runs
    }

    /// Takes an event; yields a log if one is to be shown now.
    pub fn on_event(&mut self, event: &Event) -> Option<Expanded> {
        match event {
            Event::RunStarted { run, jobs, time } => self.on_run_started(run, jobs, *time),
            Event::JobStarted { job, time } => self.on_job(job, State::Running(*time)),
            Event::JobSkipped {
                job,
                conclusion,
                reason,
                ..
            } => {
                let (conclusion, reason) = (*conclusion, Some(reason.clone()));
                self.on_job(job, State::NeverRan { conclusion, reason });
            }
            Event::StepStarted {
                job,
                index,
                name,
                time,
            } => self.on_step_started(job, *index, name, *time),
            Event::Rows { job, batch } => self.on_rows(job, batch),
            Event::StepFinished {
                job,
                index,
                outcome,
                conclusion,
                reason,
                duration,
                ..
            } => {
                let state = match outcome {
                    Conclusion::Skipped => State::NeverRan {
                        conclusion: *outcome,
                        reason: reason.clone(),
                    },
                    outcome => State::Ended {
                        outcome: *outcome,
                        tolerated: outcome != conclusion,
                        duration: *duration,
                    },
                };
                return self.on_step_finished(job, *index, state);
            }
            Event::JobFinished {
                job,
                conclusion,
                tolerated,
                duration,
                ..
            } => return self.on_job_finished(job, *conclusion, *tolerated, *duration),
            // They are no part of the tree.
            Event::JobOffered { .. } | Event::Annotation { .. } | Event::Summary { .. } => {}
            Event::RunFinished {
                run,
                conclusion,
                time,
            } => self.on_run_finished(run, *conclusion, *time),
        }
        None
    }

    /// Yields what a person has not seen yet of the running step of a job.
    pub fn on_hold(&mut self, job: &ObservedJob) -> Option<Expanded> {
        let run = self.runs.get_mut(job.run)?;
        let title = Arc::clone(&run.title);
        let node = run.jobs.iter_mut().rev().find(|node| node.key == job.key)?;
        let is_running = |step: &&mut StepNode| matches!(step.state, State::Running(_));
        let (name, tail) = match node.steps.iter_mut().rev().find(is_running) {
            Some(step) => (step.name.as_str(), step.tail.take()),
            None => ("", node.tail.take()),
        };
        let path = [&*title, &*node.name, name];
        let path = path
            .split_last()
            .filter(|(name, _)| name.is_empty())
            .map_or(&path[..], |(_, job)| job);
        Some(Expanded::new(path, Conclusion::Failure, tail))
    }

    fn on_run_started(&mut self, run: &RunRef, jobs: &[PlannedJob], time: SystemTime) {
        // Runs start in the order of their numbers.
        self.runs.push(RunNode {
            title: Arc::clone(&run.title),
            state: State::Running(time),
            jobs: Vec::new(),
            waiting: jobs.to_vec(),
        });
    }

    fn on_run_finished(&mut self, run: &RunRef, outcome: Conclusion, time: SystemTime) {
        let Some(node) = self.runs.get_mut(run.index) else {
            return;
        };
        let State::Running(since) = node.state else { return };
        node.waiting.clear();
        node.state = State::Ended {
            outcome,
            tolerated: false,
            duration: time.duration_since(since).unwrap_or_default(),
        };
    }

    fn on_job(&mut self, job: &JobRef, state: State) {
        if let Some(run) = self.runs.get_mut(job.run.index) {
            run.waiting.retain(|planned| !planned.has(&job.key));
            run.jobs.push(JobNode {
                key: Arc::clone(&job.key),
                name: Arc::clone(&job.name),
                state,
                steps: Vec::new(),
                tail: Tail::default(),
            });
        }
    }

    /// The newest jobs are the busy ones.
    fn job(&mut self, job: &JobRef) -> Option<&mut JobNode> {
        let jobs = &mut self.runs.get_mut(job.run.index)?.jobs;
        jobs.iter_mut().rev().find(|node| node.key == job.key)
    }

    fn on_step_started(&mut self, job: &JobRef, index: usize, name: &str, time: SystemTime) {
        if let Some(node) = self.job(job) {
            node.steps.push(StepNode {
                index,
                name: name.to_owned(),
                state: State::Running(time),
                tail: Tail::default(),
            });
        }
    }

    fn on_rows(&mut self, job: &JobRef, batch: &LogBatch) {
        let Some(node) = self.job(job) else { return };
        match batch.step.and_then(|index| node.step(index)) {
            Some(step) => step.tail.extend(batch),
            None => node.tail.extend(batch),
        }
    }

    fn on_step_finished(&mut self, job: &JobRef, index: usize, state: State) -> Option<Expanded> {
        let step = self.job(job)?.step(index)?;
        step.state = state;
        let tail = std::mem::take(&mut step.tail);
        match step.state {
            State::Ended {
                outcome,
                tolerated: false,
                ..
            } if step.state.is_bad() => {
                let path = [&*job.run.title, &*job.name, step.name.as_str()];
                Some(Expanded::new(&path, outcome, tail))
            }
            _ => None,
        }
    }

    fn on_job_finished(
        &mut self,
        job: &JobRef,
        outcome: Conclusion,
        tolerated: bool,
        duration: Duration,
    ) -> Option<Expanded> {
        let node = self.job(job)?;
        node.state = State::Ended {
            outcome,
            tolerated,
            duration,
        };
        let never_ran = |state: &State| matches!(state, State::NeverRan { .. });
        node.steps
            .retain(|step| step.state.is_bad() || never_ran(&step.state));
        let tail = std::mem::take(&mut node.tail);
        let has_culprit = node.steps.iter().any(|step| step.state.is_bad());
        // Without a step to blame, the reason is among the rows of the job itself.
        (node.state.is_bad() && !has_culprit)
            .then(|| Expanded::new(&[&job.run.title, &job.name], outcome, tail))
    }
}

impl RunNode {
    /// The jobs that have not begun, each with those of its needs that are not over.
    pub fn waiting(&self) -> impl Iterator<Item = (&PlannedJob, Vec<&str>)> {
        self.waiting.iter().map(|job| {
            let needs = job.needs.iter().map(String::as_str);
            (job, needs.filter(|need| self.is_open(need)).collect())
        })
    }

    /// Tells whether a job has not begun or runs.
    fn is_open(&self, id: &str) -> bool {
        let is_running = |job: &JobNode| matches!(job.state, State::Running(_));
        let own = |job: &&JobNode| job.key.split(['(', '.']).next() == Some(id);
        self.waiting.iter().any(|job| job.id == id) || self.jobs.iter().filter(own).any(is_running)
    }
}

impl JobNode {
    fn step(&mut self, index: usize) -> Option<&mut StepNode> {
        self.steps.iter_mut().rev().find(|step| step.index == index)
    }
}

impl Expanded {
    fn new(path: &[&str], outcome: Conclusion, tail: Tail) -> Self {
        Self {
            title: path.join(" / "),
            outcome,
            log: match outcome {
                Conclusion::Cancelled => tail.into_end(ROWS_OF_CANCELLED),
                _ => tail.into_log(),
            },
        }
    }
}
