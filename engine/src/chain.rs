//! An error with its causes, for whoever shows it to a person.

use std::error::Error;
use std::fmt;

/// Shows an error and each of its causes, from the outermost inwards, parted by `: `.
///
/// No error of this program repeats its cause in its own text, so nothing is said twice.
#[derive(Debug, Clone, Copy)]
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

/// The sentence that tells a workflow's author what could not be done: errors of this program read after "failed to".
pub fn failed_to(error: &dyn Error) -> String {
    format!("Failed to {}", Chain(error))
}
