//! The order of things as tables, and exactly-once delivery for any interleaving.

use std::time::SystemTime;

use gantry_engine::plan::Conclusion;
use gantry_engine::run::Rows;

use super::*;

const TASK: TaskId = TaskId(1);

fn rows(lines: &str) -> Entry {
    Entry::Rows(Rows::of_lines(SystemTime::UNIX_EPOCH, Some(0), lines))
}

fn started() -> Entry {
    Entry::StepStarted {
        index: 0,
        name: "Run x".to_owned(),
        at: SystemTime::UNIX_EPOCH,
    }
}

fn finished() -> Entry {
    Entry::StepFinished {
        index: 0,
        outcome: Conclusion::Failure,
        conclusion: Conclusion::Success,
        at: SystemTime::UNIX_EPOCH,
    }
}

fn summary(text: &str) -> Entry {
    Entry::Summary {
        step: Some(0),
        text: text.to_owned(),
    }
}

fn unavailable() -> Error {
    Error::Unavailable {
        operation: "append_log",
        reason: "gone".to_owned(),
    }
}

fn refused() -> Error {
    Error::Refused {
        operation: "append_log",
        reason: "no such task".to_owned(),
    }
}

fn ack(next: u64) -> Ack {
    Ack { next: RowIndex(next) }
}

fn text_of(batches: &[LogBatch]) -> String {
    let rows: Vec<&str> = batches.iter().flat_map(LogBatch::rows).collect();
    rows.join("|")
}

fn show_progress(progress: &Progress) -> String {
    let step = |step: &gantry_protocols::forge::StepState| {
        let end = step
            .outcome
            .map_or_else(String::new, |outcome| format!(" {outcome:?}"));
        format!(" {}+{}{end}", step.log_first.0, step.log_length)
    };
    let steps: String = progress.steps.iter().map(step).collect();
    let summaries: String = progress
        .summaries
        .iter()
        .map(|summary| format!(" {}", summary.text))
        .collect();
    format!("update{steps}{summaries}")
}

/// Effects as words; when the stream wants to be woken is left out.
fn show(effects: &[Effect]) -> Vec<String> {
    let text = |effect: &Effect| match effect {
        Effect::Append(batches) => {
            let first = batches.first().map_or(0, |batch| batch.first.0);
            format!("append {first}: {}", text_of(batches))
        }
        Effect::Update(progress) => show_progress(progress),
        Effect::Write(items) => format!("write {}", items.len()),
        Effect::Warn(_) => "warn".to_owned(),
        Effect::Advance(cursor) => format!("advance {} {}", cursor.rows.0, cursor.progress),
        Effect::Sealed(sealed) => format!("sealed {}", sealed.rows.0),
        other => format!("{other:?}"),
    };
    let wanted = |effect: &&Effect| !matches!(effect, Effect::WakeAt(_));
    effects.iter().filter(wanted).map(text).collect()
}

fn wake(effects: &[Effect], now: Instant) -> Option<Duration> {
    effects.iter().find_map(|effect| match effect {
        Effect::WakeAt(at) => Some(*at - now),
        _ => None,
    })
}

fn immediate() -> (State, Instant) {
    let now = Instant::now();
    let mut state = State::new(TASK, Batching::IMMEDIATE, None);
    assert_eq!(show(&state.on_started(now)), ["Receive"]);
    (state, now)
}

