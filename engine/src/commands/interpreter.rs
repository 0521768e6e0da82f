//! The commands in the output of one step, as a pure machine.

use std::borrow::Cow;

use super::annotations::{Annotation, Counts, Level};
use super::effect::{Customs, Effect, Emit, MatcherRequest, Settings};
use super::matchers::{Matchers, Running};
use super::stdout::{Command, Name, may_hold_command, parse};
use super::texts::{UNSECURE_TOKEN, deprecated, disabled};

/// Stop tokens longer than this are masked; shorter ones are likely to be ordinary words.
const UNMASKED_TOKEN: usize = 6;

/// Interprets the output of one step.
#[derive(Debug)]
pub struct Interpreter {
    settings: Settings,
    echo: bool,
    resume: Option<String>,
    counts: Counts,
    matchers: Matchers,
    running: Running,
    warned_set_output: bool,
    warned_save_state: bool,
}

impl Interpreter {
    /// Starts with the matchers that the job has so far.
    pub fn new(settings: Settings, matchers: Matchers) -> Self {
        let mut running = Running::default();
        running.update(&matchers);
        Self {
            echo: settings.step_debug,
            settings,
            resume: None,
            counts: Counts::default(),
            matchers,
            running,
            warned_set_output: false,
            warned_save_state: false,
        }
    }

    /// The matchers for the next step of the job.
    pub fn into_matchers(self) -> Matchers {
        self.matchers
    }

    /// Tells whether every line of a text would be printed as it is, so that [`Self::on_line`] need not see it.
    pub fn is_plain(&self, text: &str) -> bool {
        self.matchers.is_empty() && !may_hold_command(text)
    }

