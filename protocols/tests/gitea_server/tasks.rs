//! How a task goes and ends, on both sides.

use std::time::Duration;

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Calls, Dialect, Fault, Method, Status};
use gantry_protocols::connect::Code;
use gantry_protocols::forge::{Conclusion, Directive, Forge, Retry, Summary};
use gantry_protocols::gitea::wire::Result as Outcome;

use crate::side::{
    ONE, batch, block_on, claimed, complete, ephemeral, in_both, progress, report, runner, send_all, step,
};

fn status(server: &FakeForge) -> Status {
    server.read(|state| state.job("a").unwrap().status)
}

#[test]
fn the_server_knows_all_rows_before_it_knows_the_end() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        send_all(&runner, task, &["one".to_owned(), "two".to_owned()], 1)
            .await
            .unwrap();
        let directive = runner
            .update(progress(
                task,
                vec![step(0, Some(Conclusion::Success)), step(1, None)],
            ))
            .await;
        assert_eq!(directive.unwrap(), Directive::Continue);
        let mut end = report(task, Conclusion::Failure, 2);
        end.steps = vec![
            step(0, Some(Conclusion::Success)),
            step(1, Some(Conclusion::Failure)),
        ];
        end.outputs.insert("k".to_owned(), "v".to_owned());
        runner.complete(end).await.unwrap();

        let known = server.read(|state| state.task(task.0).unwrap().clone());
        assert_eq!(known.texts(), ["one", "two", ""]);
        assert!(known.archived);
        let told: Vec<_> = known
            .states
            .iter()
            .map(|told| (told.state.result(), told.rows))
            .collect();
        assert_eq!(told, [(Outcome::Unspecified, 2), (Outcome::Failure, 3)]);
        let steps: Vec<_> = known
            .steps
            .iter()
            .map(|step| (step.result(), step.log_index, step.log_length))
            .collect();
        assert_eq!(steps, [(Outcome::Success, 1, 2), (Outcome::Failure, 1, 2)]);
        assert_eq!(known.outputs["k"], "v");
        assert_eq!(status(&server), Status::Failure);
    });
}

#[test]
fn an_end_is_told_until_it_is_heard() {
    let faults = [
        Fault::LoseAnswer,
        Fault::CutAfter(0),
        Fault::Close,
        Fault::DeliverTwice,
        Fault::AnswerTwice,
        Fault::page(502),
        Fault::Refuse(Code::Unavailable, "restarting".to_owned()),
    ];
    for fault in faults {
        for method in [Method::UpdateLog, Method::UpdateTask] {
            in_both(async |server, dialect| {
                let runner = runner(&server).await;
                server.push(ONE);
                let task = claimed(&runner).await.task;
                runner.append_log(vec![batch(task, 0, &["x"])]).await.unwrap();
                server.fail(method, Calls::First(2), fault.clone());
                let tries = complete(&runner, &report(task, Conclusion::Success, 1)).await;
                assert!(tries <= 3, "{dialect:?} {method:?} {fault:?}: {tries}");
                assert_eq!(
                    server.read(|state| state.log_of("a")),
                    ["x", ""],
                    "{dialect:?} {method:?} {fault:?}"
                );
                assert_eq!(status(&server), Status::Success);
            });
        }
    }
}

