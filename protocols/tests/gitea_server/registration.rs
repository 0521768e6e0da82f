//! Becoming a runner, and being one no more.

use gantry_fakes::FakeForge;
use gantry_fakes::forge::{Calls, Dialect, Fault, Feature, Method};
use gantry_protocols::connect::Code;
use gantry_protocols::forge::{Conclusion, Error, Forge, Retry};
use gantry_protocols::gitea::Registrar;

use crate::side::{ONE, batch, block_on, claimed, client, in_both, progress, registration, report, runner};

#[test]
fn a_runner_registers_and_declares_itself() {
    in_both(async |server, dialect| {
        let registrar = Registrar::new(client(server.address()));
        registrar.ping("r1").await.unwrap();
        let runner = runner(&server).await;
        let labels = [" new".to_owned(), "new".to_owned(), "host ".to_owned()];
        let declared = runner.declare("2.0.0", &labels).await.unwrap();
        assert_eq!(declared.labels, ["new", "host"]);
        let offered = if dialect == Dialect::Gitea {
            "cancelling,job-summary"
        } else {
            ""
        };
        assert_eq!(declared.capabilities, offered);
        let known = server.read(|state| state.runner("r1").unwrap().clone());
        assert_eq!((known.labels, known.version.as_str()), (declared.labels, "2.0.0"));
        assert_eq!(known.capabilities.unwrap(), ["cancelling"]);
    });
}

#[test]
fn a_token_that_does_not_register_is_named_and_final() {
    in_both(async |server, _| {
        let (once, old) = (server.one_time_token(), server.registration_token());
        let registrar = Registrar::new(client(server.address()));
        registrar.register(&registration(&once)).await.unwrap();
        server.invalidate_tokens();
        let table = [
            ("wrong", "not found"),
            (&once, "invalidated"),
            (&old, "invalidated"),
        ];
        for (token, text) in table {
            let error = registrar.register(&registration(token)).await.err().unwrap();
            assert!(matches!(error, Error::Refused { .. }), "{error}");
            assert_eq!(error.retry(), Retry::Never);
            assert!(error.to_string().contains(text), "{error}");
        }
    });
}

#[test]
fn an_old_server_does_not_make_ephemeral_runners() {
    block_on(async {
        let server = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::Ephemeral)).await;
        let mut registration = registration(&server.registration_token());
        registration.ephemeral = true;
        let registered = Registrar::new(client(server.address()))
            .register(&registration)
            .await
            .unwrap();
        assert!(!registered.ephemeral);
    });
}

#[test]
fn an_old_server_has_no_declarations() {
    block_on(async {
        let server = FakeForge::start_with(Dialect::Gitea.rules().without(Feature::Declare)).await;
        let error = runner(&server).await.declare("2", &[]).await.unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    });
}

#[test]
fn a_removed_runner_is_told_so_in_every_call() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        server.change_rules(|rules| rules.removed_grace = std::time::Duration::ZERO);
        let id = server.read(|state| state.runners().next().unwrap().id);
        server.remove_runner(id);
        assert_eq!(runner.claim(1).await.unwrap_err().retry(), Retry::Unregistered);
        assert_eq!(
            runner.declare("2", &[]).await.unwrap_err().retry(),
            Retry::Unregistered
        );
        assert!(runner.append_log(vec![batch(task, 0, &["x"])]).await.is_err());
        assert!(runner.update(progress(task, Vec::new())).await.is_err());
        assert!(
            runner
                .complete(report(task, Conclusion::Success, 0))
                .await
                .is_err()
        );
    });
}

#[test]
fn a_runner_that_is_removed_while_it_works_may_end_its_task_on_forgejo() {
    block_on(async {
        let server = FakeForge::start(Dialect::Forgejo).await;
        let runner = runner(&server).await;
        server.push(ONE);
        let task = claimed(&runner).await.task;
        server.remove_runner(1);
        runner.append_log(vec![batch(task, 0, &["x"])]).await.unwrap();
        runner
            .complete(report(task, Conclusion::Success, 1))
            .await
            .unwrap();
        assert_eq!(server.read(|state| state.log_of("a")), ["x", ""]);
    });
}

#[test]
fn no_page_of_a_proxy_makes_a_runner_unregistered() {
    in_both(async |server, _| {
        let runner = runner(&server).await;
        let table = [
            (Fault::page(401), Retry::Later),
            (Fault::page(403), Retry::Later),
            (Fault::page(200), Retry::Later),
            (Fault::page(502), Retry::Later),
            (Fault::page(503), Retry::Later),
            (Fault::Close, Retry::Later),
            (Fault::CutAfter(0), Retry::Later),
            (
                Fault::Refuse(Code::Unauthenticated, "who are you".to_owned()),
                Retry::Later,
            ),
            (
                Fault::Refuse(Code::Internal, "database is locked".to_owned()),
                Retry::Later,
            ),
        ];
        for (fault, retry) in table {
            server.fail(Method::FetchTask, Calls::Next, fault.clone());
            let error = runner.claim(1).await.unwrap_err();
            assert_eq!(error.retry(), retry, "{fault:?}: {error}");
            server.fail(Method::Declare, Calls::Next, fault.clone());
            let error = runner.declare("2", &[]).await.unwrap_err();
            assert_eq!(error.retry(), retry, "{fault:?}: {error}");
            server.heal();
        }
        assert_eq!(runner.claim(1).await.unwrap().len(), 0);
    });
}
