//! Laws that hold for every graph and every end of its jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use indexmap::IndexMap;
use proptest::prelude::*;

use super::{Effect, JobResult, Run, library, spec};
use crate::plan::Conclusion;

/// One job of a random graph.
#[derive(Debug, Clone)]
struct Shape {
    needs: Vec<usize>,
    condition: &'static str,
    kind: Kind,
    group: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Plain,
    Tolerated,
    Matrix { fail_fast: bool, max_parallel: u8 },
    Call,
}

const CALLEE: &str = "
on: workflow_call
jobs:
  a: {STEPS}
  b: {needs: a, concurrency: g, STEPS}
  c: {needs: b, if: always(), STEPS}
";

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let kind = prop_oneof![
        3 => Just(Kind::Plain),
        1 => Just(Kind::Tolerated),
        2 => (any::<bool>(), 0..3_u8).prop_map(|(fail_fast, max_parallel)| Kind::Matrix { fail_fast, max_parallel }),
        1 => Just(Kind::Call),
    ];
    let condition = prop::sample::select(vec![
        "success()",
        "success()",
        "always()",
        "failure()",
        "cancelled()",
        "false",
        "fromJSON('[')",
    ]);
    let needs = prop::collection::vec(0..8_usize, 0..3);
    let shape = (needs, condition, kind, prop::option::weighted(0.3, any::<bool>()));
    prop::collection::vec(shape, 1..8).prop_map(|shapes| {
        shapes
            .into_iter()
            .enumerate()
            .map(|(index, (needs, condition, kind, group))| {
                let needs: BTreeSet<usize> = needs.into_iter().filter(|need| *need < index).collect();
                Shape {
                    needs: needs.into_iter().collect(),
                    condition,
                    kind,
                    group,
                }
            })
            .collect()
    })
}

fn workflow(shapes: &[Shape]) -> String {
    let mut text = "on: push\njobs:\n".to_owned();
    for (index, shape) in shapes.iter().enumerate() {
        let needs = shape
            .needs
            .iter()
            .map(|need| format!("j{need}"))
            .collect::<Vec<_>>()
            .join(", ");
        let group = match shape.group {
            Some(cancel) => format!("concurrency: {{group: g, cancel-in-progress: {cancel}}}, "),
            None => String::new(),
        };
        let body = match shape.kind {
            Kind::Plain => "STEPS".to_owned(),
            Kind::Tolerated => "continue-on-error: true, STEPS".to_owned(),
            Kind::Matrix {
                fail_fast,
                max_parallel,
            } => format!(
                "strategy: {{fail-fast: {fail_fast}, max-parallel: {max_parallel}, matrix: {{v: [1, 2, 3]}}}}, STEPS"
            ),
            Kind::Call => "uses: ./f.yml".to_owned(),
        };
        let condition = shape.condition;
        writeln!(
            text,
            "  j{index}: {{needs: [{needs}], if: \"{condition}\", {group}{body}}}"
        )
        .unwrap();
    }
    text
}

/// What a run has told so far.
#[derive(Debug, Default)]
struct Seen {
    running: Vec<String>,
    concluded: BTreeMap<String, usize>,
    finished: Vec<Conclusion>,
}

impl Seen {
    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            assert!(self.finished.is_empty(), "something follows the end");
            match effect {
                Effect::Start(plan) => self.running.push(plan.key),
                Effect::Cancel { key, .. } => assert!(self.running.contains(&key), "{key} does not run"),
                Effect::Concluded { key, .. } => {
                    assert!(!self.running.contains(&key), "{key} runs");
                    *self.concluded.entry(key).or_default() += 1;
                }
                Effect::Finished(conclusion) => self.finished.push(conclusion),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_job_ends_once_and_the_run_ends(
        shapes in shapes(),
        picks in prop::collection::vec((0..64_usize, 0..4_u8), 64),
        cancel_at in prop::option::of(0..8_usize),
    ) {
        let library = library(&[("f.yml", CALLEE)]);
        let mut run = Run::new(spec(&library, &workflow(&shapes))).unwrap();
        let mut seen = Seen::default();
        seen.take(run.start());
        for (turn, (pick, end)) in picks.iter().cycle().enumerate() {
            if Some(turn) == cancel_at {
                seen.take(run.on_cancel());
            }
            if seen.running.is_empty() {
                break;
            }
            let key = seen.running.remove(pick % seen.running.len());
            let conclusion = match end {
                0 => Conclusion::Failure,
                1 => Conclusion::Cancelled,
                _ => Conclusion::Success,
            };
            *seen.concluded.entry(key.clone()).or_default() += 1;
            seen.take(run.on_job_finished(&key, JobResult { conclusion, outputs: IndexMap::default() }));
        }
        prop_assert_eq!(seen.finished.len(), 1);
        prop_assert_eq!(run.conclusion(), seen.finished.first().copied());
        prop_assert!(seen.concluded.values().all(|count| *count == 1), "{:?}", seen.concluded);
        for index in 0..shapes.len() {
            let id = format!("j{index}");
            prop_assert!(
                seen.concluded.keys().any(|key| key == &id || key.starts_with(&format!("{id}(")) || key.starts_with(&format!("{id}."))),
                "{} never ended", id
            );
        }
    }
}
