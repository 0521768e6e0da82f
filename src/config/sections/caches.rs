//! `journal`, `actions` and `cache`: what stays on disk.

use crate::config::shape::section;
use crate::config::{GoDuration, Secret, Size};

section! {
    /// `journal`
    pub struct Journal {
        /// The data directory: claimed jobs, and rows and reports that the forge does not have yet.
        /// Empty: `.gantry` beside the runner file.
        dir: String = "\"\"";
        /// How much the rows of all jobs may take while the forge does not answer; then rows are dropped, and the log says so.
        max_size: Size = "1GB";
        /// How long rows may be at risk if the machine loses its power.
        sync_interval: GoDuration = "5s" positive;
    }
}

section! {
    /// `actions`
    pub struct Actions {
        /// Where fetched actions are kept; processes may share it.
        /// Empty: in the user's cache directory.
        dir: String = "\"\"";
        /// How much they may take in MiB; those that were used longest ago are removed first.
        max_size_mb: u64 = "4096";
    }
}

section! {
    /// `cache`
    pub struct Cache {
        /// Whether jobs have a cache.
        enabled: bool = "true";
        /// Where it is kept.
        /// Empty: `~/.cache/actcache`.
        dir: String = "\"\"";
        /// The address by which jobs reach it; not 0.0.0.0.
        /// Empty: this machine's address on the way out.
        host: String = "\"\"";
        /// Its port; 0 takes a free one.
        port: u16 = "0";
        /// The address of a cache server that is used instead.
        /// Empty: none.
        external_server: String = "\"\"";
        /// The secret that is shared with that server.
        external_secret: Secret = "\"\"";
        /// A file with that secret.
        /// Empty: none.
        external_secret_file: String = "\"\"";
        /// Fetches nothing: actions that were fetched before are used, like with `--offline`.
        offline_mode: bool = "false";
        /// Whether the second version of the cache service is offered.
        v2: bool = "true";
        /// A bucket that holds the cache instead of this machine's disk.
        s3: S3;
        /// How long an entry that nobody uses is kept; 0 keeps all.
        retention: GoDuration = "168h";
        /// How much the entries of one repository may take; 0 sets no limit.
        repo_size_limit: Size = "10GB";
        /// How much all entries may take; 0 sets no limit.
        size_limit: Size = "0";
        /// How often old entries are looked for; 0 or less means the default.
        sweep_interval: GoDuration = "1h" positive;
    }
}

section! {
    /// `cache.s3`
    pub struct S3 {
        /// The address of the service.
        /// Empty: no bucket is used.
        endpoint: String = "\"\"";
        /// The bucket.
        bucket: String = "\"\"";
        /// Its region.
        region: String = "us-east-1";
        /// What the names of all objects begin with; slashes around it do not count.
        prefix: String = "\"\"";
        /// Whether the bucket is a part of the path instead of the host name.
        /// Null: false for `*.amazonaws.com`, else true.
        path_style: Option<bool> = "null";
        /// The access key.
        access_key: Secret = "\"\"";
        /// A file with the access key.
        /// Empty: none.
        access_key_file: String = "\"\"";
        /// The secret key.
        secret_key: Secret = "\"\"";
        /// A file with the secret key.
        /// Empty: none.
        secret_key_file: String = "\"\"";
    }
}
