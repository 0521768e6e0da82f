//! `gantry`: reads the command line, runs one command, and leaves with its exit code.

mod cli;
mod config;
mod daemon;
mod directories;
mod dotenv;
mod echo;
mod hold;
mod logging;
mod record;
mod render;
mod runner;
mod signals;
mod trace;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main().into()
}
