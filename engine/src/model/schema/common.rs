//! Definitions without any names of their own.

use super::{Definition, Mapping, Shape, Text, plain};

pub(super) static NULL: Definition = plain(Shape::Null);
pub(in crate::model) static BOOL: Definition = plain(Shape::Bool);
pub(in crate::model) static NUMBER: Definition = plain(Shape::Number);
pub(in crate::model) static STRING: Definition = plain(Shape::Text(Text::Any));
pub(super) static RAW_STRING: Definition = plain(Shape::Text(Text::Raw));
pub(super) static NON_EMPTY: Definition = plain(Shape::Text(Text::NonEmpty));
pub(super) static STRINGS: Definition = plain(Shape::Sequence(&NON_EMPTY));
/// One string or several.
pub(super) static STRING_OR_STRINGS: Definition = plain(Shape::OneOf(&[&NON_EMPTY, &STRINGS]));
pub(super) static SCALAR: Definition = plain(Shape::OneOf(&[&STRING, &BOOL, &NUMBER]));
pub(super) static SEQUENCE: Definition = plain(Shape::Sequence(&ANY));
static MAPPING: Definition = plain(Shape::Mapping(Mapping {
    keys: &[],
    others: Some((&STRING, &ANY)),
}));
/// Any value.
pub(in crate::model) static ANY: Definition = plain(Shape::OneOf(&[
    &NULL, &BOOL, &NUMBER, &STRING, &SEQUENCE, &MAPPING,
]));
