//! The arithmetic of acknowledgements, and how rows are stored.

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect, Feature};

use crate::caller::Runner;

async fn started(forge: &FakeForge) -> (Runner, i64) {
    let runner = Runner::new(forge, &[]).await;
    forge.push("jobs:\n  a: { runs-on: [], steps: [{ run: x }] }");
    let task = runner.task().await.id;
    (runner, task)
}

#[tokio::test]
async fn rows_are_counted_and_repetitions_skipped() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (runner, task) = started(&forge).await;
        // First index, rows, acknowledgement.
        let table: [(i64, &[&str], i64); 7] = [
            (0, &["a", "b"], 2),
            (0, &["a", "b"], 2),
            (1, &["b", "c"], 3),
            (5, &["f"], 3),
            (3, &[], 3),
            (-1, &["x"], 3),
            (3, &["d"], 4),
        ];
        for (index, rows, ack) in table {
            assert_eq!(
                runner.log(task, index, rows, false).await,
                ack,
                "{index} {rows:?}"
            );
        }
        assert_eq!(forge.read(|state| state.log_of("a")), ["a", "b", "c", "d"]);
    }
}

#[tokio::test]
async fn a_closed_log_takes_no_new_rows() {
    for (dialect, status, code) in [
        (Dialect::Gitea, 500, "unknown"),
        (Dialect::Forgejo, 409, "already_exists"),
    ] {
        let forge = FakeForge::start(dialect).await;
        let (runner, task) = started(&forge).await;
        assert_eq!(runner.log(task, 0, &["a"], true).await, 1);
        // The same request once more is answered as before.
        assert_eq!(runner.log(task, 0, &["a"], true).await, 1);
        let refused = runner
            .try_log(task, 1, &["b"], false)
            .await
            .unwrap()
            .err()
            .unwrap();
        assert_eq!(refused.0, status);
        assert!(
            refused.1.contains(code) && refused.1.contains("log file has been archived"),
            "{refused:?}"
        );
        assert!(forge.read(|state| state.task(task).unwrap().archived));
    }
}

#[tokio::test]
async fn an_end_without_rows_counts_only_on_new_servers() {
    for (closes, rules) in [
        (true, Dialect::Gitea.rules()),
        (false, Dialect::Gitea.rules().without(Feature::ArchiveWithoutRows)),
    ] {
        let forge = FakeForge::start_with(rules).await;
        let (runner, task) = started(&forge).await;
        runner.log(task, 0, &["a"], false).await;
        assert_eq!(runner.log(task, 1, &[], true).await, 1);
        assert_eq!(forge.read(|state| state.task(task).unwrap().archived), closes);
    }
}

#[tokio::test]
async fn long_rows_are_cut_and_line_ends_are_spelled() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (runner, task) = started(&forge).await;
    let (fits, long) = ("x".repeat(65_536), "y".repeat(65_537));
    runner.log(task, 0, &["a\nb", &fits, &long], false).await;
    let rows = forge.read(|state| state.log_of("a"));
    assert_eq!(rows[0], "a\\nb");
    assert_eq!((rows[1].len(), rows[2].len()), (65_536, 65_536));
}

#[tokio::test]
async fn a_log_belongs_to_the_runner_of_its_task() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (_, task) = started(&forge).await;
        let other = Runner::new(&forge, &[]).await;
        for (task, text) in [(task, "invalid runner for task"), (1, "resource does not exist")] {
            let refused = other
                .try_log(task, 0, &["x"], false)
                .await
                .unwrap()
                .err()
                .unwrap();
            assert!(refused.0 == 500 && refused.1.contains(text), "{refused:?}");
        }
    }
}
