//! From observations and events to a record.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use gantry_actors::engine::expr::Explanation;
use gantry_actors::engine::mask::Masks;
use gantry_actors::engine::plan::JobCondition;
use gantry_actors::engine::run::{self, Observation, ObservedJob, Observer, OpenedStep};
use gantry_actors::local::{Event, JobRef};

use super::{Condition, Job, Operand, Origin, Part, Record, Step, VERSION, Variable};
use crate::render::time::rfc3339;

/// So many bytes of text are kept; what comes after them is not. Escaped as JSON they can be read again.
const MAX_BYTES: usize = 5 << 20;

/// Keeps what is observed of a run.
#[derive(Debug)]
pub struct Recorder {
    /// The secrets of the command line, for what is said of jobs that never ran.
    masks: Masks,
    book: Mutex<Book>,
}

#[derive(Debug)]
struct Book {
    record: Record,
    /// Where each job stands in the record, and what is open in it.
    jobs: HashMap<ObservedJob, Place>,
    bytes_left: usize,
}

#[derive(Debug, Default)]
struct Place {
    /// Its index among the jobs of the record.
    index: usize,
    /// The steps that have begun and not ended: for each its index among the steps of the one around, and its start.
    open: Vec<(usize, SystemTime)>,
}

impl Recorder {
    /// Begins the record of a run of `directory` for an event.
    pub fn new(directory: String, event: String, masks: Masks) -> Self {
        let record = Record {
            version: VERSION,
            directory,
            event,
            ..Record::default()
        };
        Self {
            masks,
            book: Mutex::new(Book {
                record,
                jobs: HashMap::new(),
                bytes_left: MAX_BYTES,
            }),
        }
    }

    /// Takes an event.
    pub fn event(&self, event: &Event) {
        let mut book = self.book();
        match event {
            Event::RunStarted { time, .. } if book.record.started.is_empty() => {
                book.record.started = rfc3339(*time);
            }
            Event::JobStarted { job, .. } => {
                self.job(&mut book, job);
            }
            Event::JobSkipped {
                job,
                conclusion,
                reason,
                conditions,
                ..
            } => {
                let conditions = book.conditions(conditions);
                let job = self.job(&mut book, job);
                job.conclusion = Some(conclusion.as_str().to_owned());
                job.reason = Some(reason.clone());
                job.conditions = conditions;
            }
            Event::JobFinished {
                job,
                conclusion,
                tolerated,
                duration,
                ..
            } => {
                let job = self.job(&mut book, job);
                job.conclusion = Some(conclusion.as_str().to_owned());
                job.tolerated = *tolerated;
                job.seconds = Some(duration.as_secs_f64());
            }
            _ => {}
        }
    }

    /// Takes the record.
    pub fn take(&self) -> Record {
        mem::take(&mut self.book().record)
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job of an event, whose names only events know.
    fn job<'b>(&self, book: &'b mut Book, job: &JobRef) -> &'b mut Job {
        let mask = |text: &Arc<str>| self.masks.mask(text).into_owned();
        let observed = ObservedJob {
            run: job.run.index,
            key: Arc::clone(&job.key),
        };
        let recorded = book.job(&observed);
        if recorded.name.is_empty() {
            recorded.workflow = mask(&job.run.title);
            recorded.key = mask(&job.key);
            recorded.name = mask(&job.name);
        }
        recorded
    }
}

impl Observer for Recorder {
    fn observe(&self, job: &ObservedJob, observation: Observation) {
        let mut book = self.book();
        match observation {
            Observation::Planned(conditions) => {
                book.job(job).conditions = book.conditions(&conditions);
            }
            Observation::StepOpened(step) => book.open(job, step),
            Observation::Condition(explanation) => {
                let condition = book.condition(None, &explanation);
                if let Some(step) = book.step(job) {
                    step.condition = condition;
                }
            }
            Observation::Environment(variables) => {
                let length = |variable: &run::Variable| variable.name.len() + variable.value.len() + 32;
                if book.takes(variables.iter().map(length).sum())
                    && let Some(step) = book.step(job)
                {
                    step.env = variables.into_iter().map(variable).collect();
                }
            }
            Observation::StepClosed {
                outcome,
                conclusion,
                at,
            } => book.close(job, outcome.as_str(), conclusion.as_str(), at),
            Observation::Phase { .. } => {}
        }
    }
}

impl Book {
    fn place(&mut self, job: &ObservedJob) -> &mut Place {
        let jobs = &mut self.record.jobs;
        self.jobs.entry(job.clone()).or_insert_with(|| {
            jobs.push(Job::default());
            Place {
                index: jobs.len() - 1,
                open: Vec::new(),
            }
        })
    }

