//! How a condition came to its answer, as text for a person.

use std::cell::RefCell;

use super::{Expression, Recorder, Value};

/// The longest text of an explanation in characters; what is longer is cut.
pub const TEXT_LIMIT: usize = 1000;

/// A longer text in bytes is not shown at all: it would have to be masked as a whole before it could be cut.
const SEEN_LIMIT: usize = 64 * 1024;

/// So many operands are shown.
const OPERAND_LIMIT: usize = 100;

/// How a condition came to its answer. Nothing in it shows what was concealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The expression that decided.
    pub condition: String,
    /// What was evaluated, in the order of evaluation; operands that say nothing beyond their own text are absent.
    pub operands: Vec<Operand>,
    /// Whether the condition holds, or the text of the failed evaluation.
    pub answer: Result<bool, String>,
}

/// A part of an expression and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operand {
    /// The part in its canonical text.
    pub text: String,
    /// Its value as the expression language writes it.
    pub value: String,
}

/// Collects the operands of one evaluation.
#[derive(Debug, Default)]
pub struct Operands(RefCell<Vec<(String, Value)>>);

impl Recorder for Operands {
    fn operand(&self, text: &str, value: &Value) {
        let mut operands = self.0.borrow_mut();
        // Of `github`, `github.event` and `github.event.number` only the last one says something.
        if operands.last().is_some_and(|(base, _)| is_index_of(text, base)) {
            operands.pop();
        }
        operands.push((text.to_owned(), value.clone()));
    }
}

impl Operands {
    /// Makes an explanation of the evaluation that these operands are of; every text in it has gone through `conceal`.
    pub fn explain(
        self,
        condition: &Expression,
        answer: Result<bool, String>,
        conceal: impl Fn(&str) -> String,
    ) -> Explanation {
        let text = |text: &str| shown(text, &conceal);
        let mut operands = self.0.into_inner();
        // The last operand is the whole condition, whose answer is told anyway.
        let whole = answer.is_ok() && operands.len() > 1;
        if whole && matches!(operands.last(), Some((_, Value::Bool(_)))) {
            operands.pop();
        }
        let operands = operands
            .iter()
            .filter(|(name, value)| literal(value).is_none_or(|literal| literal != *name))
            .take(OPERAND_LIMIT)
            .map(|(name, value)| Operand {
                text: text(name),
                value: value_text(name, value, text),
            })
            .collect();
        Explanation {
            condition: text(condition.source()),
            operands,
            answer: answer.map_err(|reason| text(&reason)),
        }
    }
}

/// Tells whether an operand is an index into another: `base.name` or `base[...]`.
fn is_index_of(text: &str, base: &str) -> bool {
    text.strip_prefix(base)
        .is_some_and(|rest| rest.starts_with(['.', '[']) && !rest.contains(' '))
}

