//! The bound on what one evaluation may hold, so that a short expression cannot grow without limit.

/// The bytes that one evaluation may hold: the limit that GitHub sets for templates.
pub(super) const MAX_BYTES: usize = 10 * 1024 * 1024;

/// The evaluation holds more than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The maximum allowed memory size was exceeded")]
pub(super) struct MemoryExceeded;

/// A text that is built piece by piece and may not outgrow its limit.
#[derive(Debug)]
pub(super) struct TextBuilder {
    text: String,
    units_left: usize,
}

impl TextBuilder {
    /// Makes an empty text that may grow to `max_units` UTF-16 units.
    pub(super) fn new(max_units: usize) -> Self {
        Self {
            text: String::new(),
            units_left: max_units,
        }
    }

    /// Appends a piece.
    pub(super) fn push(&mut self, piece: &str) -> Result<(), MemoryExceeded> {
        self.units_left = self
            .units_left
            .checked_sub(utf16_len(piece))
            .ok_or(MemoryExceeded)?;
        self.text.push_str(piece);
        Ok(())
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The length of a text in UTF-16 units, which is how GitHub measures texts.
pub(super) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.encode_utf16().count()
    }
}
