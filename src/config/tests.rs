use super::load::{Flag, parse};
use super::mistake::Rejected;
use super::*;

const EXAMPLE: &str = include_str!("../../config.example.yaml");
const PAGE: &str = include_str!("../../docs/config.md");

fn loaded(text: &str) -> Loaded {
    load_with(text, &[], &[]).unwrap_or_else(|rejected| panic!("{text}\n{rejected}"))
}

fn load_with(text: &str, variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Result<Loaded, Rejected> {
    let given = Given {
        file: Some("c.yaml".into()),
        variables: variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        flags: flags
            .iter()
            .map(|(key, value)| Flag {
                name: format!("--set {key}"),
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect(),
    };
    parse(text.to_owned(), given)
}

fn rejected(text: &str) -> Vec<String> {
    match load_with(text, &[], &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(rejected) => rejected.lines(),
    }
}

/// The effective value of a key, as it is shown.
fn shown(loaded: &Loaded, key: &str) -> String {
    let leaf = loaded.values.leaves().into_iter().find(|leaf| leaf.name() == key);
    leaf.unwrap_or_else(|| panic!("no {key}")).shown()
}

/// The documents' table: a part for each section.
fn table() -> String {
    let rows = names::rows();
    let mut out = String::new();
    for section in root() {
        let about: Vec<&str> = section.docs.iter().map(|line| line.trim()).collect();
        let prefix = format!("{}.", section.name);
        let lines: String = rows
            .iter()
            .filter(|row| row.path.starts_with(&prefix))
            .map(line)
            .collect();
        let head = "| Key | Type | Default | Meaning |\n|---|---|---|---|\n";
        let parts = [
            &format!("### `{}`\n\n", section.name),
            &about.join(" "),
            "\n\n",
            head,
            &lines,
            "\n",
        ];
        out.extend(parts);
    }
    out
}

fn line(row: &names::Row) -> String {
    let docs: Vec<&str> = row.docs.iter().map(|line| line.trim()).collect();
    let docs = docs.join(" ").replace('|', "\\|");
    let path = row.path.as_str();
    format!(
        "| `{path}` | {} | `{}` | {docs} |\n",
        row.key.kind.name(),
        row.key.default
    )
}

#[test]
fn the_example_file_is_written_from_the_table() {
    assert!(
        EXAMPLE == example(),
        "write it again: gantry config generate > config.example.yaml"
    );
}

#[test]
fn the_example_file_equals_the_defaults() {
    let loaded = loaded(EXAMPLE);
    assert!(loaded.values == Config::default());
    assert_eq!(loaded.warnings(), [""; 0]);
}

#[test]
fn the_example_file_still_holds_when_its_named_sections_are_uncommented() {
    let start = EXAMPLE
        .find("    # a-name-of-your-choice")
        .expect("the example of a connection");
    let end = start + EXAMPLE[start..].find("\n\n").expect("an end");
    let section = EXAMPLE[start..end]
        .replace("\n    #", "\n   ")
        .replacen("    # ", "    ", 1);
    let section = section
        .replace(" url: \"\"", " url: https://forge.example")
        .replace("uuid: \"\"", "uuid: 6f4b2c1e-0000-4000-8000-000000000000")
        .replace("token: \"\"", "token: t");
    let text = format!("{}{section}{}", &EXAMPLE[..start], &EXAMPLE[end..]);
    assert_eq!(loaded(&text).warnings(), [""; 0]);
}

#[test]
fn every_default_of_the_table_is_a_value_of_its_kind() {
    let leaves = Config::default().leaves();
    for row in names::rows() {
        let Some(leaf) = leaves.iter().find(|leaf| leaf.name() == row.path) else {
            assert!(row.path.contains("<name>"), "{} is not listed", row.path);
            continue;
        };
        assert_eq!(
            leaf.shown(),
            scalar::inline(&scalar::default_json(row.key.default)),
            "{}",
            row.path
        );
    }
}

#[test]
fn the_page_has_the_table_of_keys() {
    let start = "<!-- The table is written from src/config/sections; a test holds them together. -->\n\n";
    let end = "<!-- The end of the table. -->";
    let (before, rest) = PAGE.split_once(start).expect("the mark before the table");
    let (found, after) = rest.split_once(end).expect("the mark after the table");
    if found != table() && std::env::var_os("GANTRY_WRITE_DOCS").is_some() {
        let page = format!("{before}{start}{}{end}{after}", table());
        std::fs::write("docs/config.md", page).expect("the page is written");
    }
    assert!(
        found == table(),
        "write it again: GANTRY_WRITE_DOCS=1 cargo test the_page_has_the_table_of_keys"
    );
}

#[test]
fn every_key_has_a_variable_of_its_own_that_finds_it() {
    let none = |_: &[String]| Vec::new();
    for row in names::rows() {
        let variable = names::variable_of(&row.path).replace("<NAME>", "MY_FORGE");
        let (path, _) = layers::variable(&variable, &none).unwrap_or_else(|| panic!("{variable}"));
        assert_eq!(
            path.join("."),
            row.path.replace("<name>", "my_forge"),
            "{variable}"
        );
    }
}

#[test]
fn the_schema_has_every_key_with_its_default() {
    let schema = schema();
    for row in names::rows() {
        let found = row.path.split('.').fold(&schema, |found, name| match name {
            "<name>" => &found["additionalProperties"],
            name => &found["properties"][name],
        });
        let default = scalar::default_json(row.key.default);
        assert_eq!(found["default"], default, "{}", row.path);
        assert!(
            found["description"].as_str().is_some_and(|text| !text.is_empty()),
            "{}",
            row.path
        );
    }
}

#[test]
fn values_are_read() {
    let cases = [
        ("log: {level: debug}", "log.level", "debug"),
        ("log: {level: Warning}", "log.level", "warn"),
        ("log: {level: panic}", "log.level", "error"),
        (
            "runner: {envs: {A: 1, B: true, C: x, D: }}",
            "runner.envs",
            "{A: '1', B: 'true', C: x, D: ''}",
        ),
        ("runner: {timeout: 90m}", "runner.timeout", "1h30m"),
        ("runner: {timeout: '250ms'}", "runner.timeout", "250ms"),
        ("runner: {timeout: -1s}", "runner.timeout", "3h"),
        ("runner: {timeout: 0}", "runner.timeout", "3h"),
        ("runner: {timeout: ~}", "runner.timeout", "3h"),
        ("runner: {capacity: -2}", "runner.capacity", "1"),
        ("runner: {capacity: 16}", "runner.capacity", "16"),
        ("runner: {insecure: yes}", "runner.insecure", "true"),
        ("runner: {patch_actions: Off}", "runner.patch_actions", "false"),
        (
            "runner: {labels: [a, 1, 'b:docker://c:1']}",
            "runner.labels",
            "[a, '1', b:docker://c:1]",
        ),
        ("runner: {file: 7}", "runner.file", "'7'"),
        ("runner: {fetch_timeout: 2m}", "runner.fetch_timeout", "1m"),
        ("runner: {fetch_interval: 9s}", "runner.fetch_interval_max", "9s"),
        ("log:\n  # level: debug\n", "log.level", "info"),
        ("# nothing\n", "log.level", "info"),
        ("", "log.level", "info"),
        ("---\nlog: {level: debug}\n...\n", "log.level", "debug"),
        ("\u{feff}log: {level: debug}\r\n", "log.level", "debug"),
        (
            "cache: {repo_size_limit: 512mb}",
            "cache.repo_size_limit",
            "512MB",
        ),
        ("cache: {size_limit: 1048576}", "cache.size_limit", "1MB"),
        ("cache: {port: 8080}", "cache.port", "8080"),
        (
            "container: {service_ready_timeout: -1s}",
            "container.service_ready_timeout",
            "-1s",
        ),
        ("container: {network_mode: bridge}", "container.network", "''"),
        ("container: {network_mode: host}", "container.network", "host"),
        (
            "container: {network_create_options: {enable_ipv6: true}}",
            "container.network_create_options.enable_ipv6",
            "true",
        ),
        (
            "kubernetes: {pod_template: {spec: {a: [1, 1.5, x]}}}",
            "kubernetes.pod_template",
            "{spec: {a: [1, 1.5, x]}}",
        ),
        (
            "kubernetes: {pod_templates: {l: {a: b}}}",
            "kubernetes.pod_templates",
            "{l: {a: b}}",
        ),
        ("x: &a {level: debug}\nlog: *a\n", "log.level", "debug"),
        ("x: &a {level: debug}\nlog: {<<: *a}\n", "log.level", "debug"),
    ];
    for (text, key, want) in cases {
        assert_eq!(shown(&loaded(text), key), want, "{text}");
    }
}

/// Files, and what is wrong with them.
const WRONG: &[(&str, &str)] = &[
    (
        "log:\n  level: chatty\n",
        "c.yaml (Line: 2, Col: 10): `log.level`: expected one of error, warn, info, debug, trace, found 'chatty'",
    ),
    (
        "runner:\n  timeout: soon\n",
        "c.yaml (Line: 2, Col: 12): `runner.timeout`: expected a duration such as 90s, 5m or 1h30m, found 'soon'",
    ),
    (
        "runner:\n  timeout: [1]\n",
        "c.yaml (Line: 2, Col: 12): `runner.timeout`: expected a duration such as 90s, 5m or 1h30m, found a list",
    ),
    (
        "runner:\n  timeout: 5\n",
        "c.yaml (Line: 2, Col: 12): `runner.timeout`: expected a duration such as 90s, 5m or 1h30m, found '5'",
    ),
    (
        "runner:\n  capacity: '2'\n",
        "c.yaml (Line: 2, Col: 13): `runner.capacity`: expected a whole number, found the text '2'",
    ),
    (
        "runner:\n  capacity: 1.5\n",
        "c.yaml (Line: 2, Col: 13): `runner.capacity`: expected a whole number, found '1.5'",
    ),
    (
        "runner:\n  insecure: maybe\n",
        "c.yaml (Line: 2, Col: 13): `runner.insecure`: expected true or false, found 'maybe'",
    ),
    (
        "runner:\n  envs: 3\n",
        "c.yaml (Line: 2, Col: 9): `runner.envs`: expected a mapping of names to texts, found '3'",
    ),
    (
        "runner:\n  envs:\n    A: [x]\n",
        "c.yaml (Line: 3, Col: 8): `runner.envs`: expected a text, found a list",
    ),
    (
        "runner:\n  labels: a,b\n",
        "c.yaml (Line: 2, Col: 11): `runner.labels`: expected a list, found 'a,b'",
    ),
    (
        "runner:\n  labels:\n    - a\n    - {b: c}\n",
        "c.yaml (Line: 4, Col: 7): `runner.labels`: expected a text, found a mapping",
    ),
    (
        "runner:\n  labels: ['']\n",
        "c.yaml (Line: 2, Col: 11): `runner.labels`: a label is empty",
    ),
    (
        "runner: 3\n",
        "c.yaml (Line: 1, Col: 9): `runner`: expected a mapping of keys to values",
    ),
    (
        "cache:\n  port: 70000\n",
        "c.yaml (Line: 2, Col: 9): `cache.port`: expected a whole number from 0 to 65535, found '70000'",
    ),
    (
        "cache:\n  size_limit: lots\n",
        "c.yaml (Line: 2, Col: 15): `cache.size_limit`: expected a size such as 1048576, 512MB or 10GB, found 'lots'",
    ),
    (
        "cache:\n  host: 0.0.0.0\n",
        "c.yaml (Line: 2, Col: 9): `cache.host`: expected an address by which jobs reach this machine",
    ),
    (
        "cache:\n  external_server: http://c\n",
        "c.yaml (Line: 2, Col: 3): `cache.external_secret`: `cache.external_server` needs a secret",
    ),
    (
        "cache:\n  external_secret_file: /no/such\n",
        "c.yaml (Line: 2, Col: 25): `cache.external_secret_file`: cannot read /no/such: No such file or directory (os error 2)",
    ),
    (
        "cache:\n  external_secret: s\n  external_secret_file: /f\n",
        "c.yaml (Line: 3, Col: 25): `cache.external_secret_file`: there is a `cache.external_secret` too; give one of them",
    ),
    (
        "cache: {s3: {endpoint: 'https://s', bucket: b, access_key: k}}",
        "c.yaml (Line: 1, Col: 13): `cache.s3.secret_key`: a bucket needs it, and it is not given",
    ),
    (
        "runner:\n  github_mirror: mirror\n",
        "c.yaml (Line: 2, Col: 18): `runner.github_mirror`: expected a URL such as https://forge.example, found 'mirror'",
    ),
    (
        "runner:\n  tls: {cert_file: c}\n",
        "c.yaml (Line: 2, Col: 8): `runner.tls.key_file`: expected the key of `cert_file`",
    ),
    (
        "runner:\n  extra_headers: {'a b': c}\n",
        "c.yaml (Line: 2, Col: 18): `runner.extra_headers`: 'a b' is no name of a header",
    ),
    (
        "metrics:\n  addr: nowhere\n",
        "c.yaml (Line: 2, Col: 9): `metrics.addr`: expected an address and a port such as 127.0.0.1:9101, found 'nowhere'",
    ),
    (
        "log:\n  level: info\n  level: debug\n",
        "c.yaml (Line: 3, Col: 3): the key 'level' is there twice; it is on line 2 already",
    ),
    (
        "- a\n",
        "c.yaml (Line: 1, Col: 1): the file is not a mapping of keys to values",
    ),
    (
        "a: b\n---\nc: d\n",
        "c.yaml (Line: 2, Col: 1): the file has a second document",
    ),
    (
        "log: [\n",
        "c.yaml (Line: 2, Col: 1): while parsing a node, did not find expected node content",
    ),
];

#[test]
fn a_wrong_value_is_named_with_its_place() {
    for (text, want) in WRONG {
        assert_eq!(rejected(text), [*want], "{text}");
    }
}

#[test]
fn all_mistakes_are_named_in_the_order_of_the_file() {
    let text = "cache: {port: x}\nrunner:\n  capacity: many\n  timeout: soon\nlog: {level: 3}\n";
    let lines = rejected(text);
    let keys: Vec<&str> = lines.iter().filter_map(|line| line.split('`').nth(1)).collect();
    assert_eq!(
        keys,
        ["cache.port", "runner.capacity", "runner.timeout", "log.level"]
    );
}

#[test]
fn a_report_shows_the_line_but_never_that_of_a_secret() {
    let Err(rejected) = load_with("runner:\n  timeout: soon\n", &[], &[]) else {
        panic!()
    };
    let want = "invalid configuration\n\
        c.yaml (Line: 2, Col: 12): `runner.timeout`: expected a duration such as 90s, 5m or 1h30m, found 'soon'\n  \
        2 |   timeout: soon\n    |            ^";
    assert_eq!(rejected.to_string(), want);
    let text = "runner:\n  extra_headers: {A: [hunter2]}\ncache:\n  external_secret: [hunter2]\n";
    let Err(rejected) = load_with(text, &[], &[]) else {
        panic!()
    };
    assert!(!rejected.to_string().contains("hunter2"), "{rejected}");
    assert_eq!(rejected.mistakes.len(), 2);
}

#[test]
fn connections_are_checked_each_for_itself() {
    let text = "server:\n  connections:\n    a:\n      url: forge\n      uuid: 7\n    b:\n      url: https://b.example\n      \
        uuid: 6f4b2c1e-0000-4000-8000-000000000000\n      token: t\n      token_url: file:/x\n    c: 5\n";
    let lines = rejected(text);
    let want = [
        "c.yaml (Line: 4, Col: 7): `server.connections.a.token`: expected a token, here or by `token_url`",
        "c.yaml (Line: 4, Col: 12): `server.connections.a.url`: expected a URL such as https://forge.example, found 'forge'",
        "c.yaml (Line: 5, Col: 13): `server.connections.a.uuid`: expected a UUID, as the forge shows it for the runner",
        "c.yaml (Line: 10, Col: 18): `server.connections.b.token_url`: there is a `token` too; give one of them",
        "c.yaml (Line: 11, Col: 8): `server.connections.c`: expected a mapping of keys to values",
    ];
    assert_eq!(lines, want);
}

#[test]
fn an_unknown_key_is_a_warning_with_a_suggestion() {
    let cases = [
        (
            "runner: {timeot: 1s}",
            "c.yaml (Line: 1, Col: 10): unknown key `runner.timeot`; did you mean `runner.timeout`? (ignored)",
        ),
        (
            "log: {levels: info}",
            "c.yaml (Line: 1, Col: 7): unknown key `log.levels`; did you mean `log.level`? (ignored)",
        ),
        (
            "runner.timeout: 1s",
            "c.yaml (Line: 1, Col: 1): unknown key `'runner.timeout'`; did you mean `runner.timeout`? (ignored)",
        ),
        (
            "capacity: 3",
            "c.yaml (Line: 1, Col: 1): unknown key `capacity`; did you mean `runner.capacity`? (ignored)",
        ),
        (
            "container: {enable_ipv6: true}",
            "c.yaml (Line: 1, Col: 13): unknown key `container.enable_ipv6`; it is called `container.network_create_options.enable_ipv6` here (ignored)",
        ),
        (
            "zebra: {stripes: true}",
            "c.yaml (Line: 1, Col: 1): unknown key `zebra` (ignored)",
        ),
        (
            "host: {workdir_parent: /x, 3: 4}",
            "c.yaml (Line: 1, Col: 28): unknown key `host.3` (ignored)",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(loaded(text).warnings(), [want], "{text}");
    }
}

#[test]
fn what_has_no_effect_or_another_meaning_is_a_warning() {
    let cases = [
        (
            "runner: {capacity: 0}",
            "`runner.capacity`: 0 and less mean the default, 1",
        ),
        (
            "runner: {fetch_timeout: 2m}",
            "`runner.fetch_timeout`: it is more than 1m, which is used instead",
        ),
        (
            "runner: {fetch_interval: 9s}",
            "`runner.fetch_interval_max`: it is less than `runner.fetch_interval`, 9s, which is used instead",
        ),
        (
            "runner: {log_report_max_latency: 5s}",
            "`runner.log_report_max_latency`: it has no effect, because `runner.log_report_interval` is not longer",
        ),
        (
            "runner: {tool_cache_mode: shared, capacity: 2}",
            "`runner.tool_cache_mode`: jobs that run at the same time write to one tool cache",
        ),
        (
            "container: {network_mode: host}",
            "`container.network_mode`: this is the old name of `container.network`",
        ),
        (
            "cache: {external_secret: s}",
            "`cache.external_secret`: it has no effect without `cache.external_server`",
        ),
        (
            "cache: {external_server: 'http://c', external_secret: s, retention: 1h}",
            "`cache.retention`: it has no effect where another server keeps the cache",
        ),
    ];
    for (text, want) in cases {
        let warnings = loaded(text).warnings();
        assert!(
            matches!(warnings.as_slice(), [one] if one.ends_with(want)),
            "{text}: {warnings:?}"
        );
    }
}

#[test]
fn flags_win_over_variables_and_these_over_the_file() {
    let text = "runner: {capacity: 2, timeout: 2h, labels: [a]}\nlog: {level: warn}\n";
    let variables = [
        ("GANTRY_RUNNER_TIMEOUT", "4h"),
        ("GANTRY_LOG_LEVEL", "debug"),
        ("GANTRY_RUNNER_LABELS", "b:docker://c:1, d"),
        ("GANTRY_RUNNER_ENVS", "A=1,B=x=y"),
        ("GANTRY_CONTAINER_VALID_VOLUMES", "['/a,b', /c]"),
        ("GANTRY_RUNNER_FILE", ""),
    ];
    let flags = [("log.level", "trace")];
    let loaded = load_with(text, &variables, &flags).unwrap_or_else(|rejected| panic!("{rejected}"));
    let want = [
        ("runner.file", ".runner", Place::Default),
        ("runner.capacity", "2", Place::File { line: 1, column: 20 }),
        (
            "runner.timeout",
            "4h",
            Place::Variable("GANTRY_RUNNER_TIMEOUT".into()),
        ),
        (
            "runner.labels",
            "[b:docker://c:1, d]",
            Place::Variable("GANTRY_RUNNER_LABELS".into()),
        ),
        (
            "runner.envs",
            "{A: '1', B: x=y}",
            Place::Variable("GANTRY_RUNNER_ENVS".into()),
        ),
        (
            "container.valid_volumes",
            "['/a,b', /c]",
            Place::Variable("GANTRY_CONTAINER_VALID_VOLUMES".into()),
        ),
        ("log.level", "trace", Place::Flag("--set log.level".into())),
    ];
    let origins = loaded.origins();
    for (key, value, place) in want {
        let (leaf, found) = origins.iter().find(|(leaf, _)| leaf.name() == key).expect(key);
        assert_eq!((leaf.shown().as_str(), found), (value, &place), "{key}");
    }
}

#[test]
fn variables_make_and_change_connections() {
    let text =
        "server: {connections: {my-forge: {url: 'https://a', uuid: 6f4b2c1e-0000-4000-8000-000000000000}}}";
    let variables = [
        ("GANTRY_SERVER_CONNECTIONS_MY_FORGE_TOKEN", "t1"),
        ("GANTRY_SERVER_CONNECTIONS_B_URL", "https://b"),
        (
            "GANTRY_SERVER_CONNECTIONS_B_UUID",
            "6f4b2c1e-0000-4000-8000-000000000001",
        ),
        ("GANTRY_SERVER_CONNECTIONS_B_TOKEN", "t2"),
    ];
    let loaded = load_with(text, &variables, &[]).unwrap_or_else(|rejected| panic!("{rejected}"));
    let connections = &loaded.values.server.connections;
    let found: Vec<_> = connections
        .iter()
        .map(|(name, connection)| (name.as_str(), connection.url.as_str(), connection.token.reveal()))
        .collect();
    assert_eq!(found, [("b", "https://b", "t2"), ("my-forge", "https://a", "t1")]);
}

#[test]
fn a_wrong_variable_or_flag_is_named() {
    let variables = [("GANTRY_RUNNER_TIMEOUT", "soon")];
    let Err(rejected) = load_with("", &variables, &[("runner.capacty", "1"), ("log", "x")]) else {
        panic!()
    };
    assert_eq!(
        rejected.lines(),
        [
            "--set runner.capacty: unknown key `runner.capacty`; did you mean `runner.capacity`?",
            "--set log: `log` is a section; give one of its keys",
            "environment variable GANTRY_RUNNER_TIMEOUT: `runner.timeout`: expected a duration such as 90s, 5m or 1h30m, found 'soon'",
        ]
    );
    let variables = [
        ("GANTRY_RUNNER_TIMEOT", "1s"),
        ("GANTRY_LOG", "info"),
        ("GANTRY_E2E_URL", "x"),
    ];
    let loaded = load_with("", &variables, &[]).unwrap_or_else(|rejected| panic!("{rejected}"));
    assert_eq!(
        loaded.warnings(),
        [
            "environment variable GANTRY_RUNNER_TIMEOT: it overrides no key; did you mean GANTRY_RUNNER_TIMEOUT? (ignored)"
        ]
    );
}

#[test]
fn secrets_are_never_shown() {
    let text = "cache: {external_server: 'https://u:hunter2@c', external_secret: hunter2}\n\
        runner: {extra_headers: {A: hunter2}, envs: {NPM_TOKEN: hunter2, URL: 'http://x:hunter2@y'}}\n\
        kubernetes: {pod_template: {spec: {password: hunter2}}}\n\
        server: {connections: {a: {url: 'https://u:hunter2@a', uuid: 6f4b2c1e-0000-4000-8000-000000000000, token: hunter2}}}\n";
    let loaded = loaded(text);
    for leaf in loaded.values.leaves() {
        assert!(
            !leaf.shown().contains("hunter2"),
            "{}: {}",
            leaf.name(),
            leaf.shown()
        );
    }
    assert_eq!(shown(&loaded, "cache.external_secret"), "'***'");
    assert_eq!(shown(&loaded, "runner.extra_headers"), "{A: '***'}");
}

#[test]
fn a_secret_is_taken_from_its_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("secret");
    std::fs::write(&file, " s3cret\n").expect("a file");
    let text = format!(
        "cache: {{external_server: 'http://c', external_secret_file: '{}'}}",
        file.display()
    );
    assert_eq!(loaded(&text).values.cache.external_secret.reveal(), "s3cret");
    std::fs::write(&file, "\n").expect("a file");
    assert!(
        rejected(&text)[0].ends_with("secret is empty"),
        "{:?}",
        rejected(&text)
    );
}

#[test]
fn a_token_is_read_from_its_file_when_it_is_needed() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("token");
    let text = |prefix: &str| {
        format!(
            "server: {{connections: {{a: {{url: 'https://a', uuid: 6f4b2c1e-0000-4000-8000-000000000000, token_url: '{prefix}{}'}}}}}}",
            file.display()
        )
    };
    for prefix in ["file:", "file://"] {
        let loaded = loaded(&text(prefix));
        std::fs::write(&file, "t1\n").expect("a file");
        let connection = &loaded.values.server.connections["a"];
        let token = connection.read_token().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(token.reveal(), "t1");
    }
    assert!(rejected(&text("https:"))[0].ends_with("expected `file:` and the path of a file"));
}

#[test]
fn a_reload_tells_what_changed_or_what_is_wrong() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("c.yaml");
    std::fs::write(&file, "runner: {capacity: 1, extra_headers: {A: one}}\n").expect("a file");
    let given = Given {
        file: Some(file.clone()),
        ..Given::default()
    };
    let old = load(given).unwrap_or_else(|rejected| panic!("{rejected}"));
    let text = "runner: {capacity: 4, extra_headers: {A: two}}\nserver: {connections: {a: {url: 'https://a', uuid: 6f4b2c1e-0000-4000-8000-000000000000, token: t}}}\n";
    std::fs::write(&file, text).expect("a file");
    let new = old.reload().unwrap_or_else(|rejected| panic!("{rejected}"));
    let changes: Vec<String> = changes(&old.values, &new.values)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        changes[..4],
        [
            "runner.capacity: 1 -> 4",
            "runner.extra_headers: {A: '***'} -> {A: '***'}",
            "server.connections.a.url: (none) -> https://a",
            "server.connections.a.uuid: (none) -> '6f4b2c1e-0000-4000-8000-000000000000'",
        ]
    );
    std::fs::write(&file, "runner: {capacity: x}\n").expect("a file");
    let Err(rejected) = new.reload() else {
        panic!("accepted")
    };
    assert_eq!(rejected.lines().len(), 1);
    std::fs::remove_file(&file).expect("removed");
    assert!(new.reload().is_err());
}

