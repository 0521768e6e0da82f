//! Anchors and aliases: an alias is the anchored node's events once more.

use std::collections::HashMap;

use super::parser::Parsed;
use super::{Error, Event};

/// An event as it was recorded; an alias within an anchored node is looked up again when it is replayed.
#[derive(Debug, Clone)]
enum Recorded {
    Event(Event),
    /// The index of the event that the alias stands for.
    Alias(usize),
}

/// The recorded events and the aliases that are being replayed.
#[derive(Debug, Default)]
pub(super) struct Replay {
    /// Everything since the first anchor; files without anchors record nothing.
    events: Vec<Recorded>,
    /// Where each anchor's node begins in `events`.
    anchors: HashMap<usize, usize>,
    /// The innermost alias is last. Its depth is bounded by the nesting and the node budget of the reader.
    active: Vec<Position>,
}

#[derive(Debug)]
struct Position {
    next: usize,
    depth: usize,
}

impl Replay {
    /// The next event of the innermost alias, if one is being replayed.
    pub(super) fn next(&mut self) -> Option<Event> {
        let position = self.active.last_mut()?;
        let recorded = self.events.get(position.next)?.clone();
        position.next += 1;
        match recorded {
            Recorded::Event(event) => {
                self.follow(&event);
                Some(event)
            }
            Recorded::Alias(target) => self.enter(target),
        }
    }

    /// Records what the parser found, and begins to replay if it is an alias.
    pub(super) fn record(&mut self, parsed: Parsed) -> Result<Event, Error> {
        match parsed {
            Parsed::Event(event, anchor) => {
                if let Some(anchor) = anchor {
                    self.anchors.insert(anchor, self.events.len());
                }
                if !self.anchors.is_empty() {
                    self.events.push(Recorded::Event(event.clone()));
                }
                Ok(event)
            }
            Parsed::Alias(anchor, name) => {
                let target = self.anchors.get(&anchor).copied();
                let target = target.ok_or_else(|| Error::UnknownAnchor(name.clone()))?;
                self.events.push(Recorded::Alias(target));
                self.enter(target).ok_or(Error::UnknownAnchor(name))
            }
        }
    }

    /// Begins to replay the node at `target`, which is never an alias itself: an alias has no anchor.
    fn enter(&mut self, target: usize) -> Option<Event> {
        let Some(Recorded::Event(event)) = self.events.get(target).cloned() else {
            return None;
        };
        self.active.push(Position {
            next: target + 1,
            depth: 0,
        });
        self.follow(&event);
        Some(event)
    }

    /// Notes that `event` was replayed: the innermost alias is done when its node is complete.
    fn follow(&mut self, event: &Event) {
        if let Some(position) = self.active.last_mut() {
            match event {
                Event::SequenceStart(_) | Event::MappingStart(_) => position.depth += 1,
                Event::SequenceEnd | Event::MappingEnd => position.depth = position.depth.saturating_sub(1),
                Event::Scalar(_) | Event::End => {}
            }
        }
        if self.active.last().is_some_and(|position| position.depth == 0) {
            self.active.pop();
        }
    }
}
