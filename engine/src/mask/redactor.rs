//! Masking of a stream: values are found across writes and rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::index::{Event, Index};
use super::{Encoding, Masks, Source};

const REPLACEMENT: &str = "***";

/// Redacts a text that comes in pieces.
///
/// Text is handed on at once, except for an end that is the beginning of a masked value; less is held back than the
/// longest pattern has, some hundred bytes. Line feeds are never removed, so that the number of rows stays the same:
/// a value that spans rows leaves a `***` in each of them.
#[derive(Debug)]
pub struct Redactor {
    masks: Masks,
    /// What was not handed on yet, raw.
    held: String,
    writer: Writer,
    found: BTreeSet<Source>,
}

impl Redactor {
    pub(super) fn new(masks: Masks) -> Self {
        Self {
            masks,
            held: String::new(),
            writer: Writer::default(),
            found: BTreeSet::new(),
        }
    }

    /// Takes the next piece, and appends to `out` what is safe by now.
    pub fn push(&mut self, text: &str, out: &mut String) {
        self.advance(text, false, out);
    }

    /// Appends what is still held: the text has ended, or must be shown now.
    pub fn flush(&mut self, out: &mut String) {
        self.advance("", true, out);
    }

    /// Tells whether a part of the text waits for its continuation.
    pub fn is_holding(&self) -> bool {
        !self.held.is_empty()
    }

    /// The names of the secrets that were replaced since the last call, and the forms in which they were found.
    pub fn take_found(&mut self) -> Vec<(Arc<str>, Encoding)> {
        let found = std::mem::take(&mut self.found);
        let shared = self.masks.read();
        found.into_iter().map(|source| shared.describe(source)).collect()
    }

    fn advance(&mut self, text: &str, last: bool, out: &mut String) {
        let mut joined = std::mem::take(&mut self.held);
        let text = if joined.is_empty() {
            text
        } else {
            joined.push_str(text);
            &joined
        };
        let shared = self.masks.read();
        let found = &mut self.found;
        let hold = self.writer.write(&shared.index, text, last, out, |source| {
            found.insert(source);
        });
        text.get(hold..).unwrap_or_default().clone_into(&mut self.held);
    }
}

/// Masks a text that is complete in itself.
pub(super) fn mask_whole(index: &Index, text: &str, out: &mut String) {
    Writer::default().write(index, text, true, out, |_| {});
}

/// What is known about the place up to which text was handed on.
#[derive(Debug, Default)]
struct Writer {
    /// The last that was handed on is a replacement; what is masked next belongs to it.
    masked: bool,
    /// So many bytes that follow belong to a value that started before.
    covered: usize,
}

impl Writer {
    /// Hands on `text` up to the place that is returned: the end, or unless it is the `last` piece, the first place
    /// at which a value may have begun.
    fn write(
        &mut self,
        index: &Index,
        text: &str,
        last: bool,
        out: &mut String,
        mut found: impl FnMut(Source),
    ) -> usize {
        let bytes = text.as_bytes();
        let (mut hold, mut written, mut masked_to, mut from) = (bytes.len(), 0, self.covered, 0);
        while let Some(event) = index.next(bytes, from, !last) {
            let hit = match event {
                Event::Hit(hit) => hit,
                // Matches that start later are found again with the rest of their text.
                Event::Open(at) => {
                    hold = at;
                    break;
                }
            };
            found(hit.source);
            if hit.start > masked_to {
                self.mask(slice(text, written, masked_to), out);
                self.copy(slice(text, masked_to, hit.start), out);
                written = hit.start;
            }
            masked_to = masked_to.max(hit.end);
            from = hit.start + 1;
        }
        self.mask(slice(text, written, masked_to.min(hold)), out);
        self.copy(slice(text, masked_to, hold), out);
        self.covered = masked_to.saturating_sub(hold);
        hold
    }

    fn copy(&mut self, text: &str, out: &mut String) {
        if !text.is_empty() {
            out.push_str(text);
            self.masked = false;
        }
    }

    fn mask(&mut self, text: &str, out: &mut String) {
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                self.copy("\n", out);
            }
            if !part.is_empty() && !self.masked {
                out.push_str(REPLACEMENT);
                self.masked = true;
            }
        }
    }
}

/// All places are ends of patterns or of the text, and these are ends of characters.
fn slice(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to.max(from)).unwrap_or_default()
}
