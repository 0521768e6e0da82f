//! What a value of each kind may be, how it is read, and how it is shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::yaml::{Content, Node, Place};
use super::{Count, GoDuration, Level, Secret, Size, ToolCacheMode};

/// The kind of a value, for the schema, the documents and the reader of variables and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// A text that is never shown.
    Secret,
    /// `true` or `false`.
    Switch,
    /// `true`, `false` or nothing.
    Maybe,
    /// A whole number, from the first to the last.
    Number(i64, i64),
    /// A duration.
    Duration,
    /// A number of bytes.
    Size,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of texts.
    List,
    /// A mapping of names to texts.
    Map,
    /// A mapping of names to texts that are never shown.
    SecretMap,
    /// A mapping of anything.
    Object,
    /// A mapping of names to mappings of anything.
    Objects,
}

impl Kind {
    /// What the documents call it.
    #[cfg_attr(
        not(test),
        allow(dead_code, reason = "the documents are held to it by a test")
    )]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Secret => "secret",
            Self::Switch | Self::Maybe => "true or false",
            Self::Number(..) => "number",
            Self::Duration => "duration",
            Self::Size => "size",
            Self::Choice(_) => "word",
            Self::List => "list",
            Self::Map => "map",
            Self::SecretMap => "map of secrets",
            Self::Object => "mapping",
            Self::Objects => "map of mappings",
        }
    }

    /// Tells whether its values are never shown.
    pub fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::SecretMap)
    }
}

/// Why a value does not fit.
#[derive(Debug)]
pub struct Wrong {
    /// The place of the value, or of the part of it that is wrong.
    pub place: Place,
    /// What was expected and what was found.
    pub message: String,
}

impl Wrong {
    fn expected(what: &str, node: &Node) -> Self {
        Self {
            place: node.place.clone(),
            message: format!("expected {what}, found {}", found(node)),
        }
    }
}

/// What a person reads about a value that does not fit.
fn found(node: &Node) -> String {
    match &node.content {
        Content::List(_) => "a list".to_owned(),
        Content::Map(_) => "a mapping".to_owned(),
        Content::Scalar(..) if node.is_null() => "nothing".to_owned(),
        Content::Scalar(text, _) if text.chars().count() > 60 => {
            format!("'{}…'", text.chars().take(60).collect::<String>())
        }
        Content::Scalar(text, true) => format!("'{text}'"),
        Content::Scalar(text, false) => format!("the text '{text}'"),
    }
}

/// A value of one kind.
pub trait Value: Sized + Clone + PartialEq + Default {
    /// Its kind.
    const KIND: Kind;

    /// Reads it from a node that is not null.
    ///
    /// # Errors
    /// The node does not fit.
    fn read(node: &Node) -> Result<Self, Wrong>;

    /// The value as JSON; a secret one is in it and must not be shown.
    fn json(&self) -> Json;

    /// Tells whether it is zero or less, where that has a meaning.
    fn is_off(&self) -> bool {
        false
    }
}

impl Value for String {
    const KIND: Kind = Kind::Text;

    fn read(node: &Node) -> Result<Self, Wrong> {
        let text = node.text().ok_or_else(|| Wrong::expected("a text", node))?;
        Ok(text.to_owned())
    }

    fn json(&self) -> Json {
        Json::from(self.as_str())
    }
}

impl Value for Secret {
    const KIND: Kind = Kind::Secret;

    fn read(node: &Node) -> Result<Self, Wrong> {
        String::read(node).map(Self::from)
    }

    fn json(&self) -> Json {
        Json::from(self.reveal())
    }
}

/// Reads a boolean; the words of YAML 1.1 are known because the runners in Go know them.
fn switch(node: &Node) -> Result<bool, Wrong> {
    let word = node.plain().map(str::to_ascii_lowercase);
    match word.as_deref() {
        Some("true" | "yes" | "y" | "on") => Ok(true),
        Some("false" | "no" | "n" | "off") => Ok(false),
        _ => Err(Wrong::expected("true or false", node)),
    }
}

impl Value for bool {
    const KIND: Kind = Kind::Switch;

    fn read(node: &Node) -> Result<Self, Wrong> {
        switch(node)
    }

    fn json(&self) -> Json {
        Json::from(*self)
    }
}

impl Value for Option<bool> {
    const KIND: Kind = Kind::Maybe;

    fn read(node: &Node) -> Result<Self, Wrong> {
        switch(node).map(Some)
    }

    fn json(&self) -> Json {
        self.map_or(Json::Null, Json::from)
    }
}

fn number<T: TryFrom<i64>>(node: &Node, what: &str) -> Result<T, Wrong> {
    let number = node.plain().and_then(|text| text.parse::<i64>().ok());
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| Wrong::expected(what, node))
}

