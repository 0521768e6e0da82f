//! The keys of one mapping: which are known, which are missing, which come twice.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::place::{Place, checked_scalar, scalar_text};
use crate::model::diagnostic::Diagnostics;
use crate::model::schema::{ANY, Definition, Mapping};
use crate::model::{Node, NodeKind, Position};

/// Checks the keys of one mapping in the order in which they come.
pub(in crate::model) struct KeyCheck {
    place: Place,
    /// The mappings that this one may still be; each well known key rules out those that lack it.
    candidates: Vec<&'static Mapping>,
    /// The definitions of keys that are not well known and of their values, those of the first candidate.
    others: Option<(&'static Definition, &'static Definition)>,
    /// Whether there are no well known keys at all.
    is_free: bool,
    seen: Seen,
    has_expression: bool,
}

/// The keys that were seen, compared ignoring case. Most mappings are small, so the first keys are only compared; a
/// large mapping gets an index.
#[derive(Default)]
struct Seen {
    first: Vec<Arc<str>>,
    rest: HashSet<String>,
}

impl Seen {
    const FEW: usize = 12;

    fn contains(&self, key: &str) -> bool {
        self.first.iter().any(|seen| equal(seen, key))
            || (!self.rest.is_empty() && self.rest.contains(&fold(key)))
    }

    /// Notes a key and tells whether it is new.
    fn insert(&mut self, key: &Arc<str>) -> bool {
        if self.contains(key) {
            return false;
        }
        if self.first.len() < Self::FEW {
            self.first.push(key.clone());
        } else {
            self.rest.insert(fold(key));
        }
        true
    }
}

fn equal(left: &str, right: &str) -> bool {
    if left.is_ascii() && right.is_ascii() {
        return left.eq_ignore_ascii_case(right);
    }
    fold(left) == fold(right)
}

/// What is to be done with an entry.
pub(in crate::model) enum Verdict {
    /// The key is legal; the value stands at the given place.
    Legal(Node, Place),
    /// The entry is to be passed over.
    Illegal,
}

impl KeyCheck {
    /// Starts with a mapping at `place`; nothing if no mapping is legal there.
    pub(in crate::model) fn new(place: Place) -> Option<Self> {
        let candidates: Vec<_> = place.definition.mappings().collect();
        let first = *candidates.first()?;
        Some(Self {
            place,
            others: first.others,
            is_free: candidates.len() == 1 && first.keys.is_empty() && first.others.is_some(),
            candidates,
            seen: Seen::default(),
            has_expression: false,
        })
    }

    /// Checks a key, and records what is wrong with it.
    pub(in crate::model) fn check(&mut self, key: Node, errors: &mut Diagnostics) -> Verdict {
        let position = key.position;
        let Some(text) = scalar_text(&key.kind) else {
            return self.expression(key, errors);
        };
        if !self.seen.insert(&text) {
            errors.error(position, format!("'{text}' is already defined"));
            return Verdict::Illegal;
        }
        let known = self
            .candidates
            .iter()
            .find_map(|mapping| mapping.key(&text))
            .map(|known| known.value);
        let key = Node {
            position,
            kind: NodeKind::String(text.clone()),
        };
        if let Some(value) = known {
            self.candidates.retain(|mapping| mapping.key(&text).is_some());
            return Verdict::Legal(key, self.place.below(value));
        }
        let Some((name, value)) = self.others else {
            errors.pass_over(position, format!("Unexpected value '{text}'"));
            return Verdict::Illegal;
        };
        let key = checked_scalar(key, self.place.below(name), || text.clone(), errors);
        Verdict::Legal(key, self.place.below(value))
    }

    /// An expression as a key says nothing of its value, unless all values are of one kind.
    fn expression(&mut self, key: Node, errors: &mut Diagnostics) -> Verdict {
        self.has_expression = true;
        if self.place.allowed.is_empty() {
            errors.error(
                key.position,
                "A template expression is not allowed in this context",
            );
            return Verdict::Illegal;
        }
        let value = match self.others {
            Some((_, value)) if self.is_free => value,
            _ => &ANY,
        };
        Verdict::Legal(key, self.place.below(value))
    }

    /// Checks at the end of the mapping that starts at `position` that it can be told what it is and that nothing is
    /// missing.
    pub(in crate::model) fn finish(self, position: Position, errors: &mut Diagnostics) {
        if let [mapping] = self.candidates[..] {
            if self.has_expression {
                return;
            }
            for key in mapping.keys.iter().filter(|key| key.required) {
                if !self.seen.contains(key.name) {
                    let message = format!("Required property is missing: {}", key.name);
                    if key.name == "runs-on" {
                        // A forge hands such a job to any runner.
                        errors.pass_over(position, message);
                    } else {
                        errors.error(position, message);
                    }
                }
            }
            return;
        }
        let count = |name: &str| {
            self.candidates
                .iter()
                .filter(|mapping| mapping.key(name).is_some())
                .count()
        };
        let names = self
            .candidates
            .iter()
            .flat_map(|mapping| mapping.keys)
            .map(|key| key.name);
        let telling: BTreeSet<_> = names.filter(|name| count(name) == 1).collect();
        let telling = telling.into_iter().collect::<Vec<_>>().join(", ");
        errors.error(
            position,
            format!(
                "There's not enough info to determine what you meant. Add one of these properties: {telling}"
            ),
        );
    }
}

/// The key under which names are equal that differ only by case.
pub(in crate::model) fn fold(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_uppercase();
    }
    name.chars().map(simple_upper).collect()
}

/// The upper case of a character where it is one character too, which is how GitHub compares.
fn simple_upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}
