//! The inputs that a person gives to a run: from text to the types that the workflow declares.

use indexmap::IndexMap;

use super::suggest::nearest;
use crate::expr::{Object, Value};
use crate::model::{CallInputKind, CallTrigger, DispatchInput, DispatchInputKind, DispatchTrigger, Triggers};

/// The inputs of a run in both of their forms.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// The `inputs` context: typed values.
    pub typed: Object,
    /// `github.event.inputs`: the same values as text.
    pub texts: Object,
}

/// Why the given inputs do not fit the workflow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The workflow has no such input.
    #[error("input '{name}' is not defined by the workflow{}", hint(.suggestion.as_deref()))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The declared name that is most like it.
        suggestion: Option<String>,
    },
    /// A required input has neither a value nor a default.
    #[error("required input '{name}' is not given")]
    Missing {
        /// The input.
        name: String,
    },
    /// The value has the wrong type.
    #[error("input '{name}' must be a {expected}, not '{value}'")]
    Mistyped {
        /// The input.
        name: String,
        /// The type that is declared.
        expected: &'static str,
        /// The value that was given.
        value: String,
    },
    /// The value is none of the options.
    #[error("input '{name}' must be one of {}, not '{value}'", .options.join(", "))]
    NotAnOption {
        /// The input.
        name: String,
        /// The options in the order of the file.
        options: Vec<String>,
        /// The value that was given.
        value: String,
    },
}

fn hint(suggestion: Option<&str>) -> String {
    suggestion
        .map(|name| format!(" (did you mean '{name}'?)"))
        .unwrap_or_default()
}

/// Types the inputs that were given for a run that `event` causes.
///
/// `workflow_dispatch` and `workflow_call` have inputs, and so has a run of a workflow that knows no such event: it is
/// dispatched. A person may give inputs under any other event too, to try a workflow that also has the trigger; nothing
/// is required then, and without any given there are none.
///
/// # Errors
/// Every input that does not fit.
pub fn inputs(
    event: &str,
    triggers: &Triggers,
    given: &IndexMap<String, String>,
) -> Result<Inputs, Vec<InputError>> {
    let has_inputs = matches!(event, "workflow_dispatch" | "workflow_call");
    let demanded = has_inputs || !triggers.events.contains_key(event);
    if !demanded && given.is_empty() {
        return Ok(Inputs::default());
    }
    typed(triggers, given, demanded)
}

/// Types inputs by their declarations; what is required is missed only if it is `demanded`.
fn typed(
    triggers: &Triggers,
    given: &IndexMap<String, String>,
    demanded: bool,
) -> Result<Inputs, Vec<InputError>> {
    match (&triggers.dispatch, &triggers.call) {
        (Some(dispatch), _) => dispatch_inputs(dispatch, given, demanded),
        (None, Some(call)) => call_inputs(call, given, demanded),
        (None, None) => check_names(given, &[]).map(|()| Inputs::default()),
    }
}

