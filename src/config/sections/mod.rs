//! The table of all keys: each section is a struct, its doc comments are the documents' texts.
//!
//! A text that says "Empty:" describes what an empty value means.

mod caches;
mod places;
mod runner;
mod server;
mod service;

pub use caches::{Actions, Cache, Journal, S3};
pub use places::{Container, Host, Kubernetes, NetworkCreateOptions};
pub use runner::{Hooks, Runner};
pub use server::{Connection, Server, Tls};
pub use service::{HealthCheck, JobLog, Log, Metrics};

use super::shape::section;

section! {
    /// The configuration of the program; a key that nobody gives has its default.
    pub struct Config {
        /// What the runner says about itself.
        log: Log;
        /// What holds for the runner and for every job.
        runner: Runner;
        /// Forges that are named here instead of in a runner file, as Forgejo's runner has it.
        server: Server;
        /// What the runner keeps on disk about its work, so that nothing is lost when it is killed.
        journal: Journal;
        /// Actions of other repositories.
        actions: Actions;
        /// What is kept from one job to the next.
        cache: Cache;
        /// Jobs in Docker containers.
        container: Container;
        /// Jobs that run on this machine itself.
        host: Host;
        /// Jobs in Kubernetes.
        kubernetes: Kubernetes;
        /// When the runner claims no jobs because its machine is unwell.
        health_check: HealthCheck;
        /// The runner's metrics for Prometheus.
        metrics: Metrics;
    }
}
