//! What the server makes of what a runner tells.

use std::time::Duration;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{DIALECTS, Dialect, Method, Status, Subject};
use gantry_protocols::gitea::wire::{self, Result as Outcome, path};

use crate::caller::Runner;

const ONE: &str = "jobs:\n  a: { runs-on: [], steps: [{ run: x }, { run: y }] }";

async fn started(forge: &FakeForge) -> (Runner, i64) {
    let runner = Runner::new(forge, &[]).await;
    forge.push(ONE);
    let task = runner.task().await.id;
    (runner, task)
}

fn status(forge: &FakeForge) -> Status {
    forge.read(|state| state.job("a").unwrap().status)
}

#[tokio::test]
async fn a_result_ends_a_task_for_good() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (runner, task) = started(&forge).await;
        assert_eq!(
            runner.update(task, Outcome::Unspecified, &[]).await.0,
            Outcome::Unspecified
        );
        assert_eq!(status(&forge), Status::Running);
        assert_eq!(
            runner.update(task, Outcome::Failure, &[]).await.0,
            Outcome::Failure
        );
        assert_eq!(
            runner.update(task, Outcome::Success, &[("late", "1")]).await.0,
            Outcome::Failure
        );
        assert_eq!(status(&forge), Status::Failure);
        let told = forge.read(|state| state.task(task).unwrap().states.clone());
        let befores: Vec<Status> = told.iter().map(|told| told.before).collect();
        assert_eq!(befores, [Status::Running, Status::Running, Status::Failure]);
        assert!(forge.read(|state| state.task(task).unwrap().outputs.is_empty()));
    }
}

#[tokio::test]
async fn outputs_are_kept_once_and_told_back() {
    let forge = FakeForge::start(Dialect::Forgejo).await;
    let (runner, task) = started(&forge).await;
    let (fits, long) = ("v".repeat(1 << 20), "v".repeat((1 << 20) + 1));
    let (key, long_key) = ("k".repeat(255), "k".repeat(256));
    let outputs = [
        ("a", "1"),
        ("big", &fits),
        ("bigger", &long),
        (&key, ""),
        (&long_key, ""),
    ];
    let (_, sent) = runner.update(task, Outcome::Unspecified, &outputs).await;
    assert_eq!(sent, ["a", "big", &key]);
    let (_, sent) = runner
        .update(task, Outcome::Unspecified, &[("a", "2"), ("b", "3")])
        .await;
    assert_eq!(sent, ["a", "b", "big", &key]);
    assert_eq!(
        forge.read(|state| state.task(task).unwrap().outputs["a"].clone()),
        "1"
    );
}

#[tokio::test]
async fn steps_are_kept_by_their_place() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (runner, task) = started(&forge).await;
    let step = |id, result: Outcome| wire::StepState {
        id,
        result: result as i32,
        log_index: 3,
        log_length: 4,
        ..wire::StepState::default()
    };
    let request = wire::UpdateTaskRequest {
        state: Some(wire::TaskState {
            id: task,
            steps: vec![step(1, Outcome::Success), step(7, Outcome::Failure)],
            ..wire::TaskState::default()
        }),
        ..wire::UpdateTaskRequest::default()
    };
    let answer: wire::UpdateTaskResponse = runner.call(path::UPDATE_TASK, &request).await.unwrap().unwrap();
    assert_eq!(answer.state.unwrap().id, task);
    let steps = forge.read(|state| state.task(task).unwrap().steps.clone());
    assert_eq!(steps, [wire::StepState::default(), step(1, Outcome::Success)]);
}

#[tokio::test]
async fn a_cancel_shows_in_the_next_answer() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (runner, task) = started(&forge).await;
        forge.cancel(1);
        assert_eq!(status(&forge), Status::Cancelled);
        assert_eq!(
            runner.update(task, Outcome::Unspecified, &[]).await.0,
            Outcome::Cancelled
        );
        // The log is open until it is closed.
        assert_eq!(runner.log(task, 0, &["bye"], true).await, 1);
        assert_eq!(
            runner.update(task, Outcome::Success, &[]).await.0,
            Outcome::Cancelled
        );
    }
}

