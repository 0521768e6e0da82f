//! What a job would have leaked.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{ADDED, Encoding, Redactor};

/// A secret that a step printed; it was masked.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leak {
    /// The name of the secret, never its value; `add-mask` for a value that a step declared.
    pub secret: Arc<str>,
    /// The step that printed it.
    pub step: Arc<str>,
    /// The form in which it was printed.
    pub encoding: Encoding,
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoding = self.encoding.as_str();
        if &*self.secret == ADDED {
            f.write_str("a value of add-mask")?;
        } else {
            write!(f, "the secret '{}'", self.secret)?;
        }
        write!(f, " was printed by the step '{}' ({encoding})", self.step)
    }
}

/// Collects the leaks of a job; each one counts once.
#[derive(Debug, Clone, Default)]
pub struct LeakReport {
    leaks: BTreeSet<Leak>,
}

impl LeakReport {
    /// Adds what a step's redactor has replaced.
    pub fn collect(&mut self, step: &str, redactor: &mut Redactor) {
        let step: Arc<str> = step.into();
        let found = redactor.take_found().into_iter();
        self.leaks.extend(found.map(|(secret, encoding)| Leak {
            secret,
            step: step.clone(),
            encoding,
        }));
    }

    /// The leaks, ordered by secret and step.
    pub fn leaks(&self) -> impl Iterator<Item = &Leak> {
        self.leaks.iter()
    }

    /// Tells whether nothing was leaked.
    pub fn is_empty(&self) -> bool {
        self.leaks.is_empty()
    }
}
