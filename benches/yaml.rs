//! Reading of a workflow file: text, tree, schema, expressions, typed values.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use gantry_engine::model::Workflow;

use crate::inputs::workflow::of_lines;
use crate::processor_time::ProcessorTime;

/// Measures how long a workflow of 5000 lines takes to be read and checked.
#[expect(clippy::expect_used, reason = "the input is valid")]
pub fn bench(criterion: &mut Criterion<ProcessorTime>) {
    let text = of_lines(5000);
    let mut group = criterion.benchmark_group("yaml");
    group.throughput(Throughput::BytesDecimal(text.len() as u64));
    group.bench_function("workflow of 5000 lines", |bencher| {
        bencher.iter(|| Workflow::parse("ci.yml", black_box(&text)).expect("a valid workflow"));
    });
    group.finish();
}
