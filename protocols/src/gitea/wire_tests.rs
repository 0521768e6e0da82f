//! The bytes of the messages, against numbers that were counted by hand.

use std::fmt::Write;

use prost::Message;

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Checks that a message has these bytes, and that they are read as the same message.
fn check<M: Message + PartialEq + Default>(message: &M, bytes: &str) {
    let bytes: String = bytes.split_whitespace().collect();
    assert_eq!(hex(&message.encode_to_vec()), bytes);
    assert!(M::decode(message.encode_to_vec().as_slice()).unwrap() == *message);
}

fn text(text: &str) -> String {
    text.to_owned()
}

#[test]
fn messages_have_the_documented_numbers() {
    check(&PingRequest { data: text("ab") }, "0a 02 6162");
    check(&PingResponse { data: text("c") }, "0a 01 63");
    let register = RegisterRequest {
        name: text("n"),
        token: text("t"),
        agent_labels: vec![text("a")],
        custom_labels: vec![text("c")],
        version: text("v"),
        labels: vec![text("l"), text("m")],
        ephemeral: true,
        capabilities: vec![text("x")],
    };
    check(
        &register,
        "0a016e 120174 1a0161 220163 2a0176 32016c 32016d 3801 420178",
    );
    let declare = DeclareRequest {
        version: text("v"),
        labels: vec![text("l")],
        capabilities: vec![text("x")],
    };
    check(&declare, "0a0176 12016c 1a0178");
    let runner = Runner {
        id: 1,
        uuid: text("u"),
        token: text("t"),
        name: text("n"),
        status: RunnerStatus::Offline.into(),
        agent_labels: vec![text("a")],
        custom_labels: vec![text("c")],
        version: text("v"),
        labels: vec![text("l")],
        ephemeral: true,
    };
    let bytes = "0801 120175 1a0174 22016e 2803 320161 3a0163 420176 4a016c 5001";
    check(&runner, bytes);
    let inner: String = bytes.split_whitespace().collect();
    let nested = format!("0a {:02x} {inner}", inner.len() / 2);
    check(
        &RegisterResponse {
            runner: Some(runner.clone()),
        },
        &nested,
    );
    check(&DeclareResponse { runner: Some(runner) }, &nested);
}

#[test]
fn requests_for_tasks_tell_absent_from_zero() {
    let mut request = FetchTaskRequest {
        tasks_version: 7,
        task_capacity: None,
    };
    check(&request, "0807");
    request.task_capacity = Some(0);
    check(&request, "0807 1000");
    let single = FetchSingleTaskRequest {
        tasks_version: 1,
        handle: Some(text("h")),
    };
    check(&single, "0801 120168");
}

#[test]
fn the_two_answers_with_tasks_differ_in_their_order() {
    let task = Task {
        id: 5,
        workflow_payload: Some(b"w".to_vec()),
        context: Some(Struct::default()),
        secrets: BTreeMap::from([(text("S"), text("s"))]),
        machine: text("m"),
        needs: BTreeMap::from([(
            text("j"),
            TaskNeed {
                outputs: BTreeMap::from([(text("o"), text("p"))]),
                result: Result::Success.into(),
            },
        )]),
        vars: BTreeMap::from([(text("V"), text("v"))]),
    };
    let bytes = "0805 120177 1a00 2206 0a0153 120173 2a016d 320f 0a016a 120a 0a06 0a016f 120170 1001 3a06 0a0156 120176";
    check(&task, bytes);
    let inner: String = bytes.split_whitespace().collect();
    let length = inner.len() / 2;
    let several = FetchTaskResponse {
        task: Some(task.clone()),
        tasks_version: 9,
        additional_tasks: vec![task.clone()],
    };
    check(
        &several,
        &format!("0a {length:02x} {inner} 1009 1a {length:02x} {inner}"),
    );
    let single = FetchSingleTaskResponse {
        tasks_version: 9,
        task: Some(task),
    };
    check(&single, &format!("0809 12 {length:02x} {inner}"));
}

#[test]
fn reports_have_the_documented_numbers() {
    let time = |seconds, nanos| Some(Timestamp { seconds, nanos });
    let step = StepState {
        id: 1,
        result: Result::Skipped.into(),
        started_at: time(1, 0),
        stopped_at: time(2, 3),
        log_index: 4,
        log_length: 5,
    };
    let state = TaskState {
        id: 6,
        result: Result::Cancelled.into(),
        started_at: time(1, 0),
        stopped_at: time(2, 0),
        steps: vec![step],
    };
    let bytes = "0806 1003 1a02 0801 2202 0802 2a12 0801 1004 1a02 0801 2204 0802 1003 2804 3005";
    let inner: String = bytes.split_whitespace().collect();
    let length = inner.len() / 2;
    check(&state, bytes);
    let request = UpdateTaskRequest {
        state: Some(state.clone()),
        outputs: BTreeMap::from([(text("k"), text("v"))]),
    };
    check(&request, &format!("0a {length:02x} {inner} 1206 0a016b 120176"));
    let answer = UpdateTaskResponse {
        state: Some(state),
        sent_outputs: vec![text("k")],
    };
    check(&answer, &format!("0a {length:02x} {inner} 12016b"));
    let log = UpdateLogRequest {
        task_id: 1,
        index: 2,
        rows: vec![LogRow {
            time: time(1, 0),
            content: text("r"),
        }],
        no_more: true,
    };
    check(&log, "0801 1002 1a07 0a020801 120172 2001");
    check(&UpdateLogResponse { ack_index: 300 }, "08ac02");
}

#[test]
fn no_bytes_are_an_empty_message() {
    check(&FetchTaskResponse::default(), "");
    check(&UpdateLogRequest::default(), "");
}

#[test]
fn unknown_fields_are_skipped() {
    // A step state with a name (7), a number (8) and a stage (9), as one proposal has them.
    let bytes = [0x08, 0x01, 0x3a, 0x01, 0x6e, 0x40, 0x02, 0x48, 0x03, 0x28, 0x04];
    let step = StepState::decode(bytes.as_slice()).unwrap();
    assert_eq!((step.id, step.log_index), (1, 4));
}

#[test]
fn a_context_that_is_nested_too_deep_is_an_error() {
    let mut value = Value { kind: None };
    for _ in 0..200 {
        let list = ListValue { values: vec![value] };
        value = Value {
            kind: Some(value::Kind::ListValue(list)),
        };
    }
    let bytes = value.encode_to_vec();
    assert!(Value::decode(bytes.as_slice()).is_err());
}
