//! Laws that hold for every expression, and what callers of the module rely on.

use std::cell::RefCell;

use proptest::prelude::*;

use super::*;

const NAMES: Names<'_> = Names {
    contexts: &["github", "env", "steps", "matrix"],
    functions: &[
        Function {
            name: "hashFiles",
            min: 1,
            max: 255,
        },
        Function {
            name: "always",
            min: 0,
            max: 0,
        },
        Function {
            name: "success",
            min: 0,
            max: 255,
        },
        Function {
            name: "failure",
            min: 0,
            max: 255,
        },
        Function {
            name: "cancelled",
            min: 0,
            max: 0,
        },
    ],
};

struct TestHost;

impl Host for TestHost {
    fn status(&self, function: StatusFunction, ids: &[String]) -> bool {
        matches!(function, StatusFunction::Always) || ids.iter().any(|id| id == "ok")
    }

    fn hash_files(&self, patterns: &[String]) -> Result<String, HashFilesError> {
        match patterns.first().map(String::as_str) {
            Some("known") => Ok("digest".to_owned()),
            Some("bad") => Err(HashFilesError::Failed("cannot be read".to_owned())),
            _ => Err(HashFilesError::Pending),
        }
    }
}

/// Keeps what was recorded as `text = value`.
#[derive(Default)]
struct Lines(RefCell<Vec<String>>);

impl Recorder for Lines {
    fn operand(&self, text: &str, value: &Value) {
        self.0.borrow_mut().push(format!("{text} = {}", value.to_text()));
    }
}

fn contexts() -> Object {
    let github =
        r#"{"ref": "refs/heads/main", "event": {"labels": [{"name": "a"}, {"name": "b"}, {"id": 1}]}}"#;
    let mut env = Object::case_sensitive();
    env.insert("X", "upper");
    env.insert("x", "lower");
    let mut contexts = Object::new();
    contexts.insert("github", Value::from_json(github).unwrap());
    contexts.insert("env", env);
    contexts
}

fn parse(source: &str) -> Expression {
    Expression::parse(source, NAMES).unwrap_or_else(|error| panic!("{source}: {error}"))
}

fn evaluate(source: &str) -> Result<Value, EvalError> {
    let contexts = contexts();
    parse(source).evaluate(Scope {
        contexts: &contexts,
        host: &TestHost,
        recorder: None,
    })
}

fn evaluated(source: &str) -> String {
    serde_json::Value::from(&evaluate(source).unwrap_or_else(|error| panic!("{source}: {error}"))).to_string()
}

#[test]
fn canonical_text_has_no_needless_parentheses() {
    let cases = [
        ("((github))['ref']==\t'x'", "github.ref == 'x'"),
        ("(github.event.labels[*]).name", "github.event.labels.*.name"),
        ("GITHUB['a b'].c[1]", "github['a b'].c[1]"),
        ("tojson(1)||(ALWAYS() && 2)", "toJSON(1) || always() && 2"),
        ("(1 || 2) && 3", "(1 || 2) && 3"),
        ("1 && (2 && 3)", "1 && 2 && 3"),
        ("!(!1 == 2)", "!(!1 == 2)"),
        ("(1 == 2) == 3", "1 == 2 == 3"),
        ("1 == (2 == 3)", "1 == (2 == 3)"),
        ("1 == (2 < 3)", "1 == 2 < 3"),
        ("(1 == 2) < 3", "(1 == 2) < 3"),
        ("('a').b", "('a').b"),
        ("(!env).b", "(!env).b"),
        ("env[* == 'it''s']", "env[* == 'it''s']"),
        ("case(true, 0x10, 1e300)", "case(true, 16, 1e300)"),
    ];
    for (source, want) in cases {
        assert_eq!(parse(source).to_string(), want);
    }
}

#[test]
fn callers_learn_what_an_expression_is() {
    assert_eq!(parse("'it''s'").as_string_literal(), Some("it's"));
    assert_eq!(parse("('a')").as_string_literal(), Some("a"));
    assert_eq!(parse("format('a')").as_string_literal(), None);
    assert!(parse("github.ref && !Failure('a')").calls_status_function());
    assert!(!parse("'always()'").calls_status_function());
    let used = parse("github.ref == ENV.X && github[matrix.a]");
    assert_eq!(
        used.contexts_used().collect::<Vec<_>>(),
        ["github", "env", "github", "matrix"]
    );
    assert_eq!(parse(" 1 ").source(), " 1 ");
}

