use proptest::prelude::*;

use super::*;

fn edit(text: &str, key: &str, change: Change<'_>) -> Result<String, String> {
    apply(text, key, change, &Given::default(), false).map_err(|error| match error {
        Error::Usage(message) => format!("usage: {message}"),
        Error::File(message) => format!("file: {message}"),
        Error::Rejected(rejected) => format!("rejected: {}", rejected.lines().join("; ")),
    })
}

fn set(text: &str, key: &str, values: &[&str]) -> Result<String, String> {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    edit(text, key, Change::Set(&values))
}

/// Files, a key, its new value, and the file afterwards.
const SCALARS: &[(&str, &str, &str, &str)] = &[
    ("", "runner.capacity", "2", "runner:\n  capacity: 2\n"),
    (
        "# only this\n",
        "log.level",
        "debug",
        "# only this\nlog:\n  level: debug\n",
    ),
    (
        "# only this",
        "log.level",
        "debug",
        "# only this\nlog:\n  level: debug",
    ),
    (
        "runner:\n  capacity: 1\n",
        "runner.capacity",
        "2",
        "runner:\n  capacity: 2\n",
    ),
    (
        "runner:\n  capacity:   1   # one\n  # end\n",
        "runner.capacity",
        "2",
        "runner:\n  capacity:   2   # one\n  # end\n",
    ),
    (
        "runner:\r\n  capacity: 1\r\n",
        "runner.timeout",
        "90m",
        "runner:\r\n  capacity: 1\r\n  timeout: 1h30m\r\n",
    ),
    (
        "runner:\n  capacity: 1",
        "runner.timeout",
        "1h",
        "runner:\n  capacity: 1\n  timeout: 1h",
    ),
    (
        "runner:\n    capacity: 1 # c\n\n    # more\n\nlog:\n    level: info\n",
        "runner.timeout",
        "1h",
        "runner:\n    capacity: 1 # c\n    timeout: 1h\n\n    # more\n\nlog:\n    level: info\n",
    ),
    (
        "runner:\n  # capacity: 1\nlog: {level: info}\n",
        "runner.capacity",
        "3",
        "runner:\n  capacity: 3\n  # capacity: 1\nlog: {level: info}\n",
    ),
    (
        "runner:\n  capacity: # none yet\n  timeout: 1h\n",
        "runner.capacity",
        "3",
        "runner:\n  capacity: 3 # none yet\n  timeout: 1h\n",
    ),
    (
        "log: {level: info} # flow\n",
        "log.level",
        "warn",
        "log: {level: warn} # flow\n",
    ),
    ("log: {}\n", "log.level", "warn", "log: {level: warn}\n"),
    (
        "log: {level: info}\n",
        "log.job.dir",
        "/x",
        "log: {level: info, job: {dir: /x}}\n",
    ),
    (
        "{log: {level: info}}\n",
        "runner.capacity",
        "2",
        "{log: {level: info}, runner: {capacity: 2}}\n",
    ),
    (
        "runner:\n  file: 'a ''b'''\n",
        "runner.file",
        "c",
        "runner:\n  file: c\n",
    ),
    (
        "runner:\n  file: \"a\" # q\n",
        "runner.file",
        "x: y # z",
        "runner:\n  file: 'x: y # z' # q\n",
    ),
    (
        "runner:\n  file: |\n    a\n  capacity: 1\n",
        "runner.file",
        "b",
        "runner:\n  file: b\n  capacity: 1\n",
    ),
    (
        "runner:\n  file: >-\n    a\n    b\n\n  capacity: 1\n",
        "runner.file",
        "c",
        "runner:\n  file: c\n\n  capacity: 1\n",
    ),
    (
        "runner:\n  file: a\n    b\n  capacity: 1\n",
        "runner.file",
        "c",
        "runner:\n  file: c\n  capacity: 1\n",
    ),
    (
        "runner:\n  envs:\n    A: 1\n",
        "runner.envs.MY_VAR",
        "true",
        "runner:\n  envs:\n    A: 1\n    MY_VAR: 'true'\n",
    ),
    (
        "runner:\n  envs: {}\n",
        "runner.envs.A.B",
        "x",
        "runner:\n  envs: {A.B: x}\n",
    ),
    (
        "runner:\n  envs:\n",
        "runner.envs.A",
        "1",
        "runner:\n  envs:\n    A: '1'\n",
    ),
    (
        "---\nrunner:\n  capacity: 1\n...\n",
        "runner.timeout",
        "1h",
        "---\nrunner:\n  capacity: 1\n  timeout: 1h\n...\n",
    ),
    (
        "log:\n  level: info\n\ncache:\n  v2: true\n",
        "runner.capacity",
        "2",
        "log:\n  level: info\n\ncache:\n  v2: true\n\nrunner:\n  capacity: 2\n",
    ),
    (
        "cache:\n  enabled: true\n",
        "cache.size_limit",
        "512mb",
        "cache:\n  enabled: true\n  size_limit: 512mb\n",
    ),
    (
        "cache:\n  enabled: true\n",
        "cache.enabled",
        "No",
        "cache:\n  enabled: false\n",
    ),
    (
        "\u{feff}log:\n  level: info\n",
        "log.level",
        "debug",
        "\u{feff}log:\n  level: debug\n",
    ),
    (
        "höhe: ü\nlog:\n  level: info # ü\n",
        "log.level",
        "debug",
        "höhe: ü\nlog:\n  level: debug # ü\n",
    ),
    (
        "runner:\n  file: a\n",
        "runner.file",
        "line\nbreak",
        "runner:\n  file: \"line\\nbreak\"\n",
    ),
    (
        "container:\n  options: ''\n",
        "container.options",
        "--cpus 2",
        "container:\n  options: --cpus 2\n",
    ),
];

