//! What each server says, and what it means, as a table.

use super::*;

const HOST: &str = "forge.test";
const ADDRESS: &str = "https://forge.test/git";
const PATH: &str = "api/actions/x.Y/Z";

fn rpc(code: Code, message: &str) -> Call {
    Call::Rpc {
        host: HOST.to_owned(),
        code,
        message: message.to_owned(),
        retry_after: None,
    }
}

fn http(status: u16) -> Call {
    Call::Http {
        host: HOST.to_owned(),
        status,
        retry_after: None,
    }
}

/// The kind of the error, without its text.
fn kind(error: &Error) -> String {
    match error {
        Error::Busy { pause, .. } => format!("Busy {pause:?}"),
        error => {
            let shown = format!("{error:?}");
            shown.split([' ', '{']).next().unwrap().to_owned()
        }
    }
}

fn check(operation: &'static str, error: &Call, expected: &str) {
    let translated = translate(operation, ADDRESS, PATH, error);
    assert_eq!(kind(&translated), expected, "{operation}: {error}");
    let text = translated.to_string();
    assert!(
        text.starts_with(operation) && text.contains(ADDRESS),
        "the operation and the address are named: {text}"
    );
}

#[test]
fn a_runner_that_is_not_known_is_told_from_everything_else() {
    use Code::{InvalidArgument, PermissionDenied, Unauthenticated, Unknown};
    let table = [
        // The runner is not known: Gitea, Forgejo, and after the one job of an ephemeral runner.
        (
            "FetchTask",
            rpc(
                Unknown,
                "rpc error: code = Unauthenticated desc = unregistered runner",
            ),
            "Unregistered",
        ),
        (
            "UpdateTask",
            rpc(Unauthenticated, "unregistered runner"),
            "Unregistered",
        ),
        (
            "FetchTask",
            rpc(Unknown, "runner has been removed"),
            "Unregistered",
        ),
        // A gate before the server is not the server.
        ("FetchTask", rpc(Unauthenticated, "please log in"), "Unusable"),
        ("FetchTask", rpc(PermissionDenied, ""), "Unusable"),
        // Registration.
        (
            "Register",
            rpc(Unknown, "runner registration token not found"),
            "Refused",
        ),
        (
            "Register",
            rpc(
                Unknown,
                "rpc error: code = NotFound desc = runner token not found",
            ),
            "Refused",
        ),
        (
            "Register",
            rpc(
                Unknown,
                "runner registration token has been invalidated, please use the latest one",
            ),
            "Refused",
        ),
        (
            "Register",
            rpc(InvalidArgument, "missing runner token, name"),
            "Refused",
        ),
        ("Register", rpc(Unknown, "database is locked"), "Unavailable"),
    ];
    for (operation, error, expected) in table {
        check(operation, &error, expected);
    }
}

#[test]
fn errors_of_both_servers_are_told_apart() {
    use Code::{
        Aborted, AlreadyExists, DataLoss, Internal, InvalidArgument, NotFound, ResourceExhausted,
        Unavailable, Unimplemented, Unknown,
    };
    let table = [
        // The request.
        (
            "UpdateTask",
            rpc(Unknown, "rpc error: code = InvalidArgument desc = bad"),
            "Refused",
        ),
        ("FetchTask", rpc(InvalidArgument, "bad"), "Refused"),
        ("Declare", rpc(Unimplemented, ""), "Unsupported"),
        (
            "Declare",
            rpc(Unknown, "rpc error: code = Unimplemented desc = x"),
            "Unsupported",
        ),
        // The task.
        (
            "UpdateTask",
            rpc(
                Unknown,
                "rpc error: code = Internal desc = update task: task with id 7: resource does not exist",
            ),
            "Gone",
        ),
        ("UpdateLog", rpc(NotFound, "no such task"), "Gone"),
        (
            "UpdateTask",
            rpc(Internal, "update task: invalid runner for task"),
            "Gone",
        ),
        ("FetchTask", rpc(Internal, "table does not exist"), "Unavailable"),
        ("UpdateLog", rpc(AlreadyExists, "x"), "Refused"),
        // The server's own trouble.
        (
            "FetchTask",
            rpc(Unknown, "rpc error: code = Internal desc = pick task: deadlock"),
            "Unavailable",
        ),
        (
            "FetchTask",
            rpc(Internal, "request key is currently locked; retry soon"),
            "Busy 1s",
        ),
        ("UpdateLog", rpc(Unknown, "anything"), "Unavailable"),
        (
            "UpdateLog",
            rpc(Unknown, "rpc error: code = New desc = x"),
            "Unavailable",
        ),
        ("UpdateLog", rpc(Unavailable, ""), "Unavailable"),
        ("UpdateLog", rpc(Aborted, ""), "Unavailable"),
        ("UpdateLog", rpc(DataLoss, ""), "Unavailable"),
        ("UpdateLog", rpc(ResourceExhausted, ""), "Unavailable"),
    ];
    for (operation, error, expected) in table {
        check(operation, &error, expected);
    }
}

