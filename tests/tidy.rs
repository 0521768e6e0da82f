//! The house rules that are not lints: crate arrows, purity, sizes, docs, and words that belong nowhere.

#![expect(clippy::expect_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Which crates of the workspace each crate may use, and which only in its tests.
const ARROWS: [(&str, &[&str], &[&str]); 5] = [
    ("gantry", &["gantry-actors"], &["gantry-fakes"]),
    (
        "gantry-actors",
        &["gantry-engine", "gantry-protocols"],
        &["gantry-fakes"],
    ),
    ("gantry-engine", &[], &[]),
    ("gantry-protocols", &[], &["gantry-fakes"]),
    ("gantry-fakes", &["gantry-protocols"], &[]),
];

/// The parts of the engine for which time and file contents are arguments.
const PURE: [&str; 6] = ["model", "expr", "plan", "commands", "mask", "job"];

/// What a pure part does not mention.
const IMPURE: [&str; 8] = [
    "tokio",
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "SystemTime",
    "Instant::now",
    "rustix",
];

const MAX_FILE_LINES: usize = 500;
const MAX_FUNCTION_LINES: usize = 60;

#[expect(
    clippy::disallowed_methods,
    reason = "the tools of the tests need no process group of their own"
)]
fn output_of(program: &str, args: &[&str]) -> String {
    let output = std::process::Command::new(program)
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    assert!(
        output.status.success(),
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The text files under version control, by their paths.
fn tracked() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = output_of(
        "git",
        &["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
    );
    let read = |name: &str| Some((name.to_owned(), std::fs::read_to_string(root.join(name)).ok()?));
    names
        .split('\0')
        .filter(|name| !name.is_empty())
        .filter_map(read)
        .collect()
}

/// The Rust files, by their paths.
fn rust_files() -> BTreeMap<String, String> {
    let mut files = tracked();
    files.retain(|path, _| {
        Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "rs")
            && !path.contains("fixtures/")
    });
    assert!(files.len() > 10, "the Rust files were not found");
    files
}

/// Tells whether a whole file is tests.
fn is_test_file(path: &str) -> bool {
    path.split('/')
        .any(|part| part == "tests" || part == "tests.rs" || part == "benches" || part.ends_with("_tests.rs"))
}

/// The part of a file before its unit tests.
fn without_tests(text: &str) -> &str {
    let inline = text
        .find("#[cfg(test)]\nmod ")
        .filter(|at| !is_declaration(&text[*at..]));
    inline.map_or(text, |at| &text[..at])
}

/// `mod tests;` is in another file, and code may follow it.
fn is_declaration(text: &str) -> bool {
    text.lines().nth(1).is_some_and(|line| line.ends_with(';'))
}

fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    numbered.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn assert_none(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}:\n{}", offenders.join("\n"));
}

