//! `runner`: the runner itself, and what holds for every job.

use std::collections::BTreeMap;

use super::Tls;
use crate::config::shape::section;
use crate::config::{Count, GoDuration, Secret, ToolCacheMode};

section! {
    /// `runner`
    pub struct Runner {
        /// The file that `gantry register` writes: who the runner is, and its token.
        file: String = ".runner";
        /// How many jobs run at the same time; 0 or less means the default.
        capacity: Count = "1" positive;
        /// Environment variables for every job, such as `{CI_MIRROR: "on"}`.
        envs: BTreeMap<String, String> = "{}";
        /// A file of such variables in .env format; its values win over `runner.envs`.
        /// A file that does not exist is ignored.
        env_file: String = "\"\"";
        /// The longest time that a job may take; 0 or less means the default.
        timeout: GoDuration = "3h" positive;
        /// How long running jobs may go on after the first signal to stop; then they are cancelled.
        shutdown_timeout: GoDuration = "0s";
        /// How long cancelled jobs may clean up when the runner stops; then they are killed.
        shutdown_cancel_timeout: GoDuration = "1m" positive;
        /// Trusts whoever answers for the forge, without looking at certificates.
        insecure: bool = "false";
        /// Certificates for the connection to the forge.
        tls: Tls;
        /// Headers that go with every request to the forge of the runner file, for a gate in front of it.
        extra_headers: BTreeMap<String, Secret> = "{}";
        /// How long one question for a job may take, at most 60s; 0 or less means the default.
        fetch_timeout: GoDuration = "5s" positive;
        /// The pause between two questions for a job; 0 or less means the default.
        fetch_interval: GoDuration = "2s" positive;
        /// The longest such pause, to which it grows while there is nothing to do; 0 or less means the default.
        fetch_interval_max: GoDuration = "5s" positive;
        /// How old a left-over directory of a job must be before it is removed; 0 or less removes none.
        workdir_cleanup_age: GoDuration = "24h";
        /// How often an idle runner looks for such directories; 0 or less means never.
        idle_cleanup_interval: GoDuration = "10m";
        /// How often the rows of a job's log are sent; 0 or less means the default.
        log_report_interval: GoDuration = "5s" positive;
        /// How long a row waits at most until it is sent; 0 or less means the default.
        log_report_max_latency: GoDuration = "3s" positive;
        /// How many waiting rows are sent at once without waiting any longer; 0 or less means the default.
        log_report_batch_size: Count = "100" positive;
        /// How often the state of a job's steps is sent; 0 or less means the default.
        state_report_interval: GoDuration = "5s" positive;
        /// How long one attempt to send the end of a job may take; 0 or less means the default.
        report_close_timeout: GoDuration = "10s" positive;
        /// A server that stands in for `https://github.com` where actions are fetched from.
        /// Empty: none.
        github_mirror: String = "\"\"";
        /// Whether actions are fetched without their history.
        action_shallow_clone: bool = "true";
        /// Whether jobs see the variable `ACT=true`.
        set_act_env: bool = "true";
        /// Whether known actions are changed so that they work with this forge.
        patch_actions: bool = "true";
        /// The labels of the runner, such as `ubuntu-latest:docker://node:22` or `build:host`.
        /// Empty: those of the runner file.
        labels: Vec<String> = "[]";
        /// Whether steps run in a terminal.
        allocate_pty: bool = "false";
        /// The image of jobs that no label matches.
        default_image: String = "docker.gitea.com/runner-images:ubuntu-latest";
        /// Whether jobs have a tool cache of their own (none) or share one (shared).
        tool_cache_mode: ToolCacheMode = "none";
        /// A program that runs on this machine after each job.
        /// Empty: none.
        post_task_script: String = "\"\"";
        /// How long it may take; 0 or less means the default.
        post_task_script_timeout: GoDuration = "5m" positive;
        /// Programs that run inside of a job's environment.
        hooks: Hooks;
    }
}

section! {
    /// `runner.hooks`
    pub struct Hooks {
        /// Runs before a job's first step; its path is one of the job's environment.
        /// Empty: none.
        job_started: String = "\"\"";
        /// Runs after a job's last step; its path is one of the job's environment.
        /// Empty: none.
        job_completed: String = "\"\"";
    }
}
