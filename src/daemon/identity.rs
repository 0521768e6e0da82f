//! Who this process is to which forges: the runner file, or the connections of the configuration.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use gantry_actors::engine::action::Trust;
use gantry_actors::protocols::connect::Address;
use gantry_actors::protocols::gitea::{Credentials, Secret};

use super::Wishes;
use crate::config::{self, Config};
use crate::runner::connection::{Way, address};
use crate::runner::file::RunnerFile;
use crate::runner::labels::{Labels, Place};
use crate::runner::lock::Lock;

/// One forge that gives this process jobs.
pub struct Identity {
    /// What people call the runner there.
    pub name: String,
    /// Where the forge is.
    pub address: Address,
    /// Who the runner is there.
    pub credentials: Credentials,
    /// Its labels there, those of containers left out.
    pub labels: Labels,
    /// Whether the forge removes the runner after one job.
    pub ephemeral: bool,
    /// Its labels as the runner file has them; a connection of the configuration has none there.
    filed: Vec<String>,
    /// The connection's name in the configuration; none is the runner file.
    pub connection: Option<String>,
}

impl Identity {
    /// The address without a slash at its end.
    pub fn url(&self) -> String {
        self.address.to_string().trim_end_matches('/').to_owned()
    }

    /// The labels that count by a configuration.
    ///
    /// # Errors
    /// None of them can be served.
    pub fn labels_by(&self, config: &Config, wishes: &Wishes) -> anyhow::Result<Labels> {
        let own = self.configured(config).map(|connection| &connection.labels);
        let lists = [
            Some(&wishes.labels),
            own,
            Some(&config.runner.labels),
            Some(&self.filed),
        ];
        Ok(served(wanted(lists))?.0)
    }

    /// The pause between two questions for a job there.
    pub fn fetch_interval(&self, config: &Config) -> Duration {
        let own = self
            .configured(config)
            .map(|connection| connection.fetch_interval.get());
        own.filter(|own| !own.is_zero())
            .unwrap_or_else(|| config.runner.fetch_interval.get())
    }

    /// What holds for the certificates of the forge when git asks it.
    pub fn trust(&self, config: &Config) -> Option<Trust> {
        let trust = self.way(config)?.trust(self.url());
        (!trust.is_trivial()).then_some(trust)
    }

    fn configured<'a>(&self, config: &'a Config) -> Option<&'a config::Connection> {
        config.server.connections.get(self.connection.as_ref()?)
    }

    /// What the configuration says about the way there.
    pub fn way<'a>(&self, config: &'a Config) -> Option<Way<'a>> {
        match &self.connection {
            None => Some(Way::from(&config.runner)),
            Some(_) => self.configured(config).map(Way::from),
        }
    }
}

/// All that this process is, with the lock that keeps it the only one.
pub struct Identities {
    /// The forges.
    pub all: Vec<Identity>,
    /// Held as long as jobs may be claimed.
    pub lock: Option<Lock>,
    /// The path of the runner file, whether it is used or not; the data directory lies beside it.
    pub file: PathBuf,
}

/// Finds out who this process is.
///
/// # Errors
/// There is no runner file and no connection, one of them is wrong, another process is the same runner, or no label can be
/// served.
pub fn find(config: &Config, wishes: &Wishes) -> anyhow::Result<Identities> {
    let file = Path::new(&config.runner.file).to_owned();
    if config.server.connections.is_empty() {
        let runner = RunnerFile::read(&file)?;
        let lock = Lock::take(&file)?;
        let all = vec![of_file(runner, &file, config, wishes)?];
        return Ok(Identities {
            all,
            lock: Some(lock),
            file,
        });
    }
    let all = config
        .server
        .connections
        .iter()
        .map(|(name, connection)| {
            of_connection(name, connection, config, wishes)
                .with_context(|| format!("server.connections.{name} cannot be used"))
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(Identities {
        all,
        lock: None,
        file,
    })
}

fn of_file(
    mut runner: RunnerFile,
    path: &Path,
    config: &Config,
    wishes: &Wishes,
) -> anyhow::Result<Identity> {
    let lists = [&wishes.labels, &config.runner.labels, &runner.labels].map(Some);
    let (labels, all) = served(wanted(lists))?;
    let texts = all.texts();
    if texts != runner.labels {
        tracing::info!("labels updated to: {texts:?}");
        runner.labels = texts;
        runner
            .write(path)
            .context("the new labels cannot be kept in the runner file")?;
    }
    Ok(Identity {
        name: runner.name,
        address: address(&runner.address).with_context(|| format!("{} is wrong", path.display()))?,
        credentials: runner.credentials,
        labels,
        ephemeral: runner.ephemeral,
        filed: runner.labels,
        connection: None,
    })
}

fn of_connection(
    name: &str,
    connection: &config::Connection,
    config: &Config,
    wishes: &Wishes,
) -> anyhow::Result<Identity> {
    let lists = [&wishes.labels, &connection.labels, &config.runner.labels].map(Some);
    let (labels, _) = served(wanted(lists))?;
    Ok(Identity {
        name: name.to_owned(),
        address: address(&connection.url)?,
        credentials: Credentials {
            uuid: connection.uuid.clone(),
            token: Secret::new(connection.read_token()?.reveal()),
        },
        labels,
        ephemeral: false,
        filed: Vec::new(),
        connection: Some(name.to_owned()),
    })
}

/// The first list that is not empty.
fn wanted<const N: usize>(lists: [Option<&Vec<String>>; N]) -> &[String] {
    lists
        .into_iter()
        .flatten()
        .find(|list| !list.is_empty())
        .map_or(&[], Vec::as_slice)
}

/// The labels that can be served here, and all of them.
fn served(texts: &[String]) -> anyhow::Result<(Labels, Labels)> {
    let (all, remarks) = Labels::read(texts);
    for remark in remarks {
        tracing::warn!("{remark}");
    }
    let (here, elsewhere): (Vec<_>, Vec<_>) = all.iter().partition(|label| *label.place() == Place::Host);
    if !elsewhere.is_empty() {
        let names: Vec<&str> = elsewhere.iter().map(|label| label.text()).collect();
        let names = names.join(", ");
        if here.is_empty() {
            bail!(
                "no label can be served: {names} need containers, which this version does not run yet; give a label such as `build:host`"
            );
        }
        tracing::warn!("ignored labels, since this version does not run containers yet: {names}");
    }
    if all.is_empty() {
        tracing::warn!("the runner has no labels, so that no job with a label is for it");
    }
    let (here, _) = Labels::read(here.iter().map(|label| label.text()));
    Ok((here, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn labels_come_from_the_first_list_that_has_any() {
        let (none, some, more) = (Vec::new(), texts(&["a:host"]), texts(&["b:host"]));
        assert_eq!(
            wanted([Some(&none), None, Some(&some), Some(&more)]),
            texts(&["a:host"])
        );
        assert!(wanted([Some(&none)]).is_empty());
    }

    #[test]
    fn only_what_runs_on_this_machine_is_offered() {
        let (here, all) = served(&texts(&["a:host", "b:docker://node", "c"])).unwrap();
        assert_eq!(here.texts(), ["a:host", "c"]);
        assert_eq!(all.texts(), ["a:host", "b:docker://node", "c"]);
        let error = served(&texts(&["b:docker://node"])).unwrap_err().to_string();
        assert!(
            error.starts_with("no label can be served: b:docker://node need"),
            "{error}"
        );
        assert!(served(&[]).unwrap().0.is_empty());
    }
}
