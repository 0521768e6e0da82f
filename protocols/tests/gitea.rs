//! A runner's calls against a scripted server: what goes over the wire, and what each answer leads to.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, SystemTime};

use gantry_fakes::http::{Answer, HttpServer, Received, Reply};
use gantry_protocols::connect::{Address, Client, Options};
use gantry_protocols::forge::{
    Conclusion, Directive, Error, Forge, LogBatch, Progress, Report, Retry, RowIndex, StepState, Summary,
    TaskId,
};
use gantry_protocols::gitea::wire::{
    self, DeclareRequest, DeclareResponse, FetchTaskRequest, FetchTaskResponse, RegisterRequest,
    RegisterResponse, Runner, Task, TaskState, UpdateLogRequest, UpdateLogResponse, UpdateTaskRequest,
    UpdateTaskResponse,
};
use gantry_protocols::gitea::{
    Credentials, GiteaForge, Registered, Registrar, Registration, Secret, Settings,
};
use prost::Message;

const SHORT: Duration = Duration::from_millis(200);

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

fn client(server: &HttpServer) -> Client {
    let address = format!("http://{}/git/", server.address());
    Client::start(Options::new(Address::parse(&address).unwrap(), "1.2.3")).unwrap()
}

fn credentials() -> Credentials {
    Credentials {
        uuid: "uuid-1".to_owned(),
        token: Secret::new("token-1"),
    }
}

fn forge_with(server: &HttpServer, settings: Settings) -> GiteaForge {
    GiteaForge::new(client(server), credentials(), settings)
}

/// No test depends on how fast the machine is, so nothing is given up soon.
fn patient() -> Settings {
    Settings {
        fetch_timeout: Duration::from_mins(1),
        ..Settings::default()
    }
}

fn forge(server: &HttpServer) -> GiteaForge {
    forge_with(server, patient())
}

fn proto(message: &impl Message) -> Reply {
    Answer::proto(message.encode_to_vec()).into()
}

fn gitea_error(code: &str, text: &str) -> Reply {
    let text = format!("rpc error: code = {code} desc = {text}");
    Answer::error(500, "unknown", &text).into()
}

fn decode<M: Message + Default>(received: &Received) -> M {
    M::decode(received.body.as_slice()).unwrap()
}

fn unregistered() -> Reply {
    gitea_error("Unauthenticated", "unregistered runner")
}

/// The procedures that were called, in order.
fn procedures(server: &HttpServer) -> Vec<String> {
    let called = server.received().into_iter().map(|received| {
        let path = received.line.split(' ').nth(1).unwrap().to_owned();
        path.rsplit('/').next().unwrap().to_owned()
    });
    called.collect()
}

fn fetched(tasks: &[i64], version: i64) -> Reply {
    let task = |id: &i64| Task {
        id: *id,
        ..Task::default()
    };
    proto(&FetchTaskResponse {
        task: tasks.first().map(task),
        tasks_version: version,
        additional_tasks: tasks.iter().skip(1).map(task).collect(),
    })
}

fn acked(ack_index: i64) -> Reply {
    proto(&UpdateLogResponse { ack_index })
}

fn updated(result: i32, sent_outputs: &[&str]) -> Reply {
    proto(&UpdateTaskResponse {
        state: Some(TaskState {
            id: 7,
            result,
            ..TaskState::default()
        }),
        sent_outputs: sent_outputs.iter().map(|key| (*key).to_owned()).collect(),
    })
}

fn batch(first: u64, rows: &[&str]) -> LogBatch {
    let mut batch = LogBatch {
        task: TaskId(7),
        first: RowIndex(first),
        time: SystemTime::UNIX_EPOCH + Duration::from_secs(9),
        step: Some(0),
        text: String::new(),
        ends: Vec::new(),
    };
    for row in rows {
        batch.text.push_str(row);
        batch.ends.push(u32::try_from(batch.text.len()).unwrap());
    }
    batch
}

fn step(index: usize, conclusion: Option<Conclusion>) -> StepState {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    StepState {
        index,
        name: "step".to_owned(),
        started: Some(at(10)),
        stopped: conclusion.map(|_| at(20)),
        outcome: conclusion,
        conclusion,
        log_first: RowIndex(3),
        log_length: 4,
    }
}

