use proptest::prelude::*;

use super::translate::translate;
use super::*;

fn matchers(files: &[&str]) -> Matchers {
    let mut matchers = Matchers::default();
    for file in files {
        matchers.add(file).unwrap();
    }
    matchers
}

/// Shows what the lines mean, one word group a match: `level file:line:column code message`.
fn run(files: &[&str], lines: &[&str]) -> Vec<String> {
    let mut running = Running::default();
    running.update(&matchers(files));
    let workspaces = ["/w/r".to_owned(), "/__w/r/r".to_owned()];
    let show = |found: Match<'_>| {
        let a = found.annotation;
        let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
        let code = a.data.first().map_or("", |(_, code)| code);
        let file = a.file.unwrap_or_else(|| "-".into());
        format!(
            "{} {file}:{}:{} {code} {}",
            a.level.as_str(),
            number(a.line),
            number(a.column),
            a.message
        )
    };
    lines
        .iter()
        .filter_map(|line| running.on_line(line, &workspaces))
        .map(show)
        .collect()
}

const GCC: &str = r#"{"problemMatcher":[{"owner":"gcc","pattern":[
    {"regexp":"^(.*):(\\d+):(\\d+):\\s+(warning|error):\\s+(.*)$",
     "file":1,"line":2,"column":3,"severity":4,"message":5}]}]}"#;

const ESLINT: &str = r#"{"problemMatcher":[{"owner":"eslint","severity":"warning","pattern":[
    {"regexp":"^([^\\s].*)$","file":1},
    {"regexp":"^\\s+(\\d+):(\\d+)\\s+(error|warning|info)\\s+(.*)\\s\\s+(.*)$",
     "line":1,"column":2,"severity":3,"message":4,"code":5,"loop":true}]}]}"#;

const THREE: &str = r#"{"problemMatcher":[{"owner":"three","pattern":[
    {"regexp":"^in (.*)$","file":1},{"regexp":"^at (.*)$","line":1},{"regexp":"^why (.*)$","message":1}]}]}"#;

#[test]
fn single_patterns_match() {
    let lines = [
        "a.c:1:2: error: bad",
        "\u{1B}[01m\u{1B}[K/w/r/src/../b.c:3:4:\u{1B}[m\u{1B}[K \u{1B}[35mwarning:\u{1B}[0m odd",
        "/__w/r/r/c.c:5:6: error: x",
        "/etc/passwd:5:6: error: x",
        "../up.c:7:8: error: x",
        "nothing",
    ];
    let expected = [
        "error a.c:1:2  bad",
        "warning b.c:3:4  odd",
        "error c.c:5:6  x",
        "error -:5:6  x",
        "error -:7:8  x",
    ];
    assert_eq!(run(&[GCC], &lines), expected);
}

#[test]
fn a_loop_repeats_its_last_pattern() {
    let lines = [
        "a.js",
        "  1:2  error  Missing semi  semi",
        "  3:4  warning  Unused  no-unused",
        "  5:6  info  Chatty  chat",
        "",
        "  7:8  error  Lost  lost",
        "b.js",
        "  9:1  error  Again  x",
    ];
    let expected = [
        "error a.js:1:2 semi Missing semi",
        "warning a.js:3:4 no-unused Unused",
        "error b.js:9:1 x Again",
    ];
    assert_eq!(run(&[ESLINT], &lines), expected);
}

#[test]
fn several_patterns_match_consecutive_lines() {
    let lines = [
        "in a", "at 1", "why x", "why y", "in b", "noise", "at 2", "why z", "in c", "in d", "at 3", "why w",
    ];
    assert_eq!(run(&[THREE], &lines), ["error a:1:  x", "error d:3:  w"]);
}

#[test]
fn the_newest_matcher_wins_and_resets_the_others() {
    let newer = r#"{"problemMatcher":[{"owner":"newer","severity":"notice","pattern":[
        {"regexp":"^at (.*)$","message":1}]}]}"#;
    assert_eq!(
        run(&[THREE, newer], &["in a", "at 1", "why x"]),
        ["notice -::  1"]
    );
    assert_eq!(
        run(&[newer, THREE], &["in a", "at 1", "why x"]),
        ["notice -::  1"]
    );
}

#[test]
fn an_owner_has_one_matcher() {
    let mut active = matchers(&[GCC, ESLINT, &GCC.replace("gcc", "GCC")]);
    assert_eq!(active.owners().collect::<Vec<_>>(), ["GCC", "eslint"]);
    active.remove("gcc");
    active.remove_file(ESLINT).unwrap();
    assert!(active.is_empty());
}

#[test]
fn files_are_found_by_from_path() {
    let file = r#"{"problemMatcher":[{"owner":"o","fromPath":"lib/x.proj","pattern":[
        {"regexp":"^(\\S+) (\\S+) \\[(.*)\\]$","file":1,"message":2,"fromPath":3}]}]}"#;
    let lines = [
        "a.cs m [/w/r/p/q.csproj]",
        "a.cs m []",
        "/w/r/a.cs m [p/q]",
        "a.cs m [/else/q.csproj]",
    ];
    assert_eq!(
        run(&[file], &lines),
        [
            "error p/a.cs::  m",
            "error lib/a.cs::  m",
            "error a.cs::  m",
            "error -::  m"
        ]
    );
}

