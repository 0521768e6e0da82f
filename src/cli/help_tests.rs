//! The table of flags, as people see it.

use std::path::Path;

use clap::{Command, CommandFactory};

use super::Cli;

/// What `--help` says where nobody knows how wide the terminal is.
fn help_of(command: &Command) -> String {
    command.clone().term_width(100).render_long_help().to_string()
}

#[test]
fn help_is_as_it_was() {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    insta::assert_snapshot!("gantry", help_of(&root));
    for command in root.get_subcommands() {
        insta::assert_snapshot!(format!("gantry-{}", command.get_name()), help_of(command));
    }
}

#[test]
fn nothing_of_the_command_line_is_hidden() {
    let root = Cli::command();
    for command in [&root].into_iter().chain(root.get_subcommands()) {
        assert!(!command.is_hide_set(), "{}", command.get_name());
        for argument in command.get_arguments() {
            let id = argument.get_id();
            assert!(!argument.is_hide_set(), "{id}");
            assert!(argument.get_help().is_some(), "{id} has no help");
        }
    }
}

#[test]
fn the_documentation_names_every_flag_of_exec() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/exec.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let root = Cli::command();
    let exec = root.find_subcommand("exec").expect("the command");
    for argument in exec.get_arguments() {
        let long = format!("--{}", argument.get_long().expect("a long name"));
        let names = [Some(long), argument.get_short().map(|short| format!("-{short}"))];
        for name in names.into_iter().flatten() {
            let is_part = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
            let quoted = format!("`{name}");
            let mut found = page.split(&quoted).skip(1);
            assert!(
                found.any(|rest| !is_part(rest)),
                "docs/exec.md does not name `{name}`"
            );
        }
    }
}
