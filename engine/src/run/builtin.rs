//! Actions that the runner itself is: `builtin:checkout`.

use std::path::{Component, Path};

use indexmap::IndexMap;

use super::Session;
use super::evaluate::Failure;
use super::session::Done;
use super::step::Prepared;
use crate::action::{ActionAccess, CheckedOut, Checkout, Credential, Sources, Token};
use crate::backend::Command;
use crate::chain::Chain;
use crate::expr::{Object, Value};
use crate::model::{StringMap, UsesStep};
use crate::plan::Conclusion;

/// The inputs of the checkout.
const INPUTS: [&str; 5] = ["repository", "ref", "token", "path", "fetch-depth"];

/// What a checkout is asked for.
struct Request {
    checkout: Checkout,
    access: ActionAccess,
    /// The directory in the workspace; empty for the workspace itself.
    path: String,
}

impl Session<'_> {
    /// Runs an action of the runner's own.
    pub async fn builtin(&mut self, prepared: &Prepared<'_>, uses: &UsesStep, name: &str) -> Done {
        if name != "checkout" {
            return self.refuse(&format!(
                "Unable to resolve action `builtin:{name}`, there is only `builtin:checkout`"
            ));
        }
        let given = match self.given(prepared, uses).await {
            Ok(given) => given,
            Err(failure) => return self.refuse(&failure.0),
        };
        self.announce(prepared, uses, &given);
        let github = self.view.fixed.github.clone();
        let request = match self.request(&given, &github) {
            Ok(request) => request,
            Err(reason) => return self.refuse(&reason),
        };
        match self
            .while_allowed(request.access.check_out(&request.checkout))
            .await
        {
            Some(Ok(tree)) => self.hand_over(tree, &request).await,
            Some(Err(error)) => self.refuse(&format!(
                "Unable to check out {}, {error}",
                request.checkout.repository
            )),
            None => Done::plain(Conclusion::Cancelled),
        }
    }

    async fn given(
        &mut self,
        prepared: &Prepared<'_>,
        uses: &UsesStep,
    ) -> Result<IndexMap<String, String>, Failure> {
        let evaluator = self.evaluator(prepared.frame, &prepared.identity);
        let given = evaluator
            .optional::<StringMap>(uses.with.as_ref(), &prepared.env)
            .await?;
        let mut inputs = IndexMap::new();
        for (name, value) in given.unwrap_or_default().0 {
            let known = INPUTS.into_iter().find(|input| input.eq_ignore_ascii_case(&name));
            let Some(known) = known else {
                return Err(Failure(format!(
                    "Unexpected input '{name}' of builtin:checkout, valid inputs are ['{}']",
                    INPUTS.join("', '")
                )));
            };
            inputs.insert(known.to_owned(), value);
        }
        Ok(inputs)
    }

    fn request(&self, given: &IndexMap<String, String>, github: &Object) -> Result<Request, String> {
        let of_github = |name: &str| {
            github
                .get(name)
                .map(Value::to_text)
                .unwrap_or_default()
                .into_owned()
        };
        let input = |name: &str| given.get(name).map_or("", |value| value.trim());
        let Some(access) = self.runtime.settings.actions.clone() else {
            return Err("this runner fetches no repositories".to_owned());
        };
        let own = of_github("repository");
        let (repository, is_own) = match input("repository") {
            "" => (own, true),
            name => (name.to_owned(), name.eq_ignore_ascii_case(&own)),
        };
        let (git_ref, commit) = match input("ref") {
            "" if is_own => (of_github("ref"), Some(of_github("sha"))),
            "" => ("HEAD".to_owned(), None),
            name => (name.to_owned(), None),
        };
        let depth = match input("fetch-depth") {
            "" => 1,
            text => text
                .parse()
                .map_err(|_| format!("'fetch-depth' is a number of commits, and not '{text}'"))?,
        };
        let server = of_github("server_url");
        let token = match input("token") {
            "" => of_github("token"),
            token => token.to_owned(),
        };
        let credential = Credential::of_token(&server, "token of the checkout", Token::new(&token));
        let sources = Sources {
            default_url: server,
            credentials: if token.is_empty() {
                Vec::new()
            } else {
                vec![credential]
            },
            ..access.sources
        };
        Ok(Request {
            checkout: Checkout {
                repository,
                git_ref,
                commit,
                depth,
            },
            access: ActionAccess { sources, ..access },
            path: inside(input("path"))?,
        })
    }

    /// Copies a work tree to where the job wants it; what is there goes.
    async fn hand_over(&mut self, tree: CheckedOut, request: &Request) -> Done {
        for note in &tree.notes {
            self.log.line(format_args!("##[warning]{note}"));
        }
        self.log
            .line(format_args!("Checked out {} of {}", tree.commit, tree.url));
        let workspace = self.runtime.sandbox.layout().workspace.clone();
        let place = match request.path.as_str() {
            "" => workspace,
            path => format!("{workspace}/{path}"),
        };
        let done = self.put(&tree.directory, &place).await;
        tree.remove().await;
        match done {
            Ok(done) => done,
            Err(reason) => self.refuse(&reason),
        }
    }

    async fn put(&mut self, tree: &Path, place: &str) -> Result<Done, String> {
        let sandbox = self.runtime.sandbox.clone();
        if sandbox.is_dir(place).await {
            let command = Command {
                argv: ["find", ".", "-mindepth", "1", "-delete"]
                    .map(str::to_owned)
                    .to_vec(),
                env: sandbox.base_environment().to_vec(),
                cwd: place.to_owned(),
            };
            let emptied = self.process(command).await;
            let (ended, _) = emptied.map_err(|error| Chain(&error).to_string())?;
            if ended != super::process::Ended::Exited(0) {
                return Err(format!("'{place}' cannot be emptied"));
            }
        }
        let copied = sandbox.put_tree(tree, place).await;
        copied.map_err(|error| Chain(&error).to_string())?;
        Ok(Done::plain(Conclusion::Success))
    }
}

/// A relative path that stays in the workspace.
fn inside(path: &str) -> Result<String, String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy()),
            Component::CurDir => {}
            _ => return Err(format!("'path' is a path in the workspace, and not '{path}'")),
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_stays_in_the_workspace() {
        assert_eq!(inside("./a//b/"), Ok("a/b".to_owned()));
        assert_eq!(inside(""), Ok(String::new()));
        for path in ["..", "a/../..", "/etc"] {
            assert!(inside(path).is_err(), "{path}");
        }
    }
}
