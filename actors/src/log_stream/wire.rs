//! The engine's annotations in the neutral words of the forges.

use gantry_engine::commands::{Annotation, Level};
use gantry_protocols::forge;

/// An annotation as forges take it: a line or column without an end ends where it begins.
pub(super) fn wire_annotation(step: Option<usize>, annotation: Annotation) -> forge::Annotation {
    let range = |first: Option<u32>, last: Option<u32>| first.map(|first| (first, last.unwrap_or(first)));
    forge::Annotation {
        step,
        level: match annotation.level {
            Level::Notice => forge::Level::Notice,
            Level::Warning => forge::Level::Warning,
            Level::Error => forge::Level::Error,
        },
        lines: range(annotation.line, annotation.end_line),
        columns: range(annotation.column, annotation.end_column),
        message: annotation.message,
        title: annotation.title,
        file: annotation.file,
    }
}
