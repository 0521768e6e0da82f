//! What a person may decide about a failed step.

use std::io;

use gantry_actors::engine::run::{Decision, FailedStep};

use super::terminal::{Line, Terminal};
use super::{Question, shell};
use crate::render::diagnostic::printable;

/// What a person wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Shell,
    Decide(Decision),
}

/// Asks until a person has decided or the job is cancelled. Who cannot be asked lets the failure stand.
pub fn ask(terminal: &Terminal, title: &str, question: Question) {
    let decision = decide(terminal, title, &question).unwrap_or_else(|error| {
        tracing::warn!(%error, "the terminal is gone, so the failure stands");
        Some(Decision::Continue)
    });
    if let Some(decision) = decision
        && question.answer.send(decision).is_err()
    {
        tracing::debug!("the job was cancelled while a person decided");
    }
}

/// The decision; none if the job is cancelled meanwhile.
fn decide(terminal: &Terminal, title: &str, question: &Question) -> io::Result<Option<Decision>> {
    let Question { failed, answer } = question;
    terminal.forget_typed();
    terminal.write(&introduction(title, failed))?;
    loop {
        terminal.write("what now? ")?;
        let choice = match terminal.read_line(&|| answer.is_closed())? {
            Line::Typed(line) => choice(&line, failed.command.is_some()),
            Line::End => {
                terminal.write("\n")?;
                Some(Choice::Decide(Decision::Continue))
            }
            Line::Cancelled => {
                terminal.write("\n")?;
                return Ok(None);
            }
        };
        match (choice, &failed.command) {
            (Some(Choice::Decide(decision)), _) => return Ok(Some(decision)),
            (Some(Choice::Shell), Some(command)) => {
                if let Err(error) = shell::run(terminal, command, answer) {
                    terminal.write(&format!("gantry: the shell could not be opened: {error}\n"))?;
                }
                if answer.is_closed() {
                    return Ok(None);
                }
            }
            _ => terminal.write(&choices(failed))?,
        }
    }
}

fn introduction(title: &str, failed: &FailedStep) -> String {
    let name = printable(&failed.name).replace('\n', " ");
    let how = match failed.code {
        Some(code) => format!(" with exit code {code}"),
        None => String::new(),
    };
    let script = match &failed.script {
        Some(path) => format!("Its script is {}\n", printable(path)),
        None => String::new(),
    };
    format!("\n'{name}' of {title} failed{how}.\n{script}{}", choices(failed))
}

fn choices(failed: &FailedStep) -> String {
    let shell = match failed.command {
        Some(_) => "  s  open a shell in its environment\n",
        None => "",
    };
    format!(
        "{shell}  r  run it again\n  k  skip it: it counts as a success\n  g  go on: it has failed\n  Ctrl-C \
         cancels the run\n"
    )
}

fn choice(line: &str, has_shell: bool) -> Option<Choice> {
    match line.trim().to_ascii_lowercase().as_str() {
        "s" | "shell" if has_shell => Some(Choice::Shell),
        "r" | "run" | "rerun" | "again" => Some(Choice::Decide(Decision::Rerun)),
        "k" | "skip" => Some(Choice::Decide(Decision::Skip)),
        "g" | "go" | "go on" => Some(Choice::Decide(Decision::Continue)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_words_are_choices() {
        for (line, want) in [
            (" S\n", Some(Choice::Shell)),
            ("r", Some(Choice::Decide(Decision::Rerun))),
            ("Skip\n", Some(Choice::Decide(Decision::Skip))),
            ("go on\n", Some(Choice::Decide(Decision::Continue))),
            ("\n", None),
            ("x", None),
        ] {
            assert_eq!(choice(line, true), want, "{line:?}");
        }
        assert_eq!(choice("s", false), None);
    }
}
