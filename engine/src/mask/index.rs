//! The search: all patterns at once, in one pass.
//!
//! A bitmap over the hashes of the first four bytes of every pattern tells at each position whether one may start
//! there; on ordinary text that is the whole work. Where the bitmap says yes, the patterns with these four bytes are
//! asked, in order, for the longest that matches. Patterns can be added at any time without a rebuild, which an
//! automaton could not do: a step may add thousands of masks, one by one, between the rows of its log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;

use super::Source;

/// Every pattern starts with so many bytes.
pub(super) const ANCHOR: usize = 4;
/// How much the patterns may take together, in units of [`cost`].
const LIMIT: usize = 64 * 1024 * 1024;
/// So many bits of the bitmap for each pattern keep false alarms below one in a hundred positions.
const BITS_PER_PATTERN: usize = 128;
const LEAST_BITS: u32 = 13;
const MOST_BITS: u32 = 23;

/// The memory that a pattern takes, roughly, in bytes.
pub(super) fn cost(length: usize) -> usize {
    length + 96
}

/// There is no room for another pattern.
#[derive(Debug)]
pub(super) struct Full;

/// A match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub start: usize,
    pub end: usize,
    pub source: Source,
}

/// What the search comes upon.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Hit(Hit),
    Open(usize),
}

/// The set of patterns.
pub(super) struct Index {
    buckets: HashMap<u32, Bucket>,
    bitmap: Bitmap,
    /// The first one to three bytes of every pattern, for texts that end within them.
    prefixes: HashSet<u32>,
    first_bytes: [bool; 256],
    count: usize,
    used: usize,
    limit: usize,
    longest: usize,
}

type Bucket = BTreeMap<Box<[u8]>, Source>;

impl Default for Index {
    fn default() -> Self {
        Self {
            buckets: HashMap::new(),
            bitmap: Bitmap::new(LEAST_BITS),
            prefixes: HashSet::new(),
            first_bytes: [false; 256],
            count: 0,
            used: 0,
            limit: LIMIT,
            longest: 0,
        }
    }
}

