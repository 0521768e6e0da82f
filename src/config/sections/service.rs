//! `log`, `health_check` and `metrics`: what an operator sees of the runner.

use crate::config::shape::section;
use crate::config::{Count, GoDuration, Level, Size};

section! {
    /// `log`
    pub struct Log {
        /// How much the runner itself says on stderr: error, warn, info, debug or trace.
        /// The environment variable `GANTRY_LOG` wins, and may be a filter such as `info,gantry_engine=trace`.
        level: Level = "info";
        /// Copies of the jobs' logs on this machine.
        job: JobLog;
    }
}

section! {
    /// `log.job`
    pub struct JobLog {
        /// The directory of the copies, one file for each job.
        /// Empty: none are kept.
        dir: String = "\"\"";
        /// How long a copy is kept; 0 keeps all.
        retention: GoDuration = "168h";
        /// How large a copy may become; 0 sets no limit.
        max_size: Size = "1GB";
    }
}

section! {
    /// `health_check`
    pub struct HealthCheck {
        /// Whether the machine is checked before a job is claimed.
        enabled: bool = "false";
        /// How much disk space must be free, in MiB; 0 or less means the default.
        min_free_disk_space_mb: Count = "1024" positive;
        /// A program whose failure means that no job is claimed.
        /// Empty: none.
        script: String = "\"\"";
        /// How long an answer of the script counts; 0 or less means the default.
        interval: GoDuration = "30s" positive;
        /// How long the script may take; 0 or less means the default.
        timeout: GoDuration = "10s" positive;
    }
}

section! {
    /// `metrics`
    pub struct Metrics {
        /// Whether metrics and health are served over HTTP.
        enabled: bool = "false";
        /// Where they are served: an IP address or `localhost`, and a port.
        addr: String = "127.0.0.1:9101";
        /// How long the forge may be unreachable before the runner calls itself not ready.
        readiness_grace: GoDuration = "30s";
    }
}
