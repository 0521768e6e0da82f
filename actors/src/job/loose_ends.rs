//! What must be over before a job gives its place back, besides its own work: the operator's program after it, and the
//! copy of its log.

use gantry_engine::plan::Conclusion;

/// What a job says when it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// The forge does not know yet how.
    Parked(Conclusion),
    /// The forge knows.
    Known(Conclusion),
}

/// What is not over yet, and the word that waits for it.
#[derive(Debug, Default)]
pub(super) struct LooseEnds {
    open: usize,
    waiting: Option<Word>,
}

impl LooseEnds {
    /// Something begins.
    pub fn on_begun(&mut self) {
        self.open += 1;
    }

    /// Something is over; the word that can be said now, if there is one.
    pub fn on_over(&mut self) -> Option<Word> {
        self.open = self.open.saturating_sub(1);
        if self.open > 0 {
            return None;
        }
        self.waiting.take()
    }

    /// The word, if it can be said now; a later one takes the place of one that waits.
    pub fn on_word(&mut self, word: Word) -> Option<Word> {
        if self.open == 0 {
            return Some(word);
        }
        self.waiting = Some(word);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_says_that_it_has_ended_once_everything_is_over() {
        const KNOWN: Word = Word::Known(Conclusion::Success);
        let mut ends = LooseEnds::default();
        assert_eq!(ends.on_word(KNOWN), Some(KNOWN));
        ends.on_begun();
        ends.on_begun();
        assert_eq!(ends.on_word(Word::Parked(Conclusion::Success)), None);
        assert_eq!(ends.on_over(), None);
        assert_eq!(ends.on_word(KNOWN), None, "the forge came back meanwhile");
        assert_eq!(ends.on_over(), Some(KNOWN));
        assert_eq!(ends.on_word(KNOWN), Some(KNOWN));
    }
}
