//! Ids of jobs and steps: their grammar, and those that are generated.

use std::collections::{HashMap, HashSet};

use crate::model::reader::fold;

/// Ids are shorter than this.
const MAX_LENGTH: usize = 100;

/// The ids of one scope; they differ by more than case.
#[derive(Default)]
pub(super) struct Ids {
    taken: HashSet<String>,
    /// The next number to try for a generated id, so that many equal ones cost no search.
    next: HashMap<String, usize>,
}

impl Ids {
    /// Takes an id that is written in the file; the error is the text for the author.
    pub(super) fn take(&mut self, id: &str) -> Result<(), String> {
        if !is_legal(id) {
            return Err(format!(
                "The identifier '{id}' is invalid. IDs may only contain alphanumeric characters, '_', and '-'. IDs \
                 must start with a letter or '_' and must be less than {MAX_LENGTH} characters."
            ));
        }
        if id.starts_with("__") {
            return Err(format!(
                "The identifier '{id}' is invalid. IDs starting with '__' are reserved."
            ));
        }
        if !self.taken.insert(fold(id)) {
            return Err(format!(
                "The identifier '{id}' may not be used more than once within the same scope."
            ));
        }
        Ok(())
    }

    /// Makes an id of `text` with the reserved prefix; repeats get a number.
    pub(super) fn generate(&mut self, text: &str) -> String {
        let base: String = "__"
            .chars()
            .chain(text.chars())
            .map(|c| if is_id_char(c) { c } else { '_' })
            .take(MAX_LENGTH)
            .collect();
        let number = self.next.entry(fold(&base)).or_insert(1);
        loop {
            let suffix = if *number == 1 {
                String::new()
            } else {
                format!("_{number}")
            };
            *number += 1;
            let kept: String = base.chars().take(MAX_LENGTH - suffix.len()).collect();
            let id = kept + &suffix;
            if self.taken.insert(fold(&id)) {
                return id;
            }
        }
    }
}

fn is_id_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

fn is_legal(id: &str) -> bool {
    let starts_well = id.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts_well && id.len() < MAX_LENGTH && id.chars().all(is_id_char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_follow_the_grammar_and_differ_by_more_than_case() {
        let long = "a".repeat(100);
        let mut ids = Ids::default();
        for (id, legal) in [
            ("a", true),
            ("A", false),
            ("A-b_1", true),
            ("1a", false),
            ("-a", false),
            ("a.b", false),
        ] {
            assert_eq!(ids.take(id).is_ok(), legal, "{id}");
        }
        for (id, legal) in [
            ("", false),
            ("__a", false),
            ("_a", true),
            (long.as_str(), false),
            (&long[1..], true),
        ] {
            assert_eq!(ids.take(id).is_ok(), legal, "{id}");
        }
    }

    #[test]
    fn generated_ids_are_numbered() {
        let mut ids = Ids::default();
        let made: Vec<_> = ["run", "run", "RUN", "alpine:3", "actions/checkout"]
            .iter()
            .map(|text| ids.generate(text))
            .collect();
        assert_eq!(
            made,
            ["__run", "__run_2", "__RUN_3", "__alpine_3", "__actions_checkout"]
        );
    }
}