/// A stream to a server, without a journal.
fn server() -> (State, Instant) {
    let now = Instant::now();
    let mut state = State::new(TASK, Batching::SERVER, None);
    assert_eq!(show(&state.on_started(now)), ["Receive"]);
    (state, now)
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn a_steps_rows_go_out_before_the_state_that_ends_it() {
    let (mut state, now) = immediate();
    let entries = vec![started(), rows("a\nb\n"), finished()];
    assert_eq!(show(&state.on_entries(entries, now)), ["Receive", "update 0+0"]);
    let go_on = Ok(Directive::Continue);
    assert_eq!(show(&state.on_update_answered(go_on, now)), ["append 0: a|b"]);
    assert_eq!(
        show(&state.on_rows_answered(Ok(ack(2)), now)),
        ["update 0+2 Failure"]
    );
    assert_eq!(
        show(&state.on_update_answered(Ok(Directive::Continue), now)),
        [""; 0]
    );
    assert_eq!(show(&state.on_entries(Vec::new(), now)), [""; 0]);
    assert_eq!(show(&state.on_seal(now)), ["sealed 2"]);
    assert_eq!(show(&state.on_close(false, now)), ["Close"]);
}

#[test]
fn what_the_forge_does_not_have_is_sent_again_after_a_pause() {
    let (mut state, now) = immediate();
    assert_eq!(
        show(&state.on_entries(vec![rows("a\nb\nc\n")], now)),
        ["Receive", "append 0: a|b|c"]
    );
    let effects = state.on_rows_answered(Err(unavailable()), now);
    assert_eq!(show(&effects), ["warn"]);
    let pause = wake(&effects, now).unwrap();
    assert!(pause >= Duration::from_millis(200) && pause <= Duration::from_millis(250));
    let now = now + pause;
    assert_eq!(show(&state.on_wake(now)), ["append 0: a|b|c"]);
    assert_eq!(
        show(&state.on_rows_answered(Ok(ack(1)), now)),
        ["Recovered", "append 1: b|c"]
    );
    // An acknowledgement that stands still or goes back is no reason for haste.
    for next in [1, 0] {
        let effects = state.on_rows_answered(Ok(ack(next)), now);
        let pause = wake(&effects, now).unwrap();
        assert!(pause >= Duration::from_millis(200), "{pause:?}");
        assert_eq!(show(&state.on_wake(now + pause)), ["append 1: b|c"]);
    }
    // One that goes too far is taken for what it can mean.
    assert_eq!(
        show(&state.on_rows_answered(Ok(ack(99)), now + seconds(9))),
        ["Recovered"]
    );
}

#[test]
fn a_flood_is_not_taken_before_the_window_has_room() {
    let (mut state, now) = immediate();
    let flood = "x".repeat(60_000) + "\n";
    let receives = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Receive));
    let effects = state.on_entries((0..80).map(|_| rows(&flood)).collect(), now);
    assert!(!receives(&effects), "the window is full");
    let has_room = (1..=80).any(|next| receives(&state.on_rows_answered(Ok(ack(next)), now)));
    assert!(has_room, "the window has room again");
}

#[test]
fn rows_that_are_refused_are_dropped_and_make_room() {
    let (mut state, now) = immediate();
    let flood = "x".repeat(60_000) + "\n";
    drop(state.on_entries((0..80).map(|_| rows(&flood)).collect(), now));
    assert_eq!(
        show(&state.on_rows_answered(Err(refused()), now)),
        ["warn", "Receive"]
    );
    // What comes later is not even tried, and the states still go out.
    let effects = state.on_entries(vec![rows("a\n"), finished(), started()], now);
    assert_eq!(show(&effects), ["Receive", "update 81+0"]);
}

