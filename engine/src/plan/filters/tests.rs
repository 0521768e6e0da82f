use proptest::prelude::*;

use super::*;

#[test]
fn patterns_match_whole_names() {
    // Pattern, names that match, names that do not. Most rows are examples of GitHub's documentation.
    let cases: [(&str, &[&str], &[&str]); 24] = [
        ("main", &["main"], &["mains", "amain", "x/main", "Main"]),
        (
            "feature/*",
            &["feature/my-branch", "feature/"],
            &["feature/a/b", "feature"],
        ),
        (
            "feature/**",
            &["feature/beta-a/my-branch", "feature/x"],
            &["feature"],
        ),
        ("*", &["main", "releases"], &["all/the/branches"]),
        ("**", &["main", "all/the/branches", "a\nb"], &[]),
        (
            "*feature",
            &["mona-feature", "feature", "ver-10-feature"],
            &["feature2", "a/feature"],
        ),
        ("v2*", &["v2", "v2.0", "v2.9"], &["v1"]),
        (
            "v[12].[0-9]+.[0-9]+",
            &["v1.10.1", "v2.0.0"],
            &["v3.1.1", "v1.1", "v1x1.1"],
        ),
        ("*.jsx?", &["page.js", "page.jsx"], &["page.jsxx", "a/page.js"]),
        ("**.js", &["index.js", "js/index.js", "src/js/app.js"], &["a.jsx"]),
        ("docs/*", &["docs/README.md"], &["docs/a/b.md"]),
        (
            "docs/**/*.md",
            &["docs/README.md", "docs/mona/hello.md", "docs/a/b/c.md"],
            &["docs.md", "x/docs/a.md"],
        ),
        (
            "**/docs/**",
            &["docs/hello.md", "dir/docs/f.txt", "space/docs/plan/s.doc"],
            &["xdocs/a"],
        ),
        ("**/README.md", &["README.md", "js/README.md"], &["xREADME.md"]),
        ("**/*src/**", &["a/src/app.js", "my-src/code.js"], &["src"]),
        (
            "**/migrate-*.sql",
            &["migrate-1.sql", "db/migrate-v1.0.sql"],
            &["xmigrate-1.sql"],
        ),
        ("a**/b", &["a/b", "ax/y/b"], &["b"]),
        ("ab?c+", &["ac", "abc", "accc"], &["abbc", "ab"]),
        ("a?+b", &["b", "aab"], &["xb"]),
        ("[a-cX_]", &["b", "X", "_"], &["d", "-", "bb"]),
        ("[a-]", &["a", "-"], &["b"]),
        ("\\*\\[x", &["*[x"], &["a[x"]),
        ("a.b|c(d)$", &["a.b|c(d)$"], &["axb|c(d)$"]),
        ("grüße-日?", &["grüße-日", "grüße-"], &["grusse"]),
    ];
    for (text, yes, no) in cases {
        let pattern = Pattern::parse(text).unwrap();
        for name in yes {
            assert!(pattern.matches(name), "{text} must match {name}");
        }
        for name in no {
            assert!(!pattern.matches(name), "{text} must not match {name}");
        }
    }
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("", "it is empty"),
        ("!", "it is empty"),
        ("?a", "a quantifier follows nothing"),
        ("[ab", "a class is not closed"),
        ("[]", "a class is empty"),
        ("[a-Z]", "a range must be of a-z, A-Z or 0-9"),
        ("[9-0]", "a range must be of a-z, A-Z or 0-9"),
        ("a\\", "it ends with a backslash"),
    ];
    for (pattern, reason) in cases {
        let text = format!("the filter pattern '{pattern}' is not valid: {reason}");
        assert_eq!(Pattern::parse(pattern).unwrap_err().to_string(), text);
    }
}

