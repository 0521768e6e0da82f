//! Standard JSON, as files and programs hold it.

use super::super::{Object, Value};

/// Why a text is not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid JSON at line {line}, column {column}: {reason}")]
pub struct JsonError {
    /// Line, from 1.
    pub line: usize,
    /// Column in bytes; 0 if the text ends too early at the start of a line.
    pub column: usize,
    /// What is wrong there.
    pub reason: String,
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        let text = error.to_string();
        // The library appends the place, which has its own fields here.
        let reason = text.split(" at line ").next().unwrap_or_default().to_owned();
        Self {
            line: error.line(),
            column: error.column(),
            reason,
        }
    }
}

/// Reads one JSON text; nesting is limited to 127 levels.
pub(in super::super) fn read(text: &str) -> Result<Value, JsonError> {
    Ok(Value::from(serde_json::from_str::<serde_json::Value>(text)?))
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Null,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::from(text),
            serde_json::Value::Array(items) => Self::array(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(entries) => Self::object(
                entries
                    .into_iter()
                    .map(|(key, value)| (key, Self::from(value)))
                    .collect::<Object>(),
            ),
        }
    }
}

impl From<&Value> for serde_json::Value {
    /// Whole numbers become JSON integers; NaN and the infinities, which JSON lacks, become null.
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => number_to_json(*number),
            Value::String(text) => Self::String(text.as_ref().to_owned()),
            Value::Array(array) => Self::Array(array.iter().map(Self::from).collect()),
            Value::Object(object) => Self::Object(
                object
                    .iter()
                    .map(|(key, value)| (key.to_owned(), Self::from(value)))
                    .collect(),
            ),
        }
    }
}

fn number_to_json(number: f64) -> serde_json::Value {
    /// Up to here every whole number has a `f64` of its own.
    const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= MAX_EXACT {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole and in range by the condition above"
        )]
        return serde_json::Value::from(number as i64);
    }
    serde_json::Value::from(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_a_place() {
        let error = Value::from_json("{\n  \"a\": ?\n}").unwrap_err();
        assert_eq!((error.line, error.column), (2, 8));
        assert!(!error.reason.contains("line"), "{error}");
    }

    #[test]
    fn keys_that_differ_by_case_are_one() {
        let value = Value::from_json(r#"{"a": 1, "b": null, "A": 2}"#).unwrap();
        assert_eq!(value.to_json(), "{\n  \"a\": 2,\n  \"b\": null\n}");
    }

    #[test]
    fn values_survive_the_way_to_json_and_back() {
        let text = r#"{"a":[1,1.5,-2,"x",true,null],"b":{"c":{}}}"#;
        let value = Value::from_json(text).unwrap();
        assert_eq!(serde_json::Value::from(&value).to_string(), text);
    }
}
