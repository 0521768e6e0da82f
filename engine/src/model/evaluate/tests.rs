//! Tables of keys, the contexts that they see and what they become.

use indexmap::IndexMap;

use crate::expr::{HashFilesError, Host, Object, Scope, StatusFunction, Value};
use crate::model::{
    Concurrency, Container, Field, FieldError, FromNode, JobBody, RunsOn, Services, StepAction, StepsJob,
    StringMap, Workflow, evaluate_node,
};

/// Knows the digest of `a` only.
struct Files;

impl Host for Files {
    fn status(&self, _: StatusFunction, _: &[String]) -> bool {
        true
    }

    fn hash_files(&self, patterns: &[String]) -> Result<String, HashFilesError> {
        match patterns {
            [one] if one == "a" => Ok("d1".into()),
            _ => Err(HashFilesError::Pending),
        }
    }
}

/// Contexts whose values are given as JSON.
fn contexts(pairs: &[(&str, &str)]) -> Object {
    let mut object = Object::new();
    for (name, json) in pairs {
        object.insert(*name, Value::from_json(json).unwrap());
    }
    object
}

/// The body of a job that has `keys`, each on a line of its own.
fn job(keys: &str) -> StepsJob {
    let keys = keys
        .lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n");
    let runs_on = if keys.contains("runs-on") {
        ""
    } else {
        "    runs-on: x\n"
    };
    let text = format!("on: push\njobs:\n  a:\n{keys}\n{runs_on}");
    let workflow = Workflow::parse("w.yml", &text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    match &workflow.jobs[0].body {
        JobBody::Steps(body) => (**body).clone(),
        JobBody::Call(_) => panic!("the job calls a workflow"),
    }
}

fn evaluate<T: FromNode>(field: &Field<T>, pairs: &[(&str, &str)]) -> Result<T, FieldError> {
    field.evaluate(Scope {
        contexts: &contexts(pairs),
        host: &Files,
        recorder: None,
    })
}

/// The errors' texts, which must be there.
fn errors<T: std::fmt::Debug>(result: Result<T, FieldError>) -> String {
    result.expect_err("the value does not fit").to_string()
}

fn map(pairs: &[(&str, &str)]) -> StringMap {
    StringMap(
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect::<IndexMap<_, _>>(),
    )
}

#[test]
fn env_is_made_of_texts() {
    let env = job("env: {A: 1.50, B: true, C: null, D: \"${{ matrix.n }}\", E: \"x ${{ matrix.o }} y\"}")
        .env
        .unwrap();
    let found = evaluate(&env, &[("matrix", r#"{"n": 1.10, "o": {"a": 1}}"#)]).unwrap();
    assert_eq!(
        found,
        map(&[
            ("A", "1.5"),
            ("B", "true"),
            ("C", ""),
            ("D", "1.1"),
            ("E", "x Object y")
        ])
    );
}

#[test]
fn whole_mappings_may_come_from_expressions() {
    let env = job("env: \"${{ matrix.env }}\"").env.unwrap();
    let found = evaluate(&env, &[("matrix", r#"{"env": {"A": 1, "B": null}}"#)]).unwrap();
    assert_eq!(found, map(&[("A", "1"), ("B", "")]));
    let fails = |json: &str| errors(evaluate(&env, &[("matrix", json)]));
    assert_eq!(
        fails(r#"{"env": [1]}"#),
        "w.yml (Line: 4, Col: 10): A sequence was not expected"
    );
    assert_eq!(
        fails(r#"{"env": "x"}"#),
        "w.yml (Line: 4, Col: 10): Unexpected value 'x'"
    );
    assert_eq!(
        fails(r#"{"env": {"A": {}}}"#),
        "w.yml (Line: 4, Col: 10): A mapping was not expected"
    );
    assert_eq!(
        fails(r#"{"env": {"": 1}}"#),
        "w.yml (Line: 4, Col: 10): Unexpected value ''"
    );
}

#[test]
fn mappings_are_inserted_and_keys_evaluated() {
    let env = job("env: {A: 1, \"${{ insert }}\": \"${{ matrix.more }}\", \"${{ matrix.key }}\": 2}")
        .env
        .unwrap();
    let found = evaluate(&env, &[("matrix", r#"{"more": {"B": 3}, "key": "C"}"#)]).unwrap();
    assert_eq!(found, map(&[("A", "1"), ("B", "3"), ("C", "2")]));
    let fails = |json: &str| errors(evaluate(&env, &[("matrix", json)]));
    assert_eq!(
        fails(r#"{"more": {"a": 3}, "key": "C"}"#),
        "w.yml (Line: 4, Col: 34): 'a' is already defined"
    );
    assert_eq!(
        fails(r#"{"more": 5, "key": "C"}"#),
        "w.yml (Line: 4, Col: 34): Expected a mapping"
    );
    assert_eq!(
        fails(r#"{"more": {}, "key": []}"#),
        "w.yml (Line: 4, Col: 56): Expected a string"
    );
}

#[test]
fn lists_take_the_place_of_the_item_that_yields_them() {
    let runs_on = job("runs-on: [self-hosted, \"${{ matrix.labels }}\", \"${{ matrix.one }}\"]").runs_on;
    let found = evaluate(&runs_on, &[("matrix", r#"{"labels": ["a", 1], "one": "z"}"#)]).unwrap();
    assert_eq!(found.labels, ["self-hosted", "a", "1", "z"]);
    assert_eq!(
        errors(evaluate(
            &runs_on,
            &[("matrix", r#"{"labels": [["a"]], "one": ""}"#)]
        )),
        "w.yml (Line: 4, Col: 28): A sequence was not expected\nw.yml (Line: 4, Col: 52): Unexpected value ''"
    );
}

#[test]
fn runs_on_has_three_forms() {
    let evaluated = |text: &str| {
        evaluate(
            &job(text).runs_on,
            &[("matrix", r#"{"r": {"group": "g", "labels": "l"}}"#)],
        )
    };
    let runs_on = |group: Option<&str>, labels: &[&str]| RunsOn {
        group: group.map(str::to_owned),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
    };
    assert_eq!(evaluated("runs-on: x").unwrap(), runs_on(None, &["x"]));
    assert_eq!(
        evaluated("runs-on: {group: org/g, labels: [a, b]}").unwrap(),
        runs_on(Some("org/g"), &["a", "b"])
    );
    assert_eq!(
        evaluated("runs-on: \"${{ matrix.r }}\"").unwrap(),
        runs_on(Some("g"), &["l"])
    );
    assert_eq!(
        errors(evaluated("runs-on: {group: \"x/${{ matrix.r.group }}\"}")),
        "w.yml (Line: 4, Col: 22): Invalid runs-on group name 'x/g'. Please use 'organization/' or 'enterprise/' \
         prefix to target a single runner group."
    );
}

#[test]
fn types_are_checked_once_they_are_known() {
    let timeout = job("timeout-minutes: \"${{ vars.T }}\"").timeout_minutes.unwrap();
    assert_eq!(evaluate(&timeout, &[("vars", r#"{"T": 5.5}"#)]), Ok(5.5));
    assert_eq!(
        errors(evaluate(&timeout, &[("vars", r#"{"T": "5"}"#)])),
        "w.yml (Line: 4, Col: 22): Unexpected value '5'"
    );
    let flag = job("continue-on-error: \"${{ vars.T }}\"")
        .continue_on_error
        .unwrap();
    assert_eq!(evaluate(&flag, &[("vars", r#"{"T": true}"#)]), Ok(true));
    assert!(evaluate(&flag, &[("vars", r#"{"T": "true"}"#)]).is_err());
    let broken = job("timeout-minutes: \"${{ fromJSON(vars.T) }}\"")
        .timeout_minutes
        .unwrap();
    let text = errors(evaluate(&broken, &[("vars", r#"{"T": "{"}"#)]));
    assert!(
        text.starts_with("w.yml (Line: 4, Col: 22): ") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn what_evaluation_yields_is_never_evaluated_again() {
    let env = job("env: {A: \"${{ vars.T }}\", B: \"x${{ vars.T }}\"}")
        .env
        .unwrap();
    let found = evaluate(&env, &[("vars", r#"{"T": "${{ secrets.X }}"}"#)]).unwrap();
    assert_eq!(
        found,
        map(&[("A", "${{ secrets.X }}"), ("B", "x${{ secrets.X }}")])
    );
    let env = job("env: \"${{ vars.E }}\"").env.unwrap();
    let found = evaluate(
        &env,
        &[("vars", r#"{"E": {"${{ insert }}": "${{ secrets.X }}"}}"#)],
    )
    .unwrap();
    assert_eq!(found, map(&[("${{ insert }}", "${{ secrets.X }}")]));
}

#[test]
fn containers_and_services_are_read() {
    let job = job(
        "container: {image: \"docker://${{ vars.I }}\", ports: [80, \"${{ vars.P }}\"], env: {A: 1}, \
         credentials: {username: u, password: \"${{ secrets.P }}\"}}\n\
         services: {db: {image: pg, options: --rm, entrypoint: e, command: c}, r: \"${{ vars.N }}\"}",
    );
    let pairs = [
        ("vars", r#"{"I": "alpine", "P": ["81", 82], "N": null}"#),
        ("secrets", r#"{"P": "s"}"#),
    ];
    let container = evaluate(job.container.as_ref().unwrap(), &pairs).unwrap();
    let expected = Container {
        image: "alpine".into(),
        ports: vec!["80".into(), "81".into(), "82".into()],
        env: map(&[("A", "1")]),
        credentials: Some(("u".into(), "s".into())),
        ..Container::default()
    };
    assert_eq!(container, expected);
    let Services(services) = evaluate(job.services.as_ref().unwrap(), &pairs).unwrap();
    assert_eq!(services.keys().collect::<Vec<_>>(), ["db", "r"]);
    assert_eq!(services["db"].entrypoint.as_deref(), Some("e"));
    assert_eq!(services["r"].image, "");
}

#[test]
fn concurrency_needs_a_group() {
    let text = "on: push\nconcurrency: {group: \"${{ vars.G }}\", cancel-in-progress: true}\njobs: {a: {runs-on: x}}\n";
    let field = Workflow::parse("w.yml", text).unwrap().concurrency.unwrap();
    let expected = Concurrency {
        group: "g".into(),
        cancel_in_progress: true,
    };
    assert_eq!(evaluate(&field, &[("vars", r#"{"G": "g"}"#)]), Ok(expected));
    assert!(evaluate(&field, &[("vars", r#"{"G": ""}"#)]).is_err());
    let long = format!(r#"{{"G": "{}"}}"#, "g".repeat(401));
    assert_eq!(
        errors(evaluate(&field, &[("vars", &long)])),
        "w.yml (Line: 2, Col: 14): Concurrency group name must be less than 400 characters"
    );
}

#[test]
fn digests_are_asked_for() {
    let job = job(
        "steps: [{run: \"${{ hashFiles('a') }} ${{ hashFiles('b', 'c') }}\"}, {run: \"${{ hashFiles('a') }}\"}]",
    );
    let scripts = job.steps.iter().map(|step| match &step.action {
        StepAction::Run(run) => evaluate(&run.script, &[]),
        StepAction::Uses(_) => panic!("a step uses an action"),
    });
    let scripts: Vec<_> = scripts.collect();
    assert_eq!(
        scripts[0],
        Err(FieldError::NeedsFiles(vec!["b".into(), "c".into()]))
    );
    assert_eq!(scripts[1], Ok("d1".into()));
}

#[test]
fn strategies_are_evaluated_as_a_whole() {
    let text = "on: push\njobs:\n  a:\n    runs-on: x\n    strategy: {fail-fast: \"${{ vars.F }}\", matrix: {os: [a, \"${{ vars.L }}\"]}}\n";
    let workflow = Workflow::parse("w.yml", text).unwrap();
    let strategy = &workflow.jobs[0].strategy.as_ref().unwrap().node;
    let evaluated = |json: &str| {
        let contexts = contexts(&[("vars", json)]);
        evaluate_node(
            &workflow.file,
            strategy,
            Scope {
                contexts: &contexts,
                host: &Files,
                recorder: None,
            },
        )
    };
    let node = evaluated(r#"{"F": false, "L": ["b", {"c": 1}]}"#).unwrap();
    assert_eq!(
        node.to_value().to_json().replace(char::is_whitespace, ""),
        r#"{"fail-fast":false,"matrix":{"os":["a","b",{"c":1}]}}"#
    );
    assert_eq!(
        errors(evaluated(r#"{"F": "no", "L": []}"#)),
        "w.yml (Line: 5, Col: 27): Unexpected value 'no'"
    );
}

#[test]
fn literals_need_no_contexts() {
    assert_eq!(
        job("timeout-minutes: 5").timeout_minutes.unwrap().literal(),
        Some(5.0)
    );
    assert_eq!(
        job("timeout-minutes: \"${{ 5 }}\"")
            .timeout_minutes
            .unwrap()
            .literal(),
        None
    );
    assert_eq!(
        job("env: {A: 1}").env.unwrap().literal(),
        Some(map(&[("A", "1")]))
    );
}

#[test]
fn data_has_limits() {
    let env = job("env: {A: \"${{ toJSON(vars.D) }}\"}\ncontainer: \"${{ vars.D }}\"");
    let deep = format!(r#"{{"D": {}1{}}}"#, "[".repeat(110), "]".repeat(110));
    if let Ok(value) = Value::from_json(&deep) {
        let mut contexts = Object::new();
        contexts.insert("vars", value);
        let scope = Scope {
            contexts: &contexts,
            host: &Files,
            recorder: None,
        };
        let result = env.container.unwrap().evaluate(scope);
        assert_eq!(errors(result), "w.yml: Maximum object depth exceeded");
    }
}
