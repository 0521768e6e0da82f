//! The command line: one table of flags, and the way from it to a command.

mod bug_report;
mod config;
mod create_runner_file;
mod daemon;
mod exec;
pub mod exit;
mod explain;
pub mod files;
mod given;
#[cfg(test)]
mod help_tests;
mod manual;
mod prompt;
mod reach;
mod register;
mod sources;
mod validate;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

pub use exit::Exit;

use crate::config::{self as configuration, Level};
use crate::logging;
use crate::render::Screen;

/// An Actions runner: runs GitHub-Actions-style workflows.
#[derive(Debug, Parser)]
#[command(name = "gantry", version, arg_required_else_help = true)]
struct Cli {
    /// Configuration file; without it the defaults apply
    #[arg(short, long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Give a key of the configuration, over the file and the environment
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(subcommand)]
    command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
enum Command {
    /// Make this machine a runner of a Gitea or Forgejo
    Register(Box<register::Flags>),
    /// Write the runner file of a runner that was registered on a Forgejo itself, with a shared secret
    CreateRunnerFile(Box<create_runner_file::Flags>),
    /// Run workflows on this machine, without a server
    Exec(Box<ExecFlags>),
    /// Say why the jobs and steps of the last run ran or not, and with what
    Explain(ExplainFlags),
    /// Check workflow and action.yml files
    Validate(ValidateFlags),
    /// Print a script that completes commands and flags in a shell
    Completion {
        /// The shell
        shell: manual::Shell,
    },
    /// Print the manual, or write one page for each command to a directory
    Man {
        /// Where the pages are written
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    /// Print what a report of a bug should say of this machine
    BugReport,
    /// Read, check and edit the configuration file
    Config(config::ConfigFlags),
    /// Claim jobs from a forge and run them
    Daemon(daemon::Flags),
    /// The old name of `config generate`
    GenerateConfig,
}

/// The flags of `gantry exec`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
struct ExecFlags {
    /// List the jobs, run nothing
    #[arg(short, long)]
    list: bool,
    /// Show which job waits for which, run nothing
    #[arg(long, conflicts_with_all = ["list", "dryrun"])]
    graph: bool,
    /// Show what would run, run nothing
    #[arg(short = 'n', long)]
    dryrun: bool,
    /// Run again whenever a file changes that git does not ignore
    #[arg(long)]
    watch: bool,
    /// Run only this job and what it needs
    #[arg(short, long, value_name = "ID")]
    job: Option<String>,
    /// The event [default: the only event of the workflows, else push]
    #[arg(short = 'E', long, value_name = "NAME")]
    event: Option<String>,
    /// File with the event's payload as JSON
    #[arg(short = 'e', long, value_name = "FILE")]
    eventpath: Option<PathBuf>,
    /// Workflow file or directory [default: the first of .gitea/workflows, .forgejo/workflows, .github/workflows]
    #[arg(short = 'W', long, value_name = "PATH")]
    workflows: Option<PathBuf>,
    /// Directory in which to work
    #[arg(short = 'C', long, default_value = ".", value_name = "DIR")]
    directory: PathBuf,
    /// Where jobs run: `host`, an image, or LABEL=host, LABEL=IMAGE for one label
    #[arg(short, long, value_name = "WHERE", allow_hyphen_values = true)]
    image: Vec<String>,
    /// An input of `workflow_dispatch`
    #[arg(long, value_name = "NAME=VALUE")]
    input: Vec<String>,
    /// File with inputs in .env format
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,
    /// An environment variable for every job; without a value, that of this process
    #[arg(long, value_name = "NAME[=VALUE]")]
    env: Vec<String>,
    /// File with environment variables in .env format [default: .env, if it exists]
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// A secret; without a value, that of the environment variable, else it is asked for
    #[arg(short, long, value_name = "NAME[=VALUE]")]
    secret: Vec<String>,
    /// A variable of the vars context
    #[arg(long, value_name = "NAME=VALUE")]
    var: Vec<String>,
    /// Stop where a step fails: open a shell in its environment, run it again, skip it or go on
    #[arg(long, value_name = "WHEN", value_enum)]
    break_on: Option<BreakOn>,
    /// Write where the time went to a file that Perfetto and Chrome's tracing show
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Print one event per line as JSON
    #[arg(long)]
    json: bool,
    /// Print every row with its job in front, also on a terminal
    #[arg(long)]
    plain: bool,
    /// Do not look for workflows in subdirectories
    #[arg(long)]
    no_recurse: bool,
    /// Use the first event of the workflows if there are several
    #[arg(long)]
    detect_event: bool,
    /// The server of actions and reusable workflows that are named `owner/repo`
    #[arg(long, value_name = "URL", default_value = "https://github.com")]
    default_actions_url: String,
    /// Fetch nothing: use the actions that were fetched before
    #[arg(long)]
    offline: bool,
    /// Run `actions/checkout` as any action, also where the copy of the directory would do
    #[arg(long)]
    no_skip_checkout: bool,
    /// Show debug rows of the jobs and what the runner does
    #[arg(short, long)]
    debug: bool,
    /// Show secrets in the log as they are
    #[arg(long)]
    insecure_secrets: bool,
    /// Copy for the jobs only what git does not ignore; `=false` copies everything
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = ArgAction::Set
    )]
    use_gitignore: bool,
    /// Who shares the tool cache of a job
    #[arg(long, value_name = "MODE", default_value = "none")]
    tool_cache_mode: exec::ToolCacheMode,
    /// The forge that the run is said to be of [default: the server of the remote `origin`]
    #[arg(long, value_name = "URL")]
    gitea_instance: Option<String>,
    #[command(flatten)]
    containers: exec::ContainerFlags,
}

