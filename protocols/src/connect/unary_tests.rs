//! Every kind of answer, as a table.

use bytes::Bytes;

use super::*;
use crate::gitea::wire::{PingResponse, UpdateLogResponse};

fn response(status: u16, content_type: &str, body: &[u8]) -> Response {
    Response {
        status,
        headers: vec![("content-type".to_owned(), content_type.to_owned())],
        body: Bytes::copy_from_slice(body),
    }
}

/// What an answer with this status, content type and body is told as.
fn told(status: u16, content_type: &str, body: &[u8]) -> String {
    match interpret::<PingResponse>("forge.test", response(status, content_type, body)) {
        Ok(answer) => format!("ok {:?}", answer.message.data),
        Err(error) => {
            assert!(error.to_string().starts_with("forge.test: "), "{error}");
            let code = error.code();
            match error {
                Error::Rpc { message, .. } => format!("rpc {code} {message:?}"),
                Error::Http { status, .. } => format!("http {code} {status}"),
                Error::Malformed { .. } => format!("malformed {code}"),
                error => format!("{error:?}"),
            }
        }
    }
}

#[test]
fn answers_are_told_apart() {
    let unregistered =
        br#"{"code":"unknown","message":"rpc error: code = Unauthenticated desc = unregistered runner"}"#;
    let table: &[(u16, &str, &[u8], &str)] = &[
        (200, "application/proto", b"\x0a\x02hi", r#"ok "hi""#),
        (200, "application/proto; charset=x", b"", r#"ok """#),
        (200, "Application/Proto", b"", r#"ok """#),
        // Unknown fields are skipped; what is cut off is not.
        (200, "application/proto", b"\x10\x07\x0a\x01x", r#"ok "x""#),
        (
            200,
            "application/proto",
            b"\x0a\x05hi",
            "malformed invalid_argument",
        ),
        (
            200,
            "application/proto",
            b"\x0a\x01\xff",
            "malformed invalid_argument",
        ),
        (
            200,
            "application/proto",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            "malformed invalid_argument",
        ),
        (200, "application/json", b"{}", "malformed internal"),
        (200, "text/html", b"<html>", "malformed unknown"),
        (200, "", b"", "malformed unknown"),
        (204, "application/proto", b"", "http unknown 204"),
        (
            401,
            "application/json",
            br#"{"code":"unauthenticated","message":"unregistered runner"}"#,
            r#"rpc unauthenticated "unregistered runner""#,
        ),
        (
            500,
            "application/json",
            unregistered,
            r#"rpc unknown "rpc error: code = Unauthenticated desc = unregistered runner""#,
        ),
        (
            500,
            "application/json; charset=utf-8",
            br#"{"code":"internal","details":[{"type":"a.B","value":"AA"}]}"#,
            r#"rpc internal """#,
        ),
        // The name of the code counts, not the status; an unknown name leaves the status.
        (
            500,
            "application/json",
            br#"{"code":"not_found"}"#,
            r#"rpc not_found """#,
        ),
        (
            503,
            "application/json",
            br#"{"code":"tired"}"#,
            r#"rpc unavailable """#,
        ),
        (
            500,
            "application/json",
            br#"{"code":"internal","message":"a\u001b[2Jb"}"#,
            r#"rpc internal "a [2Jb""#,
        ),
        (
            500,
            "application/json",
            br#"{"error":"other json"}"#,
            "http unknown 500",
        ),
        (500, "application/json", b"{", "http unknown 500"),
        (401, "text/html", b"<html>", "http unauthenticated 401"),
        (403, "text/html", b"<html>", "http permission_denied 403"),
        (404, "text/plain", b"", "http unimplemented 404"),
        (502, "text/html", b"<html>", "http unavailable 502"),
    ];
    for (status, content_type, body, expected) in table {
        assert_eq!(
            told(*status, content_type, body),
            *expected,
            "{status} {content_type} {body:?}"
        );
    }
}

#[test]
fn a_wish_to_be_left_alone_is_kept_within_a_bound() {
    let table = [
        ("120", Some(120)),
        (" 1 ", Some(1)),
        ("999999999999", Some(3600)),
        ("-1", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
    ];
    for (value, expected) in table {
        let mut response = response(429, "text/plain", b"");
        response
            .headers
            .push(("retry-after".to_owned(), value.to_owned()));
        let Err(Error::Http { retry_after, .. }) = interpret::<UpdateLogResponse>("h", response) else {
            panic!("{value}")
        };
        assert_eq!(retry_after, expected.map(Duration::from_secs), "{value}");
    }
}

#[test]
fn texts_of_servers_are_bounded() {
    let body = format!(r#"{{"code":"internal","message":"{}"}}"#, "é".repeat(9000));
    let Err(Error::Rpc { message, .. }) =
        interpret::<PingResponse>("h", response(500, "application/json", body.as_bytes()))
    else {
        panic!("no error")
    };
    assert_eq!(message.len(), 4096);
}
