//! Masking: no secret leaves the runner, neither raw nor in an encoding that tools commonly print.
//!
//! [`Masks`] is the job's set of values; everything that leaves the runner goes through [`Masks::mask`] or, for the
//! log, through a [`Redactor`], which also finds values that are split over several writes or rows.
//!
//! Masked are each value, each line of a value of several lines, and for both the forms of [`Encoding`]. What is not
//! masked: values that are too short or too common ([`Refusal`]), and transformations that are not listed, such as
//! reversed or re-cased text, compression and encryption.

#[allow(clippy::all, clippy::pedantic)]
mod derive;
#[allow(clippy::all, clippy::pedantic)]
mod encode;
mod index;
#[allow(clippy::all, clippy::pedantic)]
mod redactor;
mod report;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(crate) use encode::{STANDARD as BASE64_DIGITS, base64};
use index::Index;
pub use redactor::Redactor;
pub use report::{Leak, LeakReport};

/// Values of fewer characters are not masked: they would hide ordinary text.
pub const LENGTH_FLOOR: usize = 4;

/// The name of all values of `add-mask`.
const ADDED: &str = "add-mask";

/// Words that are not masked: they stand in every log, and hiding them hides nothing.
const COMMON_WORDS: [&str; 24] = [
    "true",
    "false",
    "null",
    "none",
    "undefined",
    "test",
    "main",
    "master",
    "root",
    "admin",
    "user",
    "name",
    "info",
    "debug",
    "error",
    "warn",
    "warning",
    "latest",
    "default",
    "localhost",
    "production",
    "staging",
    "development",
    "password",
];

/// The form in which a value was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Encoding {
    /// The value itself, or one of its lines.
    Raw,
    /// Base64, on its own or within longer data at any of the three alignments, also folded into rows.
    Base64,
    /// Base64 with the alphabet for URLs and file names.
    Base64Url,
    /// Percent-encoded, as in URLs and forms.
    Percent,
    /// As in a JSON string.
    Json,
    /// As in XML or HTML.
    Xml,
    /// Hexadecimal.
    Hex,
    /// As in a string literal of the expression language.
    Expression,
    /// As in the data of a workflow command.
    Command,
    /// As in a quoted word of a shell or command line.
    Quoted,
    /// The value without the quotes around it.
    Unquoted,
    /// The fragments that PowerShell prints of a value with an ampersand.
    PowerShell,
}

impl Encoding {
    /// The word for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Base64 => "base64",
            Self::Base64Url => "base64url",
            Self::Percent => "percent-encoded",
            Self::Json => "JSON",
            Self::Xml => "XML",
            Self::Hex => "hexadecimal",
            Self::Expression => "expression literal",
            Self::Command => "workflow command",
            Self::Quoted => "quoted",
            Self::Unquoted => "without its quotes",
            Self::PowerShell => "PowerShell fragment",
        }
    }
}

/// Why a value is not masked. `Display` is a sentence for the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refusal {
    /// It has fewer than [`LENGTH_FLOOR`] characters.
    #[error(
        "{0} has fewer than {LENGTH_FLOOR} characters and is not masked, as that would hide ordinary text"
    )]
    TooShort(String),
    /// It is a word that stands in every log.
    #[error("{0} is a very common word and is not masked, as that would hide ordinary text")]
    TooCommon(String),
    /// The job masks more than the runner can hold.
    #[error("{0} is not masked: the job masks more data than the runner can hold")]
    Full(String),
}

/// Where a pattern comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    /// Index into the names.
    secret: u32,
    encoding: Encoding,
}

/// The values that a job masks. Clones share one set, so that a value that is added anywhere is masked everywhere.
///
/// Adding a value takes a few microseconds and never rebuilds the set, so that it does not stall the log.
#[derive(Clone, Default)]
pub struct Masks {
    shared: Arc<RwLock<Shared>>,
}

#[derive(Default)]
struct Shared {
    index: Index,
    names: Vec<Arc<str>>,
    /// What was refused already; each note is given once.
    refused: HashSet<Refusal>,
}

