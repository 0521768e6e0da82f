//! Which jobs are ready, which run, and what their ends mean, without a clock and without a channel.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use gantry_engine::plan::concurrency::{Admission, Registry};
use gantry_engine::plan::graph::{Effect as RunEffect, JobResult, PlannedJob};
use gantry_engine::plan::{Conclusion, JobCondition, JobPlan};
use gantry_protocols::forge::TaskId;

use super::{JobRef, PlannedRun, RunRef};

/// What the forge is to do.
#[derive(Debug)]
#[must_use]
pub enum Effect {
    /// A job can be claimed.
    Offer {
        /// Its number.
        task: TaskId,
        /// Its plan.
        plan: Box<JobPlan>,
    },
    /// A job that was claimed is to be cancelled.
    Cancel(TaskId),
    /// A job has ended that never ran.
    Skipped {
        /// The job.
        job: JobRef,
        /// How it ended.
        conclusion: Conclusion,
        /// Why.
        reason: String,
        /// The conditions behind it.
        conditions: Vec<JobCondition>,
    },
    /// A run has ended.
    RunFinished(RunRef, Conclusion),
}

/// All runs of one `exec`.
pub struct State {
    runs: Vec<(RunRef, PlannedRun, Option<Conclusion>)>,
    jobs: BTreeMap<TaskId, JobRef>,
    /// The jobs whose failure does not fail their run.
    tolerant: BTreeSet<TaskId>,
    offered: VecDeque<TaskId>,
    next_task: i64,
    /// The concurrency groups of whole workflows; those of jobs are kept by each run.
    groups: Registry<usize>,
    /// The runs whose turn it is.
    due: VecDeque<usize>,
}

impl State {
    /// Nothing has started yet.
    pub fn new(runs: Vec<PlannedRun>) -> Self {
        let runs = runs
            .into_iter()
            .enumerate()
            .map(|(index, planned)| {
                let run = RunRef {
                    index,
                    title: Arc::from(planned.title.as_str()),
                };
                (run, planned, None)
            })
            .collect();
        Self {
            runs,
            jobs: BTreeMap::new(),
            tolerant: BTreeSet::new(),
            offered: VecDeque::new(),
            next_task: 1,
            groups: Registry::default(),
            due: VecDeque::new(),
        }
    }

    /// The runs by name, each with its jobs as they are written.
    pub fn runs(&self) -> Vec<(RunRef, Vec<PlannedJob>)> {
        let of = |(run, planned, _): &(RunRef, PlannedRun, _)| (run.clone(), planned.run.planned_jobs());
        self.runs.iter().map(of).collect()
    }

