//! From the configuration to what jobs and their delivery are given.

use std::path::Path;

use anyhow::Context;
use gantry_actors::claimer::Pacing;
use gantry_actors::engine::action::{ActionAccess, Sources};
use gantry_actors::engine::backend::host::Listing;
use gantry_actors::engine::commands::Customs;
use gantry_actors::engine::run::{Hooks, Settings};
use gantry_actors::journal;
use gantry_actors::local::HostSandboxes;
use gantry_actors::log_stream::Batching;
use gantry_actors::protocols::gitea;

use super::identity::Identity;
use crate::config::{Config, ToolCacheMode};
use crate::directories;

/// What every job of a forge is given.
///
/// # Errors
/// `runner.env_file` is wrong, or a directory cannot be named.
pub fn of_jobs(config: &Config, identity: &Identity) -> anyhow::Result<Settings> {
    let runner = &config.runner;
    let mut env: Vec<(String, String)> = proxies();
    env.extend(
        runner
            .job_envs()
            .context("the variables of jobs cannot be read")?,
    );
    // Agents of monitoring write there on other runners; nobody reads it here.
    let mut extra_env = vec![("RUNNER_PERFLOG".to_owned(), "/dev/null".to_owned())];
    if runner.set_act_env {
        extra_env.push(("ACT".to_owned(), "true".to_owned()));
    }
    extra_env.extend(image_os().map(|name| ("ImageOS".to_owned(), name)));
    let hooks = Hooks::named(&runner.hooks.job_started, &runner.hooks.job_completed, &env);
    let mirror = Some(runner.github_mirror.clone()).filter(|mirror| !mirror.is_empty());
    Ok(Settings {
        env,
        extra_env,
        hooks,
        customs: Customs::Gitea,
        max_timeout: Some(runner.timeout.get()),
        actions: Some(ActionAccess {
            store: directories::actions(config, false)?,
            sources: Sources {
                github_mirror: mirror,
                trusts: identity.trust(config).into_iter().collect(),
                ..Sources::default()
            },
            token_server: Some(identity.url()),
        }),
        ..Settings::default()
    })
}

/// Where the jobs on this machine have their directories.
pub fn host(config: &Config) -> HostSandboxes {
    HostSandboxes {
        root: directories::jobs(config),
        source: None,
        copy_ignored: false,
        listing: Listing::default(),
        tool_cache: match config.runner.tool_cache_mode {
            ToolCacheMode::None => None,
            ToolCacheMode::Shared => Some(directories::cache().join("tools")),
        },
        allowed_environment: Vec::new(),
    }
}

/// When the forge is told what.
pub fn batching(config: &Config) -> Batching {
    let runner = &config.runner;
    Batching {
        rows: runner.log_report_batch_size.get().into(),
        latency: runner.log_report_max_latency.get(),
        interval: runner.log_report_interval.get(),
        heartbeat: Some(runner.state_report_interval.get()),
        in_order: false,
    }
}

/// How often the forge is asked for jobs.
pub fn pacing(config: &Config, identity: &Identity) -> Pacing {
    let first = identity.fetch_interval(config);
    Pacing {
        first,
        longest: config.runner.fetch_interval_max.get().max(first),
        seed: seed(&identity.credentials.uuid),
    }
}

/// What the journal may do with the disk.
pub fn journal(config: &Config) -> journal::Settings {
    journal::Settings {
        cap: config.journal.max_size.bytes(),
        sync_interval: config.journal.sync_interval.get(),
        ..journal::Settings::default()
    }
}

/// How long the forge may take for an answer.
pub fn calls(config: &Config, identity: &Identity) -> gitea::Settings {
    gitea::Settings {
        fetch_timeout: config.runner.fetch_timeout.get(),
        close_timeout: config.runner.report_close_timeout.get(),
        ephemeral: identity.ephemeral,
        ..gitea::Settings::default()
    }
}

/// Runners that are different ask at different times.
fn seed(uuid: &str) -> u64 {
    uuid.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The proxies of the runner's own environment, for jobs: in both spellings, since tools read the one or the other.
fn proxies() -> Vec<(String, String)> {
    proxies_of(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
}

fn proxies_of(variable: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let either = |name: &str| variable(name).or_else(|| variable(&name.to_uppercase()));
    let mut found: Vec<(&str, String)> = ["http_proxy", "https_proxy"]
        .into_iter()
        .filter_map(|name| Some((name, either(name)?)))
        .collect();
    if found.is_empty() {
        return Vec::new();
    }
    // What a job reaches on its own machine never goes through a proxy.
    let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
    let exempt = either("no_proxy").unwrap_or_default();
    let mut exempt: Vec<String> = exempt
        .split(',')
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    for name in own {
        if !exempt.contains(&name) {
            exempt.push(name);
        }
    }
    found.push(("no_proxy", exempt.join(",")));
    found
        .into_iter()
        .flat_map(|(name, value)| [(name.to_owned(), value.clone()), (name.to_uppercase(), value)])
        .collect()
}

/// What actions that set up tools take for the name of the image, such as `ubuntu24`: this machine's system.
fn image_os() -> Option<String> {
    image_name(&std::fs::read_to_string(Path::new("/etc/os-release")).ok()?)
}

fn image_name(os_release: &str) -> Option<String> {
    let value = |key: &str| {
        let line = os_release.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.strip_prefix('=')?.trim_matches('"').to_owned())
    };
    let version = value("VERSION_ID").unwrap_or_default();
    let major = version.split('.').next().unwrap_or_default();
    Some(format!("{}{major}", value("ID")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_get_the_runners_proxies_in_both_spellings() {
        let variable = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://p:1".to_owned()),
            "no_proxy" => Some("forge.example, localhost".to_owned()),
            _ => None,
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let exempt = "forge.example,localhost,127.0.0.1,::1";
        assert_eq!(
            proxies_of(variable),
            [
                pair("https_proxy", "http://p:1"),
                pair("HTTPS_PROXY", "http://p:1"),
                pair("no_proxy", exempt),
                pair("NO_PROXY", exempt),
            ]
        );
        assert!(proxies_of(|name| (name == "no_proxy").then(|| "x".to_owned())).is_empty());
    }

    #[test]
    fn the_system_names_the_image() {
        for (text, name) in [
            ("ID=ubuntu\nVERSION_ID=\"24.04\"\n", Some("ubuntu24")),
            ("NAME=x\nID=\"debian\"\nVERSION_ID=\"12\"", Some("debian12")),
            ("ID=arch", Some("arch")),
            ("", None),
        ] {
            assert_eq!(image_name(text).as_deref(), name);
        }
    }

    #[test]
    fn runners_ask_at_different_times() {
        assert_ne!(seed("a"), seed("b"));
    }
}
