//! The file, the example, the README and the defaults hold together.

use super::keys::KEYS;
use super::load::parse;
use super::{Config, GoDuration, Level};

const EXAMPLE: &str = include_str!("../../config.example.yaml");
const README: &str = include_str!("../../README.md");

#[test]
fn the_example_file_equals_the_defaults() {
    let loaded = parse(EXAMPLE).expect("the example is valid");
    assert_eq!(loaded.values, Config::default());
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

#[test]
fn the_example_file_names_every_key() {
    let example: serde_yaml::Value = serde_yaml::from_str(EXAMPLE).expect("the example is YAML");
    let defaults = serde_yaml::to_value(Config::default()).expect("the defaults are YAML");
    for key in &KEYS {
        let want: serde_yaml::Value = serde_yaml::from_str(key.default).expect("a default is YAML");
        let find = |file: &serde_yaml::Value| {
            key.path
                .split('.')
                .try_fold(file.clone(), |value, name| value.get(name).cloned())
        };
        assert_eq!(
            find(&example),
            Some(want.clone()),
            "{} in config.example.yaml",
            key.path
        );
        assert_eq!(find(&defaults), Some(want), "{} in the defaults", key.path);
    }
}

#[test]
fn the_readme_table_equals_the_table_of_keys() {
    let rows: Vec<(&str, &str)> = README
        .lines()
        .skip_while(|line| *line != "| Key | Default | Meaning |")
        .skip(2)
        .map_while(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            Some((cells.next()?.trim_matches('`'), cells.next()?.trim_matches('`')))
        })
        .collect();
    let keys: Vec<(&str, &str)> = KEYS.iter().map(|key| (key.path, key.default)).collect();
    assert_eq!(rows, keys);
}

#[test]
fn values_are_read() {
    let text = "log: {level: debug}\nrunner:\n  envs: {A: 1, B: true, C: x}\n  timeout: 90m\n";
    let values = parse(text).expect("valid").values;
    assert_eq!(values.log.level, Level::Debug);
    let envs: Vec<_> = values
        .runner
        .envs
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(envs, [("A", "1"), ("B", "true"), ("C", "x")]);
    assert_eq!(values.runner.timeout, GoDuration::from_secs(5400));
    assert_eq!(
        parse("runner: {timeout: -1s}").expect("valid").values,
        Config::default()
    );
    assert_eq!(
        parse("log:\n  # level: debug\n").expect("valid").values,
        Config::default()
    );
    assert_eq!(parse("# nothing\n").expect("valid").values, Config::default());
}

#[test]
fn a_wrong_value_is_named_with_its_place() {
    let cases = [
        (
            "log:\n  level: chatty\n",
            "log.level: unknown variant `chatty`",
            "line 2 column 10",
        ),
        (
            "runner:\n  timeout: soon\n",
            "runner.timeout: invalid value: string \"soon\", expected a duration",
            "line 2 column 12",
        ),
        (
            "runner:\n  timeout: [1]\n",
            "runner.timeout: invalid type: sequence",
            "line 2 column 12",
        ),
        (
            "runner:\n  envs: 3\n",
            "runner.envs: invalid type: integer",
            "line 2 column 9",
        ),
        (
            "log: [\n",
            "did not find expected node content",
            "line 2 column 1",
        ),
        ("- a\n", "not a mapping", ""),
    ];
    for (text, message, place) in cases {
        let error = parse(text).expect_err(text).to_string();
        assert!(
            error.contains(message) && error.contains(place),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn an_unknown_key_is_a_warning_with_a_suggestion() {
    let cases = [
        ("runner: {timeot: 1s}", Some("runner.timeout")),
        ("log: {levels: info}", Some("log.level")),
        ("runner.timeout: 1s", Some("runner.timeout")),
        ("metrics: {enabled: true}", None),
        ("host: {workdir_parent: /x, 3: 4}", None),
    ];
    for (text, suggestion) in cases {
        let warnings = parse(text).map(|loaded| loaded.warnings).unwrap_or_default();
        let [warning] = warnings.as_slice() else {
            panic!("{text}: {warnings:?}")
        };
        let found = warning
            .split("did you mean `")
            .nth(1)
            .map(|rest| rest.trim_end_matches("`?"));
        assert_eq!(found, suggestion, "{warning}");
    }
}