#[tokio::test]
async fn a_runner_that_can_clean_up_gets_the_time() {
    for (dialect, status_then) in [
        (Dialect::Gitea, Status::Cancelling),
        (Dialect::Forgejo, Status::Cancelled),
    ] {
        let forge = FakeForge::start(dialect).await;
        let (runner, task) = started(&forge).await;
        runner.declare(&[], &["cancelling"]).await.unwrap();
        forge.cancel(1);
        assert_eq!(status(&forge), status_then);
        assert_eq!(
            runner.update(task, Outcome::Unspecified, &[]).await.0,
            Outcome::Cancelled
        );
        assert_eq!(status(&forge), status_then);
        assert_eq!(
            runner.update(task, Outcome::Success, &[]).await.0,
            Outcome::Cancelled
        );
        assert_eq!(status(&forge), Status::Cancelled);
    }
}

#[tokio::test]
async fn a_cancel_at_a_row_comes_with_that_row() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (runner, task) = started(&forge).await;
    forge.cancel_at_row(3);
    runner.log(task, 0, &["1", "2"], false).await;
    assert_eq!(
        runner.update(task, Outcome::Unspecified, &[]).await.0,
        Outcome::Unspecified
    );
    runner.log(task, 2, &["3", "4"], false).await;
    assert_eq!(
        runner.update(task, Outcome::Unspecified, &[]).await.0,
        Outcome::Cancelled
    );
}

#[tokio::test]
async fn a_cancelled_run_hands_out_nothing_more() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let runner = Runner::new(&forge, &[]).await;
    let run = forge.push(ONE);
    forge.cancel(run);
    assert!(runner.fetch(0).await.task.is_none());
    assert_eq!(forge.read(|state| state.status_of(run)), Status::Cancelled);
}

#[tokio::test]
async fn a_silent_task_is_given_up() {
    for dialect in DIALECTS {
        let forge = FakeForge::start(dialect).await;
        let (runner, task) = started(&forge).await;
        forge.advance(Duration::from_mins(9));
        runner.update(task, Outcome::Unspecified, &[]).await;
        forge.advance(Duration::from_mins(9));
        runner.log(task, 0, &["still here"], false).await;
        forge.advance(Duration::from_mins(9));
        assert_eq!(status(&forge), Status::Running);
        forge.advance(Duration::from_mins(2));
        assert_eq!(status(&forge), Status::Failure);
        assert_eq!(
            runner.update(task, Outcome::Success, &[]).await.0,
            Outcome::Failure
        );
        assert!(runner.try_log(task, 1, &["late"], false).await.unwrap().is_err());
    }
}

#[tokio::test]
async fn an_endless_task_is_given_up_although_it_speaks() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (runner, task) = started(&forge).await;
    for _ in 0..19 {
        forge.advance(Duration::from_mins(9));
        runner.update(task, Outcome::Unspecified, &[]).await;
    }
    assert_eq!(status(&forge), Status::Running);
    forge.advance(Duration::from_mins(9));
    assert_eq!(status(&forge), Status::Failure);
}

#[tokio::test]
async fn states_belong_to_the_runner_of_the_task() {
    let forge = FakeForge::start(Dialect::Forgejo).await;
    let (_, task) = started(&forge).await;
    let other = Runner::new(&forge, &[]).await;
    for task in [task, 17] {
        let refused = other
            .try_update(task, Outcome::Success, &[])
            .await
            .unwrap()
            .err()
            .unwrap();
        assert!(
            refused.0 == 500 && refused.1.contains("\"internal\""),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn calls_are_kept_in_order() {
    let forge = FakeForge::start(Dialect::Gitea).await;
    let (runner, task) = started(&forge).await;
    runner.log(task, 0, &["a", "b"], true).await;
    runner.update(task, Outcome::Success, &[]).await;
    let calls = forge.read(|state| state.calls().to_vec());
    let methods: Vec<Method> = calls.iter().map(|call| call.method).collect();
    assert_eq!(
        methods,
        [
            Method::Register,
            Method::FetchTask,
            Method::UpdateLog,
            Method::UpdateTask
        ]
    );
    assert_eq!(
        calls[2].subject,
        Subject::Rows {
            task,
            first: 0,
            count: 2,
            no_more: true
        }
    );
    assert_eq!(
        calls[3].subject,
        Subject::State {
            task,
            result: Outcome::Success
        }
    );
    assert!(calls.iter().all(|call| call.status == Some(200) && call.done));
    assert!(calls.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert_eq!(forge.read(|state| state.task(task).unwrap().states[0].rows), 2);
}