#[test]
fn a_runner_for_one_job_ends_well_although_the_last_answer_is_lost() {
    in_both(async |server, _| {
        let runner = ephemeral(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        runner.append_log(vec![batch(task, 0, &["x"])]).await.unwrap();
        server.fail(Method::UpdateTask, Calls::Next, Fault::LoseAnswer);
        assert_eq!(complete(&runner, &report(task, Conclusion::Success, 1)).await, 2);
        assert_eq!(server.read(|state| state.log_of("a")), ["x", ""]);
        assert_eq!(server.read(|state| state.runners().count()), 0);
        assert_eq!(runner.claim(1).await.unwrap_err().retry(), Retry::Unregistered);
    });
}

#[test]
fn a_cancel_on_the_server_reaches_the_runner_and_ends_cancelled() {
    in_both(async |server, dialect| {
        let runner = runner(&server).await;
        runner.declare("2", &["ubuntu".to_owned()]).await.unwrap();
        let run = server.push(ONE);
        let task = claimed(&runner).await.task;
        let update = async || runner.update(progress(task, vec![step(0, None)])).await.unwrap();
        assert_eq!(update().await, Directive::Continue);
        server.cancel(run);
        let meanwhile = if dialect == Dialect::Gitea {
            Status::Cancelling
        } else {
            Status::Cancelled
        };
        assert_eq!(status(&server), meanwhile);
        assert_eq!(update().await, Directive::Cancel);
        runner
            .append_log(vec![batch(task, 0, &["cleaned up"])])
            .await
            .unwrap();
        runner
            .complete(report(task, Conclusion::Cancelled, 1))
            .await
            .unwrap();
        assert_eq!(status(&server), Status::Cancelled);
        assert_eq!(server.read(|state| state.log_of("a")), ["cleaned up", ""]);
    });
}

#[test]
fn a_task_that_the_server_has_given_up_is_cancelled_and_ends_quietly() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        server.advance(Duration::from_mins(11));
        assert_eq!(status(&server), Status::Failure);
        assert_eq!(
            runner.update(progress(task, Vec::new())).await.unwrap(),
            Directive::Cancel
        );
        runner
            .complete(report(task, Conclusion::Cancelled, 0))
            .await
            .unwrap();
        assert_eq!(status(&server), Status::Failure);
    });
}

#[test]
fn a_live_task_is_not_given_up() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        for _ in 0..5 {
            server.advance(Duration::from_mins(9));
            let directive = runner.update(progress(task, Vec::new())).await.unwrap();
            assert_eq!(directive, Directive::Continue);
        }
    });
}

#[test]
fn progress_that_fails_is_told_with_the_next() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        server.fail(Method::UpdateTask, Calls::Next, Fault::page(503));
        let first = progress(task, vec![step(0, Some(Conclusion::Success))]);
        assert_eq!(runner.update(first).await.unwrap_err().retry(), Retry::Later);
        runner.update(progress(task, vec![step(1, None)])).await.unwrap();
        let steps = server.read(|state| state.task(task.0).unwrap().steps.clone());
        assert_eq!(steps[0].result(), Outcome::Success);
        assert!(steps[1].started_at.is_some());
    });
}

#[test]
fn outputs_at_the_limit_arrive_and_longer_ones_are_refused_before() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        let mut end = report(task, Conclusion::Success, 0);
        let table = [(255, 1 << 20, true), (256, 0, false), (1, (1 << 20) + 1, false)];
        for (key, value, kept) in table {
            let (key, value) = ("k".repeat(key), "v".repeat(value));
            assert_eq!(runner.refuse_output(&key, &value).is_none(), kept);
            end.outputs.insert(key, value);
        }
        // What is refused is not reported; even so, the server keeps the others.
        runner.complete(end).await.unwrap();
        let kept = server.read(|state| state.task(task.0).unwrap().outputs.clone());
        assert_eq!((kept.len(), kept["k".repeat(255).as_str()].len()), (1, 1 << 20));
    });
}

#[test]
fn outputs_are_told_until_the_server_lists_them() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        let mut end = report(task, Conclusion::Success, 0);
        end.outputs.insert("k".to_owned(), "v".to_owned());
        server.fail(Method::UpdateTask, Calls::Next, Fault::StaleAnswer);
        runner.complete(end).await.unwrap();
        assert_eq!(server.read(|state| state.count(Method::UpdateTask)), 2);
    });
}

#[test]
fn a_summary_reaches_a_server_that_takes_it() {
    block_on(async {
        let server = FakeForge::start(Dialect::Gitea).await;
        let runner = runner(&server).await;
        runner.declare("2", &["ubuntu".to_owned()]).await.unwrap();
        server.push(ONE);
        let task = claimed(&runner).await.task;
        let mut said = progress(task, vec![step(1, None)]);
        said.summaries = vec![Summary {
            step: Some(1),
            text: "# Done".to_owned(),
        }];
        runner.update(said).await.unwrap();
        assert_eq!(
            server.read(|state| state.task(task.0).unwrap().summaries[&1].clone()),
            "# Done"
        );
    });
}
