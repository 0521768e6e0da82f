//! Flags of `gantry exec` that say how containers and servers of a run are made. Jobs run on this machine, so none of
//! them has an effect; whoever gives one is told so.

use std::path::PathBuf;

use clap::Args;

/// The flags that concern containers or the artifact server only.
#[derive(Debug, Args, Default)]
#[command(next_help_heading = "Options of containers and servers, without effect on this machine")]
pub struct ContainerFlags {
    /// Pull images that are there already
    #[arg(short, long)]
    pull: bool,
    /// Build the images of actions that are there already
    #[arg(long)]
    rebuild: bool,
    /// Give containers all rights
    #[arg(long)]
    privileged: bool,
    /// The user namespace of containers
    #[arg(long, value_name = "NAME")]
    userns: Option<String>,
    /// The platform of containers, such as linux/amd64
    #[arg(long, value_name = "PLATFORM")]
    container_architecture: Option<String>,
    /// The socket of the container engine that containers get
    #[arg(long, value_name = "PATH")]
    container_daemon_socket: Option<String>,
    /// A kernel capability that containers get
    #[arg(long, value_name = "NAME")]
    container_cap_add: Vec<String>,
    /// A kernel capability that containers lose
    #[arg(long, value_name = "NAME")]
    container_cap_drop: Vec<String>,
    /// More options for containers
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    container_opts: Option<String>,
    /// The network of containers
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Where the artifact server keeps its files
    #[arg(long, value_name = "DIR")]
    artifact_server_path: Option<PathBuf>,
    /// The address of the artifact server
    #[arg(long, value_name = "ADDRESS")]
    artifact_server_addr: Option<String>,
    /// The port of the artifact server
    #[arg(long, value_name = "PORT")]
    artifact_server_port: Option<u16>,
}

impl ContainerFlags {
    /// One sentence for the given flags of containers, and one for those of the artifact server.
    pub fn without_effect(&self) -> Vec<String> {
        let containers = [
            ("--pull", self.pull),
            ("--rebuild", self.rebuild),
            ("--privileged", self.privileged),
            ("--userns", self.userns.is_some()),
            ("--container-architecture", self.container_architecture.is_some()),
            (
                "--container-daemon-socket",
                self.container_daemon_socket.is_some(),
            ),
            ("--container-cap-add", !self.container_cap_add.is_empty()),
            ("--container-cap-drop", !self.container_cap_drop.is_empty()),
            ("--container-opts", self.container_opts.is_some()),
            ("--network", self.network.is_some()),
        ];
        let artifacts = [
            ("--artifact-server-path", self.artifact_server_path.is_some()),
            ("--artifact-server-addr", self.artifact_server_addr.is_some()),
            ("--artifact-server-port", self.artifact_server_port.is_some()),
        ];
        let sentences = [
            sentence(&containers, "jobs run on this machine, and no container is made"),
            sentence(&artifacts, "no artifact server is started"),
        ];
        sentences.into_iter().flatten().collect()
    }
}

fn sentence(flags: &[(&str, bool)], reason: &str) -> Option<String> {
    let given: Vec<&str> = flags
        .iter()
        .filter(|(_, given)| *given)
        .map(|(flag, _)| *flag)
        .collect();
    let verb = if given.len() == 1 { "has" } else { "have" };
    (!given.is_empty()).then(|| format!("{} {verb} no effect: {reason}", given.join(", ")))
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};

    use super::*;

    #[test]
    fn each_of_the_flags_says_that_it_has_no_effect() {
        let command = ContainerFlags::augment_args(Command::new("exec"));
        for argument in command.get_arguments() {
            let flag = format!("--{}", argument.get_long().expect("a long name"));
            let value = argument.get_action().takes_values().then_some("1");
            let given = ["exec", flag.as_str()].into_iter().chain(value);
            let matches = command.clone().try_get_matches_from(given).expect("a flag");
            let flags = ContainerFlags::from_arg_matches(&matches).expect("flags");
            let sentences = flags.without_effect();
            assert_eq!(sentences.len(), 1, "{flag}");
            assert!(
                sentences[0].starts_with(&format!("{flag} has no effect: ")),
                "{sentences:?}"
            );
        }
        assert!(ContainerFlags::default().without_effect().is_empty());
    }
}
