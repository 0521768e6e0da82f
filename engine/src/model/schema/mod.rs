//! The schema of workflow and action files as tables: which value may stand where, and what expressions may use.
//!
//! A definition's list of names applies to it and to everything below that has no list of its own.

mod action;
mod common;
mod events;
mod job;
mod names;
mod step;
mod workflow;

pub(super) use action::{ACTION, CONDITION as ACTION_CONDITION, STEP_IF as ACTION_STEP_IF};
pub(super) use common::{ANY, BOOL, NUMBER, STRING};
pub(super) use job::STRATEGY;
pub(super) use names::{Allowed, NOTHING};
pub(super) use step::{JOB_IF, STEP_IF};
pub(super) use workflow::WORKFLOW;

/// What may stand at one place of a file.
#[derive(Debug)]
pub(super) struct Definition {
    /// What expressions may use here; `None` takes over what the definition above allows.
    pub allowed: Option<&'static Allowed>,
    /// The shape of the value.
    pub shape: Shape,
}

/// The shapes of values.
#[derive(Debug)]
pub(super) enum Shape {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number.
    Number,
    /// Text; other scalars are turned into text.
    Text(Text),
    /// A sequence of items.
    Sequence(&'static Definition),
    /// A mapping.
    Mapping(Mapping),
    /// One of several; none of them may be of this shape itself.
    OneOf(&'static [&'static Definition]),
}

/// Which text is legal.
#[derive(Debug)]
pub(super) enum Text {
    /// Any.
    Any,
    /// Any, and numbers keep the digits that are written (`1.10`).
    Raw,
    /// Any but the empty one.
    NonEmpty,
    /// One of these, compared with case.
    OneOf(&'static [&'static str]),
}

/// The keys of a mapping.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The well known keys, compared with case.
    pub keys: &'static [Key],
    /// What other keys and their values must be, if other keys are legal.
    pub others: Option<(&'static Definition, &'static Definition)>,
}

/// A well known key.
#[derive(Debug)]
pub(super) struct Key {
    /// The key.
    pub name: &'static str,
    /// Its value.
    pub value: &'static Definition,
    /// Whether it must be there.
    pub required: bool,
}

impl Definition {
    /// The definition itself, or its alternatives.
    pub(super) fn alternatives(&'static self) -> impl Iterator<Item = &'static Definition> {
        let (single, several): (Option<&'static Definition>, &'static [&'static Definition]) =
            match self.shape {
                Shape::OneOf(several) => (None, several),
                _ => (Some(self), &[]),
            };
        single.into_iter().chain(several.iter().copied())
    }

    /// The mappings among the alternatives.
    pub(super) fn mappings(&'static self) -> impl Iterator<Item = &'static Mapping> {
        self.alternatives()
            .filter_map(|definition| match &definition.shape {
                Shape::Mapping(mapping) => Some(mapping),
                _ => None,
            })
    }

    /// The items' definition of the first sequence among the alternatives.
    pub(super) fn items(&'static self) -> Option<&'static Definition> {
        self.alternatives().find_map(|definition| match definition.shape {
            Shape::Sequence(items) => Some(items),
            _ => None,
        })
    }
}

impl Text {
    /// Tells whether `text` is legal.
    pub(super) fn admits(&self, text: &str) -> bool {
        match self {
            Self::Any | Self::Raw => true,
            Self::NonEmpty => !text.is_empty(),
            Self::OneOf(words) => words.contains(&text),
        }
    }
}

impl Mapping {
    /// The well known key `name`.
    pub(super) fn key(&'static self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A definition that takes over the names of the one above.
const fn plain(shape: Shape) -> Definition {
    Definition { allowed: None, shape }
}

/// A definition below which expressions may use `allowed`.
const fn within(allowed: &'static Allowed, shape: Shape) -> Definition {
    Definition {
        allowed: Some(allowed),
        shape,
    }
}

/// A key that may be absent.
const fn optional(name: &'static str, value: &'static Definition) -> Key {
    Key {
        name,
        value,
        required: false,
    }
}

/// A key that must be there.
const fn required(name: &'static str, value: &'static Definition) -> Key {
    Key {
        name,
        value,
        required: true,
    }
}

/// A mapping that has only well known keys.
const fn record(keys: &'static [Key]) -> Shape {
    Shape::Mapping(Mapping { keys, others: None })
}

/// A mapping from any name to one kind of value.
const fn map(values: &'static Definition) -> Shape {
    Shape::Mapping(Mapping {
        keys: &[],
        others: Some((&common::NON_EMPTY, values)),
    })
}

/// A mapping with well known keys and any others.
const fn open(keys: &'static [Key], values: &'static Definition) -> Shape {
    Shape::Mapping(Mapping {
        keys,
        others: Some((&common::NON_EMPTY, values)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No alternative may have alternatives, and where the kind of a value does not tell two mappings apart, their
    /// keys must.
    fn check(definition: &'static Definition, depth: usize) {
        assert!(depth < 30, "the table has a cycle other than the one of `any`");
        for one in definition.alternatives() {
            match &one.shape {
                Shape::OneOf(_) => panic!("alternatives within alternatives"),
                Shape::Sequence(items) if !std::ptr::eq(*items, &raw const ANY) => check(items, depth + 1),
                Shape::Mapping(mapping) => {
                    for key in mapping.keys {
                        check(key.value, depth + 1);
                    }
                    if let Some((key, value)) = mapping.others {
                        check(key, depth + 1);
                        if !std::ptr::eq(value, &raw const ANY) {
                            check(value, depth + 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn tables_are_well_formed() {
        check(&WORKFLOW, 0);
        check(&ACTION, 0);
    }
}