impl Masks {
    /// Masks a secret; reports call it by `name`. A blank value is ignored.
    ///
    /// # Errors
    /// The value is not masked; the reason is given once for each name.
    pub fn add_secret(&self, name: &str, value: &str) -> Result<(), Refusal> {
        self.add(name, &format!("the secret '{name}'"), value)
    }

    /// Masks a value that a step declared by `add-mask`. A blank value is ignored.
    ///
    /// # Errors
    /// The value is not masked; the reason is given once.
    pub fn add_value(&self, value: &str) -> Result<(), Refusal> {
        self.add(ADDED, "a value of add-mask", value)
    }

    fn add(&self, name: &str, subject: &str, value: &str) -> Result<(), Refusal> {
        let value = value.trim_matches(['\r', '\n']);
        if value.trim().is_empty() {
            return Ok(());
        }
        let refusal = match check(value) {
            Check::Fine => {
                let patterns = derive::patterns(value, self.read().index.room());
                self.write()
                    .insert(name, patterns)
                    .err()
                    .map(|_| Refusal::Full(subject.to_owned()))
            }
            Check::Short => Some(Refusal::TooShort(subject.to_owned())),
            Check::Common => Some(Refusal::TooCommon(subject.to_owned())),
        };
        match refusal {
            Some(refusal) if self.write().refused.insert(refusal.clone()) => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Replaces every masked value in a text that is complete in itself, such as an annotation or a name.
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let shared = self.read();
        if shared.index.find(text.as_bytes(), 0).is_none() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        redactor::mask_whole(&shared.index, text, &mut out);
        Cow::Owned(out)
    }

    /// Tells whether [`Self::mask`] would leave the text as it is.
    pub fn is_clean(&self, text: &str) -> bool {
        self.read().index.find(text.as_bytes(), 0).is_none()
    }

    /// Tells which masked values the text holds and in which form, without showing them.
    pub fn explain(&self, text: &str) -> Vec<(Arc<str>, Encoding)> {
        let shared = self.read();
        let mut found = BTreeSet::new();
        let mut from = 0;
        while let Some(hit) = shared.index.find(text.as_bytes(), from) {
            found.insert(hit.source);
            from = hit.start + 1;
        }
        found.into_iter().map(|source| shared.describe(source)).collect()
    }

    /// Starts to redact the output of one step.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.clone())
    }

    // A panic while the lock was held cannot leave the set half changed in a way that matters: every insertion
    // only adds. So poisoning is ignored rather than turned into unmasked output.
    fn read(&self) -> RwLockReadGuard<'_, Shared> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Shared> {
        self.shared.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Masks {
    /// Shows nothing of the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masks").finish_non_exhaustive()
    }
}

impl Shared {
    fn insert(&mut self, name: &str, patterns: derive::Patterns) -> Result<(), index::Full> {
        let secret = self.secret(name);
        for (text, encoding) in patterns.found {
            self.index
                .insert(text.into_bytes(), Source { secret, encoding })?;
        }
        if patterns.complete {
            Ok(())
        } else {
            Err(index::Full)
        }
    }

    fn secret(&mut self, name: &str) -> u32 {
        // Values of add-mask share one name; it is looked for from the end, where it was put last.
        let known = self.names.iter().rposition(|known| **known == *name);
        let position = known.unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        });
        u32::try_from(position).unwrap_or(u32::MAX)
    }

    fn describe(&self, source: Source) -> (Arc<str>, Encoding) {
        let name = usize::try_from(source.secret)
            .ok()
            .and_then(|index| self.names.get(index));
        (name.cloned().unwrap_or_default(), source.encoding)
    }
}

enum Check {
    Fine,
    Short,
    Common,
}

fn check(value: &str) -> Check {
    let value = value.trim();
    if value.chars().nth(LENGTH_FLOOR - 1).is_none() {
        Check::Short
    } else if COMMON_WORDS.iter().any(|word| word.eq_ignore_ascii_case(value)) {
        Check::Common
    } else {
        Check::Fine
    }
}