#[test]
fn pages_are_not_the_servers_word() {
    let table = [
        (400, "Unusable"),
        (401, "Unusable"),
        (403, "Unusable"),
        (404, "Unusable"),
        (405, "Unusable"),
        (407, "Unusable"),
        (408, "Unavailable"),
        (413, "Unusable"),
        (418, "Unusable"),
        (429, "Unavailable"),
        (500, "Unavailable"),
        (502, "Unavailable"),
        (503, "Unavailable"),
        (504, "Unavailable"),
    ];
    for (status, expected) in table {
        check("FetchTask", &http(status), expected);
        let text = translate("FetchTask", ADDRESS, PATH, &http(status)).to_string();
        assert!(
            text.contains(&format!("{ADDRESS}/{PATH}: HTTP status {status}")),
            "{text}"
        );
    }
    check("Declare", &http(404), "Unsupported");
}

#[test]
fn what_is_in_the_way_is_named() {
    let host = || HOST.to_owned();
    let reason = || "why".to_owned();
    let table = [
        (
            Call::Malformed {
                host: host(),
                code: Code::Unknown,
                reason: reason(),
            },
            "FetchTask: https://forge.test/git: why",
        ),
        (
            Call::Redirected {
                host: host(),
                location: "https://other.test".to_owned(),
            },
            "FetchTask: https://forge.test/git: the server redirects to https://other.test; use that address",
        ),
        (
            Call::Untrusted {
                host: host(),
                reason: reason(),
            },
            "FetchTask: https://forge.test/git: TLS: why",
        ),
        (
            Call::Deadline {
                host: host(),
                after: Duration::from_secs(5),
            },
            "FetchTask: the forge is unavailable: https://forge.test/git: no answer within 5s",
        ),
        (
            Call::Unreachable {
                host: host(),
                reason: reason(),
            },
            "FetchTask: the forge is unavailable: https://forge.test/git: why",
        ),
        (
            rpc(Code::Unavailable, ""),
            "FetchTask: the forge is unavailable: https://forge.test/git: unavailable",
        ),
    ];
    for (error, expected) in table {
        assert_eq!(
            translate("FetchTask", ADDRESS, PATH, &error).to_string(),
            expected
        );
    }
}

#[test]
fn a_wish_to_be_left_alone_is_passed_on() {
    let wait = Some(Duration::from_mins(2));
    for code in [Code::ResourceExhausted, Code::Unavailable] {
        let error = Call::Rpc {
            host: HOST.to_owned(),
            code,
            message: String::new(),
            retry_after: wait,
        };
        check("FetchTask", &error, "Busy 120s");
    }
    let page = Call::Http {
        host: HOST.to_owned(),
        status: 503,
        retry_after: wait,
    };
    check("FetchTask", &page, "Busy 120s");
}

#[test]
fn only_some_callers_want_to_know_more() {
    let archived = "log file has been archived";
    let wrapped = format!("rpc error: code = AlreadyExists desc = {archived}");
    let deadline = Call::Deadline {
        host: HOST.to_owned(),
        after: Duration::ZERO,
    };
    let table = [
        ("UpdateLog", rpc(Code::AlreadyExists, archived), Seen::Archived),
        ("UpdateLog", rpc(Code::Unknown, &wrapped), Seen::Archived),
        ("UpdateTask", rpc(Code::Unknown, &wrapped), Seen::Failure),
        ("FetchTask", deadline, Seen::TimeUp),
        ("FetchTask", rpc(Code::DeadlineExceeded, ""), Seen::TimeUp),
        (
            "FetchTask",
            rpc(Code::Unknown, "rpc error: code = DeadlineExceeded desc = x"),
            Seen::TimeUp,
        ),
        ("FetchTask", http(504), Seen::Failure),
        ("UpdateLog", http(413), Seen::TooLarge),
    ];
    for (operation, error, expected) in table {
        assert_eq!(see(operation, &error), expected, "{error}");
    }
}