fn dispatch_inputs(
    trigger: &DispatchTrigger,
    given: &IndexMap<String, String>,
    demanded: bool,
) -> Result<Inputs, Vec<InputError>> {
    let declared: Vec<&str> = trigger.inputs.keys().map(String::as_str).collect();
    let mut errors = check_names(given, &declared).err().unwrap_or_default();
    let mut inputs = Inputs::default();
    for (name, input) in &trigger.inputs {
        let value = find(given, name)
            .filter(|value| !value.is_empty())
            .or(input.default.as_deref());
        if value.is_none() && input.required && demanded {
            errors.push(InputError::Missing { name: name.clone() });
            continue;
        }
        match dispatch_value(name, input, value) {
            Ok((text, value)) => {
                inputs.texts.insert(name.as_str(), text);
                inputs.typed.insert(name.as_str(), value);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(inputs)
    } else {
        Err(errors)
    }
}

/// The text and the typed value of one input; without a value it is the zero of its type.
fn dispatch_value<'a>(
    name: &str,
    input: &DispatchInput,
    value: Option<&'a str>,
) -> Result<(&'a str, Value), InputError> {
    match &input.kind {
        DispatchInputKind::Boolean => {
            let text = value.unwrap_or("false");
            Ok((text, boolean(name, text)?))
        }
        DispatchInputKind::Number => match value {
            Some(text) => Ok((text, number(name, text)?)),
            None => Ok(("", Value::Number(0.0))),
        },
        DispatchInputKind::Choice(options) => {
            let text = value.unwrap_or_default();
            if value.is_some() && !options.iter().any(|option| option == text) {
                let (name, value) = (name.to_owned(), text.to_owned());
                return Err(InputError::NotAnOption {
                    name,
                    options: options.clone(),
                    value,
                });
            }
            Ok((text, Value::from(text)))
        }
        DispatchInputKind::String | DispatchInputKind::Environment => {
            let text = value.unwrap_or_default();
            Ok((text, Value::from(text)))
        }
    }
}

/// Types inputs by `workflow_call`; inputs that are not given keep their defaults, which the run evaluates.
fn call_inputs(
    trigger: &CallTrigger,
    given: &IndexMap<String, String>,
    demanded: bool,
) -> Result<Inputs, Vec<InputError>> {
    let declared: Vec<&str> = trigger.inputs.keys().map(String::as_str).collect();
    let mut errors = check_names(given, &declared).err().unwrap_or_default();
    let mut inputs = Inputs::default();
    for (name, input) in &trigger.inputs {
        let Some(text) = find(given, name) else {
            if input.required && demanded {
                errors.push(InputError::Missing { name: name.clone() });
            }
            continue;
        };
        let value = match input.kind {
            CallInputKind::String => Ok(Value::from(text)),
            CallInputKind::Boolean => boolean(name, text),
            CallInputKind::Number => number(name, text),
        };
        match value {
            Ok(value) => {
                inputs.texts.insert(name.as_str(), text);
                inputs.typed.insert(name.as_str(), value);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(inputs)
    } else {
        Err(errors)
    }
}

fn find<'a>(given: &'a IndexMap<String, String>, name: &str) -> Option<&'a str> {
    let same = given.iter().rev().find(|(key, _)| same_name(key, name));
    same.map(|(_, value)| value.as_str())
}

fn same_name(left: &str, right: &str) -> bool {
    left.to_lowercase() == right.to_lowercase()
}

fn boolean(name: &str, text: &str) -> Result<Value, InputError> {
    match text {
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ => Err(mistyped(name, "boolean", text)),
    }
}

fn number(name: &str, text: &str) -> Result<Value, InputError> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(Value::Number(value)),
        _ => Err(mistyped(name, "number", text)),
    }
}

fn mistyped(name: &str, expected: &'static str, value: &str) -> InputError {
    InputError::Mistyped {
        name: name.to_owned(),
        expected,
        value: value.to_owned(),
    }
}

