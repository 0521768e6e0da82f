//! Registration, declaration, authentication.

use std::time::SystemTime;

use gantry_protocols::connect::Code;
use gantry_protocols::gitea::{Credentials, wire};

use super::FakeForge;
use super::journal::Method;
use super::record::Runner;
use super::rules::{Dialect, Feature, Refusal};
use super::state::State;

/// How often a registration token may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// As often as one likes.
    Reusable,
    /// Once more.
    Once,
    /// Never again.
    Used,
    /// Never again, because there is a newer one.
    Invalidated,
}

const UNREGISTERED: &str = "unregistered runner";

/// How many bytes of a runner's name are kept.
const NAME_LIMIT: usize = 255;

impl State {
    pub(super) fn register(
        &mut self,
        request: wire::RegisterRequest,
        now: SystemTime,
    ) -> Result<wire::RegisterResponse, Refusal> {
        if request.token.is_empty() || request.name.is_empty() {
            return Err(Refusal::new(Code::InvalidArgument, "missing runner token, name"));
        }
        let Some(registration) = self.registrations.get_mut(&request.token) else {
            let code = self.of_dialect(Code::NotFound, Code::InvalidArgument);
            return Err(Refusal::new(code, "runner registration token not found"));
        };
        match registration {
            Registration::Reusable => {}
            Registration::Once => *registration = Registration::Used,
            Registration::Used | Registration::Invalidated => {
                let text = "runner registration token has been invalidated, please use the latest one";
                let code = self.of_dialect(Code::NotFound, Code::InvalidArgument);
                return Err(Refusal::new(code, text));
            }
        }
        let labels = if request.labels.is_empty() {
            request.agent_labels
        } else {
            request.labels
        };
        let runner = Runner {
            id: super::number(self.runners.len()) + 1,
            uuid: super::random_uuid(),
            token: super::random_token(),
            name: cut(&request.name, NAME_LIMIT),
            version: request.version,
            labels,
            capabilities: Some(request.capabilities).filter(|list| !list.is_empty()),
            ephemeral: request.ephemeral && self.rules.has(Feature::Ephemeral),
            disabled: false,
            removed: None,
            last_online: now,
            last_active: None,
        };
        let answer = wire::Runner {
            token: runner.token.clone(),
            ..shown(&runner)
        };
        self.runners.push(runner);
        Ok(wire::RegisterResponse { runner: Some(answer) })
    }

    pub(super) fn declare(
        &mut self,
        runner: i64,
        request: wire::DeclareRequest,
    ) -> Result<wire::DeclareResponse, Refusal> {
        if !self.rules.has(Feature::Declare) {
            return Err(Refusal::new(Code::Unimplemented, "Declare is not implemented"));
        }
        let runner = self.runner_mut(runner)?;
        runner.version = request.version;
        runner.labels = request.labels;
        // A runner that does not know the field leaves what is stored alone.
        if !request.capabilities.is_empty() {
            runner.capabilities = Some(request.capabilities);
        }
        Ok(wire::DeclareResponse {
            runner: Some(shown(runner)),
        })
    }

    /// The number of the runner that calls.
    pub(super) fn authenticate(
        &mut self,
        uuid: &str,
        token: &str,
        method: Method,
        now: SystemTime,
    ) -> Result<i64, Refusal> {
        let reports = matches!(method, Method::UpdateTask | Method::UpdateLog);
        let grace = self.rules.removed_grace;
        let dialect = self.rules.dialect;
        let unregistered = || Refusal::new(Code::Unauthenticated, UNREGISTERED);
        let known = self
            .runners
            .iter_mut()
            .find(|runner| runner.uuid == uuid && runner.token == token);
        let runner = known.ok_or_else(unregistered)?;
        if let Some(removed) = runner.removed {
            let late = now.duration_since(removed).is_ok_and(|age| age >= grace);
            return match (reports, late) {
                (true, false) => Ok(runner.id),
                (true, true) if dialect == Dialect::Forgejo => {
                    Err(Refusal::new(Code::Internal, "Runner is deleted"))
                }
                _ => Err(unregistered()),
            };
        }
        runner.last_online = now;
        if reports {
            runner.last_active = Some(now);
        }
        Ok(runner.id)
    }

    pub(super) fn runner_mut(&mut self, id: i64) -> Result<&mut Runner, Refusal> {
        let found = self.runners.iter_mut().find(|runner| runner.id == id);
        found.ok_or_else(|| Refusal::new(Code::Unauthenticated, UNREGISTERED))
    }

    pub(super) fn remove_runner(&mut self, id: i64, now: SystemTime) {
        if let Ok(runner) = self.runner_mut(id) {
            runner.removed.get_or_insert(now);
        }
    }

    fn of_dialect<T>(&self, gitea: T, forgejo: T) -> T {
        match self.rules.dialect {
            Dialect::Gitea => gitea,
            Dialect::Forgejo => forgejo,
        }
    }
}

impl FakeForge {
    /// Registers a runner on the server itself, with a secret of 40 hexadecimal digits that both sides know.
    ///
    /// # Panics
    /// The secret is none.
    #[expect(clippy::expect_used, reason = "a fake that cannot do its work fails its test")]
    pub fn share_secret(&self, name: &str, secret: &str) {
        let credentials = Credentials::of_shared_secret(secret).expect("40 hexadecimal digits");
        self.shared.change(|state, now| {
            let runner = Runner {
                id: super::number(state.runners.len()) + 1,
                uuid: credentials.uuid,
                token: secret.to_owned(),
                name: name.to_owned(),
                version: String::new(),
                labels: Vec::new(),
                capabilities: None,
                ephemeral: false,
                disabled: false,
                removed: None,
                last_online: now,
                last_active: None,
            };
            state.runners.push(runner);
        });
    }
}

/// What a runner is told of itself, without its token.
fn shown(runner: &Runner) -> wire::Runner {
    wire::Runner {
        id: runner.id,
        uuid: runner.uuid.clone(),
        name: runner.name.clone(),
        version: runner.version.clone(),
        labels: runner.labels.clone(),
        ephemeral: runner.ephemeral,
        status: wire::RunnerStatus::Offline as i32,
        ..wire::Runner::default()
    }
}

fn cut(text: &str, limit: usize) -> String {
    let bytes = text.as_bytes();
    String::from_utf8_lossy(&bytes[..limit.min(bytes.len())]).into_owned()
}