fn list(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// Reads filters such as `branches: a b; paths: c`.
fn config(text: &str) -> EventConfig {
    let mut config = EventConfig::default();
    for part in text.split(';').filter(|part| !part.trim().is_empty()) {
        let (key, values) = part.split_once(':').unwrap();
        let slot = match key.trim() {
            "types" => &mut config.types,
            "branches" => &mut config.branches,
            "branches-ignore" => &mut config.branches_ignore,
            "tags" => &mut config.tags,
            "tags-ignore" => &mut config.tags_ignore,
            "paths" => &mut config.paths,
            "paths-ignore" => &mut config.paths_ignore,
            "workflows" => &mut config.workflows,
            other => panic!("unknown filter {other}"),
        };
        *slot = Some(list(values));
    }
    config
}

/// Reads an event such as `push refs/heads/x`, `pull_request/opened main`; changed files follow after `|`.
fn event(text: &str) -> EventFacts {
    let (head, files) = text
        .split_once('|')
        .map_or((text, None), |(head, files)| (head, Some(list(files))));
    let (name, place) = head.trim().split_once(' ').unwrap_or((head.trim(), ""));
    let (name, action) = name
        .split_once('/')
        .map_or((name, None), |(name, action)| (name, Some(action.to_owned())));
    EventFacts {
        name: name.to_owned(),
        action,
        git_ref: place.to_owned(),
        base_ref: (name != "push").then(|| place.to_owned()),
        changed_files: files,
        ..EventFacts::default()
    }
}

#[test]
fn filters_decide_with_a_reason() {
    let cases = [
        ("push refs/heads/a", "", "runs: the event 'push' has no filters"),
        ("push refs/tags/a", "", "runs: the event 'push' has no filters"),
        (
            "push refs/heads/a/b",
            "branches: a/*",
            "runs: the branch 'a/b' matches 'a/*' of 'branches'",
        ),
        (
            "push refs/heads/b",
            "branches: a",
            "does not run: the branch 'b' matches no pattern of 'branches'",
        ),
        (
            "push refs/heads/b",
            "branches: !a",
            "does not run: the branch 'b' matches no pattern of 'branches'",
        ),
        (
            "push refs/heads/a",
            "branches: * !a",
            "does not run: the branch 'a' is excluded by '!a' of 'branches'",
        ),
        (
            "push refs/heads/a",
            "branches: * !a a",
            "runs: the branch 'a' matches 'a' of 'branches'",
        ),
        (
            "push refs/heads/a",
            "branches-ignore: a*",
            "does not run: the branch 'a' matches 'a*' of 'branches-ignore'",
        ),
        (
            "push refs/heads/b",
            "branches-ignore: a*",
            "runs: the branch 'b' matches no pattern of 'branches-ignore'",
        ),
        (
            "push refs/tags/v1",
            "branches: *",
            "does not run: 'v1' is a tag, and there are filters for branches only",
        ),
        (
            "push refs/heads/b",
            "tags: *",
            "does not run: 'b' is a branch, and there are filters for tags only",
        ),
        (
            "push refs/tags/v1",
            "tags: v*",
            "runs: the tag 'v1' matches 'v*' of 'tags'",
        ),
        (
            "push refs/tags/v1",
            "tags-ignore: v*",
            "does not run: the tag 'v1' matches 'v*' of 'tags-ignore'",
        ),
        (
            "push refs/tags/v1",
            "branches: x; tags: v*",
            "runs: the tag 'v1' matches 'v*' of 'tags'",
        ),
        (
            "push refs/heads/a | a.md b.c",
            "paths: **.c",
            "runs: the changed file 'b.c' matches 'paths'",
        ),
        (
            "push refs/heads/a | a.md",
            "paths: **.c",
            "does not run: no changed file matches 'paths'",
        ),
        (
            "push refs/heads/a | a.md",
            "paths: ** !*.md",
            "does not run: no changed file matches 'paths'",
        ),
        (
            "push refs/heads/a | a.md",
            "paths-ignore: *.md",
            "does not run: every changed file matches 'paths-ignore'",
        ),
        (
            "push refs/heads/a | a.md b.c",
            "paths-ignore: *.md",
            "runs: the changed file 'b.c' does not match 'paths-ignore'",
        ),
        (
            "push refs/heads/a",
            "paths: x",
            "runs: the changed files are not known, so path filters do not apply",
        ),
        (
            "push refs/tags/v1 | a",
            "paths: x",
            "runs: path filters do not apply to tags",
        ),
        (
            "push refs/heads/b | x",
            "branches: a; paths: x",
            "does not run: the branch 'b' matches no pattern of 'branches'",
        ),
        (
            "pull_request/opened main",
            "",
            "runs: the type 'opened' is one of the default types",
        ),
        (
            "pull_request/closed main",
            "",
            "does not run: the type 'closed' is none of the default types",
        ),
        (
            "pull_request/closed main",
            "types: closed",
            "runs: the type 'closed' is one of 'types'",
        ),
        (
            "pull_request_target/synchronize refs/heads/dev",
            "branches: main",
            "does not run: the branch 'dev' matches no pattern of 'branches'",
        ),
        ("issues/labeled", "", "runs: the event 'issues' has no filters"),
        (
            "issues/labeled",
            "types: opened",
            "does not run: the type 'labeled' is none of 'types'",
        ),
        (
            "workflow_dispatch x",
            "",
            "runs: the event 'workflow_dispatch' has no filters",
        ),
    ];
    for (facts, filters, expected) in cases {
        let decision = decide(&event(facts), &config(filters)).unwrap();
        assert_eq!(decision.to_string(), expected, "{facts} with {filters}");
    }
    assert!(decide(&event("push refs/heads/a"), &config("branches: [")).is_err());
    assert!(decide(&event("push refs/heads/a | x"), &config("paths: [")).is_err());
}

#[test]
fn messages_can_skip_runs() {
    let skips = |name: &str, message: &str| {
        let facts = EventFacts {
            head_commit_message: Some(message.into()),
            ..event(&format!("{name} refs/heads/a"))
        };
        !decide(&facts, &EventConfig::default()).unwrap().runs
    };
    for message in [
        "x [skip ci]",
        "[ci skip]\n\nx",
        "[no ci]",
        "[skip actions]",
        "[actions skip]",
    ] {
        assert!(
            skips("push", message) && skips("pull_request", message),
            "{message}"
        );
        assert!(
            !skips("pull_request_target", message) && !skips("issues", message),
            "{message}"
        );
    }
    for (message, expected) in [
        ("x\n\n\nskip-checks: true", true),
        ("x\n\n\nskip-checks:true\nSigned-off-by: y\n", true),
        ("skip-checks: true\n\nx", false),
        ("x\n\nskip-checks: false", false),
        ("skip ci", false),
        ("", false),
    ] {
        assert_eq!(skips("push", message), expected, "{message:?}");
    }
}

#[test]
fn only_the_first_files_count() {
    let mut files = vec!["a.md".to_owned(); CHANGED_FILES_LIMIT];
    files.push("b.c".to_owned());
    let facts = EventFacts {
        changed_files: Some(files),
        ..event("push refs/heads/a")
    };
    assert!(!decide(&facts, &config("paths: **.c")).unwrap().runs);
}

#[test]
fn a_workflow_runs_by_the_events_it_lists() {
    let mut triggers = Triggers::default();
    triggers.events.insert("push".into(), config("branches: main"));
    let show = |facts: &str| decide_workflow(&event(facts), &triggers).unwrap().to_string();
    assert_eq!(
        show("push refs/heads/main"),
        "runs: the branch 'main' matches 'main' of 'branches'"
    );
    assert_eq!(
        show("issues/opened"),
        "does not run: 'on' does not list the event 'issues'"
    );
    triggers.dispatch = Some(crate::model::DispatchTrigger::default());
    let facts = event("workflow_dispatch");
    assert!(decide_workflow(&facts, &triggers).unwrap().runs);
    let facts = EventFacts {
        workflow: Some("build".into()),
        ..event("workflow_run/completed main")
    };
    assert!(
        decide(&facts, &config("workflows: build; branches: main"))
            .unwrap()
            .runs
    );
    assert!(!decide(&facts, &config("workflows: test")).unwrap().runs);
}

proptest! {
    #[test]
    fn any_pattern_is_compiled_or_refused_without_panic(text in "[a-c*?+!\\[\\]\\\\/.0-9-]{0,16}", name in "[a-c/.]{0,8}") {
        if let Ok(pattern) = Pattern::parse(&text) {
            pattern.matches(&name);
        }
    }

    #[test]
    fn an_escaped_name_matches_itself_only(name in "[ -~]{1,12}", other in "[ -~]{1,12}") {
        let escaped: String = name.chars().flat_map(|char| ['\\', char]).collect();
        let pattern = Pattern::parse(&escaped).unwrap();
        prop_assert!(pattern.matches(&name));
        prop_assert_eq!(pattern.matches(&other), name == other);
    }
}
