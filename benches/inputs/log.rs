//! Output of a build as it is usual: times, paths, names, warnings.

use std::fmt::Write;

use super::Numbers;

const WORDS: &[&str] = &[
    "Compiling",
    "warning:",
    "unused",
    "variable",
    "Finished",
    "target(s)",
    "Downloaded",
    "src/main.rs:17:5",
    "test",
    "engine.model.tests",
    "...",
    "ok",
    "PASS",
    "node_modules/.bin/tsc",
    "--project",
    "tsconfig.json",
    "GET",
    "200",
    "https://example.org/api/v1/items?page=2",
    "sha256:5f70bf18a086007016e948b04aed3b82103a36be",
    "in",
    "1.27s",
    "INFO",
    "Resolving",
];

/// A log of so many bytes, or a few more, without secrets.
pub fn clean(bytes: usize) -> String {
    make(bytes, |_, _, _| {})
}

/// Such a log in which one row of every `rows_per_secret` shows a line of one of the secrets.
pub fn with_secrets(bytes: usize, secrets: &[String], rows_per_secret: usize) -> String {
    make(bytes, |row, numbers, text| {
        if row % rows_per_secret == 0
            && let Some(line) = numbers.pick(secrets).lines().next()
        {
            text.push_str(" token=");
            text.push_str(line);
        }
    })
}

#[expect(clippy::expect_used, reason = "a string takes all")]
fn make(bytes: usize, end_row: impl Fn(usize, &mut Numbers, &mut String)) -> String {
    let mut numbers = Numbers::new(1);
    let mut text = String::with_capacity(bytes + 512);
    let mut row = 0;
    while text.len() < bytes {
        let (second, part) = (row % 60, numbers.below(10_000_000));
        write!(text, "2026-01-02T03:04:{second:02}.{part:07}Z").expect("a string takes all");
        for _ in 0..3 + numbers.below(9) {
            text.push(' ');
            text.push_str(numbers.pick::<&str>(WORDS));
        }
        end_row(row, &mut numbers, &mut text);
        text.push('\n');
        row += 1;
    }
    text
}
