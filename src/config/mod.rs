//! The configuration file: its values, its table of keys, and how it is read.

mod duration;
mod keys;
mod load;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};

pub use duration::GoDuration;
pub use load::{Loaded, load};

/// The configuration of the program; a key that is not in the file has its default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Config {
    /// What the runner says about itself.
    #[serde(deserialize_with = "section")]
    pub log: Log,
    /// What holds for every job.
    #[serde(deserialize_with = "section")]
    pub runner: Runner,
    /// Actions of other repositories.
    #[serde(deserialize_with = "section")]
    pub actions: Actions,
    /// What is kept from one job to the next.
    #[serde(deserialize_with = "section")]
    pub cache: Cache,
    /// Jobs that run on this machine itself.
    #[serde(deserialize_with = "section")]
    pub host: Host,
}

/// `log`
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Log {
    /// The least important events that are still written.
    pub level: Level,
}

/// `log.level`, from the quietest to the most talkative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Only what needs a person.
    Error,
    /// Also what a person should look at one day.
    Warn,
    /// Also the milestones.
    #[default]
    Info,
    /// Also each decision.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The word in the configuration file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// `runner`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Runner {
    /// Environment variables for every job.
    #[serde(deserialize_with = "texts")]
    pub envs: BTreeMap<String, String>,
    /// A file of such variables in .env format; its values win over `envs`. Empty: none.
    pub env_file: String,
    /// The longest time that a job may take.
    #[serde(deserialize_with = "duration::positive_or_default::<_, 10_800>")]
    pub timeout: GoDuration,
    /// A server that stands in for `https://github.com` where actions are fetched from. Empty: none.
    pub github_mirror: String,
}

impl Default for Runner {
    fn default() -> Self {
        Self {
            envs: BTreeMap::new(),
            env_file: String::new(),
            timeout: GoDuration::from_secs(3 * 3600),
            github_mirror: String::new(),
        }
    }
}

/// `actions`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Actions {
    /// Where fetched actions are kept. Empty: in the user's cache.
    pub dir: String,
    /// How much they may take; those that were used longest ago go first.
    pub max_size_mb: u64,
}

impl Default for Actions {
    fn default() -> Self {
        Self {
            dir: String::new(),
            max_size_mb: 4096,
        }
    }
}

/// `cache`
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Cache {
    /// Fetches nothing: actions that were fetched before are used.
    pub offline_mode: bool,
}

/// `host`
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Host {
    /// Where the directories of jobs are made. Empty: the system's directory for temporary files.
    pub workdir_parent: String,
}

/// Reads a section; one whose keys are all commented out is at its defaults.
fn section<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads a mapping whose values are text; numbers and booleans are taken as YAML reads them.
fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let values = Option::<BTreeMap<String, Text>>::deserialize(deserializer)?.unwrap_or_default();
    Ok(values
        .into_iter()
        .map(|(name, Text(value))| (name, value))
        .collect())
}

/// A scalar as text.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FromScalar)
    }
}

/// Reads the scalar inside of the YAML reader's call, so that an error carries the key and its place.
struct FromScalar;

impl Visitor<'_> for FromScalar {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number or a boolean")
    }

    fn visit_str<E>(self, value: &str) -> Result<Text, E> {
        Ok(Text(value.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
        Ok(Text(value.to_string()))
    }
}