#[test]
fn values_come_from_contexts() {
    let cases = [
        ("github.REF", r#""refs/heads/main""#),
        ("steps", "null"),
        ("env.X", r#""upper""#),
        ("env.x", r#""lower""#),
        ("env['missing']", "null"),
        ("github.event.labels.*.name", r#"["a","b"]"#),
        ("(github.event.labels.* || 1).name", r#"["a","b"]"#),
        ("contains(github.event.labels.*.name, 'B')", "true"),
        ("github.event.labels[1.9].name", r#""b""#),
        ("github.event.labels.name", "null"),
        ("(null).*", "[]"),
        ("(null)[fromJSON('{')]", "null"),
        ("contains(github, fromJSON('{'))", "false"),
        ("startsWith(github, fromJSON('{'))", "false"),
        ("join('a', fromJSON('{'))", r#""a""#),
        ("env[* == '*']", "null"),
        ("success('ok')", "true"),
        ("hashFiles('known', 'x')", r#""digest""#),
    ];
    for (source, want) in cases {
        assert_eq!(evaluated(source), want, "{source}");
    }
}

#[test]
fn a_filtered_list_leaves_the_evaluation_as_a_plain_one() {
    let Ok(Value::Array(labels)) = evaluate("github.event.labels.*") else {
        panic!("no list")
    };
    assert!(!labels.is_filtered());
}

#[test]
fn failures_say_what_is_missing() {
    let failed = |text: &str| Err(EvalError::Failed(text.to_owned()));
    let cases = [
        (
            "hashFiles('**/x', 1)",
            Err(EvalError::NeedsFiles(vec!["**/x".to_owned(), "1".to_owned()])),
        ),
        ("hashFiles('bad')", failed("cannot be read")),
        (
            "format('{0:x}', 1)",
            failed("The format specifiers 'x' are not valid for objects of type 'Number'"),
        ),
        (
            "format('{1}', hashFiles('bad'))",
            failed("The following format string references more arguments than were supplied: {1}"),
        ),
        (
            "case(1, 2, 3)",
            failed("case predicate must evaluate to a boolean value"),
        ),
    ];
    for (source, want) in cases {
        assert_eq!(evaluate(source).map(|value| value.to_json()), want, "{source}");
    }
}

#[test]
fn memory_is_bounded() {
    let exceeded = EvalError::Failed("The maximum allowed memory size was exceeded".to_owned());
    let big = "x".repeat(20_000);
    let mut contexts = Object::new();
    contexts.insert("env", Value::array(vec![Value::from("y".repeat(1000)); 10_000]));
    for source in [
        "join(env, '-')".to_owned(),
        "toJSON(env)".to_owned(),
        format!("format('{}', '{big}')", "{0}".repeat(300)),
        format!(
            "fromJSON(format('[{}]', '{}'))",
            "{0}".repeat(300),
            "0,".repeat(5_000)
        ),
    ] {
        let scope = Scope {
            contexts: &contexts,
            host: &TestHost,
            recorder: None,
        };
        let outcome = parse(&source).evaluate(scope).map(|value| value.kind());
        assert_eq!(outcome, Err(exceeded.clone()), "{source:.40}");
    }
}

#[test]
fn operands_are_recorded_before_the_node_that_uses_them() {
    let lines = Lines::default();
    let contexts = contexts();
    let scope = Scope {
        contexts: &contexts,
        host: &TestHost,
        recorder: Some(&lines),
    };
    parse("github['ref'] == 'x' && always() || env.X")
        .evaluate(scope)
        .unwrap();
    assert_eq!(
        lines.0.into_inner(),
        [
            "github = Object",
            "github.ref = refs/heads/main",
            "'x' = x",
            "github.ref == 'x' = false",
            "github.ref == 'x' && always() = false",
            "env = Object",
            "env.X = upper",
            "github.ref == 'x' && always() || env.X = upper",
        ]
    );
}

#[test]
fn hostile_nesting_is_refused_without_deep_recursion() {
    for source in ["!", "(", "env[", "toJSON(", "1==(", "1&&(", "env.*.", "!("] {
        let text = source.repeat(21_000 / source.len());
        assert!(Expression::parse(&text, NAMES).is_err());
    }
    let not = format!("{}1", "!".repeat(20_000));
    assert_eq!(Expression::parse(&not, NAMES).unwrap_err(), ParseError::TooDeep);
    let groups = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert!(Expression::parse(&groups, NAMES).is_ok());
}

/// A text of tokens, legal or not.
fn token_soup() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "github",
        "env",
        "nothing",
        "true",
        "null",
        "NaN",
        "'a'",
        "''",
        "'{0}{{'",
        "1",
        "-0",
        ".5",
        "1e300",
        "(",
        ")",
        "[",
        "]",
        ".",
        "*",
        ",",
        "!",
        "<",
        "<=",
        ">",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
        "toJSON",
        "fromJSON",
        "format",
        "join",
        "contains",
        "case",
        "always()",
        "hashFiles",
        " ",
        "=",
        "'",
    ]);
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

/// A legal expression.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("github".to_owned()),
        Just("env".to_owned()),
        Just("null".to_owned()),
        Just("true".to_owned()),
        any::<f64>().prop_map(|number| Literal(Value::from(number)).to_string()),
        "[a-z{}0'\\[\\], :\"]{0,8}".prop_map(|text| Literal(Value::from(text)).to_string()),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        let operator = prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!=", "&&", "||"]);
        let call = prop::sample::select(vec![
            ("toJSON", 1),
            ("fromJSON", 1),
            ("join", 2),
            ("contains", 2),
            ("endsWith", 2),
            ("case", 3),
            ("format", 3),
            ("success", 1),
            ("hashFiles", 2),
        ]);
        let suffix = prop_oneof![
            Just(".*".to_owned()),
            "\\.[a-z]{1,3}",
            inner.clone().prop_map(|index| format!("[{index}]")),
            Just("[* == 'a']".to_owned()),
        ];
        prop_oneof![
            (inner.clone(), operator, inner.clone())
                .prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            inner.clone().prop_map(|operand| format!("!{operand}")),
            (inner.clone(), suffix).prop_map(|(base, suffix)| format!("({base}){suffix}")),
            (call, prop::collection::vec(inner, 3)).prop_map(|((name, count), arguments)| {
                format!("{name}({})", arguments[..count].join(", "))
            }),
        ]
    })
}

fn check_parsed(source: &str) -> Result<(), TestCaseError> {
    let Ok(parsed) = Expression::parse(source, NAMES) else {
        return Ok(());
    };
    let again = Expression::parse(&parsed.to_string(), NAMES);
    prop_assert!(again.is_ok(), "{} of {source}", parsed);
    prop_assert_eq!(&again.unwrap().parsed.root, &parsed.parsed.root);
    let contexts = contexts();
    let lines = Lines::default();
    let plain = parsed.evaluate(Scope {
        contexts: &contexts,
        host: &TestHost,
        recorder: None,
    });
    let recorded = parsed.evaluate(Scope {
        contexts: &contexts,
        host: &TestHost,
        recorder: Some(&lines),
    });
    prop_assert_eq!(
        plain.map(|value| value.to_json()),
        recorded.map(|value| value.to_json())
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_parsed_without_panic(source in ".{0,40}") {
        check_parsed(&source)?;
    }

    #[test]
    fn any_tokens_are_parsed_without_panic(source in token_soup()) {
        check_parsed(&source)?;
    }

    #[test]
    fn legal_expressions_survive_printing_and_evaluation(source in expression()) {
        prop_assume!(source.len() < 2_000);
        match Expression::parse(&source, NAMES) {
            Ok(_) => check_parsed(&source)?,
            Err(error) => prop_assert_eq!(error, ParseError::TooDeep),
        }
    }

    #[test]
    fn any_text_is_read_as_json_without_panic(text in "[\\[\\]{}:,'\"/*a-fu\\\\x0-9 .+-]{0,40}|.{0,20}") {
        if let Ok((value, _)) = json::read_lenient(&text, 1_000_000) {
            // What was read can be written and is read again as the same.
            let written = value.to_json();
            let again = json::read_lenient(&written, 1_000_000).map(|(value, _)| value.to_json());
            prop_assert_eq!(again, Ok(written));
        }
    }
}
