//! What is known of one task that runs here.
//!
//! A server that hears of a task sets every step of it anew: a step that is left out counts as running again. So each
//! update tells all steps.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::claim::{result_of, timestamp};
use super::log::signed;
use super::summary::Summaries;
use super::wire;
use crate::forge::{Conclusion, Report, RowIndex, StepState, TaskId};

/// What is known of one task.
#[derive(Default)]
pub(super) struct Task {
    steps: BTreeMap<usize, StepState>,
    /// The first row that the server does not have.
    pub acked: RowIndex,
    /// Whether the server was told that the log ends, and has answered.
    pub log_closed: bool,
    /// Whether the server may have heard how the job ended.
    pub conclusion_sent: bool,
    /// What the steps have said of their work.
    pub summaries: Summaries,
}

impl Task {
    /// The states of steps have changed.
    pub fn merge(&mut self, steps: Vec<StepState>) {
        self.steps
            .extend(steps.into_iter().map(|step| (step.index, step)));
    }

    /// The state of a task that goes on.
    pub fn state(&self, task: TaskId) -> wire::TaskState {
        let started = self.steps.values().filter_map(|step| step.started).min();
        wire::TaskState {
            id: task.0,
            result: result_of(None),
            started_at: started.map(timestamp),
            stopped_at: None,
            steps: self.steps.values().map(|step| wire_step(step, None)).collect(),
        }
    }

    /// The state of a task that has ended; so have all its steps.
    pub fn final_state(&mut self, report: &Report) -> wire::TaskState {
        self.merge(report.steps.clone());
        let rest = match report.conclusion {
            Conclusion::Skipped => Conclusion::Skipped,
            _ => Conclusion::Cancelled,
        };
        let steps = self.steps.values();
        wire::TaskState {
            id: report.task.0,
            result: result_of(Some(report.conclusion)),
            started_at: Some(timestamp(report.started)),
            stopped_at: Some(timestamp(report.stopped.max(report.started))),
            steps: steps
                .map(|step| wire_step(step, Some((rest, report.stopped))))
                .collect(),
        }
    }
}

/// A step on the wire; `end` is how and when one ends that has not ended itself.
fn wire_step(step: &StepState, end: Option<(Conclusion, SystemTime)>) -> wire::StepState {
    let conclusion = step.conclusion.or(end.map(|(conclusion, _)| conclusion));
    let stopped = step.stopped.or(end.map(|(_, stopped)| stopped));
    // A clock that was set back must not make a step end before it began.
    let stopped = match (step.started, stopped) {
        (Some(started), Some(stopped)) => Some(stopped.max(started)),
        (None, _) if step.conclusion.is_none() => None,
        (_, stopped) => stopped,
    };
    wire::StepState {
        id: signed(step.index as u64),
        result: result_of(conclusion),
        started_at: step.started.map(timestamp),
        stopped_at: stopped.map(timestamp),
        log_index: signed(step.log_first.0),
        log_length: signed(step.log_length),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn step(index: usize, started: u64, ended: Option<(u64, Conclusion)>) -> StepState {
        StepState {
            index,
            name: format!("step {index}"),
            started: Some(at(started)),
            stopped: ended.map(|(stopped, _)| at(stopped)),
            outcome: ended.map(|_| Conclusion::Failure),
            conclusion: ended.map(|(_, conclusion)| conclusion),
            log_first: RowIndex(index as u64 * 10),
            log_length: 10,
        }
    }

    fn report(conclusion: Conclusion) -> Report {
        Report {
            task: TaskId(7),
            conclusion,
            outputs: BTreeMap::new(),
            started: at(5),
            stopped: at(60),
            steps: Vec::new(),
            rows: RowIndex(20),
        }
    }

    fn show(state: &wire::TaskState) -> Vec<String> {
        let time =
            |time: &Option<wire::Timestamp>| time.map_or("-".to_owned(), |time| time.seconds.to_string());
        let line = |result: i32, from, to| format!("{result} {}..{}", time(from), time(to));
        let own = format!(
            "{}: {}",
            state.id,
            line(state.result, &state.started_at, &state.stopped_at)
        );
        let steps = state.steps.iter().map(|step| {
            let line = line(step.result, &step.started_at, &step.stopped_at);
            format!("{}: {line} {}+{}", step.id, step.log_index, step.log_length)
        });
        std::iter::once(own).chain(steps).collect()
    }

    #[test]
    fn every_update_tells_all_steps_by_their_place() {
        let mut task = Task::default();
        assert_eq!(show(&task.state(TaskId(7))), ["7: 0 -..-"]);
        task.merge(vec![step(1, 20, None)]);
        task.merge(vec![step(0, 10, Some((15, Conclusion::Success)))]);
        let expected = ["7: 0 10..-", "0: 1 10..15 0+10", "1: 0 20..- 10+10"];
        assert_eq!(show(&task.state(TaskId(7))), expected);
        task.merge(vec![step(1, 20, Some((19, Conclusion::Failure)))]);
        let expected = ["7: 0 10..-", "0: 1 10..15 0+10", "1: 2 20..20 10+10"];
        assert_eq!(
            show(&task.state(TaskId(7))),
            expected,
            "no step ends before it began"
        );
    }

    #[test]
    fn at_the_end_no_step_goes_on() {
        let mut task = Task::default();
        let waiting = StepState {
            started: None,
            ..step(2, 0, None)
        };
        task.merge(vec![
            step(0, 10, Some((15, Conclusion::Success))),
            step(1, 20, None),
            waiting,
        ]);
        let mut ends = |conclusion| show(&task.final_state(&report(conclusion)));
        let expected = [
            "7: 2 5..60",
            "0: 1 10..15 0+10",
            "1: 3 20..60 10+10",
            "2: 3 -..- 20+10",
        ];
        assert_eq!(ends(Conclusion::Failure), expected);
        assert_eq!(ends(Conclusion::Skipped)[3], "2: 4 -..- 20+10");
        let set_back = Report {
            stopped: at(1),
            ..report(Conclusion::Cancelled)
        };
        assert_eq!(show(&task.final_state(&set_back))[0], "7: 3 5..5");
        let told = Report {
            steps: vec![step(1, 20, Some((25, Conclusion::Failure)))],
            ..report(Conclusion::Failure)
        };
        assert_eq!(show(&task.final_state(&told))[2], "1: 2 20..25 10+10");
    }
}
