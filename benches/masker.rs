//! Redaction of a log, in the pieces in which output is read from a step.

use criterion::{Criterion, Throughput};
use gantry_engine::mask::Masks;

use crate::inputs::{log, secrets};
use crate::processor_time::ProcessorTime;

/// So much is read from a step at once.
const PIECE: usize = 64 * 1024;
const BYTES: usize = 4 * 1024 * 1024;
/// One row in so many shows a secret in the log that is not clean.
const ROWS_PER_SECRET: usize = 100;

/// Measures how many megabytes of a log are redacted in a second, with more and more secrets.
pub fn bench(criterion: &mut Criterion<ProcessorTime>) {
    let mut group = criterion.benchmark_group("masker");
    for count in [0, 10, 200] {
        let secrets = secrets::of_count(count);
        let masks = masks(&secrets);
        let mut run = |name: &str, text: &str| {
            group.throughput(Throughput::BytesDecimal(text.len() as u64));
            group.bench_function(name, |bencher| {
                let mut out = String::with_capacity(text.len());
                bencher.iter(|| redact(&masks, text, &mut out));
            });
        };
        run(&format!("{count} secrets"), &log::clean(BYTES));
        if count > 0 {
            let shown = log::with_secrets(BYTES, &secrets, ROWS_PER_SECRET);
            run(&format!("{count} secrets, shown in 1 % of the rows"), &shown);
        }
    }
    group.finish();
}

#[expect(clippy::expect_used, reason = "the inputs are valid")]
fn masks(secrets: &[String]) -> Masks {
    let masks = Masks::default();
    for (index, secret) in secrets.iter().enumerate() {
        masks
            .add_secret(&format!("SECRET_{index}"), secret)
            .expect("a value that can be masked");
    }
    masks
}

fn redact(masks: &Masks, text: &str, out: &mut String) {
    out.clear();
    let mut redactor = masks.redactor();
    let mut rest = text;
    while !rest.is_empty() {
        // Logs of the inputs are ASCII, so every place is the end of a character.
        let (piece, after) = rest.split_at(PIECE.min(rest.len()));
        redactor.push(piece, out);
        rest = after;
    }
    redactor.flush(out);
}
