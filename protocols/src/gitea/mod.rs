//! Gitea and Forgejo: the services `ping.v1` and `runner.v1`.

pub mod wire;