    /// Interprets a line without its line end.
    pub fn on_line<'l>(&mut self, line: &'l str, emit: Emit<'_, 'l>) {
        match parse(line, self.resume.as_deref()) {
            Some(Command {
                name: Name::Resume, ..
            }) => {
                self.resume = None;
                emit(Effect::Print(Cow::Borrowed(line)));
                self.debug("Resume processing commands", emit);
            }
            Some(command) if self.resume.is_none() => self.on_command(line, &command, emit),
            _ => self.on_text(line, emit),
        }
    }

    /// Takes the contents of a problem matcher file, or why it could not be read.
    pub fn on_matcher_file(
        &mut self,
        request: &MatcherRequest,
        contents: Result<&str, &str>,
        emit: Emit<'_, '_>,
    ) {
        let done = contents.map_err(str::to_owned).and_then(|json| {
            let done = if request.remove {
                self.matchers.remove_file(json)
            } else {
                self.matchers.add(json)
            };
            done.map_err(|error| error.to_string())
        });
        self.running.update(&self.matchers);
        if let Err(reason) = done {
            self.fail(&request.line, &reason, emit);
        }
    }

    /// Reports an error that is no fault of a line, such as one of a command file.
    pub fn report(&mut self, level: Level, text: &str, emit: Emit<'_, '_>) {
        print(level.as_str(), text, emit);
        self.annotate(Annotation::new(level, text), emit);
    }

    fn on_text<'l>(&mut self, line: &'l str, emit: Emit<'_, 'l>) {
        let Some(found) = self.running.on_line(line, &self.settings.workspaces) else {
            return emit(Effect::Print(Cow::Borrowed(line)));
        };
        print(found.annotation.level.as_str(), &found.line, emit);
        self.annotate(found.annotation, emit);
    }

    fn on_command<'l>(&mut self, line: &'l str, command: &Command<'l>, emit: Emit<'_, 'l>) {
        let has_own_output = matches!(
            command.name,
            Name::AddMask
                | Name::Debug
                | Name::Notice
                | Name::Warning
                | Name::Error
                | Name::Group
                | Name::EndGroup
                | Name::StopCommands
        );
        if self.echo && !has_own_output {
            emit(Effect::Print(Cow::Borrowed(line)));
        }
        if let Err(reason) = self.execute(line, command, emit) {
            // The lines of these commands may hold a value that is not masked yet.
            let shown = if has_own_output {
                command.name.as_str()
            } else {
                line
            };
            self.fail(shown, &reason, emit);
        }
    }

    fn execute<'l>(
        &mut self,
        line: &'l str,
        command: &Command<'l>,
        emit: Emit<'_, 'l>,
    ) -> Result<(), Cow<'static, str>> {
        match command.name {
            Name::SetOutput | Name::SaveState => self.set_value(command, emit)?,
            Name::SetEnv => self.set_env(command, emit)?,
            Name::AddPath => self.add_path(command, emit)?,
            Name::AddMask => self.add_mask(command, emit),
            Name::AddMatcher => self.add_matcher(line, command, emit),
            Name::RemoveMatcher => self.remove_matcher(line, command, emit),
            Name::Debug => self.debug(&command.data, emit),
            Name::Notice => self.issue(Level::Notice, command, emit),
            Name::Warning => self.issue(Level::Warning, command, emit),
            Name::Error => self.issue(Level::Error, command, emit),
            Name::Group => print("group", &command.data, emit),
            Name::EndGroup => print("endgroup", "", emit),
            Name::Echo => self.set_echo(command, emit)?,
            Name::StopCommands => self.stop(line, command, emit)?,
            Name::Resume => {}
        }
        Ok(())
    }

    fn set_value(&mut self, command: &Command<'_>, emit: Emit<'_, '_>) -> Result<(), Cow<'static, str>> {
        let output = command.name == Name::SetOutput;
        let warned = if output {
            &mut self.warned_set_output
        } else {
            &mut self.warned_save_state
        };
        // GitHub repeats the warning for each use; once a step says as much.
        if !std::mem::replace(warned, true) {
            self.report(Level::Warning, &deprecated(command.name), emit);
        }
        let (name, value) = (required_name(command)?, command.data.clone().into_owned());
        self.debug(&format!("{name}='{value}'"), emit);
        emit(if output {
            Effect::SetOutput { name, value }
        } else {
            Effect::SaveState { name, value }
        });
        Ok(())
    }

    fn set_env(&mut self, command: &Command<'_>, emit: Emit<'_, '_>) -> Result<(), Cow<'static, str>> {
        self.check_allowed(command.name)?;
        let (name, value) = (required_name(command)?, command.data.clone().into_owned());
        if name.eq_ignore_ascii_case("NODE_OPTIONS") {
            let text = "Can't update NODE_OPTIONS environment variable using ::set-env:: command.";
            self.report(Level::Error, text, emit);
            return Ok(());
        }
        self.debug(&format!("{name}='{value}'"), emit);
        emit(Effect::SetEnv { name, value });
        Ok(())
    }

    fn add_path(&mut self, command: &Command<'_>, emit: Emit<'_, '_>) -> Result<(), Cow<'static, str>> {
        self.check_allowed(command.name)?;
        if command.data.is_empty() {
            return Err("Value cannot be empty. (Parameter 'path')".into());
        }
        emit(Effect::AddPath(command.data.clone().into_owned()));
        Ok(())
    }

    fn check_allowed(&self, name: Name) -> Result<(), Cow<'static, str>> {
        if self.settings.allow_unsecure_commands {
            Ok(())
        } else {
            Err(disabled(name).into())
        }
    }

    fn add_mask(&mut self, command: &Command<'_>, emit: Emit<'_, '_>) {
        if command.data.trim().is_empty() {
            let text = "Can't add secret mask for empty string in ##[add-mask] command.";
            return self.report(Level::Warning, text, emit);
        }
        emit(Effect::AddMask(command.data.clone().into_owned()));
        if self.echo {
            emit(Effect::Print("::add-mask::***".into()));
        }
    }

    fn add_matcher(&mut self, line: &str, command: &Command<'_>, emit: Emit<'_, '_>) {
        if command.data.is_empty() {
            return self.report(Level::Warning, "File path must be specified.", emit);
        }
        let path = command.data.clone().into_owned();
        emit(Effect::ReadMatchers(MatcherRequest {
            path,
            line: line.to_owned(),
            remove: false,
        }));
    }

    fn remove_matcher(&mut self, line: &str, command: &Command<'_>, emit: Emit<'_, '_>) {
        match (command.property("owner"), &*command.data) {
            (None, "") => {
                let text =
                    "Either an owner name or a file path must be specified in ##[remove-matcher] command.";
                self.report(Level::Warning, text, emit);
            }
            (None, path) => {
                let (path, line) = (path.to_owned(), line.to_owned());
                emit(Effect::ReadMatchers(MatcherRequest {
                    path,
                    line,
                    remove: true,
                }));
            }
            (Some(owner), "") => {
                self.matchers.remove(owner);
                self.running.update(&self.matchers);
            }
            (Some(_), _) => {
                let text = "Either specify an owner name or a file path in ##[remove-matcher] command. Both values \
                            cannot be set.";
                self.report(Level::Warning, text, emit);
            }
        }
    }

    fn issue(&mut self, level: Level, command: &Command<'_>, emit: Emit<'_, '_>) {
        let mut notes = Vec::new();
        let annotation = Annotation::from_command(level, command, &self.settings.workspaces, &mut |note| {
            notes.push(note);
        });
        for note in notes {
            self.debug(&note, emit);
        }
        let text = if self.settings.customs == Customs::Gitea {
            annotation.head() + &command.data
        } else {
            command.data.to_string()
        };
        print(level.as_str(), &text, emit);
        self.annotate(annotation, emit);
    }

    fn set_echo(&mut self, command: &Command<'_>, emit: Emit<'_, '_>) -> Result<(), Cow<'static, str>> {
        self.echo = match command.data.trim().to_ascii_lowercase().as_str() {
            "on" => true,
            "off" => false,
            _ => {
                let value = &command.data;
                return Err(format!(
                    "Invalid echo command value. Possible values can be: 'on', 'off'. Current value is: '{value}'."
                )
                .into());
            }
        };
        self.debug(
            &format!(
                "Setting echo command value to '{}'",
                if self.echo { "on" } else { "off" }
            ),
            emit,
        );
        Ok(())
    }

    fn stop<'l>(
        &mut self,
        line: &'l str,
        command: &Command<'_>,
        emit: Emit<'_, 'l>,
    ) -> Result<(), Cow<'static, str>> {
        let token = command.data.clone().into_owned();
        let weak = token.is_empty() || token == "pause-logging" || Name::from_text(&token).is_some();
        if weak && !self.settings.allow_unsecure_stop_tokens {
            return Err(UNSECURE_TOKEN.into());
        }
        if token.chars().count() > UNMASKED_TOKEN {
            emit(Effect::AddMask(token.clone()));
        }
        emit(Effect::Print(Cow::Borrowed(line)));
        self.debug(
            &format!("Paused processing commands until '##[{token}]' is received"),
            emit,
        );
        self.resume = Some(token);
        Ok(())
    }

    fn debug(&self, text: &str, emit: Emit<'_, '_>) {
        if self.settings.step_debug {
            print("debug", text, emit);
        }
    }

    fn fail(&mut self, shown: &str, reason: &str, emit: Emit<'_, '_>) {
        self.report(
            Level::Error,
            &format!("Unable to process command '{shown}' successfully."),
            emit,
        );
        self.report(Level::Error, reason, emit);
        emit(Effect::FailStep);
    }

    fn annotate(&mut self, annotation: Annotation, emit: Emit<'_, '_>) {
        if self.counts.admit(annotation.level) {
            emit(Effect::Annotate(annotation));
        }
    }
}

