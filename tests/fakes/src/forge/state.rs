//! The server's memory, and how runs begin and end in it. Time is an argument.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use super::fault::Faults;
use super::journal::{Call, Method};
use super::record::{Job, Row, Run, Runner, Status, Task, Trigger};
use super::rules::{Feature, Rules};
use super::runners::Registration;
use super::workflow;

/// What a repository holds for its jobs.
#[derive(Debug, Clone, Default)]
pub struct Repository {
    /// Files by their paths.
    pub files: BTreeMap<String, String>,
    /// Secrets by their names.
    pub secrets: BTreeMap<String, String>,
    /// Variables by their names.
    pub vars: BTreeMap<String, String>,
}

/// Everything that the server knows.
pub struct State {
    pub(super) rules: Rules,
    /// The server's address with a slash at its end.
    pub(super) url: String,
    /// What the REST interface wants to see.
    pub(super) admin_token: String,
    pub(super) tasks_version: i64,
    pub(super) registrations: BTreeMap<String, Registration>,
    pub(super) repositories: BTreeMap<String, Repository>,
    pub(super) runners: Vec<Runner>,
    pub(super) runs: Vec<Run>,
    pub(super) jobs: Vec<Job>,
    pub(super) tasks: BTreeMap<i64, Task>,
    /// The tasks that were handed out for a runner's request key.
    pub(super) by_key: BTreeMap<(i64, String), Vec<i64>>,
    pub(super) locked_keys: BTreeSet<(i64, String)>,
    pub(super) calls: Vec<Call>,
    pub(super) faults: Faults,
}

impl State {
    pub(super) fn new(rules: Rules, url: String) -> Self {
        Self {
            rules,
            url,
            admin_token: super::random_token(),
            // A server that counts versions answers at least 1.
            tasks_version: 1,
            registrations: BTreeMap::new(),
            repositories: BTreeMap::new(),
            runners: Vec::new(),
            runs: Vec::new(),
            jobs: Vec::new(),
            tasks: BTreeMap::new(),
            by_key: BTreeMap::new(),
            locked_keys: BTreeSet::new(),
            calls: Vec::new(),
            faults: Faults::default(),
        }
    }

    /// The runners that are registered now.
    pub fn runners(&self) -> impl Iterator<Item = &Runner> {
        self.runners.iter().filter(|runner| runner.removed.is_none())
    }

    /// A runner that is registered now, by its name.
    pub fn runner(&self, name: &str) -> Option<&Runner> {
        self.runners().find(|runner| runner.name == name)
    }