    fn job(&mut self, job: &ObservedJob) -> &mut Job {
        let index = self.place(job).index;
        &mut self.record.jobs[index]
    }

    /// Says whether so many bytes still have room.
    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.bytes_left.checked_sub(bytes);
        self.record.truncated |= left.is_none();
        self.bytes_left = left.unwrap_or(0);
        left.is_some()
    }

    /// The step that was opened last; none if it had no room.
    fn step(&mut self, job: &ObservedJob) -> Option<&mut Step> {
        let place = self.jobs.get(job)?;
        let mut steps = &mut self.record.jobs.get_mut(place.index)?.steps;
        let ((last, _), around) = place.open.split_last()?;
        for (index, _) in around {
            steps = &mut steps.get_mut(*index)?.steps;
        }
        steps.get_mut(*last)
    }

    fn open(&mut self, job: &ObservedJob, opened: OpenedStep) {
        let OpenedStep {
            depth,
            index,
            part,
            id,
            name,
            line,
            at,
        } = opened;
        // A step that a bug of ours has ended was never closed.
        self.place(job).open.truncate(depth);
        let has_room = self.takes(name.len() + 128);
        let around = self.step(job);
        let number = around.as_ref().map_or_else(
            || (index + 1).to_string(),
            |step| format!("{}.{}", step.number, step.steps.len() + 1),
        );
        let step = Step {
            number,
            part: part_of(part),
            id,
            name,
            line,
            outcome: None,
            conclusion: None,
            seconds: None,
            condition: None,
            env: Vec::new(),
            steps: Vec::new(),
        };
        let steps = match around {
            Some(around) => &mut around.steps,
            None => &mut self.job(job).steps,
        };
        let index = steps.len();
        if has_room {
            steps.push(step);
        }
        self.place(job).open.push((index, at));
    }

    fn close(&mut self, job: &ObservedJob, outcome: &str, conclusion: &str, at: SystemTime) {
        let since = self
            .jobs
            .get(job)
            .and_then(|place| place.open.last())
            .map_or(at, |(_, since)| *since);
        if let Some(step) = self.step(job) {
            step.outcome = Some(outcome.to_owned());
            step.conclusion = Some(conclusion.to_owned());
            step.seconds = at.duration_since(since).ok().map(|took| took.as_secs_f64());
        }
        self.place(job).open.pop();
    }

    fn conditions(&mut self, conditions: &[JobCondition]) -> Vec<Condition> {
        let mut condition = |condition: &JobCondition| {
            let key = condition.key.clone();
            self.condition(Some(key), &condition.explanation)
        };
        conditions.iter().filter_map(&mut condition).collect()
    }

    fn condition(&mut self, job: Option<String>, explanation: &Explanation) -> Option<Condition> {
        let operands = explanation.operands.iter();
        let bytes: usize = operands
            .clone()
            .map(|operand| operand.text.len() + operand.value.len() + 32)
            .sum();
        if !self.takes(bytes + explanation.condition.len() + 64) {
            return None;
        }
        Some(Condition {
            job,
            text: explanation.condition.clone(),
            holds: explanation.answer.as_ref().ok().copied(),
            error: explanation.answer.as_ref().err().cloned(),
            operands: operands
                .map(|operand| Operand {
                    text: operand.text.clone(),
                    value: operand.value.clone(),
                })
                .collect(),
        })
    }
}

fn part_of(part: run::Part) -> Part {
    match part {
        run::Part::Pre => Part::Pre,
        run::Part::Main => Part::Main,
        run::Part::Post => Part::Post,
    }
}

fn variable(variable: run::Variable) -> Variable {
    let mut step = None;
    let origin = match variable.origin {
        run::Origin::Written { index, name } => {
            step = Some(format!("{} {name}", index + 1));
            Origin::GithubEnv
        }
        run::Origin::Sandbox => Origin::Sandbox,
        run::Origin::Given => Origin::Given,
        run::Origin::Workflow => Origin::Workflow,
        run::Origin::Job => Origin::Job,
        run::Origin::Composite => Origin::Composite,
        run::Origin::Step => Origin::Step,
        run::Origin::Action => Origin::Action,
        run::Origin::State => Origin::State,
        run::Origin::Input => Origin::Input,
        run::Origin::Path => Origin::GithubPath,
        run::Origin::GitHub => Origin::Github,
        run::Origin::Runner => Origin::Runner,
        run::Origin::Files => Origin::Files,
        run::Origin::Gantry => Origin::Gantry,
    };
    Variable {
        name: variable.name,
        value: variable.value,
        origin,
        step,
    }
}
