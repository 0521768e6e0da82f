//! Rows: each of them once, in order, whatever happens to the calls.

use gantry_fakes::CuttingProxy;
use gantry_fakes::forge::{Calls, Fault, Method};
use gantry_protocols::connect::Code;
use gantry_protocols::forge::{Conclusion, Error, Forge, Retry, RowIndex};

use crate::side::{ONE, batch, claimed, complete, in_both, patient, report, runner, runner_at, send_all};

fn rows(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("row {number}")).collect()
}

#[test]
fn rows_arrive_once_and_in_order_through_every_fault() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        let faults = [
            Fault::LoseAnswer,
            Fault::CutAfter(1),
            Fault::Close,
            Fault::StaleAnswer,
            Fault::page(502),
            Fault::page(504),
            Fault::Refuse(Code::Unavailable, "restarting".to_owned()),
            Fault::Refuse(Code::Internal, "database is locked".to_owned()),
            Fault::DeliverTwice,
            Fault::AnswerTwice,
            Fault::LoseAnswer,
            Fault::StaleAnswer,
        ];
        for (number, fault) in faults.into_iter().enumerate() {
            server.fail(Method::UpdateLog, Calls::Nth(2 * number + 1), fault);
        }
        let mut expected = rows(60);
        send_all(&runner, task, &expected, 3).await.unwrap();
        complete(&runner, &report(task, Conclusion::Success, 60)).await;
        // The end of a log comes with an empty row.
        expected.push(String::new());
        assert_eq!(server.read(|state| state.log_of("a")), expected);
        assert!(server.read(|state| state.task(task.0).unwrap().archived));
    });
}

#[test]
fn an_acknowledgement_of_more_than_was_sent_counts_for_what_was_sent() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        server.fail(Method::UpdateLog, Calls::Next, Fault::Acknowledge(99));
        let ack = runner
            .append_log(vec![batch(task, 0, &["x", "y"])])
            .await
            .unwrap();
        assert_eq!(ack.next, RowIndex(2));
    });
}

#[test]
fn a_server_that_has_lost_rows_is_found_out() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        runner
            .append_log(vec![batch(task, 0, &["x", "y"])])
            .await
            .unwrap();
        server.fail(Method::UpdateLog, Calls::Next, Fault::Acknowledge(1));
        let error = runner.append_log(vec![batch(task, 2, &["z"])]).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::LogLost {
                    kept: 1,
                    acknowledged: 2,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(error.retry(), Retry::Never);
    });
}

#[test]
fn a_connection_that_is_cut_and_refused_loses_no_row() {
    in_both(async |server, _| {
        let proxy = CuttingProxy::start(server.address());
        let runner = runner_at(&server, proxy.address(), patient()).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        let all = rows(9);
        send_all(&runner, task, &all[..3], 3).await.unwrap();

        server.fail(Method::UpdateLog, Calls::Next, Fault::Hang);
        let append = runner.append_log(vec![batch(task, 3, &["row 3", "row 4"])]);
        let cut = async {
            server
                .wait_until("the call has come", |state| state.count(Method::UpdateLog) == 2)
                .await;
            proxy.stop().await;
        };
        let (appended, ()) = futures::join!(append, cut);
        assert_eq!(appended.unwrap_err().retry(), Retry::Later);
        let refused = runner
            .append_log(vec![batch(task, 3, &["row 3"])])
            .await
            .unwrap_err();
        assert_eq!(refused.retry(), Retry::Later);

        proxy.resume().await;
        let ack = runner
            .append_log(vec![batch(task, 3, &["row 3", "row 4", "row 5"])])
            .await
            .unwrap();
        assert_eq!(ack.next, RowIndex(6));
        assert_eq!(server.read(|state| state.log_of("a")), all[..6]);
    });
}

#[test]
fn rows_after_a_log_was_closed_are_dropped() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        runner.append_log(vec![batch(task, 0, &["x"])]).await.unwrap();
        server.advance(std::time::Duration::from_mins(11));
        let ack = runner
            .append_log(vec![batch(task, 1, &["y", "z"])])
            .await
            .unwrap();
        assert_eq!(ack.next, RowIndex(3));
        assert_eq!(server.read(|state| state.log_of("a")), ["x"]);
    });
}

#[test]
fn a_request_that_is_too_large_for_a_proxy_goes_in_parts() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        server.fail(Method::UpdateLog, Calls::Next, Fault::page(413));
        let all = rows(20);
        send_all(&runner, task, &all, 20).await.unwrap();
        assert_eq!(server.read(|state| state.log_of("a")), all);
    });
}