fn progress(steps: Vec<StepState>) -> Progress {
    Progress {
        steps,
        ..Progress::of(TaskId(7))
    }
}

fn report(outputs: &[&str]) -> Report {
    Report {
        task: TaskId(7),
        conclusion: Conclusion::Success,
        outputs: outputs
            .iter()
            .map(|key| ((*key).to_owned(), "v".to_owned()))
            .collect::<BTreeMap<_, _>>(),
        started: SystemTime::UNIX_EPOCH + Duration::from_secs(5),
        stopped: SystemTime::UNIX_EPOCH + Duration::from_mins(1),
        steps: Vec::new(),
        rows: RowIndex(2),
    }
}

fn registration(token: &str) -> Registration {
    Registration {
        name: "name".to_owned(),
        token: Secret::new(token),
        version: "1.2.3".to_owned(),
        labels: vec!["ubuntu-latest".to_owned(), "build".to_owned()],
        ephemeral: true,
    }
}

/// What a registration comes to that is answered like this.
fn register(reply: Reply) -> (Result<Registered, Error>, HttpServer) {
    block_on(async {
        let server = HttpServer::start([reply]).await;
        let outcome = Registrar::new(client(&server))
            .register(&registration("secret"))
            .await;
        (outcome, server)
    })
}

#[test]
fn a_registration_says_what_the_runner_is_and_yields_its_credentials() {
    let runner = Runner {
        id: 4,
        uuid: "u".to_owned(),
        token: "t".to_owned(),
        name: "name".to_owned(),
        ephemeral: false,
        ..Runner::default()
    };
    let (outcome, server) = register(proto(&RegisterResponse { runner: Some(runner) }));
    let registered = outcome.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((registered.id, registered.name.as_str()), (4, "name"));
    assert_eq!(registered.credentials.uuid, "u");
    assert_eq!(registered.credentials.token.reveal(), "t");
    assert!(!registered.ephemeral, "an old server does not know what that is");
    let received = server.received().remove(0);
    assert_eq!(
        received.line,
        "POST /git/api/actions/runner.v1.RunnerService/Register HTTP/1.1"
    );
    assert_eq!(received.header("x-runner-uuid"), "");
    let request: RegisterRequest = decode(&received);
    assert_eq!(
        (request.name.as_str(), request.token.as_str()),
        ("name", "secret")
    );
    assert_eq!(request.labels, ["ubuntu-latest", "build"]);
    assert_eq!(request.version, "1.2.3");
    assert_eq!(request.capabilities, ["cancelling"]);
    assert!(request.ephemeral);
}

