//! Which program runs a script, with which arguments, and what the script file looks like.

use std::fmt::Write as _;

/// How a script is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shell {
    /// The program: a name that is looked up in `PATH`, or a path.
    pub program: String,
    /// Its arguments with `{0}` where the script file goes.
    pub arguments: String,
    /// The extension of the script file, with its dot.
    pub extension: &'static str,
}

/// A shell that is neither built in nor a format string with a place for the script.
pub(super) const INVALID_SHELL: &str = "Invalid shell option. Shell must be a valid built-in (bash, sh, cmd, powershell, pwsh) \
     or a format string containing '{0}'";

/// The shells with a name: name, arguments, extension of the script.
const BUILT_IN: [(&str, &str, &str); 6] = [
    ("bash", "--noprofile --norc -e -o pipefail {0}", ".sh"),
    ("sh", "-e {0}", ".sh"),
    ("python", "{0}", ".py"),
    ("pwsh", "-command \". '{0}'\"", ".ps1"),
    ("powershell", "-command \". '{0}'\"", ".ps1"),
    ("cmd", "/D /E:ON /V:OFF /S /C \"CALL \"{0}\"\"", ".cmd"),
];

impl Shell {
    /// The shell that a step gets without asking: bash with the arguments of `sh` where bash exists, else `sh`.
    pub fn default_of(bash_exists: bool) -> Self {
        let program = if bash_exists { "bash" } else { "sh" };
        Self {
            program: program.to_owned(),
            arguments: "-e {0}".to_owned(),
            extension: ".sh",
        }
    }

    /// Reads a `shell` key.
    ///
    /// # Errors
    /// The text for the workflow's author if it is no shell.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        let (program, rest) = text.split_once(' ').unwrap_or((text, ""));
        let known = BUILT_IN
            .iter()
            .find(|(name, ..)| name.eq_ignore_ascii_case(program));
        let extension = known.map_or("", |(_, _, extension)| extension);
        if rest.trim().is_empty() {
            let (_, arguments, _) = known.ok_or(INVALID_SHELL)?;
            return Ok(Self {
                program: program.to_owned(),
                arguments: (*arguments).to_owned(),
                extension,
            });
        }
        if !rest.contains("{0}") {
            return Err(INVALID_SHELL);
        }
        Ok(Self {
            program: program.to_owned(),
            arguments: rest.trim().to_owned(),
            extension,
        })
    }

    /// The arguments with the script in its place, split as a command line is.
    pub fn argv(&self, script: &str) -> Vec<String> {
        let unescape = |text: &str| text.replace("{{", "{").replace("}}", "}");
        split_command_line(&self.arguments)
            .iter()
            .map(|argument| {
                argument
                    .split("{0}")
                    .map(unescape)
                    .collect::<Vec<_>>()
                    .join(script)
            })
            .collect()
    }

    /// What the log shows after `shell: `.
    pub fn description(&self, program_path: Option<&str>) -> String {
        format!("{} {}", program_path.unwrap_or(&self.program), self.arguments)
    }

    /// What is written to the script file. PowerShell stops at the first error and ends with the last exit code, as
    /// on GitHub; every other script is written as it is.
    pub fn script_file(&self, script: &str) -> String {
        match self.extension {
            ".ps1" => format!(
                "$ErrorActionPreference = 'stop'\n{script}\n\
                 if ((Test-Path -LiteralPath variable:\\LASTEXITCODE)) {{ exit $LASTEXITCODE }}\n"
            ),
            ".cmd" => format!("@echo off\n{script}"),
            _ => script.to_owned(),
        }
    }
}

/// Splits a command line at blanks outside of double quotes, as GitHub's runner does; `\"` is a quote, single quotes
/// mean nothing.
fn split_command_line(line: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut current: Option<String> = None;
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&'"') => {
                characters.next();
                current.get_or_insert_default().push('"');
            }
            '"' => {
                quoted = !quoted;
                current.get_or_insert_default();
            }
            ' ' | '\t' if !quoted => arguments.extend(current.take()),
            _ => current.get_or_insert_default().push(character),
        }
    }
    arguments.extend(current);
    arguments
}

/// The lines with which a script announces itself in the log.
pub(super) fn script_header(script: &str, shell: &str, env: &[(String, String)]) -> String {
    let first = script
        .trim_start_matches(['\r', '\n'])
        .lines()
        .next()
        .unwrap_or_default();
    let mut header = format!("##[group]Run {first}\n");
    for line in script.lines() {
        // Writing to a String cannot fail.
        let _ok = writeln!(header, "\x1b[36;1m{line}\x1b[0m");
    }
    let _ok = writeln!(header, "shell: {shell}");
    push_map(&mut header, "env", env);
    header.push_str("##[endgroup]\n");
    header
}

/// Appends `title:` and an indented line for each entry, if there is any.
pub(super) fn push_map(header: &mut String, title: &str, entries: &[(String, String)]) {
    if entries.is_empty() {
        return;
    }
    let _ok = writeln!(header, "{title}:");
    for (name, value) in entries {
        let _ok = writeln!(header, "  {name}: {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shell: &str, want: &[&str]) {
        let shell = Shell::parse(shell).unwrap();
        let mut argv = vec![shell.program.clone()];
        argv.extend(shell.argv("/t/s x"));
        assert_eq!(argv, want);
    }

    #[test]
    fn shells_become_argument_lists() {
        check(
            "bash",
            &["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "/t/s x"],
        );
        check(
            "BASH",
            &["BASH", "--noprofile", "--norc", "-e", "-o", "pipefail", "/t/s x"],
        );
        check("sh", &["sh", "-e", "/t/s x"]);
        check("python", &["python", "/t/s x"]);
        check("pwsh", &["pwsh", "-command", ". '/t/s x'"]);
        check("node {0}", &["node", "/t/s x"]);
        check("bash -e {0} tail", &["bash", "-e", "/t/s x", "tail"]);
        check(
            "env \"PROBE=two words\" bash -eu {0}",
            &["env", "PROBE=two words", "bash", "-eu", "/t/s x"],
        );
        check("perl '-E' {0}", &["perl", "'-E'", "/t/s x"]);
        check("x {{}} \"a \\\"b\" {0}", &["x", "{}", "a \"b", "/t/s x"]);
    }

    #[test]
    fn what_is_no_shell_is_refused() {
        for text in ["", "fish", "bash -e", "node"] {
            assert_eq!(Shell::parse(text), Err(INVALID_SHELL), "{text}");
        }
    }

    #[test]
    fn known_programs_keep_their_extension_with_own_arguments() {
        assert_eq!(Shell::parse("python -u {0}").unwrap().extension, ".py");
        assert_eq!(Shell::parse("ruby {0}").unwrap().extension, "");
    }
}
