//! What is known of one job, and the spans that it makes.

use std::collections::BTreeMap;
use std::time::SystemTime;

use gantry_actors::engine::run::{OpenedStep, Part, Phase};

/// The track of the job as a whole; step `n`, counted from 0, has track `n + 1`.
pub const JOB_TRACK: usize = 0;

/// A part of a job's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The track on which it stands.
    pub track: usize,
    /// How many spans it stands in, at least.
    pub depth: usize,
    /// What a person reads.
    pub name: String,
    /// `job`, `step` or `phase`.
    pub category: &'static str,
    /// When it began.
    pub from: SystemTime,
    /// When it ended.
    pub to: SystemTime,
    /// What else is known of it.
    pub args: Vec<(&'static str, String)>,
}

/// A job while it is followed.
#[derive(Debug, Default)]
pub struct Story {
    /// What a person calls it, masked.
    pub name: String,
    /// When its run began.
    pub began: Option<SystemTime>,
    /// When it waited for nothing more but a free place.
    pub offered: Option<SystemTime>,
    /// When it began.
    pub started: Option<SystemTime>,
    /// When and how it ended.
    pub ended: Option<(SystemTime, &'static str)>,
    /// Why it never ran, masked.
    pub reason: Option<String>,
    /// The names of its steps' tracks.
    pub tracks: BTreeMap<usize, String>,
    /// The steps that have begun and not ended, outermost first; those that had no room are not shown.
    open: Vec<(Span, bool)>,
    spans: Vec<Span>,
    set_up: Option<SystemTime>,
    wound_up: Option<SystemTime>,
}

impl Story {
    /// A step begins, and is not shown if all is full. Returns how many spans came in.
    pub fn open(&mut self, step: &OpenedStep, full: bool) -> usize {
        // A step that a bug of ours has ended was never closed.
        self.open.truncate(step.depth);
        let track = step.index + 1;
        let part = match step.part {
            Part::Pre => "pre",
            Part::Main => "main",
            Part::Post => "post",
        };
        if step.depth == 0 && (step.part == Part::Main || !self.tracks.contains_key(&track)) && !full {
            self.tracks.insert(track, step.name.clone());
        }
        let mut args = vec![("part", part.to_owned()), ("line", step.line.to_string())];
        args.extend(step.id.clone().map(|id| ("id", id)));
        let span = Span {
            track,
            depth: 2 * step.depth,
            name: step.name.clone(),
            category: "step",
            from: step.at,
            to: step.at,
            args,
        };
        self.open.push((span, !full));
        usize::from(!full)
    }

    /// The step that was opened last is done.
    pub fn close(&mut self, at: SystemTime, outcome: &'static str, conclusion: &'static str) -> usize {
        if let Some((mut span, true)) = self.open.pop() {
            span.to = at;
            span.args.push(("outcome", outcome.to_owned()));
            span.args.push(("conclusion", conclusion.to_owned()));
            self.spans.push(span);
        }
        0
    }

    /// A phase is over.
    pub fn phase(&mut self, phase: Phase, from: SystemTime, to: SystemTime, full: bool) -> usize {
        match phase {
            Phase::SetUp => self.set_up = Some(from),
            Phase::WindUp => self.wound_up = Some(to),
            _ => {}
        }
        if full {
            return 0;
        }
        let (track, depth) = match self.open.last() {
            Some((step, _)) => (step.track, step.depth + 1),
            None => (JOB_TRACK, if phase == Phase::Fetch { 2 } else { 1 }),
        };
        self.spans.push(Span {
            track,
            depth,
            ..phase_span(phase.as_str(), from, to)
        });
        1
    }

    /// All spans. What has not ended, ends with the job or with the last thing that is known of it.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = self.spans.clone();
        let ends = spans.iter().map(|span| span.to);
        let last = ends.chain(self.ended.map(|(at, _)| at)).max();
        for (open, shown) in &self.open {
            if *shown {
                let to = last.unwrap_or(open.from).max(open.from);
                spans.push(Span { to, ..open.clone() });
            }
        }
        spans.extend(self.whole(last));
        // Where two begin at the same time, the one that holds the other comes first.
        spans.sort_by(|a, b| {
            let order = (a.track, a.from).cmp(&(b.track, b.from));
            order.then(b.to.cmp(&a.to)).then(a.depth.cmp(&b.depth))
        });
        spans
    }

    /// What happens to the job as a whole.
    fn whole(&self, last: Option<SystemTime>) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut add = |name: &str, from: Option<SystemTime>, to: Option<SystemTime>| {
            if let (Some(from), Some(to)) = (from, to) {
                spans.push(phase_span(name, from, to.max(from)));
            }
        };
        let ended = self.ended.map(|(at, _)| at);
        let offered = self
            .offered
            .map(|at| self.started.map_or(at, |started| at.min(started)));
        add("wait for needs", self.began, offered.or(self.started).or(ended));
        add("wait for a place", offered, self.started.or(ended));
        if let Some(from) = self.started {
            add("copy workspace", self.started, self.set_up.or(ended));
            add("flush log", self.wound_up, ended);
            let mut args = Vec::new();
            args.extend(self.ended.map(|(_, how)| ("conclusion", how.to_owned())));
            spans.push(Span {
                depth: 0,
                category: "job",
                args,
                ..phase_span("job", from, ended.or(last).unwrap_or(from).max(from))
            });
        } else if let Some((at, how)) = self.ended {
            let mut args = vec![("conclusion", how.to_owned())];
            args.extend(self.reason.clone().map(|reason| ("reason", reason)));
            spans.push(Span {
                category: "job",
                args,
                ..phase_span("never ran", at, at)
            });
        }
        spans
    }
}

fn phase_span(name: &str, from: SystemTime, to: SystemTime) -> Span {
    Span {
        track: JOB_TRACK,
        depth: 1,
        name: name.to_owned(),
        category: "phase",
        from,
        to,
        args: Vec::new(),
    }
}
