//! `container`, `host` and `kubernetes`: where jobs run.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use crate::config::GoDuration;
use crate::config::shape::section;

section! {
    /// `container`
    pub struct Container {
        /// The network of the containers: host, bridge, or the name of one.
        /// Empty: one of its own for each job.
        network: String = "\"\"";
        /// How those networks are made.
        network_create_options: NetworkCreateOptions;
        /// The old name of `container.network`, used where that is empty; bridge means a network for each job.
        network_mode: String = "\"\"";
        /// Whether containers are privileged.
        privileged: bool = "false";
        /// More options of `docker create` for every container.
        options: String = "\"\"";
        /// The parent of the work directories in containers; a slash in front does not count.
        workdir_parent: String = "workspace";
        /// The volumes that jobs may mount, as patterns; `**` allows all.
        valid_volumes: Vec<String> = "[]";
        /// The engine's address; `-` finds it and does not mount it into jobs.
        /// Empty: it is found and mounted.
        docker_host: String = "\"\"";
        /// Whether images are pulled although they are there.
        force_pull: bool = "false";
        /// Whether images of Docker actions are built although they are there.
        force_rebuild: bool = "false";
        /// Whether the engine must be there although no label needs it.
        require_docker: bool = "false";
        /// How long the runner waits at its start until the engine answers.
        docker_timeout: GoDuration = "0s";
        /// Whether work directories are directories of this machine.
        bind_workdir: bool = "false";
        /// How long service containers may take to become healthy; 0s means 5m, and less means that nobody waits.
        service_ready_timeout: GoDuration = "0s";
    }
}

section! {
    /// `container.network_create_options`
    pub struct NetworkCreateOptions {
        /// Whether the networks have IPv4.
        /// Null: as the engine does it.
        enable_ipv4: Option<bool> = "null";
        /// Whether the networks have IPv6.
        /// Null: as the engine does it.
        enable_ipv6: Option<bool> = "null";
    }
}

section! {
    /// `host`
    pub struct Host {
        /// Where the directories of jobs on this machine are made.
        /// Empty: the system's directory for temporary files.
        workdir_parent: String = "\"\"";
    }
}

section! {
    /// `kubernetes`
    pub struct Kubernetes {
        /// The file that says how the cluster is reached.
        /// Empty: the cluster that the runner is in, else `$KUBECONFIG`, else `~/.kube/config`.
        kubeconfig: String = "\"\"";
        /// The namespace of the pods.
        /// Empty: that of the service account or of the current context, else default.
        namespace: String = "\"\"";
        /// What every pod has besides what the runner gives it, as Kubernetes writes it.
        pod_template: Map<String, Json> = "{}";
        /// The same for single labels.
        pod_templates: BTreeMap<String, Map<String, Json>> = "{}";
    }
}
