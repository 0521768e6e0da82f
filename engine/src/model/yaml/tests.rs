//! Tables of texts and the events or the error that they give.

use super::*;

/// The events of `text` in one line: `[`, `]`, `{`, `}` and scalars with their places.
fn events(text: &str) -> Result<String, Error> {
    let mut events = Events::open(text)?;
    let mut line = Vec::new();
    loop {
        match events.take()? {
            Event::Scalar(scalar) => {
                let Position { line: row, column } = scalar.position;
                line.push(format!("{}@{row}:{column}", scalar.text));
            }
            Event::SequenceStart(at) => line.push(format!("[@{}:{}", at.line, at.column)),
            Event::SequenceEnd => line.push("]".into()),
            Event::MappingStart(at) => line.push(format!("{{@{}:{}", at.line, at.column)),
            Event::MappingEnd => line.push("}".into()),
            Event::End => unreachable!("the loop ends with the document"),
        }
        if matches!(events.peek(), Event::End) {
            events.close()?;
            return Ok(line.join(" "));
        }
    }
}

fn check(text: &str, expected: &str) {
    let found = events(text).unwrap_or_else(|error| format!("error: {error}"));
    assert_eq!(found, expected, "{text:?}");
}

#[test]
fn events_carry_the_places_of_their_tokens() {
    check("a: b\n", "{@1:1 a@1:1 b@1:4 }");
    check(
        "a:\n  - b\n  - {c: d}\n",
        "{@1:1 a@1:1 [@2:3 b@2:5 {@3:5 c@3:6 d@3:9 } ] }",
    );
    check("a: \"b\"\r\nc: |\r\n  d\r\n", "{@1:1 a@1:1 b@1:4 c@2:1 d\n@2:4 }");
    check("ä: {ö: ü}\n", "{@1:1 ä@1:1 {@1:4 ö@1:5 ü@1:8 } }");
    check("--- a\n...\n", "a@1:5");
    check("\u{feff}a: b\n", "{@1:1 a@1:1 b@1:4 }");
}

#[test]
fn values_that_are_not_written_stand_after_their_indicator() {
    check("a:\nb:  # none\n", "{@1:1 a@1:1 @1:3 b@2:1 @2:3 }");
    check("- \n-\n- x\n", "[@1:1 @1:2 @2:2 x@3:3 ]");
    check("{a: , b, c}\n", "{@1:1 a@1:2 @1:4 b@1:7 @1:8 c@1:10 @1:11 }");
    check("ä:\nö: {ü: }\n", "{@1:1 ä@1:1 @1:3 ö@2:1 {@2:4 ü@2:5 @2:7 } }");
}

#[test]
fn block_scalars_stand_at_their_indicator() {
    check("a: |\n  b\n", "{@1:1 a@1:1 b\n@1:4 }");
    check(
        "a:\n  - run: >-  # a | b\n\n      b\n      c\n",
        "{@1:1 a@1:1 [@2:3 {@2:5 run@2:5 \nb c@2:10 } ] }",
    );
    check(
        "\"a|b\": |2+\n   c\nd: |\n",
        "{@1:1 a|b@1:1  c\n@1:8 d@3:1 @3:4 }",
    );
    check("a: |\nb: c\n", "{@1:1 a@1:1 @1:4 b@2:1 c@2:4 }");
    check("- |\n  ä | b\n- !!str >\n  c\n", "[@1:1 ä | b\n@1:3 c\n@3:3 ]");
}

#[test]
fn aliases_repeat_the_anchored_node_with_its_place() {
    check(
        "- &a {b: c}\n- *a\n",
        "[@1:1 {@1:3 b@1:7 c@1:10 } {@1:3 b@1:7 c@1:10 } ]",
    );
    check(
        "- &a x\n- &b [*a, *a]\n- *b\n",
        "[@1:1 x@1:3 [@2:3 x@1:3 x@1:3 ] [@2:3 x@1:3 x@1:3 ] ]",
    );
    check("- &a 1\n- &a 2\n- *a\n", "[@1:1 1@1:3 2@2:3 2@2:3 ]");
    check("a: *nope\n", "error: Unknown anchor 'nope'");
    check("{a: *nope, b: c}\n", "error: Unknown anchor 'nope'");
}

#[test]
fn there_is_exactly_one_document() {
    check("", "error: Expected document start parse event");
    check(
        "# only a comment\n\n",
        "error: Expected document start parse event",
    );
    check("a: 1\n---\nb: 1\n", "error: Expected stream end parse event");
}

#[test]
fn syntax_errors_name_their_place() {
    let place = |text: &str| match events(text) {
        Err(Error::Syntax { position, .. }) => (position.line, position.column),
        other => panic!("{text:?}: {other:?}"),
    };
    assert_eq!(place("a: b: c\n"), (1, 5));
    assert_eq!(place("on: push\njobs:\n\ta: 1\n"), (3, 2));
    assert_eq!(place("a: \"x\\q\"\n").0, 1);
    assert_eq!(place("ä: b\0c\n"), (1, 5));
    assert_eq!(place("a: [b\n").0, 2);
    assert_eq!(place("a: \u{7}\n"), (1, 4));
    assert_eq!(place("a: %TAG\n").0, 1);
}

#[test]
fn bombs_end_early() {
    let bomb: String = std::iter::once("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned())
        .chain((1..12).map(|n| format!("a{n}: &a{n} [{}]\n", vec![format!("*a{}", n - 1); 9].join(", "))))
        .collect();
    check(&bomb, "error: Maximum YAML nodes exceeded");
    check("&a [*a]\n", "error: Maximum YAML nodes exceeded");
    check(
        &"x\n".repeat(MAX_CHARS),
        "error: The maximum file size of 1048576 characters has been exceeded",
    );
    check(&"- x\n".repeat(MAX_NODES), "error: Maximum YAML nodes exceeded");
    let deep = events(&"[".repeat(100_000)).map_err(|error| error.to_string());
    assert!(deep.is_err_and(|error| error.contains("line 1")));
    let deep = events(&"- ".repeat(100_000)).map_err(|error| error.to_string());
    assert!(deep.is_err());
}
