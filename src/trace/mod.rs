//! `gantry exec --trace FILE`: where the time went, as Perfetto and Chrome's tracing show it.
//!
//! A job is a process. Its first track holds what happens to the job as a whole, and each step has a track of its own.
//!
//! ```text
//! engine --observations--.
//!                        +--> Trace --> Story of each job --> spans --> FILE
//! local runs --events----'
//! ```

mod file;
mod story;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use anyhow::Context;
use gantry_actors::engine::mask::Masks;
use gantry_actors::engine::run::{Observation, ObservedJob};
use gantry_actors::local::{Event, JobRef};

use story::Story;

/// So many spans are kept, which makes a file of about 30 MB.
const MAX_SPANS: usize = 200_000;

/// Follows a run, and writes it to a file at its end.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    file: File,
    /// The secrets of the command line, for the names of jobs.
    masks: Masks,
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    /// The jobs in the order in which they were seen first.
    stories: Vec<Story>,
    places: HashMap<ObservedJob, usize>,
    /// When each run began.
    runs: HashMap<usize, SystemTime>,
    /// How many spans there are.
    spans: usize,
    truncated: bool,
}

impl Trace {
    /// Begins a trace; the file is made at once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: &Path, masks: Masks) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            file: File::create(path)?,
            masks,
            book: Mutex::default(),
        })
    }

    /// Takes an event.
    pub fn event(&self, event: &Event) {
        let mut book = self.book();
        match event {
            Event::RunStarted { run, time, .. } => {
                book.runs.insert(run.index, *time);
            }
            Event::JobOffered { job, time } => self.story(&mut book, job).offered = Some(*time),
            Event::JobStarted { job, time } => self.story(&mut book, job).started = Some(*time),
            Event::JobSkipped {
                job,
                conclusion,
                reason,
                time,
                ..
            } => {
                let reason = self.masks.mask(reason).into_owned();
                let story = self.story(&mut book, job);
                story.ended = Some((*time, conclusion.as_str()));
                story.reason = Some(reason);
            }
            Event::JobFinished {
                job,
                conclusion,
                time,
                ..
            } => self.story(&mut book, job).ended = Some((*time, conclusion.as_str())),
            _ => {}
        }
    }

    /// Takes an observation.
    pub fn observe(&self, job: &ObservedJob, observation: &Observation) {
        let mut book = self.book();
        let full = book.spans >= MAX_SPANS;
        let story = book.story(job);
        let more = match observation {
            Observation::StepOpened(step) => story.open(step, full),
            Observation::StepClosed {
                outcome,
                conclusion,
                at,
            } => story.close(*at, outcome.as_str(), conclusion.as_str()),
            Observation::Phase { phase, from, to } => story.phase(*phase, *from, *to, full),
            Observation::Planned(_) | Observation::Condition(_) | Observation::Environment(_) => return,
        };
        book.spans += more;
        book.truncated |= full;
    }

    /// Writes the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self) -> anyhow::Result<()> {
        let book = self.book();
        file::write(&self.file, &book.stories, book.truncated)
            .with_context(|| format!("cannot write the trace to {}", self.path.display()))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The job of an event, whose names only events know.
    fn story<'b>(&self, book: &'b mut Book, job: &JobRef) -> &'b mut Story {
        let observed = ObservedJob {
            run: job.run.index,
            key: Arc::clone(&job.key),
        };
        let began = book.runs.get(&job.run.index).copied();
        let story = book.story(&observed);
        if story.name.is_empty() {
            let name = format!("{} / {}", job.run.title, job.name);
            story.name = self.masks.mask(&name).into_owned();
            story.began = began;
        }
        story
    }
}

impl Book {
    fn story(&mut self, job: &ObservedJob) -> &mut Story {
        let index = *self.places.entry(job.clone()).or_insert_with(|| {
            self.stories.push(Story::default());
            self.stories.len() - 1
        });
        &mut self.stories[index]
    }
}
