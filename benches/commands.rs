//! Commands in the output of a step.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use gantry_engine::commands::{Interpreter, Matchers, Settings};

use crate::inputs::{commands, log};
use crate::processor_time::ProcessorTime;

const BYTES: usize = 256 * 1024;

/// Measures how many rows are looked at in a second: rows without commands, and rows that are all commands.
pub fn bench(criterion: &mut Criterion<ProcessorTime>) {
    let plain = log::clean(BYTES);
    let commands = commands::of_lines(1000);
    let mut group = criterion.benchmark_group("commands");
    for (name, text) in [
        ("rows without commands", &plain),
        ("rows that are commands", &commands),
    ] {
        group.throughput(Throughput::Elements(text.lines().count() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| interpret(black_box(text))));
    }
    // What a whole piece of output costs when no row of it can be a command.
    group.throughput(Throughput::BytesDecimal(plain.len() as u64));
    group.bench_function("a look at a whole piece", |bencher| {
        let interpreter = Interpreter::new(Settings::default(), Matchers::default());
        bencher.iter(|| interpreter.is_plain(black_box(&plain)));
    });
    group.finish();
}

fn interpret(text: &str) {
    let mut interpreter = Interpreter::new(Settings::default(), Matchers::default());
    for line in text.lines() {
        interpreter.on_line(line, &mut |effect| drop(black_box(effect)));
    }
}
