//! Evaluation of expressions as workflows have them.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use gantry_engine::expr::{Expression, HashFilesError, Host, Scope, StatusFunction};

use crate::inputs::expressions::{NAMES, SMALL, contexts};
use crate::processor_time::ProcessorTime;

/// A job in which all went well so far.
struct GoingWell;

impl Host for GoingWell {
    fn status(&self, function: StatusFunction, _ids: &[String]) -> bool {
        matches!(function, StatusFunction::Always | StatusFunction::Success)
    }

    fn hash_files(&self, _patterns: &[String]) -> Result<String, HashFilesError> {
        Err(HashFilesError::Failed("nothing is hashed here".to_owned()))
    }
}

/// Measures how many expressions are evaluated in a second, read before and read for each use.
#[expect(clippy::expect_used, reason = "the inputs are valid")]
pub fn bench(criterion: &mut Criterion<ProcessorTime>) {
    let contexts = contexts();
    let scope = Scope {
        contexts: &contexts,
        host: &GoingWell,
        recorder: None,
    };
    let parse = |source: &&str| Expression::parse(source, NAMES).expect("a valid expression");
    let parsed: Vec<_> = SMALL.iter().map(parse).collect();
    let mut group = criterion.benchmark_group("expressions");
    group.throughput(Throughput::Elements(SMALL.len() as u64));
    group.bench_function("evaluate", |bencher| {
        bencher.iter(|| {
            for expression in &parsed {
                black_box(expression.evaluate(scope).expect("a value"));
            }
        });
    });
    group.bench_function("parse and evaluate", |bencher| {
        bencher.iter(|| {
            for source in black_box(SMALL) {
                black_box(parse(&source).evaluate(scope).expect("a value"));
            }
        });
    });
    group.finish();
}
