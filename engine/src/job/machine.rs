//! Which step comes next, and what a finished step means for the rest of the job.

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;

use super::contexts::{Frame, JobView, SavedStates};
use super::{JobSetup, Status};
use crate::expr::{Object, Value};
use crate::model::{Condition, JobBody, Step};
use crate::plan::{Conclusion, JobPlan};
use crate::run::ActionCall;

/// One step that is to run now.
#[derive(Debug, Clone)]
pub struct StepPlan {
    /// The place of the top-level step in the job, from 0; pre and post work belongs to the step that caused it.
    pub index: usize,
    /// The step as it is written.
    pub step: Arc<Step>,
    /// Which part of it.
    pub work: Work,
    /// The job at this moment.
    pub view: JobView,
    /// The scope of the job's own steps at this moment.
    pub frame: Frame,
}

/// The parts of a step.
#[derive(Debug, Clone)]
pub enum Work {
    /// What the action of the step does before all steps.
    Pre,
    /// What the step is written for.
    Main,
    /// The clean-up of an action that ran in it.
    Post(Arc<PostStep>),
}

/// The clean-up that an action has asked for by starting, in its pre or its main part; runs when all main steps are done, last one first.
#[derive(Debug, Clone)]
pub struct PostStep {
    /// The place of the top-level step that the action ran in.
    pub index: usize,
    /// The name of the action, see [`Frame::instance`].
    pub instance: String,
    /// The display name, `Post <name of the step>`.
    pub name: String,
    /// `post-if`, not wrapped.
    pub condition: Condition,
    /// The scope that the action ran in.
    pub frame: Frame,
    /// The same action with the same inputs and the state that it saved.
    pub call: ActionCall,
}

/// What became of a step.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// The place of the top-level step in the job.
    pub index: usize,
    /// How it ended before `continue-on-error`.
    pub outcome: Conclusion,
    /// How it ended after `continue-on-error`.
    pub conclusion: Conclusion,
    /// Its outputs.
    pub outputs: IndexMap<String, String>,
    /// The job's environment after it, if it wrote to `GITHUB_ENV`.
    pub env: Arc<IndexMap<String, String>>,
    /// The job's path additions after it.
    pub path: Arc<Vec<String>>,
    /// What actions have saved up to its end.
    pub states: Arc<SavedStates>,
    /// The clean-ups that its actions have asked for, in the order in which the actions started.
    pub posts: Vec<PostStep>,
}

/// What [`Machine::advance`] answers.
#[derive(Debug)]
pub enum Next {
    /// Run this.
    Step(Box<StepPlan>),
    /// All steps are done: evaluate the outputs and report.
    Complete,
}

/// The order of a job's steps.
#[derive(Debug)]
pub struct Machine {
    steps: Vec<Arc<Step>>,
    /// The places of the steps whose actions have work to do before all steps.
    pres: VecDeque<usize>,
    next_main: usize,
    posts: Vec<PostStep>,
    view: JobView,
    completed: Arc<Object>,
}

impl Machine {
    /// Makes the machine of a job whose set-up is done.
    pub fn new(plan: &JobPlan, setup: JobSetup, runner: Arc<Object>, job: Arc<Object>) -> Self {
        let steps = match &plan.job.body {
            JobBody::Steps(body) => body.steps.clone(),
            JobBody::Call(_) => Vec::new(),
        };
        let view = JobView {
            fixed: Arc::new(plan.contexts.clone()),
            runner,
            job,
            status: Status::Success,
            env: Arc::new(setup.env),
            path: Arc::default(),
            states: Arc::default(),
            default_shell: setup.defaults.shell,
            default_working_directory: setup.defaults.working_directory,
        };
        Self {
            steps,
            pres: VecDeque::new(),
            next_main: 0,
            posts: Vec::new(),
            view,
            completed: Arc::default(),
        }
    }

    /// Lets the actions of these steps do their work before all steps, in this order.
    pub fn set_pres(&mut self, steps: impl IntoIterator<Item = usize>) {
        self.pres = steps.into_iter().collect();
    }

