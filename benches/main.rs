//! How fast the parts are that work for every row, every expression and every file: `cargo bench`.
//!
//! Times are processor times of the thread that works, so that a busy machine disturbs them less; docs/performance.md
//! has the figures and the numbers to reach.

mod commands;
mod expressions;
mod inputs;
mod masker;
mod processor_time;
mod yaml;

use std::time::Duration;

use criterion::Criterion;

use processor_time::ProcessorTime;

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(ProcessorTime)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .sample_size(50)
        .configure_from_args();
    expressions::bench(&mut criterion);
    yaml::bench(&mut criterion);
    masker::bench(&mut criterion);
    commands::bench(&mut criterion);
    criterion.final_summary();
}