/// Where `gantry exec` stops and asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BreakOn {
    /// A step has failed.
    Failure,
}

/// The flags of `gantry explain`.
#[derive(Debug, Args)]
struct ExplainFlags {
    /// A job by its id, key or name, and a step in it by its number, id or name [default: list the jobs]
    #[arg(value_name = "JOB[/STEP]")]
    what: Option<String>,
    /// Directory whose last run it is
    #[arg(short = 'C', long, default_value = ".", value_name = "DIR")]
    directory: PathBuf,
    /// Show every variable of a step's environment, also those of the sandbox and the contexts
    #[arg(long)]
    env: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The flags of `gantry validate`.
#[derive(Debug, Args)]
struct ValidateFlags {
    /// Files, or directories to search [default: the workflow directories and the actions below the current directory]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one object per mistake as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command that the process was started with.
pub fn main() -> Exit {
    match Cli::try_parse() {
        Ok(cli) => run(cli).unwrap_or_else(|error| report(&error)),
        Err(error) => {
            let exit = if error.use_stderr() {
                Exit::Usage
            } else {
                Exit::Success
            };
            // Nobody is left to tell if the terminal is gone.
            error.print().map_or(Exit::Failure, |()| exit)
        }
    }
}

fn run(cli: Cli) -> exit::Result {
    let given = given(&cli)?;
    match &cli.command {
        Command::Config(flags) => return config::run(flags, given),
        Command::GenerateConfig => return config::generate(),
        _ => {}
    }
    let loaded = configuration::load(given).map_err(exit::configuration)?;
    let mut level = loaded.values.log.level;
    if let Command::Exec(flags) = &cli.command
        && flags.debug
    {
        level = level.max(Level::Debug);
    }
    let screen = Screen::default();
    logging::start(level, screen.clone());
    for warning in loaded.warnings() {
        tracing::warn!("{warning}");
    }
    match cli.command {
        Command::Register(flags) => register::run(&flags, &loaded.values),
        Command::CreateRunnerFile(flags) => create_runner_file::run(&flags, &loaded.values),
        Command::Exec(flags) => exec::run(&flags, &loaded.values, &screen),
        Command::Explain(flags) => explain::run(&flags),
        Command::Validate(flags) => validate::run(&flags),
        Command::Completion { shell } => manual::completion(shell),
        Command::Man { directory } => manual::pages(directory.as_deref()),
        Command::BugReport => bug_report::run(),
        Command::Daemon(flags) => daemon::run(&flags, loaded),
        Command::Config(_) | Command::GenerateConfig => Ok(Exit::Success),
    }
}

/// What the command line and the environment give for the configuration.
fn given(cli: &Cli) -> exit::Result<configuration::Given> {
    let mut given = configuration::Given::to_process(cli.config.as_deref());
    for text in &cli.set {
        let Some((key, value)) = text.split_once('=') else {
            return Err(exit::usage(anyhow::anyhow!(
                "expected KEY=VALUE after --set, found '{text}'"
            )));
        };
        given.flags.push(configuration::Flag {
            name: format!("--set {key}"),
            key: key.to_owned(),
            value: value.to_owned(),
        });
    }
    Ok(given)
}

/// Tells the person at the terminal what went wrong, with all causes in one sentence.
fn report(error: &exit::Error) -> Exit {
    eprintln!("gantry: {:#}", error.cause);
    error.exit
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_table_of_flags_is_consistent() {
        Cli::command().debug_assert();
    }
}
