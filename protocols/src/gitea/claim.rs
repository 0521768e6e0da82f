//! A task in the words of every forge, and back.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Number, Value};

use super::wire::{self, Struct, Timestamp, value::Kind};
use crate::forge::{Claim, Conclusion, Given, Need, TaskId};

/// Doubles tell whole numbers apart up to here.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A task as a claim; `capabilities` is what the server says it can do.
pub(super) fn claim(task: wire::Task, capabilities: String) -> Claim {
    let needs = task.needs.into_iter().map(|(job, need)| (job, need_of(need)));
    let given = Given {
        context: task.context.map(object).unwrap_or_default(),
        secrets: task.secrets,
        vars: task.vars,
        needs: needs.collect(),
        capabilities,
    };
    Claim {
        task: TaskId(task.id),
        payload: Arc::from(task.workflow_payload.unwrap_or_default()),
        given: Arc::new(given),
    }
}

fn need_of(need: wire::TaskNeed) -> Need {
    Need {
        // A result that is not known here is at least no success.
        conclusion: conclusion_of(need.result).unwrap_or(Conclusion::Failure),
        outputs: need.outputs,
    }
}

/// How something ended; nothing if it has not, or in a way that is not known here.
pub(super) fn conclusion_of(result: i32) -> Option<Conclusion> {
    match wire::Result::try_from(result).ok()? {
        wire::Result::Unspecified => None,
        wire::Result::Success => Some(Conclusion::Success),
        wire::Result::Failure => Some(Conclusion::Failure),
        wire::Result::Cancelled => Some(Conclusion::Cancelled),
        wire::Result::Skipped => Some(Conclusion::Skipped),
    }
}

/// The wire's word for how something ended.
pub(super) fn result_of(conclusion: Option<Conclusion>) -> i32 {
    let result = match conclusion {
        None => wire::Result::Unspecified,
        Some(Conclusion::Success) => wire::Result::Success,
        Some(Conclusion::Failure) => wire::Result::Failure,
        Some(Conclusion::Cancelled) => wire::Result::Cancelled,
        Some(Conclusion::Skipped) => wire::Result::Skipped,
    };
    result.into()
}

/// A point in time on the wire.
pub(super) fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::from(time)
}

fn object(object: Struct) -> Map<String, Value> {
    let fields = object.fields.into_iter();
    fields.map(|(key, field)| (key, json(field))).collect()
}

/// A value as JSON. How deep it goes has a bound: the decoder's.
fn json(value: wire::Value) -> Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::NumberValue(number)) => number_of(number),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::BoolValue(flag)) => Value::Bool(flag),
        Some(Kind::StructValue(fields)) => Value::Object(object(fields)),
        Some(Kind::ListValue(list)) => Value::Array(list.values.into_iter().map(json).collect()),
    }
}

/// All numbers of a struct are doubles; whole ones are whole again, so that 7 is not written as 7.0.
fn number_of(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
        return Value::from(number as i64);
    }
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use Conclusion::{Cancelled, Failure, Skipped, Success};

    fn value(kind: Kind) -> wire::Value {
        wire::Value { kind: Some(kind) }
    }

    #[test]
    fn numbers_are_whole_where_they_can_be() {
        let table = [
            (7.0, json!(7)),
            (-3.0, json!(-3)),
            (-0.0, json!(0)),
            (1.5, json!(1.5)),
            (9_007_199_254_740_992.0, json!(9_007_199_254_740_992_i64)),
            (1e300, json!(1e300)),
            (f64::NAN, Value::Null),
            (f64::INFINITY, Value::Null),
        ];
        for (number, expected) in table {
            assert_eq!(number_of(number), expected, "{number}");
        }
        assert_eq!(number_of(7.0).to_string(), "7");
    }

    #[test]
    fn a_task_becomes_a_claim() {
        let list = wire::ListValue {
            values: vec![value(Kind::BoolValue(true)), wire::Value { kind: None }],
        };
        let context = Struct {
            fields: [
                ("run_id".to_owned(), value(Kind::NumberValue(42.0))),
                ("list".to_owned(), value(Kind::ListValue(list))),
                ("event".to_owned(), value(Kind::StructValue(Struct::default()))),
            ]
            .into(),
        };
        let need = |result| wire::TaskNeed {
            outputs: [("k".to_owned(), "v".to_owned())].into(),
            result,
        };
        let task = wire::Task {
            id: 9,
            workflow_payload: Some(b"jobs: {}".to_vec()),
            context: Some(context),
            secrets: [("A".to_owned(), "s".to_owned())].into(),
            machine: "unused".to_owned(),
            needs: [
                ("ok", 1),
                ("bad", 2),
                ("off", 3),
                ("no", 4),
                ("none", 0),
                ("new", 77),
            ]
            .map(|(job, result)| (job.to_owned(), need(result)))
            .into(),
            vars: BTreeMap::new(),
        };
        let claim = claim(task, "job-summary".to_owned());
        assert_eq!((claim.task, &*claim.payload), (TaskId(9), &b"jobs: {}"[..]));
        let given = &claim.given;
        assert_eq!(
            Value::Object(given.context.clone()),
            json!({"run_id": 42, "list": [true, null], "event": {}})
        );
        assert_eq!(given.secrets["A"], "s");
        assert_eq!(given.capabilities, "job-summary");
        let needs: Vec<_> = given
            .needs
            .iter()
            .map(|(job, need)| (job.as_str(), need.conclusion))
            .collect();
        let expected = [
            ("bad", Failure),
            ("new", Failure),
            ("no", Skipped),
            ("none", Failure),
            ("off", Cancelled),
            ("ok", Success),
        ];
        assert_eq!(needs, expected);
    }

    #[test]
    fn a_task_without_anything_is_a_claim_too() {
        let claim = claim(wire::Task::default(), String::new());
        assert!(claim.payload.is_empty() && claim.given.context.is_empty());
    }

    #[test]
    fn results_are_read_as_they_are_written() {
        for result in 0..5 {
            assert_eq!(result_of(conclusion_of(result)), result);
        }
        assert_eq!(conclusion_of(99), None);
        assert_eq!(conclusion_of(-1), None);
    }

    #[test]
    fn times_keep_their_nanoseconds() {
        let time = SystemTime::UNIX_EPOCH + Duration::new(5, 7);
        assert_eq!(timestamp(time), Timestamp { seconds: 5, nanos: 7 });
    }
}