#[test]
fn a_value_is_changed_and_all_else_stays() {
    for (text, key, value, want) in SCALARS {
        assert_eq!(
            set(text, key, &[value]).as_deref(),
            Ok(*want),
            "{key} = {value} in:\n{text}"
        );
    }
}

/// Files, a change of `runner.labels`, and the file afterwards.
const LISTS: &[(&str, &str, &[&str], &str)] = &[
    (
        "",
        "set",
        &["a", "b:docker://c:1"],
        "runner:\n  labels:\n    - a\n    - b:docker://c:1\n",
    ),
    ("", "add", &["a"], "runner:\n  labels:\n    - a\n"),
    ("runner:\n  labels:\n", "add", &["a"], "runner:\n  labels: [a]\n"),
    (
        "runner:\n  labels: [] # l\n",
        "add",
        &["a"],
        "runner:\n  labels: [a] # l\n",
    ),
    (
        "runner:\n  labels: [a, b]\n",
        "add",
        &["c"],
        "runner:\n  labels: [a, b, c]\n",
    ),
    (
        "runner:\n  labels: [a, b]\n",
        "set",
        &["c"],
        "runner:\n  labels: [c]\n",
    ),
    (
        "runner:\n  labels: [a, b, c]\n",
        "remove",
        &["b"],
        "runner:\n  labels: [a, c]\n",
    ),
    (
        "runner:\n  labels: [a, b, c]\n",
        "remove",
        &["c"],
        "runner:\n  labels: [a, b]\n",
    ),
    (
        "runner:\n  labels: [a]\n",
        "remove",
        &["a"],
        "runner:\n  labels: []\n",
    ),
    (
        "runner:\n  labels:\n    - a # first\n    # between\n    - b\n  file: x\n",
        "add",
        &["c"],
        "runner:\n  labels:\n    - a # first\n    # between\n    - b\n    - c\n  file: x\n",
    ),
    (
        "runner:\n  labels:\n    - a # first\n    # between\n    - b\n  file: x\n",
        "remove",
        &["a"],
        "runner:\n  labels:\n    # between\n    - b\n  file: x\n",
    ),
    (
        "runner:\n  labels:\n    - a # first\n    # between\n    - b\n  file: x\n",
        "set",
        &["x", "b", "c"],
        "runner:\n  labels:\n    - x # first\n    # between\n    - b\n    - c\n  file: x\n",
    ),
    (
        "runner:\n  labels:\n  - a\n  - b\n",
        "set",
        &["a"],
        "runner:\n  labels:\n  - a\n",
    ),
    (
        "runner:\n  labels: # here\n    - a\n  file: x\n",
        "remove",
        &["a"],
        "runner:\n  labels: [] # here\n  file: x\n",
    ),
    (
        "runner:\r\n  labels:\r\n    - a",
        "add",
        &["b"],
        "runner:\r\n  labels:\r\n    - a\r\n    - b",
    ),
    (
        "runner:\r\n  labels:\r\n    - a\r\n    - b",
        "remove",
        &["b"],
        "runner:\r\n  labels:\r\n    - a",
    ),
    (
        "runner:\n  labels:\n    - 'a'\n",
        "add",
        &["1"],
        "runner:\n  labels:\n    - 'a'\n    - '1'\n",
    ),
];