#[test]
fn a_server_gets_rows_in_batches_and_the_steps_with_them() {
    let (mut state, now) = server();
    assert_eq!(
        show(&state.on_entries(vec![started()], now)),
        ["Receive", "update 0+0"]
    );
    assert_eq!(
        show(&state.on_update_answered(Ok(Directive::Continue), now)),
        [""; 0]
    );
    let effects = state.on_entries(vec![rows("a\nb\n"), summary("s")], now);
    assert_eq!(show(&effects), ["Receive"]);
    assert_eq!(wake(&effects, now), Some(seconds(3)));
    let now = now + seconds(3);
    assert_eq!(show(&state.on_wake(now)), ["append 0: a|b"]);
    assert_eq!(
        show(&state.on_rows_answered(Ok(ack(2)), now)),
        ["update 0+2 s"],
        "the forge cannot show rows whose step it does not know"
    );
    drop(state.on_update_answered(Ok(Directive::Continue), now));
    // A full batch does not wait, and the end of a step neither.
    let lines = "x\n".repeat(100);
    assert_eq!(show(&state.on_entries(vec![rows(&lines)], now)).len(), 2);
    assert_eq!(show(&state.on_rows_answered(Ok(ack(102)), now)), ["update 0+102"]);
    drop(state.on_update_answered(Ok(Directive::Continue), now));
    assert_eq!(
        show(&state.on_entries(vec![rows("c\n"), finished()], now)),
        ["Receive", "append 102: c"]
    );
    assert_eq!(
        show(&state.on_rows_answered(Ok(ack(103)), now)),
        ["update 0+103 Failure"]
    );
}

#[test]
fn a_silent_job_is_told_of_and_a_cancel_in_any_answer_is_heard() {
    let (mut state, now) = server();
    drop(state.on_entries(vec![started()], now));
    let now = now + seconds(1);
    let effects = state.on_update_answered(Ok(Directive::Continue), now);
    assert_eq!(wake(&effects, now), Some(seconds(5)));
    let now = now + seconds(5);
    assert_eq!(show(&state.on_wake(now)), ["update 0+0"]);
    assert_eq!(
        show(&state.on_update_answered(Ok(Directive::Cancel), now)),
        ["CancelJob"]
    );
}

#[test]
fn heartbeats_go_on_while_rows_fail() {
    let (mut state, now) = server();
    drop(state.on_entries(vec![started()], now));
    drop(state.on_update_answered(Ok(Directive::Continue), now));
    drop(state.on_entries(vec![rows(&"x\n".repeat(100))], now));
    let busy = Error::Busy {
        operation: "append_log",
        reason: "later".to_owned(),
        pause: seconds(60),
    };
    drop(state.on_rows_answered(Err(busy), now));
    assert_eq!(show(&state.on_wake(now + seconds(5))), ["update 0+0"]);
}

#[test]
fn a_forge_that_is_back_is_told_the_rest_at_once() {
    let (mut state, mut now) = server();
    drop(state.on_entries(vec![started()], now));
    // The longest pause is far longer than the outage by now.
    for _ in 0..9 {
        drop(state.on_update_answered(Err(unavailable()), now));
        now += seconds(30);
        assert_eq!(show(&state.on_wake(now)), ["update 0+0"]);
    }
    drop(state.on_update_answered(Err(unavailable()), now));
    assert_eq!(
        show(&state.on_entries(vec![rows(&"x\n".repeat(100))], now)).len(),
        2
    );
    assert_eq!(show(&state.on_rows_answered(Ok(ack(100)), now)), ["update 0+100"]);
}

#[test]
fn a_runner_that_is_unknown_cancels_and_closes() {
    let (mut state, now) = server();
    drop(state.on_entries(vec![started(), rows("a\n"), finished()], now));
    let unregistered = Error::Unregistered {
        operation: "update",
        reason: "deleted".to_owned(),
    };
    assert_eq!(
        show(&state.on_update_answered(Err(unregistered), now)),
        ["warn", "CancelJob"]
    );
    assert_eq!(show(&state.on_entries(vec![rows("b\n")], now)), ["Receive"]);
    drop(state.on_entries(Vec::new(), now));
    assert_eq!(show(&state.on_close(false, now)), ["Close"]);
}

