//! JSON in and out: the text of `toJSON`, the standard reader for files, and the lenient one of `fromJSON`.

mod strict;
mod write;

pub use strict::JsonError;
pub(super) use strict::read as read_strict;
pub(super) use write::write;
