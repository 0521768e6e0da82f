//! `actions/checkout` and `builtin:checkout` where the workspace holds a copy of the repository before the first step.

use super::JobRuntime;
use super::Session;
use super::evaluate::Failure;
use super::step::Prepared;
use crate::action::ActionKey;
use crate::model::{ActionRef, StringMap, UsesStep};

/// The inputs by which a checkout can ask for something else than the run's own commit at the workspace.
const TELLING_INPUTS: [&str; 4] = ["repository", "ref", "path", "github-server-url"];

/// Tells whether an action is a checkout that the copy in the workspace may satisfy.
pub(super) fn may_be_local(runtime: &JobRuntime, action: &ActionKey) -> bool {
    runtime.settings.local_checkout && action.path.is_empty() && is_checkout(&action.repository)
}

/// Tells whether a step is a checkout of which it is known before the run that the copy satisfies it.
pub(super) fn is_surely_local(runtime: &JobRuntime, uses: &UsesStep) -> bool {
    let asks = uses.with.as_ref().is_some_and(|with| {
        let mut keys = with.node().entries().iter().filter_map(|(key, _)| key.as_str());
        keys.any(|key| TELLING_INPUTS.iter().any(|input| input.eq_ignore_ascii_case(key)))
    });
    !asks && ActionKey::of(&uses.uses.value).is_some_and(|action| may_be_local(runtime, &action))
}

fn is_checkout(repository: &str) -> bool {
    let path = repository.rsplit_once("://").map_or(repository, |(_, rest)| rest);
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let owner = parts.next().unwrap_or_default();
    owner.eq_ignore_ascii_case("actions") && name.eq_ignore_ascii_case("checkout")
}

impl Session<'_> {
    /// Tells whether the copy in the workspace is all that the step asks for.
    pub async fn is_checked_out(
        &mut self,
        prepared: &Prepared<'_>,
        uses: &UsesStep,
    ) -> Result<bool, Failure> {
        let is_checkout = match &uses.uses.value {
            ActionRef::Builtin(name) => self.runtime.settings.local_checkout && name == "checkout",
            uses => ActionKey::of(uses).is_some_and(|action| may_be_local(self.runtime, &action)),
        };
        if !is_checkout {
            return Ok(false);
        }
        let evaluator = self.evaluator(prepared.frame, &prepared.identity);
        let given = evaluator
            .optional::<StringMap>(uses.with.as_ref(), &prepared.env)
            .await?
            .unwrap_or_default();
        let github = &self.view.fixed.github;
        let is_own = |input: &str, value: &str| {
            let says = |key: &str| {
                github
                    .get(key)
                    .is_some_and(|own| own.to_text().eq_ignore_ascii_case(value))
            };
            match input {
                "repository" => says("repository"),
                "ref" => ["ref", "ref_name", "sha", "head_ref"].into_iter().any(says),
                "github-server-url" => says("server_url"),
                _ => matches!(value.trim_end_matches('/'), "."),
            }
        };
        Ok(TELLING_INPUTS.iter().all(|input| {
            let mut values = given
                .0
                .iter()
                .filter(|(name, _)| name.eq_ignore_ascii_case(input));
            values.all(|(_, value)| value.is_empty() || is_own(input, value))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkout_is_known_by_owner_and_name() {
        for (repository, expected) in [
            ("actions/checkout", true),
            ("Actions/Checkout", true),
            ("https://code.example/actions/checkout", true),
            ("actions/checkout-x", false),
            ("x/checkout", false),
        ] {
            assert_eq!(is_checkout(repository), expected, "{repository}");
        }
    }
}
