//! What is remembered between two requests for tasks.
//!
//! A server raises the version of its queue when a job begins to wait, and looks for a task only if the runner has not
//! seen that version. One version may stand for many jobs, so after a task the runner asks as if it had seen nothing.

use super::service::uuid;

/// The memory of one connection.
#[derive(Debug, Default)]
pub(super) struct Fetch {
    seen: i64,
    key: Option<String>,
    streak: u32,
}

impl Fetch {
    /// The version of the queue that the server is told, and the key of the request.
    ///
    /// The key stays the same until an answer has come: Forgejo repeats the tasks of a request whose answer was lost.
    pub fn next(&mut self) -> (i64, Option<String>) {
        self.key = self.key.take().or_else(new_key);
        (self.seen, self.key.clone())
    }

    /// The server has answered with so many tasks.
    pub fn on_answer(&mut self, tasks: usize, version: i64) {
        self.key = None;
        self.streak = 0;
        if tasks > 0 {
            self.seen = 0;
        } else {
            // A server that keeps no version says 0, and an old answer may come late.
            self.seen = self.seen.max(version);
        }
    }

    /// The server took too long; tells whether this is the first time in a row.
    pub fn on_time_up(&mut self) -> bool {
        self.streak = self.streak.saturating_add(1);
        self.streak == 1
    }
}

/// A random UUID; none on a system without random numbers, since a key that is used twice would repeat old tasks.
fn new_key() -> Option<String> {
    let mut bytes = [0; 16];
    if let Err(error) = getrandom::fill(&mut bytes) {
        tracing::warn!(%error, "the system has no random numbers");
        return None;
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Some(uuid(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_forward_and_back_to_the_start_after_a_task() {
        let mut fetch = Fetch::default();
        let steps = [
            // tasks, version of the answer, version of the next request
            (0, 0, 0),
            (0, 5, 5),
            (0, 4, 5),
            (0, 0, 5),
            (1, 6, 0),
            (0, 6, 6),
            (2, 7, 0),
        ];
        assert_eq!(fetch.next().0, 0);
        for (tasks, version, next) in steps {
            fetch.on_answer(tasks, version);
            assert_eq!(fetch.next().0, next, "{tasks} {version}");
        }
    }

    #[test]
    fn a_key_lasts_until_an_answer() {
        let mut fetch = Fetch::default();
        let (_, first) = fetch.next();
        assert!(fetch.on_time_up());
        assert!(!fetch.on_time_up());
        assert_eq!(fetch.next().1, first);
        fetch.on_answer(0, 1);
        let (_, second) = fetch.next();
        assert_ne!(second, first);
        let second = second.unwrap();
        assert_eq!((second.len(), second.as_bytes()[14]), (36, b'4'));
        assert!(fetch.on_time_up(), "an answer ends the streak");
    }
}
