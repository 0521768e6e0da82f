use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use gantry_protocols::forge::{Annotation, Conclusion, Level, Report, Summary};

use super::*;

const TASK: TaskId = TaskId(7);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn small() -> Settings {
    Settings {
        segment_size: 300,
        ..Settings::default()
    }
}

fn open(root: &Path) -> Connection {
    Journal::open(root, small())
        .unwrap()
        .connection("https://forge.example/")
}

fn rows(first: u64, step: Option<usize>, rows: &[&str]) -> Item {
    let mut batch = LogBatch {
        task: TASK,
        first: RowIndex(first),
        time: at(1000 + first),
        step,
        text: String::new(),
        ends: Vec::new(),
    };
    for row in rows {
        batch.text.push_str(row);
        batch.ends.push(u32::try_from(batch.text.len()).unwrap());
    }
    Item::Rows(Arc::new(batch))
}

fn step(index: usize, log_first: u64, log_length: u64, conclusion: Option<Conclusion>) -> StepState {
    StepState {
        index,
        name: format!("Run {index}"),
        started: Some(at(900)),
        stopped: conclusion.map(|_| at(950)),
        outcome: conclusion,
        conclusion,
        log_first: RowIndex(log_first),
        log_length,
    }
}

fn progress(number: u64, after: u64, step: StepState) -> Item {
    Item::Progress(Arc::new(Pending {
        number,
        after: RowIndex(after),
        urgent: true,
        progress: Progress {
            steps: vec![step],
            ..Progress::of(TASK)
        },
    }))
}

fn report(conclusion: Conclusion) -> Report {
    Report {
        task: TASK,
        conclusion,
        outputs: BTreeMap::from([("key".to_owned(), "grüße\nzwei".to_owned())]),
        started: at(800),
        stopped: at(2000),
        steps: vec![step(0, 1, 2, Some(Conclusion::Success))],
        rows: RowIndex(4),
    }
}