/// Prints `##[tag]text`; each line of the text becomes a row.
fn print(tag: &str, text: &str, emit: Emit<'_, '_>) {
    let mut lines = text.split('\n');
    emit(Effect::Print(
        format!("##[{tag}]{}", lines.next().unwrap_or_default()).into(),
    ));
    for line in lines {
        emit(Effect::Print(line.to_owned().into()));
    }
}

fn required_name(command: &Command<'_>) -> Result<String, Cow<'static, str>> {
    let missing = || {
        format!(
            "Required field 'name' is missing in ##[{}] command.",
            command.name.as_str()
        )
        .into()
    };
    command.property("name").map(str::to_owned).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(effect: Effect<'_>) -> String {
        match effect {
            Effect::Print(row) => row.into_owned(),
            Effect::AddMask(value) => format!("<mask {value}>"),
            Effect::SetOutput { name, value } => format!("<output {name}={value}>"),
            Effect::SaveState { name, value } => format!("<state {name}={value}>"),
            Effect::SetEnv { name, value } => format!("<env {name}={value}>"),
            Effect::AddPath(path) => format!("<path {path}>"),
            Effect::ReadMatchers(request) => format!("<read {}>", request.path),
            Effect::Annotate(annotation) => format!("<{}>", annotation.level.as_str()),
            Effect::FailStep => "<fail>".into(),
        }
    }

    fn run_with(settings: Settings, lines: &[&str]) -> Vec<String> {
        let mut interpreter = Interpreter::new(settings, Matchers::default());
        let mut out = Vec::new();
        for line in lines {
            interpreter.on_line(line, &mut |effect| out.push(show(effect)));
        }
        out
    }

    fn check(lines: &[&str], expected: &[&str]) {
        assert_eq!(run_with(Settings::default(), lines), expected, "{lines:?}");
    }

    fn debug() -> Settings {
        Settings {
            step_debug: true,
            ..Settings::default()
        }
    }

    fn unsecure() -> Settings {
        Settings {
            allow_unsecure_commands: true,
            ..Settings::default()
        }
    }

    #[test]
    fn ordinary_lines_are_printed_as_they_are() {
        let mut interpreter = Interpreter::new(Settings::default(), Matchers::default());
        for line in [
            "",
            " x",
            "::unknown::x",
            "##[section]x",
            "a::b::c",
            "::set-output::\u{1B}[0m",
            "::error",
        ] {
            if line.starts_with("::set-output") {
                continue;
            }
            interpreter.on_line(line, &mut |effect| {
                assert_eq!(effect, Effect::Print(Cow::Borrowed(line)));
            });
        }
    }

    #[test]
    fn values_are_set_and_the_warning_comes_once() {
        let warning = format!("##[warning]{}", deprecated(Name::SetOutput));
        check(
            &["::set-output name=a::1%0A2", "##[set-output name=b;]3"],
            &[&warning, "<warning>", "<output a=1\n2>", "<output b=3>"],
        );
        let warning = format!("##[warning]{}", deprecated(Name::SaveState));
        check(
            &["::save-state name=a::1"],
            &[&warning, "<warning>", "<state a=1>"],
        );
    }

    #[test]
    fn failures_name_the_line_and_the_reason() {
        let out = run_with(Settings::default(), &["::set-output::x"]);
        let expected = [
            "##[error]Unable to process command '::set-output::x' successfully.",
            "<error>",
            "##[error]Required field 'name' is missing in ##[set-output] command.",
            "<error>",
            "<fail>",
        ];
        assert_eq!(out.get(2..).unwrap(), expected);
        let out = run_with(Settings::default(), &["::echo::maybe"]);
        let reason = "##[error]Invalid echo command value. Possible values can be: 'on', 'off'. Current value is: 'maybe'.";
        assert_eq!(out.get(2).map(String::as_str), Some(reason));
    }

    #[test]
    fn unsecure_commands_fail_unless_allowed() {
        for line in ["::set-env name=A::1", "::add-path::/x", "##[Set-Env name=A]1"] {
            let out = run_with(Settings::default(), &[line]);
            assert!(
                out.get(2)
                    .unwrap()
                    .contains("command is disabled. Please upgrade"),
                "{out:?}"
            );
            assert_eq!(out.last().map(String::as_str), Some("<fail>"));
        }
        assert_eq!(
            run_with(unsecure(), &["::set-env name=A::1", "::add-path::/x"]),
            ["<env A=1>", "<path /x>"]
        );
        assert_eq!(
            run_with(unsecure(), &["::set-env name=Node_Options::1"]),
            [
                "##[error]Can't update NODE_OPTIONS environment variable using ::set-env:: command.",
                "<error>"
            ]
        );
        assert_eq!(
            run_with(unsecure(), &["::add-path::"]).last().map(String::as_str),
            Some("<fail>")
        );
    }

    #[test]
    fn masks_are_never_shown() {
        check(&["::add-mask::s3%0Acret"], &["<mask s3\ncret>"]);
        check(
            &["::add-mask:: "],
            &[
                "##[warning]Can't add secret mask for empty string in ##[add-mask] command.",
                "<warning>",
            ],
        );
        assert_eq!(
            run_with(debug(), &["::add-mask::secret"]),
            ["<mask secret>", "::add-mask::***"]
        );
    }

    #[test]
    fn debug_rows_need_step_debug() {
        check(&["::debug::x"], &[]);
        assert_eq!(run_with(debug(), &["::debug::x"]), ["##[debug]x"]);
        let lines = ["::endgroup::", "::error endLine=2::x"];
        let expected = [
            "##[endgroup]",
            "##[debug]Invalid error command value. 'endLine' can only be set if 'line' is provided",
            "##[error]x",
            "<error>",
        ];
        assert_eq!(run_with(debug(), &lines), expected);
    }

    #[test]
    fn echo_shows_the_lines_of_commands() {
        check(
            &[
                "::echo::on",
                "::add-matcher::m.json",
                "::group::g",
                "::echo::OFF",
                "::add-matcher::m.json",
            ],
            &[
                "::add-matcher::m.json",
                "<read m.json>",
                "##[group]g",
                "::echo::OFF",
                "<read m.json>",
            ],
        );
    }

    #[test]
    fn texts_of_several_lines_become_rows() {
        check(
            &["::error::a%0Ab", "::notice::n", "::group::t%0Au", "::endgroup::"],
            &[
                "##[error]a",
                "b",
                "<error>",
                "##[notice]n",
                "<notice>",
                "##[group]t",
                "u",
                "##[endgroup]",
            ],
        );
    }

    #[test]
    fn stopped_commands_are_printed_until_the_token() {
        check(
            &[
                "::stop-commands::token-1",
                "::error::x",
                "::unknown::",
                "##[TOKEN-1]",
                "::debug::gone",
            ],
            &[
                "<mask token-1>",
                "::stop-commands::token-1",
                "::error::x",
                "::unknown::",
                "##[TOKEN-1]",
            ],
        );
        check(
            &["::stop-commands::short", "::short::"],
            &["::stop-commands::short", "::short::"],
        );
        for token in ["", "pause-logging", "Add-Mask", "stop-commands"] {
            let out = run_with(
                Settings::default(),
                &[&format!("::stop-commands::{token}"), "::debug::x"],
            );
            assert_eq!(out.get(2), Some(&format!("##[error]{UNSECURE_TOKEN}")), "{token}");
            assert_eq!(out.last().map(String::as_str), Some("<fail>"));
        }
        let settings = Settings {
            allow_unsecure_stop_tokens: true,
            ..Settings::default()
        };
        let lines = [
            "::stop-commands::add-mask",
            "::add-path::x",
            "::add-mask::y",
            "::debug::z",
        ];
        let expected = [
            "<mask add-mask>",
            "::stop-commands::add-mask",
            "::add-path::x",
            "::add-mask::y",
        ];
        assert_eq!(run_with(settings, &lines), expected);
    }

    #[test]
    fn ten_annotations_of_each_level_are_reported() {
        let out = run_with(Settings::default(), &["::warning::w"; 12]);
        assert_eq!(out.iter().filter(|row| *row == "##[warning]w").count(), 12);
        assert_eq!(out.iter().filter(|row| *row == "<warning>").count(), 10);
    }

    #[test]
    fn matchers_come_and_go() {
        let file = r#"{"problemMatcher":[{"owner":"o","pattern":[{"regexp":"^bad (.*)","message":1}]}]}"#;
        let mut interpreter = Interpreter::new(Settings::default(), Matchers::default());
        let mut feed = |line: &str, contents: Result<&str, &str>| {
            let mut out = Vec::new();
            let mut requests = Vec::new();
            interpreter.on_line(line, &mut |effect| match effect {
                Effect::ReadMatchers(request) => requests.push(request),
                effect => out.push(show(effect)),
            });
            for request in requests {
                interpreter.on_matcher_file(&request, contents, &mut |effect| out.push(show(effect)));
            }
            out
        };
        assert_eq!(feed("::add-matcher::m.json", Ok(file)), [""; 0]);
        assert_eq!(feed("\u{1B}[31mbad x", Ok("")), ["##[error]bad x", "<error>"]);
        assert_eq!(feed("::remove-matcher owner=O::", Ok("")), [""; 0]);
        assert_eq!(feed("bad x", Ok("")), ["bad x"]);
        assert_eq!(feed("::add-matcher::m.json", Ok(file)), [""; 0]);
        assert_eq!(feed("::remove-matcher::m.json", Ok(file)), [""; 0]);
        assert_eq!(feed("bad x", Ok("")), ["bad x"]);
        let out = feed("::add-matcher::m.json", Err("no such file"));
        assert_eq!(out.get(2).map(String::as_str), Some("##[error]no such file"));
        assert_eq!(
            feed("::add-matcher::", Ok("")),
            ["##[warning]File path must be specified.", "<warning>"]
        );
        assert_eq!(feed("::remove-matcher::", Ok("")).len(), 2);
        assert_eq!(feed("::remove-matcher owner=a::b", Ok("")).len(), 2);
    }

    proptest! {
        #[test]
        fn every_line_that_is_no_command_is_printed_unchanged(line in "[^:#]{0,40}") {
            prop_assert_eq!(run_with(Settings::default(), &[&line]), [line]);
        }

        #[test]
        fn any_lines_are_interpreted_without_panic(
            lines in prop::collection::vec("(::|##\\[)?(stop-commands|echo|error|set-env|tok)?( line=[0-9x])?(::|])?\\PC{0,6}", 0..8),
        ) {
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            run_with(debug(), &lines);
        }
    }

    #[test]
    fn places_stand_in_rows_where_only_rows_are_kept() {
        let settings = || Settings {
            customs: Customs::Gitea,
            ..Settings::default()
        };
        for (line, row) in [
            (
                "::error file=a.c,line=3,col=4,title=T::m",
                "##[error]a.c:3:4: T: m",
            ),
            ("::warning file=a.c,line=3::m", "##[warning]a.c:3: m"),
            ("::notice file=a.c::m", "##[notice]a.c: m"),
            ("::notice title=T::m", "##[notice]T: m"),
            ("::notice::m", "##[notice]m"),
        ] {
            assert_eq!(
                run_with(settings(), &[line]).first().map(String::as_str),
                Some(row)
            );
        }
    }
}
