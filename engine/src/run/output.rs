//! From the bytes that a process writes to log lines and commands.

use std::sync::Arc;

use indexmap::IndexMap;

use super::JobRuntime;
use super::log::StepLog;
use crate::commands::files::add_path;
use crate::commands::{Effect, Interpreter, MatcherRequest, Settings, matchers};
use crate::job::JobView;

/// A line of this length is printed in pieces and not read as a command, so that output without line ends stays
/// within bounds.
const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// What the commands in a step's output ask for.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// `set-output`
    pub outputs: IndexMap<String, String>,
    /// `save-state`
    pub state: IndexMap<String, String>,
    /// A command could not be processed: the step fails.
    pub failed: bool,
}

/// Reads one process's output.
pub(super) struct Pump<'a> {
    runtime: &'a JobRuntime,
    interpreter: Interpreter,
    /// The bytes of a line whose end has not come yet.
    carry: Vec<u8>,
    /// The line in `carry` has outgrown [`LINE_LIMIT`]; its pieces are printed as they come.
    oversized: bool,
    effects: Effects,
}

impl<'a> Pump<'a> {
    /// Reads the output of a process with this environment, which may allow what is refused by default.
    pub fn new(runtime: &'a JobRuntime, env: &[(String, String)]) -> Self {
        let interpreter = Interpreter::new(settings(runtime, env), runtime.matchers());
        Self {
            runtime,
            interpreter,
            carry: Vec::new(),
            oversized: false,
            effects: Effects::default(),
        }
    }

    /// Takes bytes as they were read.
    pub async fn bytes(&mut self, chunk: &[u8], view: &mut JobView, log: &mut StepLog) {
        let Some(end) = chunk.iter().rposition(|byte| *byte == b'\n') else {
            self.carry.extend_from_slice(chunk);
            self.limit_carry(log);
            return;
        };
        let (complete, rest) = chunk.split_at(end + 1);
        if self.carry.is_empty() {
            self.lines(complete, view, log).await;
        } else {
            let mut joined = std::mem::take(&mut self.carry);
            joined.extend_from_slice(complete);
            self.lines(&joined, view, log).await;
        }
        self.carry.extend_from_slice(rest);
    }

    /// The output has ended; a last line without its end counts as a line.
    pub async fn end(mut self, view: &mut JobView, log: &mut StepLog) -> Effects {
        if !self.carry.is_empty() {
            let mut last = std::mem::take(&mut self.carry);
            last.push(b'\n');
            self.lines(&last, view, log).await;
        }
        self.runtime.set_matchers(self.interpreter.into_matchers());
        self.effects
    }

    /// Complete lines, the last one with its end.
    async fn lines(&mut self, bytes: &[u8], view: &mut JobView, log: &mut StepLog) {
        let text = String::from_utf8_lossy(bytes);
        let text = if self.oversized {
            self.finish_oversized(&text, log)
        } else {
            &text
        };
        if self.interpreter.is_plain(text) {
            log.text(text);
            return;
        }
        for line in text.split_terminator('\n') {
            self.line(line, view, log).await;
        }
    }

    /// Prints the last piece of an oversized line and returns the lines after it.
    fn finish_oversized<'t>(&mut self, text: &'t str, log: &mut StepLog) -> &'t str {
        self.oversized = false;
        let end = text.find('\n').map_or(text.len(), |end| end + 1);
        let (piece, rest) = text.split_at(end);
        log.text(piece);
        rest
    }

    fn limit_carry(&mut self, log: &mut StepLog) {
        let limit = if self.oversized { 64 * 1024 } else { LINE_LIMIT };
        if self.carry.len() < limit {
            return;
        }
        self.oversized = true;
        // A character that is cut stays in the carry until the rest of it comes.
        let cut = match std::str::from_utf8(&self.carry) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.carry.len(),
        };
        let rest = self.carry.split_off(cut);
        log.text(&String::from_utf8_lossy(&self.carry));
        self.carry = rest;
    }

    async fn line(&mut self, line: &str, view: &mut JobView, log: &mut StepLog) {
        let mut effects = Vec::new();
        self.interpreter
            .on_line(line.trim_end_matches('\r'), &mut |effect| effects.push(effect));
        for effect in effects {
            self.act(effect, view, log).await;
        }
    }

    async fn act(&mut self, effect: Effect<'_>, view: &mut JobView, log: &mut StepLog) {
        match effect {
            Effect::Print(text) => log.line(text),
            Effect::AddMask(value) => self.add_mask(&value, log).await,
            Effect::SetOutput { name, value } => _ = self.effects.outputs.insert(name, value),
            Effect::SaveState { name, value } => _ = self.effects.state.insert(name, value),
            Effect::SetEnv { name, value } => _ = Arc::make_mut(&mut view.env).insert(name, value),
            Effect::AddPath(path) => add_path(Arc::make_mut(&mut view.path), path),
            Effect::ReadMatchers(request) => self.read_matchers(&request, log).await,
            Effect::Annotate(annotation) => log.annotate(annotation).await,
            Effect::FailStep => self.effects.failed = true,
        }
    }

    /// What was written before the mask was asked for is masked by the old set; nothing after it is.
    async fn add_mask(&mut self, value: &str, log: &mut StepLog) {
        log.flush().await;
        if let Err(refusal) = self.runtime.masks.add_value(value) {
            log.line(format_args!("##[warning]{refusal}"));
        }
    }

    async fn read_matchers(&mut self, request: &MatcherRequest, log: &mut StepLog) {
        let sandbox = &self.runtime.sandbox;
        let path = &request.path;
        let absolute = if path.starts_with('/') {
            path.clone()
        } else {
            format!("{}/{path}", sandbox.layout().workspace)
        };
        let content = match sandbox.read_file(&absolute, matchers::FILE_LIMIT).await {
            Ok(Some(content)) => Ok(String::from_utf8_lossy(&content).into_owned()),
            Ok(None) => Err(format!("there is no file '{path}'")),
            Err(error) => Err(format!("{path}: {error}")),
        };
        let mut rows = Vec::new();
        let contents = content.as_deref().map_err(String::as_str);
        // Reading a matcher file yields rows, annotations and a failure, never another file.
        self.interpreter
            .on_matcher_file(request, contents, &mut |effect| rows.push(effect));
        for effect in rows {
            match effect {
                Effect::Print(text) => log.line(text),
                Effect::Annotate(annotation) => log.annotate(annotation).await,
                Effect::FailStep => self.effects.failed = true,
                _ => {}
            }
        }
    }
}

/// What the interpreter must know: GitHub lets a workflow's environment opt in to commands that are unsafe.
fn settings(runtime: &JobRuntime, env: &[(String, String)]) -> Settings {
    let is_true = |name: &str| {
        let last = env.iter().rev().find(|(key, _)| key == name);
        last.is_some_and(|(_, value)| value.trim().eq_ignore_ascii_case("true"))
    };
    Settings {
        step_debug: runtime.settings.step_debug,
        allow_unsecure_commands: is_true("ACTIONS_ALLOW_UNSECURE_COMMANDS"),
        allow_unsecure_stop_tokens: is_true("ACTIONS_ALLOW_UNSECURE_STOPCOMMAND_TOKENS"),
        customs: runtime.settings.customs,
        workspaces: vec![runtime.sandbox.layout().workspace.clone()],
    }
}
