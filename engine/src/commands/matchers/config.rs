//! A matcher file: reading and validation.

use std::collections::HashSet;

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::translate;

/// The greatest number of patterns of one matcher.
const PATTERN_LIMIT: usize = 50;
/// The greatest size of a compiled pattern in bytes, so that a file cannot take the runner's memory.
const COMPILED_LIMIT: usize = 1 << 20;

/// Why a matcher file is refused. `Display` is the text that the workflow's author reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is not JSON.
    #[error("the problem matcher file is not valid JSON: {0}")]
    Json(String),
    /// The file holds something else than an object.
    #[error("the problem matcher file does not hold a JSON object")]
    NotAnObject,
    /// A value has the wrong type.
    #[error("the property '{property}' of a problem matcher must be {expected}")]
    Type {
        /// The property.
        property: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// A matcher has no owner.
    #[error("Owner must not be empty")]
    Owner,
    /// Two matchers of the file have one owner.
    #[error("Duplicate owner name '{0}'")]
    DuplicateOwner(String),
    /// The default severity is none of error, warning and notice.
    #[error("Matcher '{owner}' contains unexpected default severity '{severity}'")]
    Severity {
        /// Whose matcher it is.
        owner: String,
        /// The word.
        severity: String,
    },
    /// A matcher has no pattern.
    #[error("Matcher '{0}' does not contain any patterns")]
    NoPatterns(String),
    /// `loop` stands where it may not.
    #[error("Only the last pattern in a multiline matcher may set 'loop'")]
    Loop,
    /// The pattern that loops has no message.
    #[error("The loop pattern must set 'message'")]
    LoopWithoutMessage,
    /// No pattern has a message.
    #[error("At least one pattern must set 'message'")]
    NoMessage,
    /// Two patterns of a matcher set one property.
    #[error("The property '{0}' is set twice")]
    SetTwice(&'static str),
    /// A property names a group that the expression does not have.
    #[error("The property '{property}' is set to {group} which is out of range")]
    OutOfRange {
        /// The property.
        property: &'static str,
        /// The number of the group.
        group: i64,
    },
    /// The expression is not understood.
    #[error("the expression '{expression}' of matcher '{owner}' is not supported: {reason}")]
    Expression {
        /// Whose matcher it is.
        owner: String,
        /// The expression as it is written.
        expression: String,
        /// Why it is refused.
        reason: String,
    },
    /// There are too many matchers or patterns.
    #[error("there are too many problem matchers")]
    TooMany,
}

/// A validated matcher.
#[derive(Debug)]
pub(super) struct Matcher {
    pub owner: String,
    pub severity: String,
    pub from_path: String,
    pub patterns: Vec<Pattern>,
}

/// One pattern of a matcher: an expression and what its groups mean.
#[derive(Debug)]
pub(super) struct Pattern {
    pub regex: Regex,
    /// The groups in the order of [`PROPERTIES`].
    pub groups: [Option<usize>; PROPERTIES.len()],
    pub repeats: bool,
}

/// What a group may mean, in the order in which [`Pattern::groups`] and the captures are kept.
pub(super) const PROPERTIES: [&str; 7] = [
    "file", "line", "column", "severity", "code", "message", "fromPath",
];
pub(super) const MESSAGE: usize = 5;

/// Reads and checks a file.
pub(super) fn parse(json: &str) -> Result<Vec<Matcher>, ConfigError> {
    let mut seen = HashSet::new();
    let mut matchers = Vec::new();
    for value in entries(json)? {
        let matcher = parse_matcher(object(&value, "problemMatcher")?)?;
        if !seen.insert(matcher.owner.to_ascii_lowercase()) {
            return Err(ConfigError::DuplicateOwner(matcher.owner));
        }
        matchers.push(matcher);
    }
    Ok(matchers)
}

/// The owners that a file names; the rest of it is not checked.
pub(super) fn owners(json: &str) -> Result<Vec<String>, ConfigError> {
    entries(json)?
        .iter()
        .map(|value| text(object(value, "problemMatcher")?, "owner"))
        .collect()
}

fn entries(json: &str) -> Result<Vec<Value>, ConfigError> {
    let mut root: Value = serde_json::from_str(json).map_err(|error| ConfigError::Json(error.to_string()))?;
    let root = root.as_object_mut().ok_or(ConfigError::NotAnObject)?;
    match root.get_mut("problemMatcher").map(Value::take) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= super::ACTIVE_LIMIT => Ok(list),
        Some(Value::Array(_)) => Err(ConfigError::TooMany),
        Some(_) => Err(ConfigError::Type {
            property: "problemMatcher",
            expected: "an array",
        }),
    }
}