#[test]
fn who_closes_hears_that_the_forge_is_away_and_may_wait() {
    let (mut state, now) = server();
    drop(state.on_entries(vec![rows("a\n")], now));
    drop(state.on_entries(Vec::new(), now));
    assert_eq!(show(&state.on_seal(now)), ["sealed 1"]);
    assert_eq!(show(&state.on_close(false, now)), [""; 0]);
    assert_eq!(
        show(&state.on_rows_answered(Err(unavailable()), now)),
        ["warn", "Away"]
    );
    assert_eq!(show(&state.on_close(true, now)), [""; 0]);
    let now = now + seconds(1);
    assert_eq!(show(&state.on_wake(now)), ["append 0: a"]);
    let effects = state.on_rows_answered(Ok(ack(1)), now);
    assert_eq!(show(&effects), ["Recovered", "update"]);
    assert_eq!(
        show(&state.on_update_answered(Ok(Directive::Continue), now)),
        ["Close"]
    );
}

#[test]
fn nothing_is_sent_before_it_is_on_disk() {
    let now = Instant::now();
    let mut state = State::new(TASK, Batching::IMMEDIATE, Some(seconds(5)));
    drop(state.on_started(now));
    assert_eq!(
        show(&state.on_entries(vec![started(), rows("a\n")], now)),
        ["write 2"]
    );
    // The edge of a step is synced at once.
    assert_eq!(
        show(&state.on_written(Ok(()), now)),
        ["Receive", "Sync", "update 0+0"]
    );
    drop(state.on_synced(now));
    drop(state.on_update_answered(Ok(Directive::Continue), now));
    assert_eq!(show(&state.on_rows_answered(Ok(ack(1)), now)), [""; 0]);
    // The cursor is on disk before the stream ends.
    assert_eq!(show(&state.on_entries(Vec::new(), now)), ["advance 1 1"]);
    assert_eq!(show(&state.on_close(false, now)), [""; 0]);
    assert_eq!(show(&state.on_advanced(now)), ["Close"]);
}

#[test]
fn a_disk_that_refuses_is_warned_of_once_and_the_job_goes_on() {
    let now = Instant::now();
    let mut state = State::new(TASK, Batching::IMMEDIATE, Some(seconds(5)));
    drop(state.on_started(now));
    let full = || Err("the disk is full".to_owned());
    assert_eq!(show(&state.on_entries(vec![rows("a\n")], now)), ["write 1"]);
    assert_eq!(
        show(&state.on_written(full(), now)),
        ["warn", "Receive", "append 0: a"]
    );
    assert_eq!(show(&state.on_entries(vec![rows("b\n")], now)), ["Receive"]);
    assert_eq!(show(&state.on_rows_answered(Ok(ack(1)), now)), ["append 1: b"]);
    // Everything is delivered: the disk gets another chance.
    drop(state.on_rows_answered(Ok(ack(2)), now));
    assert_eq!(show(&state.on_entries(vec![rows("c\n")], now)), ["write 1"]);
    assert_eq!(show(&state.on_written(full(), now)), ["Receive", "append 2: c"]);
}

#[test]
fn rows_that_find_no_room_anywhere_are_counted_in_the_log() {
    let now = Instant::now();
    let mut state = State::new(TASK, Batching::IMMEDIATE, Some(seconds(5)));
    drop(state.on_started(now));
    let flood = "x".repeat(60_000) + "\n";
    drop(state.on_entries((0..80).map(|_| rows(&flood)).collect(), now));
    drop(state.on_written(Err("the spool has reached its cap".to_owned()), now));
    drop(state.on_rows_answered(Err(unavailable()), now));
    // The forge is away and memory is full: the job goes on without its rows.
    assert_eq!(
        show(&state.on_entries(vec![rows("lost\nlost\n")], now)),
        ["Receive"]
    );
    let now = now + seconds(1);
    drop(state.on_wake(now));
    drop(state.on_rows_answered(Ok(ack(80)), now));
    let effects = state.on_entries(vec![rows("kept\n")], now);
    assert_eq!(show(&effects), ["write 2"]);
    let effects = state.on_written(Ok(()), now);
    let shown = show(&effects).pop().unwrap();
    assert_eq!(
        shown,
        "append 80: ##[warning]2 rows are missing here: the forge could not be reached, and the spool has reached its cap|kept"
    );
}

#[path = "delivery_tests.rs"]
mod delivery;