async fn all_rows(task: &TaskJournal) -> Vec<String> {
    let backlog = task.backlog().await.unwrap();
    let batches = task
        .read_rows(RowIndex(backlog.rows.start), u64::MAX)
        .await
        .unwrap();
    batches
        .iter()
        .flat_map(|batch| batch.rows().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// A task whose second step runs.
async fn running(connection: &Connection) -> TaskJournal {
    let task = connection.begin(TASK, at(800), "a job".to_owned()).await.unwrap();
    let items = vec![
        rows(0, None, &["set up"]),
        progress(0, 1, step(0, 1, 0, None)),
        rows(1, Some(0), &["one", "two"]),
        progress(1, 3, step(0, 1, 2, Some(Conclusion::Success))),
        progress(2, 3, step(1, 3, 0, None)),
        rows(3, Some(1), &["three"]),
    ];
    task.append(items).await.unwrap();
    task
}

async fn recovered(root: &Path) -> TaskJournal {
    let mut tasks = open(root).recover().await.unwrap();
    assert_eq!(tasks.len(), 1);
    tasks.remove(0)
}

#[tokio::test]
async fn a_task_without_a_report_has_failed_with_the_reason_in_its_log() {
    let root = tempfile::tempdir().unwrap();
    drop(running(&open(root.path())).await);
    let task = recovered(root.path()).await;
    let (backlog, report) = task.conclude(at(500), "the runner was killed").await.unwrap();
    assert_eq!(
        all_rows(&task).await,
        ["set up", "one", "two", "three", "##[error]the runner was killed"]
    );
    assert_eq!(
        (backlog.summary.as_str(), backlog.claimed),
        ("a job", Some(at(800)))
    );
    let last = backlog.steps.iter().find(|step| step.index == 1).unwrap();
    assert_eq!((last.conclusion, last.log_length), (Some(Conclusion::Failure), 2));
    let first = backlog.steps.iter().find(|step| step.index == 0).unwrap();
    assert_eq!(
        (first.conclusion, first.log_length),
        (Some(Conclusion::Success), 2)
    );
    assert_eq!(
        (report.conclusion, report.rows),
        (Conclusion::Failure, RowIndex(5))
    );
    // The clock was set back meanwhile; the log's time does not follow.
    assert_eq!((report.started, report.stopped), (at(800), at(1003)));
    drop(task);
    // Killed again before anything was delivered: nothing is said twice.
    let task = recovered(root.path()).await;
    let (again, _) = task.conclude(at(3000), "the runner was killed").await.unwrap();
    assert_eq!(again.rows, backlog.rows);
    assert_eq!(again.progress, backlog.progress);
}

#[tokio::test]
async fn a_kill_between_the_last_words_and_the_report_says_nothing_twice() {
    let root = tempfile::tempdir().unwrap();
    let task = running(&open(root.path())).await;
    let directory = root.path().join("tasks/https%3A%2F%2Fforge%2Eexample%2F/7");
    task.conclude(at(3000), "the runner was killed").await.unwrap();
    std::fs::remove_file(directory.join("report")).unwrap();
    drop(task);
    let task = recovered(root.path()).await;
    let (_, report) = task.conclude(at(4000), "the runner was killed").await.unwrap();
    assert_eq!(all_rows(&task).await.len(), 5);
    assert_eq!((report.rows, report.stopped), (RowIndex(5), at(4000)));
}

#[tokio::test]
async fn a_task_with_a_report_is_delivered_as_it_is() {
    let root = tempfile::tempdir().unwrap();
    let task = running(&open(root.path())).await;
    task.keep(report(Conclusion::Cancelled)).await.unwrap();
    drop(task);
    let (backlog, kept) = recovered(root.path())
        .await
        .conclude(at(9000), "killed")
        .await
        .unwrap();
    assert_eq!((backlog.rows, backlog.progress), (0..4, 0..3));
    assert_eq!(
        format!("{kept:?}"),
        format!("{:?}", report(Conclusion::Cancelled))
    );
}

#[tokio::test]
async fn what_is_acknowledged_is_deleted_and_not_delivered_again() {
    let root = tempfile::tempdir().unwrap();
    let task = running(&open(root.path())).await;
    let long = "x".repeat(280);
    for first in 4..40 {
        task.append(vec![rows(first, Some(1), &[&long])]).await.unwrap();
    }
    let before = task.backlog().await.unwrap();
    let cursor = Cursor {
        rows: RowIndex(30),
        progress: 2,
        steps: vec![step(0, 1, 2, Some(Conclusion::Success))],
    };
    task.advance(cursor.clone()).await.unwrap();
    task.advance(Cursor::default()).await.unwrap();
    drop(task);
    let task = recovered(root.path()).await;
    let backlog = task.backlog().await.unwrap();
    assert_eq!((backlog.rows, backlog.progress), (30..40, 2..3));
    assert!(backlog.row_bytes < before.row_bytes / 3);
    assert_eq!(backlog.reported, cursor.steps);
    assert_eq!(backlog.steps.len(), 2);
    let pending = task.read_progress(2, u64::MAX).await.unwrap();
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].progress.steps, [step(1, 3, 0, None)]);
}

#[tokio::test]
async fn annotations_and_summaries_survive() {
    let root = tempfile::tempdir().unwrap();
    let task = open(root.path()).begin(TASK, at(1), String::new()).await.unwrap();
    let pending = Pending {
        number: 0,
        after: RowIndex(0),
        urgent: false,
        progress: Progress {
            annotations: vec![Annotation {
                step: Some(1),
                level: Level::Warning,
                message: "look".to_owned(),
                title: None,
                file: Some("a.rs".to_owned()),
                lines: Some((1, 2)),
                columns: None,
            }],
            summaries: vec![Summary {
                step: None,
                text: "# done\n".to_owned(),
            }],
            ..Progress::of(TASK)
        },
    };
    let want = format!("{pending:?}");
    task.append(vec![Item::Progress(Arc::new(pending))])
        .await
        .unwrap();
    drop(task);
    let read = recovered(root.path()).await.read_progress(0, 1).await.unwrap();
    assert_eq!(format!("{:?}", read[0]), want);
}