impl Index {
    /// How much can still be added, in units of [`cost`].
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.used)
    }

    /// Takes less than usual.
    #[cfg(test)]
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds a pattern; one that is known keeps its source. Shorter ones than [`ANCHOR`] are ignored.
    pub fn insert(&mut self, pattern: Vec<u8>, source: Source) -> Result<(), Full> {
        let Some(anchor) = anchor_at(&pattern, 0) else {
            return Ok(());
        };
        let cost = cost(pattern.len());
        if cost > self.room() {
            return Err(Full);
        }
        self.longest = self.longest.max(pattern.len());
        for length in 1..ANCHOR {
            self.prefixes.extend(pattern.get(..length).map(short_key));
        }
        if let Some(first) = pattern
            .first()
            .and_then(|&byte| self.first_bytes.get_mut(usize::from(byte)))
        {
            *first = true;
        }
        let bucket = self.buckets.entry(anchor).or_default();
        if let std::collections::btree_map::Entry::Vacant(vacant) = bucket.entry(pattern.into_boxed_slice()) {
            vacant.insert(source);
            self.count += 1;
            self.used += cost;
        }
        if self.count * BITS_PER_PATTERN > self.bitmap.len() && self.bitmap.bits < MOST_BITS {
            self.bitmap = Bitmap::new(self.bitmap.bits + 1);
            for &anchor in self.buckets.keys() {
                self.bitmap.set(anchor);
            }
        }
        self.bitmap.set(anchor);
        Ok(())
    }

    /// The first match that starts at `from` or later; of those that start at one place, the longest.
    pub fn find(&self, text: &[u8], from: usize) -> Option<Hit> {
        match self.next(text, from, false)? {
            Event::Hit(hit) => Some(hit),
            Event::Open(_) => None,
        }
    }

    /// The next event from `from` on: a match, or with `open` a place at which the rest of the text is the beginning
    /// of a pattern and so might become a match.
    pub fn next(&self, text: &[u8], from: usize, open: bool) -> Option<Event> {
        if self.count == 0 {
            return None;
        }
        // A pattern that starts earlier would be complete by now.
        let open_from = (text.len() + 1).saturating_sub(self.longest).max(from);
        let mut at = from;
        while let Some(candidate) = self.bitmap.next(text, at) {
            if open && candidate >= open_from && self.is_open(text, candidate) {
                return Some(Event::Open(candidate));
            }
            if let Some(hit) = self.longest_at(text, candidate) {
                return Some(Event::Hit(hit));
            }
            at = candidate + 1;
        }
        let tail = (text.len() + 1).saturating_sub(ANCHOR).max(from);
        let is_open = |&start: &usize| self.is_open_short(text.get(start..).unwrap_or_default());
        if open {
            (tail..text.len()).find(is_open).map(Event::Open)
        } else {
            None
        }
    }

    fn longest_at(&self, text: &[u8], start: usize) -> Option<Hit> {
        let bucket = self.buckets.get(&anchor_at(text, start)?)?;
        let end = text.len().min(start + self.longest);
        let mut bound = text.get(start..end)?;
        // The greatest pattern that is not above the text either is a prefix of it, or shares only a part with it,
        // and then so does every pattern in between: the search goes on with that part.
        loop {
            let below = (Bound::Unbounded, Bound::Included(bound));
            let (pattern, &source) = bucket.range::<[u8], _>(below).next_back()?;
            let common = pattern
                .iter()
                .zip(bound)
                .take_while(|(one, other)| one == other)
                .count();
            if common == pattern.len() {
                return Some(Hit {
                    start,
                    end: start + common,
                    source,
                });
            }
            bound = bound.get(..common)?;
        }
    }

    fn is_open(&self, text: &[u8], start: usize) -> bool {
        let open = || {
            let bucket = self.buckets.get(&anchor_at(text, start)?)?;
            let rest = text.get(start..)?;
            let above = (Bound::Excluded(rest), Bound::Unbounded);
            Some(bucket.range::<[u8], _>(above).next()?.0.starts_with(rest))
        };
        open().unwrap_or(false)
    }

    fn is_open_short(&self, rest: &[u8]) -> bool {
        let known = rest
            .first()
            .and_then(|&byte| self.first_bytes.get(usize::from(byte)));
        known.copied().unwrap_or(false) && self.prefixes.contains(&short_key(rest))
    }
}

fn anchor_at(text: &[u8], start: usize) -> Option<u32> {
    text.get(start..)?
        .first_chunk::<ANCHOR>()
        .map(|bytes| u32::from_le_bytes(*bytes))
}

/// One to three bytes and their number.
fn short_key(bytes: &[u8]) -> u32 {
    bytes.iter().fold(1, |key, &byte| key << 8 | u32::from(byte))
}

/// The hashes of the anchors.
struct Bitmap {
    words: Vec<u64>,
    bits: u32,
}

impl Bitmap {
    fn new(bits: u32) -> Self {
        Self {
            words: vec![0; 1 << (bits - 6)],
            bits,
        }
    }

    fn len(&self) -> usize {
        self.words.len() * 64
    }

    fn place(&self, anchor: u32) -> (usize, u64) {
        let hash = anchor.wrapping_mul(0x9E37_79B1) >> (32 - self.bits);
        // The hash has at most `MOST_BITS` bits, so that it fits every usize.
        ((hash >> 6) as usize, 1 << (hash & 63))
    }

    fn set(&mut self, anchor: u32) {
        let (word, bit) = self.place(anchor);
        if let Some(word) = self.words.get_mut(word) {
            *word |= bit;
        }
    }

    fn has(&self, anchor: u32) -> bool {
        let (word, bit) = self.place(anchor);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// The first position from `from` on at which a pattern may start.
    fn next(&self, text: &[u8], from: usize) -> Option<usize> {
        let rest = text.get(from..)?;
        let found = rest.windows(ANCHOR).position(|window| {
            window
                .first_chunk::<ANCHOR>()
                .is_some_and(|bytes| self.has(u32::from_le_bytes(*bytes)))
        })?;
        Some(from + found)
    }
}