fn check_names(given: &IndexMap<String, String>, declared: &[&str]) -> Result<(), Vec<InputError>> {
    let unknown = given
        .keys()
        .filter(|name| !declared.iter().any(|known| same_name(known, name)));
    let errors: Vec<InputError> = unknown
        .map(|name| InputError::Unknown {
            name: name.clone(),
            suggestion: nearest(name, declared.iter().copied()),
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventConfig, Position};

    fn input(kind: DispatchInputKind, required: bool, default: Option<&str>) -> DispatchInput {
        DispatchInput {
            description: None,
            required,
            default: default.map(str::to_owned),
            kind,
            position: Position { line: 1, column: 1 },
        }
    }

    fn triggers() -> Triggers {
        let options = || DispatchInputKind::Choice(vec!["low".to_owned(), "high".to_owned()]);
        let inputs = [
            ("flag", input(DispatchInputKind::Boolean, false, None)),
            ("count", input(DispatchInputKind::Number, false, Some("3"))),
            ("Level", input(options(), false, Some("low"))),
            ("word", input(DispatchInputKind::String, true, None)),
            ("place", input(DispatchInputKind::Environment, false, None)),
        ];
        let inputs = inputs
            .into_iter()
            .map(|(name, input)| (name.to_owned(), input))
            .collect();
        let events = ["push", "workflow_dispatch"].map(|event| (event.to_owned(), EventConfig::default()));
        Triggers {
            events: events.into_iter().collect(),
            dispatch: Some(DispatchTrigger { inputs }),
            ..Triggers::default()
        }
    }

    fn given(pairs: &[(&str, &str)]) -> IndexMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn json(object: &Object) -> String {
        Value::object(object.clone())
            .to_json()
            .split_whitespace()
            .collect()
    }

    #[test]
    fn inputs_are_typed_and_the_event_keeps_text() {
        let inputs = inputs(
            "workflow_dispatch",
            &triggers(),
            &given(&[("FLAG", "true"), ("level", "high"), ("word", "x")]),
        )
        .unwrap();
        assert_eq!(
            json(&inputs.typed),
            r#"{"flag":true,"count":3,"Level":"high","word":"x","place":""}"#
        );
        assert_eq!(
            json(&inputs.texts),
            r#"{"flag":"true","count":"3","Level":"high","word":"x","place":""}"#
        );
    }

    #[test]
    fn under_other_events_inputs_may_be_given_but_none_is_missed() {
        let texts = |given: &[(&str, &str)]| {
            let given = given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            inputs("push", &triggers(), &given).map(|inputs| json(&inputs.typed))
        };
        assert_eq!(texts(&[]).unwrap(), "{}");
        assert_eq!(
            texts(&[("flag", "true")]).unwrap(),
            r#"{"flag":true,"count":3,"Level":"low","word":"","place":""}"#
        );
        assert!(texts(&[("flag", "yes")]).is_err());
        for event in ["workflow_dispatch", "release"] {
            assert!(inputs(event, &triggers(), &IndexMap::new()).is_err(), "{event}");
        }
    }

    #[test]
    fn every_mistake_is_told() {
        let wrong = [
            ("flag", "yes"),
            ("count", "many"),
            ("level", "mid"),
            ("wrod", "x"),
            ("zzzzzz", ""),
        ];
        let errors = inputs("workflow_dispatch", &triggers(), &given(&wrong)).unwrap_err();
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "input 'wrod' is not defined by the workflow (did you mean 'word'?)",
                "input 'zzzzzz' is not defined by the workflow",
                "input 'flag' must be a boolean, not 'yes'",
                "input 'count' must be a number, not 'many'",
                "input 'Level' must be one of low, high, not 'mid'",
                "required input 'word' is not given",
            ]
        );
    }

    #[test]
    fn a_workflow_that_can_only_be_called_types_its_inputs_too() {
        let kinds = [
            ("n", CallInputKind::Number, true),
            ("b", CallInputKind::Boolean, false),
        ];
        let position = Position { line: 1, column: 1 };
        let declared = kinds.map(|(name, kind, required)| {
            (
                name.to_owned(),
                crate::model::CallInput {
                    kind,
                    required,
                    default: None,
                    position,
                },
            )
        });
        let call = CallTrigger {
            inputs: declared.into_iter().collect(),
            ..CallTrigger::default()
        };
        let triggers = Triggers {
            call: Some(call),
            ..Triggers::default()
        };
        assert_eq!(
            json(
                &inputs("workflow_call", &triggers, &given(&[("n", "2")]))
                    .unwrap()
                    .typed
            ),
            r#"{"n":2}"#
        );
        assert!(inputs("workflow_call", &triggers, &given(&[])).is_err());
    }

    #[test]
    fn a_workflow_without_inputs_takes_none() {
        assert!(inputs("push", &Triggers::default(), &given(&[])).is_ok());
        assert!(inputs("push", &Triggers::default(), &given(&[("x", "1")])).is_err());
    }
}