    /// How each run ended; one that has not is cancelled.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        self.runs
            .iter()
            .map(|(.., conclusion)| conclusion.unwrap_or(Conclusion::Cancelled))
            .collect()
    }

    /// Tells whether every run has ended.
    pub fn is_over(&self) -> bool {
        self.runs.iter().all(|(.., conclusion)| conclusion.is_some())
    }

    /// The job behind a number.
    pub fn job(&self, task: TaskId) -> Option<&JobRef> {
        self.jobs.get(&task)
    }

    /// Tells whether the failure of a job does not fail its run.
    pub fn tolerates(&self, task: TaskId) -> bool {
        self.tolerant.contains(&task)
    }

    /// Starts all runs.
    pub fn on_start(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for index in 0..self.runs.len() {
            self.admit(index, &mut effects);
        }
        self.start_due(&mut effects);
        effects
    }

    /// Hands out at most `capacity` jobs.
    pub fn on_claim(&mut self, capacity: usize) -> Vec<TaskId> {
        let count = capacity.min(self.offered.len());
        self.offered.drain(..count).collect()
    }

    /// A claimed job has ended.
    pub fn on_completed(&mut self, task: TaskId, result: JobResult) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.conclude(task, result, &mut effects);
        self.start_due(&mut effects);
        effects
    }

    /// Somebody cancels all runs.
    pub fn on_cancel(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for index in 0..self.runs.len() {
            self.cancel_run(index, &mut effects);
        }
        self.start_due(&mut effects);
        effects
    }

    /// Lets a run start, or wait for its turn in the group of its workflow.
    fn admit(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let group = self
            .runs
            .get(index)
            .and_then(|(_, planned, _)| planned.run.concurrency().cloned());
        let Some(group) = group else {
            self.due.push_back(index);
            return;
        };
        match self.groups.request(index, &group.group, group.cancel_in_progress) {
            Admission::Granted => self.due.push_back(index),
            Admission::Queued { replaced, cancel } => {
                // A run that never gets its turn ends as soon as it starts.
                self.due.extend(replaced);
                for other in replaced.into_iter().chain(cancel) {
                    self.cancel_run(other, effects);
                }
            }
        }
    }

    fn start_due(&mut self, effects: &mut Vec<Effect>) {
        while let Some(index) = self.due.pop_front() {
            let Some((_, planned, _)) = self.runs.get_mut(index) else {
                continue;
            };
            let started = planned.run.start();
            self.translate(index, started, effects);
        }
    }

    fn cancel_run(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let Some((_, planned, _)) = self.runs.get_mut(index) else {
            return;
        };
        let cancelled = planned.run.on_cancel();
        self.translate(index, cancelled, effects);
    }

    fn conclude(&mut self, task: TaskId, result: JobResult, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.remove(&task) else {
            return;
        };
        let index = job.run.index;
        let Some((_, planned, _)) = self.runs.get_mut(index) else {
            return;
        };
        let finished = planned.run.on_job_finished(&job.key, result);
        self.translate(index, finished, effects);
    }

    /// A queue takes the place of recursion: the end of an offered job that is cancelled may end others.
    fn translate(&mut self, index: usize, run_effects: Vec<RunEffect>, effects: &mut Vec<Effect>) {
        let mut queue = VecDeque::from(run_effects);
        while let Some(effect) = queue.pop_front() {
            let Some(run) = self.runs.get(index).map(|(run, ..)| run.clone()) else {
                return;
            };
            match effect {
                RunEffect::Start(plan) => effects.push(self.offer(run, plan)),
                RunEffect::Cancel { key, .. } => queue.extend(self.cancel(index, &key, effects)),
                RunEffect::Concluded {
                    key,
                    name,
                    conclusion,
                    reason,
                    conditions,
                } => {
                    let job = JobRef {
                        run,
                        key: Arc::from(key),
                        name: Arc::from(name),
                    };
                    effects.push(Effect::Skipped {
                        job,
                        conclusion,
                        reason,
                        conditions,
                    });
                }
                RunEffect::Finished(conclusion) => {
                    if let Some((.., slot)) = self.runs.get_mut(index) {
                        *slot = Some(conclusion);
                    }
                    effects.push(Effect::RunFinished(run, conclusion));
                    self.due.extend(self.groups.release(&index));
                }
            }
        }
    }

    fn offer(&mut self, run: RunRef, mut plan: Box<JobPlan>) -> Effect {
        plan.run = run.index;
        let task = TaskId(self.next_task);
        self.next_task += 1;
        let job = JobRef {
            run,
            key: Arc::from(plan.key.as_str()),
            name: Arc::from(plan.name.as_str()),
        };
        self.jobs.insert(task, job);
        if plan.continue_on_error {
            self.tolerant.insert(task);
        }
        self.offered.push_back(task);
        Effect::Offer { task, plan }
    }

    /// Cancels a job: one that nobody has claimed ends at once.
    fn cancel(&mut self, index: usize, key: &str, effects: &mut Vec<Effect>) -> Vec<RunEffect> {
        let found = self
            .jobs
            .iter()
            .find(|(_, job)| job.run.index == index && &*job.key == key);
        let Some(task) = found.map(|(task, _)| *task) else {
            return Vec::new();
        };
        if !self.offered.contains(&task) {
            effects.push(Effect::Cancel(task));
            return Vec::new();
        }
        self.offered.retain(|offered| *offered != task);
        let Some(job) = self.jobs.remove(&task) else {
            return Vec::new();
        };
        let reason = "it was cancelled before it started".to_owned();
        effects.push(Effect::Skipped {
            job,
            conclusion: Conclusion::Cancelled,
            reason,
            conditions: Vec::new(),
        });
        let Some((_, planned, _)) = self.runs.get_mut(index) else {
            return Vec::new();
        };
        let result = JobResult {
            conclusion: Conclusion::Cancelled,
            outputs: indexmap::IndexMap::new(),
        };
        planned.run.on_job_finished(key, result)
    }
}

