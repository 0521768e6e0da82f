//! The bound on what one evaluation may hold, so that a short expression cannot grow without limit.

use super::Value;
use super::parser::MAX_DEPTH;

/// The bytes that one evaluation may hold: the limit that GitHub sets for templates.
const MAX_BYTES: usize = 10 * 1024 * 1024;

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

/// What a text costs: a fixed overhead and two bytes for each UTF-16 unit.
pub(super) fn text_bytes(text: &str) -> usize {
    26 + 2 * utf16_len(text)
}

/// What a value costs beside its text.
pub(super) const VALUE_BYTES: usize = 24;

/// The bytes that the evaluation holds at the moment, by the depth of the node whose value they are.
///
/// Once a node has a value that does not refer to those of its operands, these are given back.
#[derive(Debug)]
pub(super) struct Memory {
    by_depth: [usize; MAX_DEPTH],
    deepest: usize,
    total: usize,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            by_depth: [0; MAX_DEPTH],
            deepest: 0,
            total: 0,
        }
    }

    /// Accounts for the value of a node at `depth`, counted from 0.
    pub(super) fn hold(&mut self, depth: usize, value: &Value) -> Result<(), MemoryExceeded> {
        if value.is_primitive() {
            self.release_below(depth);
        }
        let bytes = match value {
            Value::String(text) => text_bytes(text),
            // The items were counted where they were made.
            _ => VALUE_BYTES,
        };
        self.add(depth, bytes)
    }

    /// Accounts for bytes that belong to the value of a node at `depth`.
    pub(super) fn add(&mut self, depth: usize, bytes: usize) -> Result<(), MemoryExceeded> {
        let Some(held) = self.by_depth.get_mut(depth) else {
            return Err(MemoryExceeded);
        };
        *held += bytes;
        self.total += bytes;
        self.deepest = self.deepest.max(depth);
        if self.total > MAX_BYTES {
            Err(MemoryExceeded)
        } else {
            Ok(())
        }
    }

    /// A text that may grow until it fills what is left.
    pub(super) fn text_builder(&self) -> TextBuilder {
        TextBuilder::new(self.left() / 2)
    }

    /// The bytes that are left.
    pub(super) fn left(&self) -> usize {
        MAX_BYTES.saturating_sub(self.total)
    }

    fn release_below(&mut self, depth: usize) {
        while self.deepest > depth {
            self.total -= std::mem::take(&mut self.by_depth[self.deepest]);
            self.deepest -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_given_back_when_their_node_has_a_primitive_value() {
        let mut memory = Memory::new();
        let text = Value::from("x".repeat(1024 * 1024));
        for _ in 0..4 {
            memory.hold(1, &text).unwrap();
        }
        assert_eq!(memory.hold(1, &text), Err(MemoryExceeded));
        memory.hold(0, &Value::Null).unwrap();
        assert_eq!(memory.left(), MAX_BYTES - VALUE_BYTES);
    }
}