#[test]
fn hostile_files_end_with_an_error() {
    let bomb: String = (0..30).fold("a0: &a0 [x]\n".to_owned(), |text, n| {
        format!("{text}a{}: &a{} [*a{n}, *a{n}, *a{n}, *a{n}]\n", n + 1, n + 1)
    });
    let deep = format!("a: {}{}", "[".repeat(200), "]".repeat(200));
    let large = format!("# {}\n", "x".repeat(2 * 1024 * 1024));
    for text in [bomb, deep, large, "a: \u{0}\n".to_owned(), "a: *b\n".to_owned()] {
        assert_eq!(rejected(&text).len(), 1);
    }
}

#[test]
fn what_a_variable_lacks_is_named_with_the_variable() {
    let variables = [("GANTRY_CACHE_EXTERNAL_SERVER", "http://c")];
    let Err(rejected) = load_with("", &variables, &[]) else {
        panic!("accepted")
    };
    assert_eq!(
        rejected.lines(),
        [
            "environment variable GANTRY_CACHE_EXTERNAL_SERVER: `cache.external_secret`: `cache.external_server` needs a secret"
        ]
    );
    assert!(!rejected.is_unread);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::with_cases(256)
    })]

    #[test]
    fn no_file_makes_the_reader_panic(text: String, yaml in "(runner|log|cache|[a-z \n:#&*!|>'\"{},\\[\\]<-]|: |\n  ){0,60}") {
        for text in [text, yaml] {
            if let Err(rejected) = load_with(&text, &[], &[]) {
                proptest::prop_assert!(!rejected.to_string().is_empty());
            }
        }
    }
}
