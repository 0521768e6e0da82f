//! Long texts that GitHub's users know.

use super::stdout::Name;

/// The warning about `set-output` and `save-state`.
pub(super) fn deprecated(name: Name) -> String {
    format!(
        "The `{}` command is deprecated and will be disabled soon. Please upgrade to using Environment Files. For \
         more information see: https://github.blog/changelog/\
         2022-10-11-github-actions-deprecating-save-state-and-set-output-commands/",
        name.as_str()
    )
}

/// Why `set-env` and `add-path` fail.
pub(super) fn disabled(name: Name) -> String {
    format!(
        "The `{}` command is disabled. Please upgrade to using Environment Files or opt into unsecure command \
         execution by setting the `ACTIONS_ALLOW_UNSECURE_COMMANDS` environment variable to `true`. For more \
         information see: https://github.blog/changelog/\
         2020-10-01-github-actions-deprecating-set-env-and-add-path-commands/",
        name.as_str()
    )
}

/// Why a stop token is refused.
pub(super) const UNSECURE_TOKEN: &str = "You cannot use a endToken that is an empty string, the string 'pause-logging', or \
    another workflow command. For more information see: https://docs.github.com/actions/learn-github-actions/\
    workflow-commands-for-github-actions#example-stopping-and-starting-workflow-commands or opt into insecure \
    command execution by setting the `ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS` environment variable to `true`.";
