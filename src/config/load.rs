//! From what was given to the values that count.

use std::path::{Path, PathBuf};

use super::layers::{self, Layers};
use super::mistake::{Findings, Mistake, Rejected};
use super::reader::Reader;
use super::shape::{Leaf, Part, Shape};
use super::yaml::{self, Broken, Place};
use super::{Config, check, names, root, unknown};

/// What is given for the configuration.
#[derive(Debug, Default, Clone)]
pub struct Given {
    /// The file; without one all is at its defaults.
    pub file: Option<PathBuf>,
    /// Environment variables whose names begin with `GANTRY_`.
    pub variables: Vec<(String, String)>,
    /// Keys that flags give, each with the flag and the value.
    pub flags: Vec<Flag>,
}

/// A flag that gives the value of a key.
#[derive(Debug, Clone)]
pub struct Flag {
    /// What a person calls the flag.
    pub name: String,
    /// The key's path.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Given {
    /// What this process was given, with this file.
    pub fn to_process(file: Option<&Path>) -> Self {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            let is_ours = name.starts_with(names::PREFIX) && !value.is_empty();
            is_ours.then(|| (name, value.to_string_lossy().into_owned()))
        });
        Self {
            file: file.map(Path::to_owned),
            variables: variables.collect(),
            flags: Vec::new(),
        }
    }
}

/// The values that count, and what their author should know.
pub struct Loaded {
    /// The values.
    pub values: Config,
    /// Keys that nobody knows: warnings, unless somebody asked for a check.
    pub unknown: Vec<Mistake>,
    /// What else the author should know.
    notes: Vec<Mistake>,
    given: Given,
    layers: Layers,
    text: String,
}

impl Loaded {
    /// The file that was read.
    pub fn file(&self) -> Option<&Path> {
        self.given.file.as_deref()
    }

    /// One sentence for each thing that the author should know.
    pub fn warnings(&self) -> Vec<String> {
        let unknown = self
            .unknown
            .iter()
            .map(|unknown| format!("{} (ignored)", unknown.located(self.file())));
        unknown.chain(self.notes()).collect()
    }

    /// The same without the keys that nobody knows.
    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().map(|note| note.located(self.file())).collect()
    }

    /// What a check says where keys that nobody knows are mistakes.
    pub fn rejected(self) -> Rejected {
        Rejected {
            file: self.given.file,
            text: self.text,
            mistakes: self.unknown,
            is_unread: false,
        }
    }

    /// Every value with the place that it comes from.
    pub fn origins(&self) -> Vec<(Leaf, Place)> {
        let leaves = self.values.leaves();
        let place = |leaf: &Leaf| {
            let node = self.layers.find(&leaf.path);
            node.map_or(Place::Default, |node| node.place.clone())
        };
        leaves
            .into_iter()
            .map(|leaf| {
                let place = place(&leaf);
                (leaf, place)
            })
            .collect()
    }

    /// Reads again what was given, for a process that goes on: the file may have changed since.
    ///
    /// # Errors
    /// The file cannot be read or is wrong; the old values go on to count.
    pub fn reload(&self) -> Result<Self, Rejected> {
        load(self.given.clone())
    }
}

impl Config {
    /// Every value by its path.
    pub fn leaves(&self) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.list(&[], &mut leaves);
        leaves
    }
}

/// Finds the values that count.
///
/// # Errors
/// The file cannot be read or is not YAML, a value does not fit its key, or values contradict each other; all
/// mistakes are named, each with its place.
pub fn load(given: Given) -> Result<Loaded, Rejected> {
    let text = match &given.file {
        None => String::new(),
        Some(path) => std::fs::read_to_string(path).map_err(|error| Rejected {
            file: given.file.clone(),
            text: String::new(),
            mistakes: vec![Mistake::about(
                Place::Default,
                format!("cannot read {}: {error}", path.display()),
            )],
            is_unread: true,
        })?,
    };
    parse(text, given)
}

/// Finds the values that count, in the text of the file.
///
/// # Errors
/// As [`load`], without the file.
pub fn parse(text: String, given: Given) -> Result<Loaded, Rejected> {
    let mut findings = Findings::default();
    let layers = match gather(&text, &given, &mut findings) {
        Ok(layers) => layers,
        Err(broken) => {
            return Err(Rejected {
                file: given.file,
                text,
                mistakes: vec![broken.into()],
                is_unread: false,
            });
        }
    };
    let mut values = Config::read(&mut Reader::new(&layers, &mut findings));
    check::all(&mut values, &layers, &mut findings);
    findings.unknown.extend(unknown::keys(&layers.file));
    if !findings.mistakes.is_empty() {
        // A check names all at once; who only wants to start is told what stops it.
        findings.mistakes.sort_by_key(Mistake::line);
        return Err(Rejected {
            file: given.file,
            text,
            mistakes: findings.mistakes,
            is_unread: false,
        });
    }
    Ok(Loaded {
        values,
        unknown: findings.unknown,
        notes: findings.warnings,
        given,
        layers,
        text,
    })
}

fn gather(text: &str, given: &Given, findings: &mut Findings) -> Result<Layers, Broken> {
    let mut layers = Layers {
        file: yaml::read(text)?,
        ..Layers::default()
    };
    if !matches!(layers.file.content, yaml::Content::Map(_)) {
        if !layers.file.is_null() {
            return Err(Broken {
                place: layers.file.place,
                message: "the file is not a mapping of keys to values".to_owned(),
            });
        }
        layers.file = yaml::Node::empty();
    }
    variables(given, &mut layers, findings);
    flags(given, &mut layers, findings);
    Ok(layers)
}

fn variables(given: &Given, layers: &mut Layers, findings: &mut Findings) {
    for (name, value) in &given.variables {
        if value.is_empty() {
            continue;
        }
        let place = Place::Variable(name.clone());
        let known = |path: &[String]| layers.names(path);
        let Some((path, key)) = layers::variable(name, &known) else {
            findings.unknown.extend(unknown::variable(name));
            continue;
        };
        match layers::given(value, &key, &place) {
            Ok(node) => layers::insert(&mut layers.variables, &path, node),
            Err(broken) => findings.mistakes.push(broken.into()),
        }
    }
}

fn flags(given: &Given, layers: &mut Layers, findings: &mut Findings) {
    for flag in &given.flags {
        let place = Place::Flag(flag.name.clone());
        let (path, key) = match names::find(root(), &flag.key) {
            Some((path, Shape::Key(key))) => (path, key),
            Some(_) => {
                let message = format!("`{}` is a section; give one of its keys", flag.key);
                findings.mistakes.push(Mistake::about(place, message));
                continue;
            }
            None => {
                let message = format!("unknown key `{}`{}", flag.key, names::suggestion(&flag.key));
                findings.mistakes.push(Mistake::about(place, message));
                continue;
            }
        };
        match layers::given(&flag.value, &key, &place) {
            Ok(node) => layers::insert(&mut layers.flags, &path, node),
            Err(broken) => findings.mistakes.push(broken.into()),
        }
    }
}