#[tokio::test]
async fn a_forgotten_task_is_gone() {
    let root = tempfile::tempdir().unwrap();
    let journal = Journal::open(root.path(), small()).unwrap();
    let connection = journal.connection("a");
    let task = running(&connection).await;
    assert!(matches!(
        connection.begin(TASK, at(1), String::new()).await,
        Err(Error::Known(TASK))
    ));
    assert_eq!(journal.connections().unwrap(), ["a"]);
    task.forget().await.unwrap();
    assert_eq!(journal.connections().unwrap(), [""; 0]);
    assert!(connection.recover().await.unwrap().is_empty());
    assert!(journal.connection("b").recover().await.unwrap().is_empty());
    running(&connection).await.forget().await.unwrap();
}

#[tokio::test]
async fn a_task_of_which_nothing_but_the_claim_is_known_has_failed_too() {
    let root = tempfile::tempdir().unwrap();
    // The process was killed before even the claim was written.
    let directory = root.path().join("tasks/https%3A%2F%2Fforge%2Eexample%2F/7");
    std::fs::create_dir_all(directory).unwrap();
    let (backlog, report) = recovered(root.path())
        .await
        .conclude(at(5), "killed")
        .await
        .unwrap();
    assert_eq!(backlog.rows, 0..1);
    assert_eq!((report.started, report.stopped), (at(5), at(5)));
}

#[tokio::test]
async fn the_cap_counts_all_tasks_and_what_is_acknowledged_makes_room() {
    let root = tempfile::tempdir().unwrap();
    let settings = Settings {
        cap: 1000,
        segment_size: 300,
        ..Settings::default()
    };
    let connection = Journal::open(root.path(), settings).unwrap().connection("a");
    let first = running(&connection).await;
    let second = connection.begin(TaskId(8), at(1), String::new()).await.unwrap();
    assert!(second.has_room().is_ok());
    second
        .append(vec![rows(0, None, &["x".repeat(900).as_str()])])
        .await
        .unwrap();
    assert_eq!(
        first.has_room().unwrap_err(),
        "the spool has reached its cap of 0 MiB"
    );
    let cursor = Cursor {
        rows: RowIndex(1),
        ..Cursor::default()
    };
    second.advance(cursor).await.unwrap();
    assert!(first.has_room().is_ok());
}

#[test]
fn a_second_process_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let journal = Journal::open(root.path(), small()).unwrap();
    let error = Journal::open(root.path(), small()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("another gantry uses the journal in "),
        "{error}"
    );
    drop(journal);
    Journal::open(root.path(), small()).unwrap();
}

#[test]
fn a_newer_layout_is_refused() {
    let root = tempfile::tempdir().unwrap();
    drop(Journal::open(root.path(), small()).unwrap());
    std::fs::write(root.path().join("format"), "2\n").unwrap();
    let error = Journal::open(root.path(), small()).unwrap_err().to_string();
    assert!(
        error.contains("has format 2, and this gantry knows only format 1"),
        "{error}"
    );
    std::fs::write(root.path().join("format"), "no number").unwrap();
    assert!(matches!(
        Journal::open(root.path(), small()),
        Err(Error::Foreign(_))
    ));
}

#[tokio::test]
async fn only_the_runners_user_can_read_the_files() {
    let root = tempfile::tempdir().unwrap();
    let task = running(&open(root.path())).await;
    task.keep(report(Conclusion::Success)).await.unwrap();
    let mut directories = vec![root.path().join("tasks"), root.path().join("trash")];
    while let Some(directory) = directories.pop() {
        assert_eq!(
            std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777,
            0o700
        );
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                assert_eq!(
                    std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                    0o600,
                    "{path:?}"
                );
            }
        }
    }
}

#[test]
fn a_connections_name_survives_as_a_directorys_name() {
    for name in ["https://forge.example:3000/a b", "..", "", "ä%", "a_b-c"] {
        let directory = encode(name);
        assert!(
            !directory.contains('/') && !directory.starts_with('.'),
            "{directory}"
        );
        assert_eq!(decode(&directory).as_deref(), Some(name));
    }
    assert_eq!(decode("%Z"), None);
    assert_eq!(decode("%ä"), None);
}