#[cfg(test)]
mod tests {
    use gantry_engine::expr::Object;
    use gantry_engine::model::Workflow;
    use gantry_engine::plan::graph::{Library, Run, RunSpec};
    use indexmap::IndexMap;

    use super::*;

    fn run(title: &str, concurrency: &str) -> PlannedRun {
        let text = format!(
            "on: push\nconcurrency: {concurrency}\njobs: {{j: {{runs-on: x, steps: [{{run: a}}]}}}}\n"
        );
        let workflow = Arc::new(Workflow::parse("w.yml", &text).unwrap());
        let empty: Arc<Object> = Arc::default();
        let spec = RunSpec {
            workflow,
            workflows: &Library::default(),
            github: empty.clone(),
            vars: empty.clone(),
            inputs: empty.clone(),
            secrets: empty,
            only: None,
        };
        PlannedRun {
            title: title.to_owned(),
            run: Run::new(spec).unwrap(),
        }
    }

    fn show(effects: &[Effect]) -> Vec<String> {
        let text = |effect: &Effect| match effect {
            Effect::Offer { task, .. } => format!("offer {task}"),
            Effect::Cancel(task) => format!("cancel {task}"),
            Effect::Skipped { job, conclusion, .. } => format!("{}: {}", job.run.title, conclusion.as_str()),
            Effect::RunFinished(run, conclusion) => format!("{} ended: {}", run.title, conclusion.as_str()),
        };
        effects.iter().map(text).collect()
    }

    fn success() -> JobResult {
        JobResult {
            conclusion: Conclusion::Success,
            outputs: IndexMap::new(),
        }
    }

    #[test]
    fn runs_of_one_group_wait_for_each_other_and_the_newest_replaces_who_waits() {
        let mut state = State::new(vec![
            run("a", "g"),
            run("b", "G"),
            run("c", "g"),
            run("d", "other"),
        ]);
        let effects = show(&state.on_start());
        assert_eq!(
            effects,
            ["offer 1", "b: skipped", "b ended: cancelled", "offer 2"]
        );
        assert_eq!(state.on_claim(2), [TaskId(1), TaskId(2)]);
        assert_eq!(
            show(&state.on_completed(TaskId(1), success())),
            ["a ended: success", "offer 3"]
        );
        assert_eq!(
            show(&state.on_completed(TaskId(2), success())),
            ["d ended: success"]
        );
        assert_eq!(state.on_claim(9), [TaskId(3)]);
        assert_eq!(
            show(&state.on_completed(TaskId(3), success())),
            ["c ended: success"]
        );
        assert!(state.is_over());
    }

    #[test]
    fn a_cancel_ends_what_nobody_has_claimed_and_asks_for_the_rest() {
        let mut state = State::new(vec![run("a", "x"), run("b", "y")]);
        assert_eq!(show(&state.on_start()), ["offer 1", "offer 2"]);
        assert_eq!(state.on_claim(1), [TaskId(1)]);
        assert_eq!(
            show(&state.on_cancel()),
            ["cancel 1", "b: cancelled", "b ended: cancelled"]
        );
        let cancelled = JobResult {
            conclusion: Conclusion::Cancelled,
            outputs: IndexMap::new(),
        };
        assert_eq!(
            show(&state.on_completed(TaskId(1), cancelled)),
            ["a ended: cancelled"]
        );
    }
}
