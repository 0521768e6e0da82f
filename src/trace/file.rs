//! The file: JSON in the trace event format, with complete events and times in microseconds.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};

use super::story::{JOB_TRACK, Span, Story};
use crate::render::time::rfc3339;

/// Writes the jobs; times count from the earliest of them.
///
/// # Errors
/// The file cannot be written.
pub fn write(file: &File, stories: &[Story], truncated: bool) -> io::Result<()> {
    let jobs: Vec<(&Story, Vec<Span>)> = stories.iter().map(|story| (story, story.spans())).collect();
    let starts = jobs.iter().flat_map(|(_, spans)| spans).map(|span| span.from);
    let base = starts.min().unwrap_or(SystemTime::UNIX_EPOCH);
    let about =
        json!({"started": rfc3339(base), "version": env!("CARGO_PKG_VERSION"), "truncated": truncated});
    let mut out = BufWriter::new(file);
    write!(
        out,
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":["
    )?;
    let mut separator = "\n";
    for (index, (story, spans)) in jobs.iter().enumerate() {
        let process = index + 1;
        let names = names(process, story);
        let events = names
            .into_iter()
            .chain(spans.iter().map(|span| event(process, span, base)));
        for event in events {
            write!(out, "{separator}{event}")?;
            separator = ",\n";
        }
    }
    out.write_all(b"\n]}\n")?;
    out.flush()
}

/// The names of a job and of its tracks, and their order.
fn names(process: usize, story: &Story) -> Vec<Value> {
    let meta = |name: &str, track: usize, args: Value| json!({"ph": "M", "name": name, "pid": process, "tid": track, "args": args});
    let mut events = vec![
        meta("process_name", JOB_TRACK, json!({"name": story.name})),
        meta("process_sort_index", JOB_TRACK, json!({"sort_index": process})),
        meta("thread_name", JOB_TRACK, json!({"name": "job"})),
        meta("thread_sort_index", JOB_TRACK, json!({"sort_index": JOB_TRACK})),
    ];
    for (track, name) in &story.tracks {
        events.push(meta(
            "thread_name",
            *track,
            json!({"name": format!("{track}: {name}")}),
        ));
        events.push(meta("thread_sort_index", *track, json!({"sort_index": track})));
    }
    events
}

fn event(process: usize, span: &Span, base: SystemTime) -> Value {
    // Both ends are cut off to whole microseconds, so that a span within another one stays in it.
    let micros = |at: SystemTime| {
        let since = at.duration_since(base).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    };
    let (from, to) = (micros(span.from), micros(span.to));
    let args: Map<String, Value> = span
        .args
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(value.as_str())))
        .collect();
    json!({
        "ph": "X",
        "name": span.name,
        "cat": span.category,
        "ts": from,
        "dur": to.saturating_sub(from),
        "pid": process,
        "tid": span.track,
        "args": args,
    })
}