fn parse_matcher(map: &Map<String, Value>) -> Result<Matcher, ConfigError> {
    let owner = text(map, "owner")?;
    if owner.is_empty() {
        return Err(ConfigError::Owner);
    }
    let severity = text(map, "severity")?;
    if !["", "error", "warning", "notice"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&severity))
    {
        return Err(ConfigError::Severity { owner, severity });
    }
    let list = match map.get("pattern") {
        Some(Value::Array(list)) if list.len() > PATTERN_LIMIT => return Err(ConfigError::TooMany),
        Some(Value::Array(list)) if !list.is_empty() => list,
        None | Some(Value::Null | Value::Array(_)) => return Err(ConfigError::NoPatterns(owner)),
        Some(_) => {
            return Err(ConfigError::Type {
                property: "pattern",
                expected: "an array",
            });
        }
    };
    let mut patterns = Vec::new();
    let mut taken = [false; PROPERTIES.len()];
    for (index, value) in list.iter().enumerate() {
        let may_loop = index > 0 && index + 1 == list.len();
        patterns.push(parse_pattern(
            object(value, "pattern")?,
            &owner,
            may_loop,
            &mut taken,
        )?);
    }
    if !taken.get(MESSAGE).copied().unwrap_or(false) {
        return Err(ConfigError::NoMessage);
    }
    let from_path = text(map, "fromPath")?;
    Ok(Matcher {
        owner,
        severity,
        from_path,
        patterns,
    })
}

fn parse_pattern(
    map: &Map<String, Value>,
    owner: &str,
    may_loop: bool,
    taken: &mut [bool; PROPERTIES.len()],
) -> Result<Pattern, ConfigError> {
    let repeats = match map.get("loop") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(repeats)) => *repeats,
        Some(_) => {
            return Err(ConfigError::Type {
                property: "loop",
                expected: "a boolean",
            });
        }
    };
    if repeats && !may_loop {
        return Err(ConfigError::Loop);
    }
    let regex = compile(&text(map, "regexp")?, owner)?;
    let mut groups = [None; PROPERTIES.len()];
    for ((property, slot), taken) in PROPERTIES.into_iter().zip(&mut groups).zip(taken) {
        *slot = group(map, property, regex.captures_len())?;
        if slot.is_some() && std::mem::replace(taken, true) {
            return Err(ConfigError::SetTwice(property));
        }
    }
    if repeats && groups.get(MESSAGE).copied().flatten().is_none() {
        return Err(ConfigError::LoopWithoutMessage);
    }
    Ok(Pattern {
        regex,
        groups,
        repeats,
    })
}

fn compile(expression: &str, owner: &str) -> Result<Regex, ConfigError> {
    let refuse = |reason: String| ConfigError::Expression {
        owner: owner.to_owned(),
        expression: expression.to_owned(),
        reason,
    };
    let translated = translate::translate(expression).map_err(|reason| refuse(reason.to_owned()))?;
    // The crate's own text draws the expression over several lines; its last line says what is wrong.
    let last_line = |error: regex::Error| {
        error
            .to_string()
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    RegexBuilder::new(&translated)
        .size_limit(COMPILED_LIMIT)
        .build()
        .map_err(|error| refuse(last_line(error)))
}

fn group(
    map: &Map<String, Value>,
    property: &'static str,
    count: usize,
) -> Result<Option<usize>, ConfigError> {
    let number = match map.get(property) {
        None | Some(Value::Null) => return Ok(None),
        // A number in quotes is accepted, as GitHub's JSON reader converts it.
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_i64(),
    };
    let group = number.ok_or(ConfigError::Type {
        property,
        expected: "the number of a group",
    })?;
    match usize::try_from(group) {
        Ok(index) if index < count => Ok(Some(index)),
        _ => Err(ConfigError::OutOfRange { property, group }),
    }
}

fn object<'v>(value: &'v Value, property: &'static str) -> Result<&'v Map<String, Value>, ConfigError> {
    value.as_object().ok_or(ConfigError::Type {
        property,
        expected: "an array of objects",
    })
}

fn text(map: &Map<String, Value>, property: &'static str) -> Result<String, ConfigError> {
    match map.get(property) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(ConfigError::Type {
            property,
            expected: "a string",
        }),
    }
}
