//! `gantry exec --break-on failure`: a run that holds where a step fails, until a person has decided.
//!
//! ```text
//! engine --FailedStep--> Desk --Question--> Holds --(all rows before it are shown)--> menu --> Decision
//!                                                                                       '--> shell
//! ```

mod menu;
mod shell;
mod terminal;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use gantry_actors::engine::backend::BoxFuture;
use gantry_actors::engine::run::{BREAK_ROW, Breakpoint, Decision, FailedStep, ObservedJob};
use gantry_actors::local::{Event, JobRef};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::render::diagnostic::printable;

pub use terminal::Terminal;

/// More jobs than this that ask at the same time wait for each other.
const QUESTIONS: usize = 16;

/// After so long a person is asked although the row that announces it was not seen: a mask may have hidden it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Takes the questions of jobs.
#[derive(Debug)]
pub struct Desk {
    questions: mpsc::Sender<Question>,
}

/// A failed step, and where the decision goes.
pub struct Question {
    failed: FailedStep,
    answer: oneshot::Sender<Decision>,
}

/// The questions that a person has not been asked yet.
pub struct Holds {
    terminal: Terminal,
    questions: mpsc::Receiver<Question>,
    /// Since when each waits.
    waiting: Vec<(Question, Instant)>,
    /// The jobs whose last row before the question has been shown.
    announced: HashSet<ObservedJob>,
    /// What a person calls each job that runs.
    titles: HashMap<ObservedJob, String>,
}

/// A desk for jobs, and the questions that come to it and are asked at the terminal.
pub fn at(terminal: Terminal) -> (Desk, Holds) {
    let (sender, questions) = mpsc::channel(QUESTIONS);
    let holds = Holds {
        terminal,
        questions,
        waiting: Vec::new(),
        announced: HashSet::new(),
        titles: HashMap::new(),
    };
    (Desk { questions: sender }, holds)
}

impl Breakpoint for Desk {
    fn decide(&self, failed: FailedStep) -> BoxFuture<'_, Decision> {
        let (answer, decision) = oneshot::channel();
        Box::pin(async move {
            if self.questions.send(Question { failed, answer }).await.is_err() {
                return Decision::Continue;
            }
            decision.await.unwrap_or(Decision::Continue)
        })
    }
}

impl std::fmt::Debug for Question {
    /// The environment of a step holds secrets.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Question")
            .field("job", &self.failed.job)
            .finish_non_exhaustive()
    }
}

impl Question {
    /// The job that asks.
    pub fn job(&self) -> &ObservedJob {
        &self.failed.job
    }
}

impl Holds {
    /// Takes note of an event that is shown.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::JobStarted { job, .. } => {
                let title = format!("{}/{}", job.run.title, job.name);
                self.titles.insert(key(job), printable(&title).replace('\n', " "));
            }
            Event::Rows { job, batch } if batch.rows().any(|row| row == BREAK_ROW) => {
                self.announced.insert(key(job));
            }
            Event::JobFinished { job, .. } => {
                self.announced.remove(&key(job));
                self.titles.remove(&key(job));
            }
            _ => {}
        }
    }

    /// Waits until there is one more question; for ever if there will be none.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn arrival(&mut self) {
        match self.questions.recv().await {
            Some(question) => self.waiting.push((question, Instant::now())),
            None => std::future::pending().await,
        }
    }

    /// When a question is to be asked at the latest, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.waiting.iter().map(|(_, since)| *since + PATIENCE).min()
    }

    /// Takes the next question that is to be asked now.
    pub fn due(&mut self) -> Option<Question> {
        while let Ok(question) = self.questions.try_recv() {
            self.waiting.push((question, Instant::now()));
        }
        self.waiting.retain(|(question, _)| !question.answer.is_closed());
        let is_due = |(question, since): &(Question, Instant)| {
            self.announced.contains(question.job()) || since.elapsed() >= PATIENCE
        };
        let index = self.waiting.iter().position(is_due)?;
        let (question, _) = self.waiting.remove(index);
        self.announced.remove(question.job());
        Some(question)
    }

    /// Makes a question ready to be asked; the call blocks until a person has decided or the job is cancelled.
    pub fn asking(&self, question: Question) -> impl FnOnce() + Send + 'static {
        let title = self.titles.get(question.job()).cloned().unwrap_or_default();
        let terminal = self.terminal.clone();
        move || menu::ask(&terminal, &title, question)
    }
}

fn key(job: &JobRef) -> ObservedJob {
    ObservedJob {
        run: job.run.index,
        key: job.key.clone(),
    }
}
