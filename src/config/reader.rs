//! Takes the effective values from what was given, and collects every mistake on the way.

use super::layers::Layers;
use super::mistake::{Findings, Mistake};
use super::shape::{Part, below};
use super::value::{Value, Wrong};
use super::yaml::{self, Content};

/// Reads one section.
pub struct Reader<'a> {
    layers: &'a Layers,
    findings: &'a mut Findings,
    path: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Reads from the top.
    pub fn new(layers: &'a Layers, findings: &'a mut Findings) -> Self {
        Self {
            layers,
            findings,
            path: Vec::new(),
        }
    }

    /// The value of a key: the one that was given, else its default.
    pub fn key<T: Value>(&mut self, name: &str, default: &'static str, is_positive: bool) -> T {
        let path = below(&self.path, name);
        let Some(node) = self.layers.find(&path) else {
            return parse(default);
        };
        match T::read(node) {
            Ok(value) if is_positive && value.is_off() => {
                let message = format!("0 and less mean the default, {default}");
                self.findings
                    .warnings
                    .push(Mistake::new(node.place.clone(), &path, message));
                parse(default)
            }
            Ok(value) => value,
            Err(Wrong { place, message }) => {
                self.findings.mistakes.push(if T::KIND.is_secret() {
                    let expected = message.split(", found").next().unwrap_or_default();
                    Mistake::new(place, &path, expected).hiding()
                } else {
                    Mistake::new(place, &path, message)
                });
                parse(default)
            }
        }
    }

    /// A section within this one.
    pub fn section<T: Part>(&mut self, name: &str) -> T {
        let path = below(&self.path, name);
        for node in self.layers.all(&path) {
            if !matches!(node.content, Content::Map(_)) && !node.is_null() {
                let message = "expected a mapping of keys to values".to_owned();
                self.findings
                    .mistakes
                    .push(Mistake::new(node.place.clone(), &path, message));
            }
        }
        let outer = std::mem::replace(&mut self.path, path);
        let part = T::read(self);
        self.path = outer;
        part
    }

    /// The names that this section has in any layer.
    pub fn names(&self) -> Vec<String> {
        self.layers.names(&self.path)
    }
}

/// The value of a default of the table; the tests read every one of them.
fn parse<T: Value>(default: &str) -> T {
    let node = yaml::read(default).ok().filter(|node| !node.is_null());
    node.and_then(|node| T::read(&node).ok()).unwrap_or_default()
}

/// A part of the configuration for which nothing was given.
pub fn defaults<T: Part>() -> T {
    T::read(&mut Reader::new(&Layers::default(), &mut Findings::default()))
}