impl Value for u64 {
    const KIND: Kind = Kind::Number(0, i64::MAX);

    fn read(node: &Node) -> Result<Self, Wrong> {
        number(node, "a whole number of 0 or more")
    }

    fn json(&self) -> Json {
        Json::from(*self)
    }
}

impl Value for u16 {
    const KIND: Kind = Kind::Number(0, u16::MAX as i64);

    fn read(node: &Node) -> Result<Self, Wrong> {
        number(node, "a whole number from 0 to 65535")
    }

    fn json(&self) -> Json {
        Json::from(*self)
    }
}

impl Value for Count {
    const KIND: Kind = Kind::Number(i32::MIN as i64, i32::MAX as i64);

    fn read(node: &Node) -> Result<Self, Wrong> {
        let number: i32 = number(node, "a whole number")?;
        Ok(Self(u32::try_from(number).unwrap_or_default()))
    }

    fn json(&self) -> Json {
        Json::from(self.0)
    }

    fn is_off(&self) -> bool {
        self.0 == 0
    }
}

impl Value for GoDuration {
    const KIND: Kind = Kind::Duration;

    fn read(node: &Node) -> Result<Self, Wrong> {
        let duration = node.text().and_then(Self::parse);
        duration.ok_or_else(|| Wrong::expected("a duration such as 90s, 5m or 1h30m", node))
    }

    fn json(&self) -> Json {
        Json::from(self.to_string())
    }

    fn is_off(&self) -> bool {
        Self::is_off(*self)
    }
}

impl Value for Size {
    const KIND: Kind = Kind::Size;

    fn read(node: &Node) -> Result<Self, Wrong> {
        let size = node.text().and_then(Self::parse);
        size.ok_or_else(|| Wrong::expected("a size such as 1048576, 512MB or 10GB", node))
    }

    fn json(&self) -> Json {
        let text = self.to_string();
        text.parse::<u64>().map_or_else(|_| Json::from(text), Json::from)
    }
}

/// Reads one of the words of an enum.
fn word<T: Copy>(node: &Node, words: &[&str], values: &[(&str, T)]) -> Result<T, Wrong> {
    let text = node.text().map(str::to_ascii_lowercase);
    let known = values
        .iter()
        .find(|(word, _)| text.as_deref() == Some(word))
        .map(|(_, value)| *value);
    known.ok_or_else(|| Wrong::expected(&format!("one of {}", words.join(", ")), node))
}

impl Value for Level {
    const KIND: Kind = Kind::Choice(&["error", "warn", "info", "debug", "trace"]);

    fn read(node: &Node) -> Result<Self, Wrong> {
        let values = [
            ("panic", Self::Error),
            ("fatal", Self::Error),
            ("error", Self::Error),
            ("warn", Self::Warn),
            ("warning", Self::Warn),
            ("info", Self::Info),
            ("debug", Self::Debug),
            ("trace", Self::Trace),
        ];
        word(node, &["error", "warn", "info", "debug", "trace"], &values)
    }

    fn json(&self) -> Json {
        Json::from(self.as_str())
    }
}

impl Value for ToolCacheMode {
    const KIND: Kind = Kind::Choice(&["none", "shared"]);

    fn read(node: &Node) -> Result<Self, Wrong> {
        let values = [("none", Self::None), ("shared", Self::Shared)];
        word(node, &["none", "shared"], &values)
    }

    fn json(&self) -> Json {
        Json::from(match self {
            Self::None => "none",
            Self::Shared => "shared",
        })
    }
}

impl Value for Vec<String> {
    const KIND: Kind = Kind::List;

    fn read(node: &Node) -> Result<Self, Wrong> {
        let Content::List(items) = &node.content else {
            return Err(Wrong::expected("a list", node));
        };
        items.iter().map(String::read).collect()
    }

    fn json(&self) -> Json {
        self.iter().map(String::as_str).collect()
    }
}

/// Reads a mapping of names to values; a value that is not written is an empty text.
fn map<T>(
    node: &Node,
    what: &str,
    read: fn(&Node) -> Result<T, Wrong>,
) -> Result<BTreeMap<String, T>, Wrong> {
    let Content::Map(entries) = &node.content else {
        return Err(Wrong::expected(what, node));
    };
    let pair = |entry: &super::yaml::Entry| {
        let name = entry
            .key
            .text()
            .ok_or_else(|| Wrong::expected("a name", &entry.key))?;
        Ok((name.to_owned(), read(&entry.value)?))
    };
    entries.iter().map(pair).collect()
}

fn text_or_nothing(node: &Node) -> Result<String, Wrong> {
    if node.is_null() {
        Ok(String::new())
    } else {
        String::read(node)
    }
}

impl Value for BTreeMap<String, String> {
    const KIND: Kind = Kind::Map;