    /// The next step, in order: pre work, main steps, then the post stack from its top.
    ///
    /// Every step is handed out, also in a job that has failed or was cancelled: its own condition decides.
    pub fn advance(&mut self) -> Next {
        while let Some(index) = self.pres.pop_front() {
            if let Some(step) = self.steps.get(index).cloned() {
                return Next::Step(Box::new(self.plan(index, step, Work::Pre)));
            }
        }
        if let Some(step) = self.steps.get(self.next_main).cloned() {
            let index = self.next_main;
            self.next_main += 1;
            return Next::Step(Box::new(self.plan(index, step, Work::Main)));
        }
        let Some(post) = self.posts.pop() else {
            return Next::Complete;
        };
        let index = post.index;
        match self.steps.get(index).cloned() {
            Some(step) => Next::Step(Box::new(self.plan(index, step, Work::Post(Arc::new(post))))),
            None => Next::Complete,
        }
    }

    /// Takes what a finished step left behind.
    pub fn on_step_finished(&mut self, work: &Work, report: StepReport) {
        self.view.env = report.env;
        self.view.path = report.path;
        self.view.states = report.states;
        if report.conclusion == Conclusion::Failure && self.view.status == Status::Success {
            self.view.status = Status::Failure;
        }
        for post in report.posts {
            // An action that has registered itself in its pre part keeps its place in the stack.
            match self
                .posts
                .iter_mut()
                .find(|known| known.instance == post.instance)
            {
                Some(known) => *known = post,
                None => self.posts.push(post),
            }
        }
        if let (Work::Main, Some(step)) = (work, self.steps.get(report.index)) {
            record_step(
                Arc::make_mut(&mut self.completed),
                &step.id,
                report.outcome,
                report.conclusion,
                &report.outputs,
            );
        }
    }

    /// The job was cancelled or ran out of time; its status is cancelled from now on.
    pub fn on_cancel(&mut self) {
        self.view.status = Status::Cancelled;
    }

    /// Something of the runner's own work for the job failed.
    pub fn on_failure(&mut self) {
        if self.view.status == Status::Success {
            self.view.status = Status::Failure;
        }
    }

    /// Takes what a program of the operator has left behind that ran before the first step.
    pub fn on_hook_finished(&mut self, left: &JobView, failed: bool) {
        self.view.env = left.env.clone();
        self.view.path = left.path.clone();
        if failed {
            self.on_failure();
        }
    }

    /// The job's own steps, in order.
    pub fn steps(&self) -> &[Arc<Step>] {
        &self.steps
    }

    /// The job at this moment.
    pub fn view(&self) -> &JobView {
        &self.view
    }

    /// The scope of the job's own steps at this moment.
    pub fn frame(&self) -> Frame {
        self.view.job_frame(self.completed.clone())
    }

    /// How the job ended, once [`Next::Complete`] was answered.
    pub fn conclusion(&self) -> Conclusion {
        self.view.status.into()
    }

    fn plan(&self, index: usize, step: Arc<Step>, work: Work) -> StepPlan {
        let frame = match &work {
            Work::Pre | Work::Main => self.frame(),
            Work::Post(post) => post.frame.clone(),
        };
        StepPlan {
            index,
            step,
            work,
            view: self.view.clone(),
            frame,
        }
    }
}

/// Adds a completed step to a `steps` context; generated ids have no entry.
pub(crate) fn record_step(
    steps: &mut Object,
    id: &str,
    outcome: Conclusion,
    conclusion: Conclusion,
    outputs: &IndexMap<String, String>,
) {
    if id.starts_with("__") {
        return;
    }
    let mut values = Object::new();
    for (name, value) in outputs {
        values.insert(name.as_str(), Value::from(value.as_str()));
    }
    let mut entry = Object::new();
    entry.insert("outputs", Value::from(values));
    entry.insert("outcome", Value::from(outcome.as_str()));
    entry.insert("conclusion", Value::from(conclusion.as_str()));
    steps.insert(id, Value::from(entry));
}