/// Conceals a text and cuts it; in this order, so that no part of a secret is left at the cut.
pub(crate) fn shown(text: &str, conceal: impl Fn(&str) -> String) -> String {
    if text.len() > SEEN_LIMIT {
        return format!("(a text of {} bytes)", text.len());
    }
    let text = conceal(text);
    match text.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// How the value of an operand is shown.
fn value_text(name: &str, value: &Value, text: impl Fn(&str) -> String) -> String {
    // Secrets that are too short to be masked in a log are known as such here.
    let is_secret = name.starts_with("secrets.") || name.starts_with("secrets[");
    match (value, literal(value)) {
        (Value::String(secret), _) if is_secret && !secret.is_empty() => "'***'".to_owned(),
        (_, Some(literal)) => text(&literal),
        (Value::Array(array), None) => {
            let items: Vec<String> = array.iter().take(OPERAND_LIMIT).map(brief).collect();
            text(&format!("[{}]", items.join(", ")))
        }
        (value, None) => brief(value),
    }
}

/// A value within a list, or one that has no literal.
fn brief(value: &Value) -> String {
    match value {
        Value::Object(object) => format!("Object with {} keys", object.len()),
        Value::Array(array) => format!("Array with {} items", array.len()),
        other => literal(other).unwrap_or_default(),
    }
}

/// The literal of a value: what would have to be written to get it.
fn literal(value: &Value) -> Option<String> {
    match value {
        Value::Null => Some("null".to_owned()),
        Value::String(text) => Some(format!("'{}'", text.replace('\'', "''"))),
        Value::Bool(_) | Value::Number(_) => Some(value.to_text().into_owned()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{HashFilesError, Host, Names, Object, Scope, StatusFunction};
    use super::*;

    struct AllWell;

    impl Host for AllWell {
        fn status(&self, function: StatusFunction, _: &[String]) -> bool {
            function == StatusFunction::Success
        }

        fn hash_files(&self, _: &[String]) -> Result<String, HashFilesError> {
            Err(HashFilesError::Pending)
        }
    }

    fn explained(source: &str) -> Explanation {
        let names = Names {
            contexts: &["github", "secrets", "matrix"],
            functions: &[super::super::Function {
                name: "success",
                min: 0,
                max: 255,
            }],
        };
        let github =
            r#"{"ref": "refs/heads/main", "n": 2, "event": {"labels": [{"name": "a"}, {"name": "it's"}]}}"#;
        let mut contexts = Object::new();
        contexts.insert("github", Value::from_json(github).unwrap());
        contexts.insert(
            "secrets",
            Value::from_json(r#"{"PIN": "12", "TOKEN": "tok-en"}"#).unwrap(),
        );
        let expression = Expression::parse(source, names).unwrap();
        let operands = Operands::default();
        let value = expression.evaluate(Scope {
            contexts: &contexts,
            host: &AllWell,
            recorder: Some(&operands),
        });
        let answer = value
            .map(|value| value.is_truthy())
            .map_err(|error| error.to_string());
        operands.explain(&expression, answer, |text| text.replace("tok-en", "***"))
    }

    fn check(source: &str, answer: bool, want: &[(&str, &str)]) {
        let explanation = explained(source);
        let operands: Vec<_> = explanation
            .operands
            .iter()
            .map(|operand| (operand.text.as_str(), operand.value.as_str()))
            .collect();
        assert_eq!(operands, want, "{source}");
        assert_eq!(explanation.answer, Ok(answer), "{source}");
    }

    #[test]
    fn operands_that_say_something_are_shown() {
        check("success()", true, &[("success()", "true")]);
        check(
            "success() && (github.ref == 'refs/heads/dev')",
            false,
            &[
                ("success()", "true"),
                ("github.ref", "'refs/heads/main'"),
                ("github.ref == 'refs/heads/dev'", "false"),
            ],
        );
        check(
            "contains(github.event.labels.*.name, 'a') && github.n > 1",
            true,
            &[
                ("github.event.labels.*.name", "['a', 'it''s']"),
                ("contains(github.event.labels.*.name, 'a')", "true"),
                ("github.n", "2"),
                ("github.n > 1", "true"),
            ],
        );
        // What is not evaluated is not shown, and an answer that is no truth value is.
        check(
            "github.ref || github.n",
            true,
            &[
                ("github.ref", "'refs/heads/main'"),
                ("github.ref || github.n", "'refs/heads/main'"),
            ],
        );
        check(
            "github.event.labels",
            true,
            &[("github.event.labels", "[Object with 1 keys, Object with 1 keys]")],
        );
        check("matrix.os == null", true, &[("matrix.os", "null")]);
    }

    #[test]
    fn secrets_are_concealed_also_those_that_no_log_masks() {
        check(
            "secrets.PIN != '' && secrets.NONE != ''",
            false,
            &[
                ("secrets.PIN", "'***'"),
                ("secrets.PIN != ''", "true"),
                ("secrets.NONE", "null"),
                ("secrets.NONE != ''", "false"),
            ],
        );
        let explanation = explained("format('{0}x', secrets.TOKEN) == 'tok-en'");
        assert_eq!(explanation.condition, "format('{0}x', secrets.TOKEN) == '***'");
        assert_eq!(explanation.operands[1].value, "'***x'");
    }

    #[test]
    fn a_failed_evaluation_keeps_what_was_evaluated_before() {
        let explanation = explained("github.n == 2 && fromJSON(github.ref)");
        assert_eq!(explanation.operands[1].text, "github.n == 2");
        assert!(explanation.answer.is_err());
    }

    #[test]
    fn a_cut_never_leaves_a_part_of_a_secret() {
        let secret = "tok-en";
        for before in TEXT_LIMIT - 8..TEXT_LIMIT + 2 {
            let text = shown(&format!("{}{secret}", "x".repeat(before)), |text| {
                text.replace(secret, "***")
            });
            assert!(!text.contains('t'), "{text}");
            assert!(text.chars().count() <= TEXT_LIMIT + 1);
        }
        let huge = shown(&"x".repeat(SEEN_LIMIT + 1), str::to_owned);
        assert_eq!(huge, "(a text of 65537 bytes)");
    }
}