#[test]
fn a_list_is_changed_element_by_element() {
    for (text, verb, values, want) in LISTS {
        let found = match *verb {
            "set" => set(text, "runner.labels", values),
            "add" => edit(text, "runner.labels", Change::Add(values[0])),
            _ => edit(text, "runner.labels", Change::Remove(values[0])),
        };
        assert_eq!(found.as_deref(), Ok(*want), "{verb} {values:?} in:\n{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cases = [
        (
            "",
            "runner.timeot",
            "1h",
            "usage: unknown key `runner.timeot`; did you mean `runner.timeout`?",
        ),
        (
            "",
            "runner",
            "1",
            "usage: `runner` is a section; name one of its keys",
        ),
        (
            "",
            "server.connections.a",
            "1",
            "usage: `server.connections.a` is a section; name one of its keys",
        ),
        (
            "",
            "runner.envs",
            "A=1",
            "usage: `runner.envs` is a map; name one of its names, such as `runner.envs.NAME`",
        ),
        (
            "",
            "kubernetes.pod_template",
            "{}",
            "usage: `kubernetes.pod_template` is a mapping of anything; change it by hand",
        ),
        (
            "",
            "runner.timeout",
            "soon",
            "usage: `runner.timeout`: expected a duration such as 90s, 5m or 1h30m, found 'soon'",
        ),
        (
            "",
            "runner.capacity",
            "2.5",
            "usage: `runner.capacity`: expected a whole number from -2147483648 to 2147483647, found '2.5'",
        ),
        (
            "",
            "log.level",
            "loud",
            "usage: `log.level`: expected one of error, warn, info, debug, trace, found 'loud'",
        ),
        (
            "log: [\n",
            "log.level",
            "info",
            "rejected:  (Line: 2, Col: 1): while parsing a node, did not find expected node content",
        ),
        (
            "x: &a {level: info}\nlog: *a\n",
            "log.level",
            "warn",
            "file: `log.level` cannot be changed safely in the way in which the file is written; change it by hand",
        ),
        (
            "log: &a\n  level: info\n",
            "log.level",
            "warn",
            "file: `log.level` cannot be changed safely in the way in which the file is written; change it by hand",
        ),
        (
            "log: 3\n",
            "log.level",
            "warn",
            "file: `log.level` cannot be changed safely in the way in which the file is written; change it by hand",
        ),
        (
            "",
            "cache.host",
            "0.0.0.0",
            "rejected:  (Line: 2, Col: 9): `cache.host`: expected an address by which jobs reach this machine",
        ),
    ];
    for (text, key, value, want) in cases {
        assert_eq!(set(text, key, &[value]), Err(want.to_owned()), "{text}");
    }
    let text = "runner: {labels: [a]}\n";
    for (change, want) in [
        (Change::Add("a"), "usage: `runner.labels` has 'a' already"),
        (Change::Remove("b"), "usage: `runner.labels` has no 'b'"),
    ] {
        assert_eq!(edit(text, "runner.labels", change), Err(want.to_owned()));
    }
    assert_eq!(
        edit(text, "runner.file", Change::Add("a")),
        Err("usage: `runner.file` is no list".to_owned())
    );
    assert_eq!(
        set(text, "runner.file", &["a", "b"]),
        Err("usage: `runner.file` takes one value, and there are 2".to_owned())
    );
}

#[test]
fn a_file_that_is_wrong_already_can_be_put_right() {
    let text = "runner:\n  timeout: soon\n  capacity: x\n";
    let text = set(text, "runner.timeout", &["1h"]).expect("one mistake less");
    assert_eq!(text, "runner:\n  timeout: 1h\n  capacity: x\n");
}

#[test]
fn a_forced_change_may_leave_a_file_that_does_not_load() {
    let value = ["https://forge.example".to_owned()];
    let key = "server.connections.a.url";
    let refused = apply("", key, Change::Set(&value), &Given::default(), false);
    assert!(matches!(refused, Err(Error::Rejected(_))));
    let forced = apply("", key, Change::Set(&value), &Given::default(), true);
    let want = "server:\n  connections:\n    a:\n      url: https://forge.example\n";
    assert_eq!(forced.ok().as_deref(), Some(want));
}

/// The example file, which has every form of a line.
const EXAMPLE: &str = include_str!("../../../config.example.yaml");

/// How many bytes two texts have in common at their ends.
fn common(a: &str, b: &str) -> usize {
    let head = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let rest = (&a.as_bytes()[head..], &b.as_bytes()[head..]);
    let tail = rest
        .0
        .iter()
        .rev()
        .zip(rest.1.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    head + tail
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,20}",
        "[a-z:#&*!|>'\"%@`{},\\[\\] \n\t\\\\-]{0,16}",
        any::<String>().prop_map(|text| text.chars().filter(|c| *c != '\u{feff}').take(24).collect()),
        Just("null".to_owned()),
        Just("~".to_owned()),
        Just("- x".to_owned()),
        Just("1e3".to_owned()),
        Just("0x1F".to_owned()),
        Just("12:30".to_owned()),
        Just("2001-01-01".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn what_is_set_is_read_again_and_no_other_byte_changes(value in texts(), is_crlf: bool, cut: bool) {
        let mut text = if is_crlf { EXAMPLE.replace('\n', "\r\n") } else { EXAMPLE.to_owned() };
        if cut {
            text.truncate(text.trim_end().len());
        }
        let changed = set(&text, "runner.post_task_script", &[&value]).expect("a text is set");
        let node = yaml::read(&changed).expect("YAML");
        let found = node.at(["runner", "post_task_script"]).expect("the key");
        prop_assert_eq!(found.text(), Some(value.as_str()));
        let written = changed.len() - (text.len() - "\"\"".len());
        prop_assert!(common(&text, &changed) + written.max(2) >= text.len().max(changed.len()));
    }

    #[test]
    fn lists_become_what_they_are_set_to(first in prop::collection::vec("[a-z0-9:/#, '-]{1,8}", 1..5), second in prop::collection::vec(texts(), 1..5)) {
        prop_assume!(second.iter().all(|label| !label.trim().is_empty()));
        prop_assume!(first.iter().all(|label| !label.trim().is_empty()));
        let mut changed = "# head\nrunner:\n  file: x # tail\n".to_owned();
        for values in [&first, &second, &first] {
            changed = edit(&changed, "runner.labels", Change::Set(values)).expect("a list is set");
            let node = yaml::read(&changed).expect("YAML");
            let node = node.at(["runner", "labels"]).expect("the key");
            let found = value::normal(Kind::List, node).expect("a list");
            prop_assert_eq!(found, values.iter().map(String::as_str).collect::<serde_json::Value>());
        }
        prop_assert!(changed.starts_with("# head\nrunner:\n  file: x # tail\n"));
    }

    #[test]
    fn no_text_makes_the_editor_panic(text in "[a-z:#&*!|>'\"{},\\[\\] \n-]{0,60}", value in texts()) {
        if let Ok(changed) = set(&text, "log.job.dir", &[&value]) {
            let node = yaml::read(&changed).expect("YAML");
            prop_assert_eq!(node.at(["log", "job", "dir"]).and_then(yaml::Node::text), Some(value.as_str()));
        }
    }
}
