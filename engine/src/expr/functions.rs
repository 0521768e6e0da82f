//! The functions by name, with the number of parameters that they take.

use super::ast::Builtin;
use super::{Function, Names, StatusFunction};

/// The greatest number of parameters of any function.
pub(super) const MAX_PARAMETERS: usize = 255;

/// A function as a call at some place finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) builtin: Builtin,
    pub(super) name: &'static str,
    pub(super) min: usize,
    pub(super) max: usize,
}

const EVERYWHERE: [Signature; 8] = [
    signature("contains", Builtin::Contains, 2, 2),
    signature("endsWith", Builtin::EndsWith, 2, 2),
    signature("format", Builtin::Format, 1, MAX_PARAMETERS),
    signature("join", Builtin::Join, 1, 2),
    signature("startsWith", Builtin::StartsWith, 2, 2),
    signature("toJSON", Builtin::ToJson, 1, 1),
    signature("fromJSON", Builtin::FromJson, 1, 1),
    signature("case", Builtin::Case, 3, MAX_PARAMETERS),
];

const BY_PLACE: [(&str, Builtin); 5] = [
    ("hashFiles", Builtin::HashFiles),
    ("always", Builtin::Status(StatusFunction::Always)),
    ("success", Builtin::Status(StatusFunction::Success)),
    ("failure", Builtin::Status(StatusFunction::Failure)),
    ("cancelled", Builtin::Status(StatusFunction::Cancelled)),
];

const fn signature(name: &'static str, builtin: Builtin, min: usize, max: usize) -> Signature {
    Signature {
        builtin,
        name,
        min,
        max,
    }
}

/// Finds the function that `name`, in whatever case, calls at a place where `names` are legal.
pub(super) fn find(name: &str, names: Names<'_>) -> Option<Signature> {
    if let Some(found) = EVERYWHERE
        .iter()
        .find(|signature| signature.name.eq_ignore_ascii_case(name))
    {
        return Some(*found);
    }
    let Function { min, max, .. } = *names
        .functions
        .iter()
        .find(|function| function.name.eq_ignore_ascii_case(name))?;
    let (name, builtin) = BY_PLACE
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(Signature {
        builtin: *builtin,
        name,
        min,
        max,
    })
}
