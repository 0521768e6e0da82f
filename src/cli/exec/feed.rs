//! The events of runs on their way to the display.

use std::collections::VecDeque;
use std::time::Duration;

use gantry_actors::local::Event;
use tokio::sync::mpsc::{self, error::TryRecvError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::hold::Holds;

/// How many bytes of events are kept while a person decides; then the jobs wait.
const MAX_KEPT: usize = 16 << 20;

/// About what an event takes beyond its text.
const OVERHEAD: usize = 256;

/// Events in their order; while nobody can see them, so many are kept that the other jobs go on.
pub struct Feed {
    events: mpsc::Receiver<Event>,
    kept: VecDeque<Event>,
    bytes: usize,
    ended: bool,
}

/// What the display does next.
pub enum Next {
    /// It shows an event.
    Event(Event),
    /// It shows that time has passed.
    Pulse,
    /// It looks at the questions of jobs.
    Question,
    /// Nothing more will come.
    End,
}

impl Feed {
    /// The events of a channel.
    pub fn new(events: mpsc::Receiver<Event>) -> Self {
        Self {
            events,
            kept: VecDeque::new(),
            bytes: 0,
            ended: false,
        }
    }

    /// What is there already, if anything is.
    pub fn ready(&mut self) -> Option<Next> {
        if let Some(event) = self.kept.pop_front() {
            self.bytes -= size(&event);
            return Some(Next::Event(event));
        }
        match self.events.try_recv() {
            Ok(event) => Some(Next::Event(event)),
            Err(TryRecvError::Disconnected) => Some(Next::End),
            Err(TryRecvError::Empty) => None,
        }
    }

    /// Waits for what comes next, but no longer than the pulse of the display.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn wait(&mut self, pulse: Option<Duration>, holds: Option<&mut Holds>) -> Next {
        let pulse = pulse.map(|pulse| Instant::now() + pulse);
        let question = async {
            match holds {
                Some(holds) => {
                    let deadline = holds.deadline();
                    tokio::select! {
                        () = holds.arrival() => {}
                        () = at(deadline) => {}
                    }
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            event = self.events.recv() => event.map_or(Next::End, Next::Event),
            () = question => Next::Question,
            () = at(pulse) => Next::Pulse,
        }
    }

    /// Keeps what comes until a person has decided.
    pub async fn keep_until(&mut self, mut decided: JoinHandle<()>) {
        loop {
            tokio::select! {
                asked = &mut decided => {
                    if let Err(error) = asked {
                        tracing::error!(%error, "the menu has died");
                    }
                    return;
                }
                event = self.events.recv(), if !self.ended && self.bytes < MAX_KEPT => match event {
                    Some(event) => {
                        self.bytes += size(&event);
                        self.kept.push_back(event);
                    }
                    None => self.ended = true,
                },
            }
        }
    }

    /// Waits for the next event from a thread that may block.
    pub fn blocking_next(&mut self) -> Option<Event> {
        self.kept.pop_front().or_else(|| self.events.blocking_recv())
    }
}

fn size(event: &Event) -> usize {
    let text = match event {
        Event::Rows { batch, .. } => batch.text.len() + batch.ends.len() * size_of::<u32>(),
        Event::Summary { summary, .. } => summary.text.len(),
        Event::Annotation { annotation, .. } => annotation.message.len(),
        _ => 0,
    };
    text + OVERHEAD
}

/// Waits for a moment that may not exist.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use gantry_actors::local::RunRef;
    use gantry_actors::protocols::forge::{LogBatch, RowIndex, TaskId};
    use tokio::sync::oneshot;

    use super::*;

    fn rows(bytes: usize) -> Event {
        let run = RunRef {
            index: 0,
            title: Arc::from("ci"),
        };
        let key: Arc<str> = Arc::from("build");
        Event::Rows {
            job: gantry_actors::local::JobRef {
                run,
                name: key.clone(),
                key,
            },
            batch: LogBatch {
                task: TaskId(1),
                first: RowIndex(0),
                time: SystemTime::UNIX_EPOCH,
                step: None,
                text: "x".repeat(bytes),
                ends: vec![u32::try_from(bytes).expect("short")],
            },
        }
    }

    #[tokio::test]
    async fn so_many_events_are_kept_that_the_other_jobs_go_on() {
        let (sender, receiver) = mpsc::channel(64);
        let mut feed = Feed::new(receiver);
        for _ in 0..40 {
            sender.try_send(rows(1 << 20)).expect("there is room");
        }
        let kept = MAX_KEPT >> 20;
        let free = sender.capacity() + kept;
        let (done, asked) = oneshot::channel::<()>();
        let menu = tokio::spawn(async move { asked.await.expect("decided") });
        let decide = async {
            while sender.capacity() < free {
                tokio::task::yield_now().await;
            }
            done.send(()).expect("the menu waits");
        };
        tokio::join!(feed.keep_until(menu), decide);
        assert_eq!(sender.capacity(), free, "the rest waits where it was");
        for _ in 0..40 {
            assert!(matches!(feed.ready(), Some(Next::Event(_))));
        }
        assert_eq!(feed.bytes, 0);
        assert!(feed.ready().is_none());
    }
}