#[test]
fn a_wrong_registration_token_is_final_and_named() {
    let table = [
        Answer::error(500, "unknown", "runner registration token not found").into(),
        gitea_error(
            "InvalidArgument",
            "runner registration token has been invalidated, please use the latest one",
        ),
        Answer::error(400, "invalid_argument", "runner registration token not found").into(),
    ];
    for reply in table {
        let (outcome, server) = register(reply);
        let error = outcome.err().unwrap();
        assert_eq!(error.retry(), Retry::Never, "{error}");
        let expected = format!(
            "Register: the forge refused: http://{}/git: runner registration token ",
            server.address()
        );
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn what_is_no_forge_is_told_with_address_and_operation() {
    let page = |status| Reply::from(Answer::new(status, "text/html", "<html>"));
    let table = [
        (page(200), "invalid content-type: \"text/html\""),
        (page(404), "HTTP status 404: there is no Gitea or Forgejo"),
        (page(405), "HTTP status 405: what answers there takes no POST"),
        (page(413), "HTTP status 413: something before the forge"),
        (page(401), "HTTP status 401 that is not the forge's own"),
        (page(502), "HTTP status 502 without an error of the forge's own"),
        (Reply::Close, "the connection was closed"),
        (
            Answer::new(301, "text/html", "")
                .header("location", "https://forge.test/")
                .into(),
            "the server redirects to https://forge.test/; use that address",
        ),
        (Answer::proto("").into(), "the answer names no runner"),
    ];
    for (reply, expected) in table {
        let (outcome, server) = register(reply);
        let error = outcome.err().unwrap();
        let text = error.to_string();
        let address = format!("http://{}/git", server.address());
        assert!(text.starts_with("Register: "), "{text}");
        assert!(text.contains(&address) && text.contains(expected), "{text}");
        assert_eq!(error.retry(), Retry::Later, "{text}");
    }
}

#[test]
fn a_ping_is_answered_even_with_nothing() {
    block_on(async {
        let server = HttpServer::start([Answer::proto("").into(), Reply::Close]).await;
        let registrar = Registrar::new(client(&server));
        registrar.ping("name").await.unwrap();
        let received = server.received().remove(0);
        assert_eq!(
            received.line,
            "POST /git/api/actions/ping.v1.PingService/Ping HTTP/1.1"
        );
        assert_eq!(received.body, b"\x0a\x04name");
        assert_eq!(registrar.ping("name").await.unwrap_err().retry(), Retry::Later);
    });
}

#[test]
fn a_declaration_learns_what_the_server_can_do_and_claims_carry_it() {
    block_on(async {
        let runner = Runner {
            labels: vec!["a".to_owned()],
            ..Runner::default()
        };
        let declared = DeclareResponse { runner: Some(runner) };
        let declared = Answer::proto(declared.encode_to_vec())
            .header("X-Gitea-Actions-Capabilities", " job-summary , , other");
        let server = HttpServer::start([declared.into(), fetched(&[1], 2)]).await;
        let forge = forge(&server);
        let declared = forge.declare("1.2.3", &["a".to_owned()]).await.unwrap();
        assert_eq!(declared.labels, ["a"]);
        assert_eq!(declared.capabilities, "job-summary,other");
        let received = server.received().remove(0);
        assert_eq!(received.header("x-runner-uuid"), "uuid-1");
        assert_eq!(received.header("x-runner-token"), "token-1");
        let request: DeclareRequest = decode(&received);
        assert_eq!(request.version, "1.2.3");
        assert_eq!(request.capabilities, ["cancelling"]);
        let claim = forge.claim(1).await.unwrap().remove(0);
        assert_eq!(claim.given.capabilities, "job-summary,other");
    });
}

#[test]
fn a_server_without_declarations_is_told_from_one_that_is_down() {
    block_on(async {
        let server = HttpServer::start([
            Answer::error(501, "unimplemented", "no").into(),
            Answer::new(404, "text/plain", "404 page not found").into(),
            Answer::new(502, "text/html", "").into(),
            unregistered(),
        ])
        .await;
        let forge = forge(&server);
        for _ in 0..2 {
            let error = forge.declare("1", &[]).await.unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        }
        assert_eq!(forge.declare("1", &[]).await.unwrap_err().retry(), Retry::Later);
        assert_eq!(
            forge.declare("1", &[]).await.unwrap_err().retry(),
            Retry::Unregistered
        );
    });
}

#[test]
fn after_a_task_the_queue_is_asked_as_if_nothing_was_seen() {
    block_on(async {
        let script = [
            fetched(&[], 5),
            fetched(&[1], 6),
            fetched(&[2, 3], 6),
            fetched(&[], 4),
            fetched(&[], 0),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        let mut claimed = Vec::new();
        for _ in 0..5 {
            let claims = forge.claim(3).await.unwrap();
            claimed.push(claims.iter().map(|claim| claim.task.0).collect::<Vec<_>>());
        }
        assert_eq!(claimed, [vec![], vec![1], vec![2, 3], vec![], vec![]]);
        let received = server.received();
        let requests = received.iter().map(decode::<FetchTaskRequest>);
        let sent: Vec<_> = requests
            .map(|request| (request.tasks_version, request.task_capacity))
            .collect();
        assert_eq!(sent, [0, 5, 0, 0, 4].map(|version| (version, Some(3))));
        assert!(forge.claim(0).await.unwrap().is_empty());
        assert_eq!(server.received().len(), 5, "nobody is asked for nothing");
    });
}

#[test]
fn a_request_key_is_kept_until_an_answer_comes() {
    block_on(async {
        let script = [
            Answer::new(502, "text/html", "").into(),
            Answer::error(500, "internal", "request key is currently locked; retry soon").into(),
            Answer::error(504, "deadline_exceeded", "").into(),
            fetched(&[], 1),
            fetched(&[], 1),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        let error = forge.claim(1).await.unwrap_err();
        assert_eq!(error.retry(), Retry::Later);
        let error = forge.claim(1).await.unwrap_err();
        assert_eq!(error.retry(), Retry::After(Duration::from_secs(1)));
        for _ in 0..3 {
            assert!(forge.claim(1).await.unwrap().is_empty());
        }
        let received = server.received();
        let keys: Vec<_> = received
            .iter()
            .map(|received| received.header("x-runner-request-key"))
            .collect();
        assert_eq!(keys[0].len(), 36);
        assert!(keys[..4].iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_ne!(keys[4], keys[0]);
    });
}

#[test]
fn a_server_that_looks_for_long_has_no_task() {
    block_on(async {
        let server = HttpServer::start([Reply::Never, fetched(&[1], 1)]).await;
        let settings = Settings {
            fetch_timeout: SHORT,
            ..Settings::default()
        };
        let forge = forge_with(&server, settings);
        assert!(forge.claim(1).await.unwrap().is_empty());
        let claims = GiteaForge::claim(&forge, 1).await;
        // A loaded machine may be slow a second time.
        assert!(claims.unwrap().len() <= 1);
        assert_eq!(server.received()[0].header("connect-timeout-ms"), "200");
    });
}

#[test]
fn a_runner_that_is_not_known_is_told_from_a_gate_before_the_server() {
    block_on(async {
        let server = HttpServer::start([
            unregistered(),
            Answer::error(401, "unauthenticated", "unregistered runner").into(),
            Answer::error(500, "unknown", "runner has been removed").into(),
            Answer::new(401, "text/html", "<html>unregistered runner").into(),
            Answer::new(403, "application/json", r#"{"code":"AUTH","message":"log in"}"#).into(),
        ])
        .await;
        let forge = forge(&server);
        for _ in 0..3 {
            assert_eq!(forge.claim(1).await.unwrap_err().retry(), Retry::Unregistered);
        }
        for _ in 0..2 {
            assert_eq!(forge.claim(1).await.unwrap_err().retry(), Retry::Later);
        }
    });
}

#[test]
fn rows_are_acknowledged_by_their_numbers() {
    block_on(async {
        let script = [acked(3), acked(2), acked(4), acked(99), acked(3)];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        let append = async |first, rows: &[&str]| forge.append_log(vec![batch(first, rows)]).await;
        assert_eq!(append(0, &["a", "b", "c"]).await.unwrap().next, RowIndex(3));
        // Less than what was acknowledged: the server has lost rows.
        let error = append(1, &["b", "c", "d"]).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::LogLost {
                    kept: 2,
                    acknowledged: 3,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(append(3, &["d", "e"]).await.unwrap().next, RowIndex(4));
        // More than what was sent is not believed.
        assert_eq!(append(4, &["e"]).await.unwrap().next, RowIndex(5));
        let error = append(5, &["f"]).await.unwrap_err();
        assert_eq!(error.retry(), Retry::Never);
        let request: UpdateLogRequest = decode(&server.received()[0]);
        assert_eq!((request.task_id, request.index, request.no_more), (7, 0, false));
        let contents: Vec<_> = request.rows.iter().map(|row| row.content.as_str()).collect();
        assert_eq!(contents, ["a", "b", "c"]);
        assert_eq!(request.rows[0].time.unwrap().seconds, 9);
    });
}

#[test]
fn many_rows_go_in_several_requests_and_partial_success_counts() {
    block_on(async {
        let long = "x".repeat(60_000);
        let rows: Vec<&str> = (0..20).map(|_| long.as_str()).collect();
        let failed = Answer::new(502, "text/html", "").into();
        let server = HttpServer::start([acked(8), failed, acked(16), acked(18)]).await;
        let forge = forge(&server);
        let ack = forge.append_log(vec![batch(0, &rows)]).await.unwrap();
        assert_eq!(ack.next, RowIndex(8), "the second request failed");
        let ack = forge.append_log(vec![batch(8, &rows[8..])]).await.unwrap();
        assert_eq!(
            ack.next,
            RowIndex(18),
            "the server took only half of the last request"
        );
        let received = server.received();
        let requests = received.iter().map(decode::<UpdateLogRequest>);
        let sent: Vec<_> = requests
            .map(|request| (request.index, request.rows.len()))
            .collect();
        assert_eq!(sent, [(0, 8), (8, 8), (8, 8), (16, 4)]);
        assert!(received.iter().all(|received| received.body.len() < 520_000));
    });
}

#[test]
fn requests_for_rows_shrink_until_they_pass_a_proxy() {
    block_on(async {
        let long = "x".repeat(30_000);
        let rows: Vec<&str> = (0..8).map(|_| long.as_str()).collect();
        let too_large = || Reply::from(Answer::new(413, "text/html", "<html>"));
        let script = [
            too_large(),
            too_large(),
            acked(4),
            acked(8),
            too_large(),
            too_large(),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        let append = async |rows: &[&str]| forge.append_log(vec![batch(0, rows)]).await;
        for _ in 0..2 {
            let error = append(&rows).await.unwrap_err();
            assert_eq!(error.retry(), Retry::After(Duration::ZERO), "{error}");
        }
        assert_eq!(append(&rows).await.unwrap().next, RowIndex(8));
        let sizes: Vec<_> = server
            .received()
            .iter()
            .map(|received| decode::<UpdateLogRequest>(received).rows.len())
            .collect();
        assert_eq!(sizes, [8, 8, 4, 4]);
        // One row cannot be made smaller.
        let error = append(&rows[..1]).await.unwrap_err();
        assert_eq!(error.retry(), Retry::Later, "{error}");
    });
}

#[test]
fn two_requests_for_tasks_never_use_one_key_at_the_same_time() {
    block_on(async {
        let server = HttpServer::start([fetched(&[1], 1), fetched(&[2], 1)]).await;
        let forge = forge(&server);
        let (first, second) = tokio::join!(forge.claim(1), forge.claim(1));
        assert_eq!((first.unwrap().len(), second.unwrap().len()), (1, 1));
        let received = server.received();
        assert_ne!(
            received[0].header("x-runner-request-key"),
            received[1].header("x-runner-request-key")
        );
    });
}

#[test]
fn rows_after_the_logs_end_are_dropped() {
    block_on(async {
        let archived = "log file has been archived";
        let server = HttpServer::start([
            gitea_error("AlreadyExists", archived),
            Answer::error(409, "already_exists", archived).into(),
        ])
        .await;
        let forge = forge(&server);
        for _ in 0..2 {
            let ack = forge.append_log(vec![batch(4, &["a", "b"])]).await.unwrap();
            assert_eq!(ack.next, RowIndex(6));
        }
    });
}

#[test]
fn every_update_carries_all_steps_and_no_conclusion() {
    block_on(async {
        let server = HttpServer::start([updated(0, &[]), updated(0, &[]), updated(0, &[])]).await;
        let forge = forge(&server);
        let told = [
            progress(vec![step(0, Some(Conclusion::Success)), step(1, None)]),
            progress(vec![step(1, Some(Conclusion::Failure))]),
            progress(Vec::new()),
        ];
        for progress in told {
            assert_eq!(forge.update(progress).await.unwrap(), Directive::Continue);
        }
        let received = server.received();
        let states = received
            .iter()
            .map(|received| decode::<UpdateTaskRequest>(received).state.unwrap());
        let shown: Vec<_> = states
            .map(|state| {
                assert_eq!((state.id, state.result), (7, 0));
                let steps = state.steps.iter().map(|step| (step.id, step.result));
                steps.collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(shown, [[(0, 1), (1, 0)], [(0, 1), (1, 2)], [(0, 1), (1, 2)]]);
    });
}

#[test]
fn a_result_in_the_answer_is_a_cancel() {
    block_on(async {
        let gone = gitea_error("Internal", "update task: task with id 7: resource does not exist");
        // The results in order; 77 is one that is not known.
        let script = [
            updated(3, &[]),
            updated(2, &[]),
            updated(1, &[]),
            gone,
            updated(77, &[]),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        for _ in 0..4 {
            let directive = forge.update(Progress::of(TaskId(7))).await.unwrap();
            assert_eq!(directive, Directive::Cancel);
        }
        let directive = forge.update(Progress::of(TaskId(7))).await.unwrap();
        assert_eq!(directive, Directive::Continue);
    });
}

#[test]
fn the_log_is_closed_with_a_row_before_the_conclusion_is_told() {
    block_on(async {
        let server = HttpServer::start([updated(0, &[]), acked(3), updated(1, &["a", "other"])]).await;
        let forge = forge(&server);
        forge.update(progress(vec![step(0, None)])).await.unwrap();
        forge.complete(report(&["a"])).await.unwrap();
        assert_eq!(procedures(&server), ["UpdateTask", "UpdateLog", "UpdateTask"]);
        let received = server.received();
        let log: UpdateLogRequest = decode(&received[1]);
        assert_eq!((log.index, log.no_more, log.rows.len()), (2, true, 1));
        assert_eq!(log.rows[0].content, "");
        let last: UpdateTaskRequest = decode(&received[2]);
        assert_eq!(last.outputs["a"], "v");
        let state = last.state.unwrap();
        assert_eq!((state.id, state.result), (7, wire::Result::Success.into()));
        assert_eq!(
            (
                state.started_at.unwrap().seconds,
                state.stopped_at.unwrap().seconds
            ),
            (5, 60)
        );
        let cancelled: i32 = wire::Result::Cancelled.into();
        assert_eq!(state.steps[0].result, cancelled, "no step goes on after the end");
    });
}

#[test]
fn a_conclusion_is_told_again_after_any_lost_answer() {
    block_on(async {
        let script = [
            // The log is closed, and the answer is lost.
            Reply::Close,
            gitea_error("AlreadyExists", "log file has been archived"),
            // The end is told, and the answer is lost.
            Reply::Close,
            updated(1, &[]),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        let mut tries = Vec::new();
        for _ in 0..3 {
            let ended = forge.complete(report(&[])).await;
            tries.push(ended.map_err(|error| error.retry()));
        }
        assert_eq!(tries, [Err(Retry::Later), Err(Retry::Later), Ok(())]);
        assert_eq!(
            procedures(&server),
            ["UpdateLog", "UpdateLog", "UpdateTask", "UpdateTask"]
        );
    });
}

#[test]
fn outputs_are_sent_until_they_are_acknowledged_but_not_for_ever() {
    block_on(async {
        let script = [
            acked(3),
            updated(1, &["a"]),
            updated(1, &["a", "b"]),
            acked(3),
            updated(1, &[]),
            updated(1, &[]),
            updated(1, &[]),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        forge.complete(report(&["a", "b"])).await.unwrap();
        forge.complete(report(&["c"])).await.unwrap();
        let received = server.received();
        let updates = received
            .iter()
            .filter(|received| received.line.contains("UpdateTask"));
        let keys: Vec<_> = updates
            .map(|received| decode::<UpdateTaskRequest>(received).outputs)
            .map(|outputs| outputs.into_keys().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(keys, ["a b", "b", "c", "c", "c"]);
    });
}

#[test]
fn a_conclusion_is_told_even_if_the_log_is_beyond_help() {
    block_on(async {
        let gone = || gitea_error("Internal", "get task: resource does not exist");
        // The server has lost a row, and closes its log where it ends; another server does not even know the log.
        let server = HttpServer::start([acked(1), acked(2), updated(1, &[]), gone(), updated(1, &[])]).await;
        let forge = forge(&server);
        forge.complete(report(&[])).await.unwrap();
        let received = server.received();
        let indices = received[..2].iter().map(decode::<UpdateLogRequest>);
        assert_eq!(indices.map(|log| log.index).collect::<Vec<_>>(), [2, 1]);
        forge.complete(report(&[])).await.unwrap();
        assert_eq!(procedures(&server).len(), 5);
    });
}

#[test]
fn a_runner_for_one_job_is_removed_when_its_server_knows_the_conclusion() {
    block_on(async {
        let script = || [acked(3), Reply::Close, unregistered()];
        let ephemeral = Settings {
            ephemeral: true,
            ..Settings::default()
        };
        for (settings, expected) in [
            (ephemeral, Ok(())),
            (Settings::default(), Err(Retry::Unregistered)),
        ] {
            let server = HttpServer::start(script()).await;
            let forge = forge_with(&server, settings);
            let error = forge.complete(report(&[])).await.unwrap_err();
            assert_eq!(error.retry(), Retry::Later);
            let again = forge.complete(report(&[])).await;
            assert_eq!(again.map_err(|error| error.retry()), expected);
        }
        // Removed before it could say anything: that is no success.
        let server = HttpServer::start([unregistered()]).await;
        let ended = forge_with(&server, ephemeral).complete(report(&[])).await;
        assert_eq!(ended.unwrap_err().retry(), Retry::Unregistered);
    });
}

#[test]
fn outputs_that_no_server_keeps_are_refused_with_a_reason() {
    block_on(async {
        let server = HttpServer::start([]).await;
        let forge = forge(&server);
        let (key, value) = ("k".repeat(255), "v".repeat(1024 * 1024));
        assert_eq!(forge.refuse_output(&key, &value), None);
        let reason = forge.refuse_output(&format!("{key}k"), "v").unwrap();
        assert!(reason.ends_with("its name is longer than 255 bytes"), "{reason}");
        let reason = forge.refuse_output("k", &format!("{value}v")).unwrap();
        assert_eq!(
            reason,
            "the output \"k\" is not kept: its value is longer than 1 MiB (1048577 bytes)"
        );
    });
}

#[test]
fn summaries_are_uploaded_to_servers_that_take_them() {
    block_on(async {
        let text = |text: &str| wire::Value {
            kind: Some(wire::value::Kind::StringValue(text.to_owned())),
        };
        // The payload of the token is {"JobID":34}.
        let fields = [
            ("run_id", "12"),
            ("gitea_runtime_token", "e30.eyJKb2JJRCI6MzR9.sig"),
        ];
        let context = wire::Struct {
            fields: fields.map(|(key, value)| (key.to_owned(), text(value))).into(),
        };
        let task = Task {
            id: 7,
            context: Some(context),
            ..Task::default()
        };
        let fetched = FetchTaskResponse {
            task: Some(task),
            ..FetchTaskResponse::default()
        };
        let declared = Answer::proto("").header("x-gitea-actions-capabilities", "job-summary");
        let done = || Reply::from(Answer::new(204, "text/plain", ""));
        let script = [
            declared.into(),
            proto(&fetched),
            updated(0, &[]),
            done(),
            updated(0, &[]),
            // Nothing depends on a summary.
            Answer::new(403, "text/plain", "no").into(),
        ];
        let server = HttpServer::start(script).await;
        let forge = forge(&server);
        forge.declare("1", &[]).await.unwrap();
        assert_eq!(forge.claim(1).await.unwrap().len(), 1);
        for text in ["# one", "two"] {
            let summary = |step| Summary {
                step,
                text: text.to_owned(),
            };
            let told = Progress {
                summaries: vec![summary(Some(2)), summary(None)],
                ..Progress::of(TaskId(7))
            };
            assert_eq!(forge.update(told).await.unwrap(), Directive::Continue);
        }
        let received = server.received();
        let path = "/git/api/actions_pipeline/_apis/pipelines/workflows/12/jobs/34/steps/2/summary";
        for (upload, expected) in [(&received[3], "# one"), (&received[5], "# one\ntwo")] {
            assert_eq!(upload.line, format!("PUT {path} HTTP/1.1"));
            assert_eq!(upload.header("authorization"), "Bearer e30.eyJKb2JJRCI6MzR9.sig");
            assert_eq!(upload.header("content-type"), "text/markdown; charset=utf-8");
            assert_eq!(upload.body, expected.as_bytes());
        }
    });
}
