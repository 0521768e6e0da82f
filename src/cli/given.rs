//! Secrets of the command line: in a flag, in a file, or in a variable.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use gantry_actors::protocols::gitea::Secret;

/// The most that is read of a file.
const LARGEST: u64 = 64 * 1024;

/// Where a secret may stand; what is further up wins.
pub struct Sources<'a> {
    /// The name of the flag for a file.
    pub file_flag: &'static str,
    /// The value of that flag; `-` is stdin.
    pub file: Option<&'a Path>,
    /// The value of the flag for the secret itself.
    pub text: Option<&'a str>,
    /// The variables that may hold it.
    pub variables: &'static [&'static str],
}

impl Sources<'_> {
    /// Finds the secret, without spaces around it. An empty flag or variable is as good as none.
    ///
    /// # Errors
    /// The file cannot be read, or there is nothing in it.
    pub fn find(&self, variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Option<Secret>> {
        if let Some(path) = self.file {
            let subject = || format!("cannot use {} {}", self.file_flag, path.display());
            return read(path).with_context(subject).map(Some);
        }
        let stands = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(Secret::new);
        let in_flag = self.text.and_then(stands);
        Ok(in_flag.or_else(|| {
            let mut names = self.variables.iter();
            names.find_map(|name| stands(&variable(name)?))
        }))
    }
}

fn read(path: &Path) -> anyhow::Result<Secret> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        io::stdin().lock().take(LARGEST).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(LARGEST).read_to_string(&mut text))
    };
    read?;
    let text = text.trim();
    if text.is_empty() {
        bail!("it is empty");
    }
    if text.contains(char::is_whitespace) {
        bail!("there is more than one word in it");
    }
    Ok(Secret::new(text))
}

/// The variable of this process.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(file: Option<&Path>, text: Option<&str>, variables: &[(&str, &str)]) -> Result<String, String> {
        let sources = Sources {
            file_flag: "--token-file",
            file,
            text,
            variables: &["ONE", "TWO"],
        };
        let lookup = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = sources.find(lookup).map_err(|error| format!("{error:#}"))?;
        Ok(found.map_or_else(String::new, |secret| secret.reveal().to_owned()))
    }

    #[test]
    fn a_file_wins_over_a_flag_and_that_over_variables() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("token");
        std::fs::write(&file, " from-file\n").expect("a file");
        let variables = [("ONE", " "), ("TWO", "from-two\n")];
        let table = [
            (Some(file.as_path()), Some("from-flag"), "from-file"),
            (None, Some(" from-flag "), "from-flag"),
            (None, Some(" "), "from-two"),
            (None, None, "from-two"),
        ];
        for (file, text, expected) in table {
            assert_eq!(find(file, text, &variables).as_deref(), Ok(expected));
        }
        assert_eq!(find(None, None, &[]).as_deref(), Ok(""));
    }

    #[test]
    fn a_file_without_a_secret_is_named_and_not_shown() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("token");
        let shown = file.display();
        let missing = find(Some(&file), Some("flag"), &[]).expect_err("missing");
        assert_eq!(
            missing,
            format!("cannot use --token-file {shown}: No such file or directory (os error 2)")
        );
        for (content, reason) in [
            (" \n", "it is empty"),
            ("hunter2\nhunter3\n", "there is more than one word in it"),
        ] {
            std::fs::write(&file, content).expect("a file");
            let error = find(Some(&file), None, &[]).expect_err("no secret");
            assert_eq!(error, format!("cannot use --token-file {shown}: {reason}"));
        }
    }
}