    fn read(node: &Node) -> Result<Self, Wrong> {
        map(node, "a mapping of names to texts", text_or_nothing)
    }

    fn json(&self) -> Json {
        let pairs = self.iter().map(|(k, v)| (k.clone(), Json::from(v.as_str())));
        Json::Object(pairs.collect())
    }
}

impl Value for BTreeMap<String, Secret> {
    const KIND: Kind = Kind::SecretMap;

    fn read(node: &Node) -> Result<Self, Wrong> {
        let read = |node: &Node| text_or_nothing(node).map(Secret::from);
        map(node, "a mapping of names to texts", read)
    }

    fn json(&self) -> Json {
        let pairs = self.iter().map(|(k, v)| (k.clone(), Json::from(v.reveal())));
        Json::Object(pairs.collect())
    }
}

impl Value for Map<String, Json> {
    const KIND: Kind = Kind::Object;

    fn read(node: &Node) -> Result<Self, Wrong> {
        match to_json(node) {
            Json::Object(map) => Ok(map),
            _ => Err(Wrong::expected("a mapping", node)),
        }
    }

    fn json(&self) -> Json {
        Json::Object(self.clone())
    }
}

impl Value for BTreeMap<String, Map<String, Json>> {
    const KIND: Kind = Kind::Objects;

    fn read(node: &Node) -> Result<Self, Wrong> {
        map(node, "a mapping of labels to mappings", Map::read)
    }

    fn json(&self) -> Json {
        let pairs = self.iter().map(|(k, v)| (k.clone(), v.json()));
        Json::Object(pairs.collect())
    }
}

/// Reads a node as a value of a kind, and yields how it is best written: durations in their shortest form, sizes as
/// they are.
///
/// # Errors
/// The node does not fit.
pub fn normal(kind: Kind, node: &Node) -> Result<Json, Wrong> {
    match kind {
        Kind::Text => String::read(node).map(|value| value.json()),
        Kind::Secret => Secret::read(node).map(|value| value.json()),
        Kind::Switch => bool::read(node).map(|value| value.json()),
        Kind::Maybe => Option::<bool>::read(node).map(|value| value.json()),
        Kind::Duration => GoDuration::read(node).map(|value| value.json()),
        Kind::Size => Size::read(node).map(|_| match node.text().map(str::parse::<u64>) {
            Some(Ok(bytes)) => Json::from(bytes),
            _ => Json::from(node.text().unwrap_or_default()),
        }),
        Kind::Number(first, last) => {
            let what = format!("a whole number from {first} to {last}");
            let number = number::<i64>(node, &what)?;
            let fits = (first..=last).contains(&number);
            fits.then(|| Json::from(number))
                .ok_or_else(|| Wrong::expected(&what, node))
        }
        Kind::Choice(words) => {
            // A level has more words than those that are advertised.
            let level = Level::KIND == kind && Level::read(node).is_ok();
            let text = node.text().unwrap_or_default().to_ascii_lowercase();
            let fits = level || words.contains(&text.as_str());
            fits.then(|| Json::from(text))
                .ok_or_else(|| Wrong::expected(&format!("one of {}", words.join(", ")), node))
        }
        Kind::List => Vec::<String>::read(node).map(|value| value.json()),
        Kind::Map => BTreeMap::<String, String>::read(node).map(|value| value.json()),
        Kind::SecretMap => BTreeMap::<String, Secret>::read(node).map(|value| value.json()),
        Kind::Object => Map::read(node).map(|value| value.json()),
        Kind::Objects => BTreeMap::<String, Map<String, Json>>::read(node).map(|value| value.json()),
    }
}

/// A node as JSON, with the scalars of YAML 1.2.
pub fn to_json(node: &Node) -> Json {
    match &node.content {
        Content::List(items) => items.iter().map(to_json).collect(),
        Content::Map(entries) => {
            let pair = |entry: &super::yaml::Entry| {
                let key = entry.key.text().unwrap_or_default().to_owned();
                (key, to_json(&entry.value))
            };
            Json::Object(entries.iter().map(pair).collect())
        }
        Content::Scalar(text, false) => Json::from(text.as_str()),
        Content::Scalar(text, true) => plain(text, node),
    }
}

fn plain(text: &str, node: &Node) -> Json {
    if node.is_null() {
        return Json::Null;
    }
    match text {
        "true" | "True" | "TRUE" => return Json::from(true),
        "false" | "False" | "FALSE" => return Json::from(false),
        _ => {}
    }
    if let Ok(number) = text.parse::<i64>() {
        return Json::from(number);
    }
    let looks_like_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    match text.parse::<f64>() {
        Ok(number) if looks_like_number && number.is_finite() => Json::from(number),
        _ => Json::from(text),
    }
}