    /// The runs in the order in which they were made.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The jobs of all runs, in the order in which they were made.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// The jobs of a run.
    pub fn jobs_of(&self, run: i64) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(move |job| job.run == run)
    }

    /// The newest job with this name, as people see it.
    pub fn job(&self, name: &str) -> Option<&Job> {
        self.jobs.iter().rev().find(|job| job.name == name)
    }

    /// The tasks in the order in which they were handed out.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// A task by its number.
    pub fn task(&self, id: i64) -> Option<&Task> {
        self.tasks.get(&id)
    }

    /// The task of the newest job with this name.
    pub fn task_of(&self, job: &str) -> Option<&Task> {
        self.task(self.job(job)?.task?)
    }

    /// The texts of the rows of the newest job with this name.
    pub fn log_of(&self, job: &str) -> Vec<String> {
        let rows = self.task_of(job).map(|task| task.rows.as_slice());
        rows.unwrap_or_default()
            .iter()
            .map(|row: &Row| row.content.clone())
            .collect()
    }

    /// How all jobs of a run stand together.
    pub fn status_of(&self, run: i64) -> Status {
        Status::together(self.jobs_of(run).map(Job::counted))
    }

    /// Every call so far, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// How many calls of a method there were.
    pub fn count(&self, method: Method) -> usize {
        self.calls.iter().filter(|call| call.method == method).count()
    }

    /// The version of the queue.
    pub fn tasks_version(&self) -> i64 {
        self.tasks_version
    }

    /// A few lines for a test that has failed.
    pub fn describe(&self) -> String {
        let runners = self
            .runners()
            .map(|runner| format!("runner {} {:?}", runner.name, runner.labels));
        let jobs = self.jobs.iter().map(|job| {
            let task = job.task.and_then(|id| self.task(id));
            let rows = task.map_or(0, |task| task.rows.len());
            format!(
                "job {} {:?} task {:?} rows {rows}",
                job.name, job.status, job.task
            )
        });
        let calls = self.calls.iter().rev().take(20).rev();
        let calls = calls.map(|call| format!("{:?} {:?} -> {:?}", call.method, call.subject, call.status));
        runners.chain(jobs).chain(calls).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn add_run(&mut self, trigger: Trigger, now: SystemTime) -> Result<i64, String> {
        let files = self
            .repositories
            .get(&trigger.repository)
            .map(|kept| kept.files.clone());
        let split = workflow::split(&trigger.text, &self.rules, &files.unwrap_or_default())?;
        let tolerates = self.rules.has(Feature::ToleratedJobs);
        let id = super::number(self.runs.len()) + 1;
        let of_repository = self
            .runs
            .iter()
            .filter(|run| run.trigger.repository == trigger.repository);
        self.runs.push(Run {
            id,
            number: super::number(of_repository.count()) + 1,
            attempt: 1,
            workflow: split.name.unwrap_or_else(|| trigger.file.clone()),
            trigger,
            created: now,
            outputs: split.outputs,
        });
        for planned in split.jobs {
            let blocked = !planned.needs.is_empty();
            self.jobs.push(Job {
                id: super::number(self.jobs.len()) + 1001,
                run: id,
                key: planned.key,
                scope: planned.scope,
                call: planned.call,
                is_tolerated: planned.is_tolerated && tolerates,
                name: planned.name,
                handle: super::random_uuid(),
                payload: planned.payload,
                runs_on: planned.runs_on,
                needs: planned.needs,
                has_condition: planned.has_condition,
                steps: planned.steps,
                status: if blocked { Status::Blocked } else { Status::Waiting },
                task: None,
                updated: now,
            });
        }
        self.tasks_version += 1;
        Ok(id)
    }

    /// Frees the jobs whose needs are done, or skips them.
    pub(super) fn resolve(&mut self, run: i64, now: SystemTime) {
        while let Some((index, status)) = self.next_resolved(run) {
            self.jobs[index].status = status;
            self.jobs[index].updated = now;
            if status == Status::Waiting {
                self.tasks_version += 1;
            }
        }
    }

    fn next_resolved(&self, run: i64) -> Option<(usize, Status)> {
        let blocked = self.jobs.iter().enumerate();
        let mut blocked = blocked.filter(|(_, job)| job.run == run && job.status == Status::Blocked);
        blocked.find_map(|(index, job)| {
            let needed: Vec<Status> = job.needs.iter().map(|key| self.status_of_key(run, key)).collect();
            let all_done = needed.iter().all(|status| status.is_done());
            let all_well = needed.iter().all(|status| *status == Status::Success);
            let next = if all_well || job.has_condition {
                Status::Waiting
            } else {
                Status::Skipped
            };
            all_done.then_some((index, next))
        })
    }

    /// How all legs of one job of the workflow, or all jobs that it calls, stand together.
    pub(super) fn status_of_key(&self, run: i64, key: &str) -> Status {
        let called = format!("{key}.");
        let legs = self
            .jobs_of(run)
            .filter(|job| job.key == key || job.key.starts_with(&called));
        Status::together(legs.map(Job::counted))
    }

    /// Cancels what is not done of a run.
    pub(super) fn cancel_run(&mut self, run: i64, now: SystemTime) {
        let open: Vec<usize> = (0..self.jobs.len())
            .filter(|index| self.jobs[*index].run == run && !self.jobs[*index].status.is_done())
            .collect();
        for index in open {
            if let Some(task) = self.jobs[index].task {
                self.cancel_task(task, now);
            } else {
                self.jobs[index].status = Status::Cancelled;
                self.jobs[index].updated = now;
            }
        }
        self.resolve(run, now);
    }
}
