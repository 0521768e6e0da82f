//! A pipe through which a test tells a step what to print next.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::harness::Place;

/// The pipe, and the numbers of the step's processes beside it.
pub struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    /// A pipe in the runner's directory.
    pub fn new(place: &Place) -> Self {
        let path = place.path("gate");
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).expect("a pipe");
        // Open for both, neither side waits for the other, and what is written stays until it is read.
        let pipe = OpenOptions::new().read(true).write(true).open(&path);
        Self {
            pipe: pipe.expect("the pipe opens"),
            path,
        }
    }

    /// A workflow with the pipe's path in its place.
    pub fn fill(&self, workflow: &str) -> String {
        workflow.replace("GATE", &self.path.display().to_string())
    }

    /// Lets the step print a tick.
    pub fn tick(&mut self, tick: usize) {
        writeln!(self.pipe, "{tick}").expect("the pipe takes a line");
    }

    /// Lets the step go on behind its ticks.
    pub fn end(&mut self) {
        writeln!(self.pipe, "end").expect("the pipe takes a line");
    }

    /// The step's processes, once all of their numbers are known.
    pub fn processes(&self, count: usize) -> Option<Vec<u32>> {
        let text = std::fs::read_to_string(self.path.with_extension("pids")).ok()?;
        let whole = text.ends_with('\n') && text.lines().count() == count;
        whole.then(|| text.lines().map(|line| line.parse().expect("a number")).collect())
    }
}

/// The rows that the ticks up to this one make.
pub fn ticks(last: usize) -> Vec<String> {
    (1..=last).map(|tick| format!("tick {tick}")).collect()
}

/// Tells whether a process is there that has not ended.
pub fn is_alive(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    !state.is_empty() && !state.starts_with('Z')
}
