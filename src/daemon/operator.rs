//! What the operator has asked for besides jobs, as the configuration has it.

use std::path::PathBuf;
use std::sync::Arc;

use gantry_actors::operator::{CleanUp, Health, LogCopies, PostTask};

use super::identity::Identity;
use crate::config::Config;
use crate::directories;

/// The check of the machine, if one is wanted. The machine is one: the script hears of the first forge only.
///
/// # Errors
/// `runner.env_file` is wrong.
pub fn health(config: &Config, identity: &Identity) -> anyhow::Result<Option<Health>> {
    let wanted = &config.health_check;
    if !wanted.enabled {
        return Ok(None);
    }
    let text = |value: std::ffi::OsString| value.into_string().ok();
    let mut env: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((text(name)?, text(value)?)))
        .collect();
    env.extend(config.runner.job_envs()?);
    env.push(("GITEA_RUNNER_NAME".to_owned(), identity.name.clone()));
    env.push(("GITEA_INSTANCE_URL".to_owned(), identity.url()));
    Ok(Some(Health {
        directory: directories::jobs(config),
        min_free: u64::from(wanted.min_free_disk_space_mb.get()).saturating_mul(1024 * 1024),
        script: named(&wanted.script),
        env,
        interval: wanted.interval.get(),
        timeout: wanted.timeout.get(),
    }))
}

/// What an idle runner removes, if anything.
pub fn clean_up(config: &Config) -> Option<CleanUp> {
    let runner = &config.runner;
    CleanUp::new(
        directories::jobs(config),
        runner.workdir_cleanup_age.get(),
        runner.idle_cleanup_interval.get(),
    )
}

/// Where copies of the jobs' logs are kept, if anywhere.
pub fn copies(config: &Config) -> Option<Arc<LogCopies>> {
    let wanted = &config.log.job;
    Some(Arc::new(LogCopies {
        directory: named(&wanted.dir)?,
        retention: Some(wanted.retention.get()).filter(|retention| !retention.is_zero()),
        max_size: Some(wanted.max_size.bytes()).filter(|size| *size > 0),
    }))
}

/// The program after each job, if there is one.
///
/// # Errors
/// `runner.env_file` is wrong.
pub fn post_task(config: &Config) -> anyhow::Result<Option<Arc<PostTask>>> {
    let runner = &config.runner;
    let Some(script) = named(&runner.post_task_script) else {
        return Ok(None);
    };
    Ok(Some(Arc::new(PostTask {
        script,
        timeout: runner.post_task_script_timeout.get(),
        env: runner.job_envs()?.into_iter().collect(),
    })))
}

fn named(path: &str) -> Option<PathBuf> {
    (!path.is_empty()).then(|| PathBuf::from(path))
}
