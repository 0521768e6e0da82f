//! JSON in and out: the text of `toJSON`, the standard reader for files, and the lenient one of `fromJSON`.

mod lenient;
mod scanner;
mod strict;
mod write;

pub(super) use lenient::{LenientError, read as read_lenient};
pub use strict::JsonError;
pub(super) use strict::read as read_strict;
pub(super) use write::{write, write_bounded};