#[test]
fn mistakes_are_named() {
    let wrap = |owner: &str, rest: &str, patterns: &str| {
        format!(r#"{{"problemMatcher":[{{"owner":"{owner}"{rest},"pattern":[{patterns}]}}]}}"#)
    };
    let message = r#"{"regexp":"(a)","message":1}"#;
    let cases = [
        (wrap("", "", message), "Owner must not be empty"),
        (
            wrap("o", r#","severity":"bad""#, message),
            "Matcher 'o' contains unexpected default severity 'bad'",
        ),
        (wrap("o", "", ""), "Matcher 'o' does not contain any patterns"),
        (
            wrap("o", "", r#"{"regexp":"(a)","file":1}"#),
            "At least one pattern must set 'message'",
        ),
        (
            wrap("o", "", r#"{"regexp":"(a)","message":2}"#),
            "The property 'message' is set to 2 which is out of range",
        ),
        (
            wrap("o", "", r#"{"regexp":"(a)","message":-1}"#),
            "The property 'message' is set to -1 which is out of range",
        ),
        (
            wrap("o", "", &format!("{message},{message}")),
            "The property 'message' is set twice",
        ),
        (
            wrap("o", "", r#"{"regexp":"(a)","message":1,"loop":true}"#),
            "Only the last pattern in a multiline matcher may set 'loop'",
        ),
        (
            wrap("o", "", &format!(r#"{message},{{"regexp":"","loop":true}}"#)),
            "The loop pattern must set 'message'",
        ),
        (
            wrap("o", "", r#"{"regexp":"(?=a)","message":0}"#),
            "the expression '(?=a)' of matcher 'o' is not supported: look-around needs more than linear time",
        ),
        (
            wrap("o", "", r#"{"regexp":"a","message":"x"}"#),
            "the property 'message' of a problem matcher must be the number of a group",
        ),
        (
            r#"{"problemMatcher":1}"#.into(),
            "the property 'problemMatcher' of a problem matcher must be an array",
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(
            Matchers::default().add(&file).unwrap_err().to_string(),
            expected,
            "{file}"
        );
    }
    let twice = format!(
        r#"{{"problemMatcher":[{0},{0}]}}"#,
        r#"{"owner":"o","pattern":[{"regexp":"a","message":0}]}"#
    );
    assert_eq!(
        Matchers::default().add(&twice),
        Err(ConfigError::DuplicateOwner("o".into()))
    );
    assert!(matches!(Matchers::default().add("{"), Err(ConfigError::Json(_))));
    assert_eq!(Matchers::default().add("{}"), Ok(()));
}

#[test]
fn expressions_are_translated() {
    // Expression, a text that matches wholly, one that does not.
    let cases = [
        (r"\d+\/\d+", "1/2", "١/٢"),
        (r"[\w-.]+", "a-b.c", "a b"),
        (r"[.-\w]+", "a-b.c", "a b"),
        (r"[^\s]+", "ab", "a b"),
        (r"[\S\s]+", "a b", ""),
        (r"[[]x[]]", "[x]", "x"),
        (r"[&&~~a-]+", "&~-a", "b"),
        (r"[+--]", ",", "."),
        (r"a{2}{x}\{b}", "aa{x}{b}", "a"),
        (r"{", "{", ""),
        (r"\bword\b", "word", "words"),
        (r"\x41\u0042\cA\0\e", "AB\u{1}\0\u{1B}", "x"),
        (r#"\"\'\:\-\<\>\ "#, "\"':-<> ", "x"),
        (r"(?:a|b)+?(?<n>c)", "abc", "ab"),
        (r"日\é", "日é", "x"),
        (r"[\b]", "\u{8}", "b"),
    ];
    for (source, yes, no) in cases {
        let regex = regex::Regex::new(&format!("^(?:{})$", translate(source).unwrap())).unwrap();
        assert!(
            regex.is_match(yes) && !regex.is_match(no),
            "{source} became {regex}"
        );
    }
    for source in [
        r"(?!a)", r"(?<!a)", r"(?<=a)", r"(?>a)", r"(a)\1", "\\", "[a", r"\c",
    ] {
        assert!(translate(source).is_err(), "{source}");
    }
}

proptest! {
    #[test]
    fn any_expression_is_accepted_or_refused_without_panic(
        source in r"([a-c{}\[\]()?*+|^$.,\\&~0-9dwsbBuxkp-]|\\.){0,24}",
    ) {
        let file = serde_json::json!({"problemMatcher":[{"owner":"o","pattern":[{"regexp":source,"message":0}]}]});
        let _accepted = Matchers::default().add(&file.to_string()).is_ok();
    }

    #[test]
    fn any_lines_are_matched_without_panic(lines in prop::collection::vec("(in|at|why|  1:2  error)? ?\\PC{0,12}", 0..12)) {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        run(&[GCC, ESLINT, THREE], &lines);
    }
}