#[test]
fn crates_use_each_other_only_along_the_arrows() {
    let text = output_of(env!("CARGO"), &["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let mut offenders = Vec::new();
    for package in packages {
        let name = package["name"].as_str().expect("a name");
        let Some((_, normal, dev)) = ARROWS.iter().find(|(known, ..)| *known == name) else {
            offenders.push(format!("{name} is in no row of the table of arrows"));
            continue;
        };
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let in_tests = dependency["kind"] == "dev";
            let allowed = normal.contains(&used) || in_tests && dev.contains(&used);
            if dependency["path"].is_string() && !allowed {
                offenders.push(format!("{name} -> {used}"));
            }
        }
    }
    assert_none("crate arrows", &offenders);
}

#[test]
fn only_the_actors_crate_knows_actix() {
    let mut offenders = Vec::new();
    for (path, text) in rust_files()
        .iter()
        .filter(|(path, _)| !path.starts_with("actors/"))
    {
        let marks = ["actix::", "use actix;"];
        let used = code_lines(text).filter(|(_, line)| marks.iter().any(|mark| line.contains(mark)));
        offenders.extend(
            used.filter(|_| path != "tests/tidy.rs")
                .map(|(line, text)| format!("{path}:{line}: {text}")),
        );
    }
    assert_none("`actix::` outside of actors", &offenders);
}

#[test]
fn pure_parts_of_the_engine_stay_pure() {
    let files = rust_files();
    let mut offenders = Vec::new();
    let pure = |path: &str| {
        PURE.iter().any(|part| {
            path.starts_with(&format!("engine/src/{part}/")) || path == format!("engine/src/{part}.rs")
        })
    };
    for (path, text) in files.iter().filter(|(path, _)| pure(path) && !is_test_file(path)) {
        for (line, text) in code_lines(without_tests(text)) {
            offenders.extend(
                IMPURE
                    .iter()
                    .filter(|word| text.contains(*word))
                    .map(|_| format!("{path}:{line}: {text}")),
            );
        }
    }
    assert_none(
        "a pure part of the engine uses a runtime, a file, a process or a clock",
        &offenders,
    );
}

#[test]
fn every_file_says_what_it_is() {
    let offenders: Vec<String> = rust_files()
        .into_iter()
        .filter(|(path, text)| {
            !path.ends_with("/tests.rs") && !text.starts_with("//! ") && !text.starts_with("//!\n")
        })
        .map(|(path, _)| path)
        .collect();
    assert_none("files without a `//!` doc at their start", &offenders);
}

#[test]
fn every_actor_says_what_it_owns() {
    let files = rust_files();
    let is_actor = |path: &str| {
        let messages = path.replace("/mod.rs", "/messages.rs");
        path.starts_with("actors/src/") && messages != path && files.contains_key(&messages)
    };
    let mut offenders = Vec::new();
    let actors: Vec<_> = files.iter().filter(|(path, _)| is_actor(path)).collect();
    for (path, text) in &actors {
        let headings = ["# Owns", "# Receives", "# Emits", "# Ends when"];
        let missing = headings
            .iter()
            .filter(|heading| !text.contains(&format!("//! {heading}\n")));
        offenders.extend(missing.map(|heading| format!("{path} has no `{heading}`")));
    }
    assert!(actors.len() >= 5, "the actors were not found");
    assert_none("an actor whose module doc lacks a heading", &offenders);
}

#[test]
fn files_and_functions_are_short() {
    let mut offenders = Vec::new();
    for (path, text) in rust_files().iter().filter(|(path, _)| !is_test_file(path)) {
        let code = without_tests(text);
        let lines = code.lines().count();
        if lines > MAX_FILE_LINES {
            offenders.push(format!("{path} has {lines} lines"));
        }
        offenders
            .extend(long_functions(code).map(|(line, length)| format!("{path}:{line} has {length} lines")));
    }
    assert_none("a file above 500 lines or a function above 60", &offenders);
}

/// The functions that are too long: their first line, and how many lines they have.
///
/// In formatted code a body ends at the first brace that stands as far left as its function.
fn long_functions(code: &str) -> impl Iterator<Item = (usize, usize)> {
    let lines: Vec<&str> = code.lines().collect();
    let starts: Vec<usize> = (0..lines.len())
        .filter(|index| is_function(lines[*index]))
        .collect();
    starts.into_iter().filter_map(move |start| {
        let indent = lines[start].len() - lines[start].trim_start().len();
        let is_end = |line: &&str| line.trim_start() == "}" && line.len() == indent + 1;
        let length = lines[start..].iter().take_while(|line| !is_end(line)).count() + 1;
        let signature = lines[start..]
            .iter()
            .find(|line| line.trim_end().ends_with(['{', '}', ';']));
        let has_body = signature.is_some_and(|line| line.trim_end().ends_with('{'));
        (has_body && length > MAX_FUNCTION_LINES).then_some((start + 1, length))
    })
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let before = line.split("fn ").next().unwrap_or(line);
    let qualifiers = [
        "pub", "const", "async", "unsafe", "extern", "(crate)", "(super)", "\"C\"",
    ];
    line.contains("fn ")
        && before
            .split_whitespace()
            .all(|word| qualifiers.iter().any(|q| word.starts_with(q)))
}

#[test]
fn no_file_mentions_a_workplace_or_a_registry() {
    // The words are put together here, so that this file does not hold them.
    let words = [
        ["/work/", "wt"],
        ["/work/", "shared"],
        ["/work/", "main"],
        ["/work/", "target"],
        ["../", "shared/"],
        ["semantics", ".md"],
        ["index.crates", ".io"],
        ["static.crates", ".io"],
        ["registry.npmjs", ".org"],
        ["pypi", ".org"],
        ["pythonhosted", ".org"],
        ["deb.debian", ".org"],
    ]
    .map(|parts| parts.concat());
    let mut offenders = Vec::new();
    for (path, text) in tracked() {
        let found = words.iter().filter(|word| text.contains(word.as_str()));
        offenders.extend(found.map(|word| format!("{path} mentions {word}")));
    }
    assert_none("words that belong nowhere", &offenders);
}

#[test]
fn no_merge_is_left_half_done() {
    let is_marker = |line: &str| {
        ["<<<<<<< ", ">>>>>>> "]
            .iter()
            .any(|marker| line.starts_with(marker))
    };
    let offenders: Vec<String> = tracked()
        .iter()
        .filter(|(_, text)| text.lines().any(is_marker))
        .map(|(path, _)| path.clone())
        .collect();
    assert_none("no file holds both sides of a conflict", &offenders);
}

#[test]
fn long_functions_are_found() {
    let mut code = String::from("impl X {\n    pub async fn long() {\n");
    for line in 0..60 {
        writeln!(code, "        line({line});").expect("a string takes all");
    }
    code.push_str("    }\n\n    fn short() {}\n}\n");
    assert_eq!(long_functions(&code).collect::<Vec<_>>(), [(2, 62)]);
}

#[test]
fn documents_have_one_sentence_per_line() {
    let mut offenders = Vec::new();
    let documents = tracked().into_iter().filter(|(path, _)| {
        Path::new(path)
            .extension()
            .is_some_and(|extension| extension == "md")
            && !path.contains("fixtures/")
            && !path.starts_with("LICENSE")
    });
    for (path, text) in documents {
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            fenced ^= line.starts_with("```");
            // Tables hold cells, not sentences.
            let sentence_ends = line.match_indices(". ").filter(|(at, _)| {
                line[at + 2..].starts_with(|c: char| c.is_uppercase())
                    && !line[..*at].ends_with(char::is_numeric)
            });
            if !fenced && !line.starts_with('|') && sentence_ends.count() > 0 {
                offenders.push(format!("{path}:{}: {line}", index + 1));
            }
        }
    }
    assert_none("more than one sentence on a line", &offenders);
}
