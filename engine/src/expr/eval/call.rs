//! The functions. Operands that do not matter are not evaluated.

use super::super::ast::{Builtin, Node};
use super::super::format::{self, FormatError, Segment};
use super::super::json::{self, LenientError};
use super::super::{Array, EvalError, HashFilesError, StatusFunction, Value, casing};
use super::{Evaluator, Outcome};

impl Evaluator<'_> {
    /// Calls a function at `depth`; the parser has checked the number of its arguments.
    pub(super) fn call(&mut self, function: Builtin, arguments: &[Node], depth: usize) -> Outcome {
        let inner = depth + 1;
        match (function, arguments) {
            (Builtin::Contains, [whole, part]) => self.contains(whole, part, inner),
            (Builtin::StartsWith, [text, part]) => self.compare_texts(text, part, inner, casing::starts_with),
            (Builtin::EndsWith, [text, part]) => self.compare_texts(text, part, inner, casing::ends_with),
            (Builtin::Format, [format, arguments @ ..]) => self.format(format, arguments, inner),
            (Builtin::Join, [items, separator @ ..]) => self.join(items, separator.first(), inner),
            (Builtin::ToJson, [value]) => self.write_json(value, inner),
            (Builtin::FromJson, [text]) => self.read_json(text, inner),
            (Builtin::Case, [branches @ .., default]) => self.case(branches, default, inner),
            (Builtin::HashFiles, patterns) => self.hash_files(patterns, inner),
            (Builtin::Status(status), ids) => self.status(status, ids, inner),
            // No expression with such a call is parsed.
            _ => Err(EvalError::Failed("Too few parameters supplied".to_owned())),
        }
    }

    fn contains(&mut self, whole: &Node, part: &Node, depth: usize) -> Outcome {
        let whole = self.node(whole, depth)?;
        let found = match &whole {
            Value::Array(array) if !array.is_empty() => {
                let part = self.node(part, depth)?;
                array.iter().any(|item| part.loosely_equals(item))
            }
            Value::Array(_) | Value::Object(_) => false,
            text => {
                let part = self.node(part, depth)?;
                part.is_primitive() && casing::contains(&text.to_text(), &part.to_text())
            }
        };
        Ok(Value::from(found))
    }

    fn compare_texts(
        &mut self,
        text: &Node,
        part: &Node,
        depth: usize,
        holds: impl Fn(&str, &str) -> bool,
    ) -> Outcome {
        let text = self.node(text, depth)?;
        if !text.is_primitive() {
            return Ok(Value::from(false));
        }
        let part = self.node(part, depth)?;
        Ok(Value::from(
            part.is_primitive() && holds(&text.to_text(), &part.to_text()),
        ))
    }

    fn format(&mut self, format: &Node, arguments: &[Node], depth: usize) -> Outcome {
        let format = self.node(format, depth)?;
        let format = format.to_text();
        let segments = format::segments(&format, arguments.len())?;
        let mut values: Vec<Option<Value>> = vec![None; arguments.len()];
        let mut text = self.memory.text_builder();
        for segment in segments {
            match segment {
                Segment::Text(piece) => text.push(piece)?,
                Segment::Argument { index, specifiers } => {
                    let value = match values[index].take() {
                        Some(value) => value,
                        None => self.node(&arguments[index], depth)?,
                    };
                    if !specifiers.is_empty() {
                        return Err(EvalError::Failed(format!(
                            "The format specifiers '{specifiers}' are not valid for objects of type '{}'",
                            value.kind()
                        )));
                    }
                    text.push(&value.to_text())?;
                    values[index] = Some(value);
                }
            }
        }
        Ok(Value::from(text.finish()))
    }

    fn join(&mut self, items: &Node, separator: Option<&Node>, depth: usize) -> Outcome {
        let items = self.node(items, depth)?;
        match &items {
            Value::Array(array) => self.join_items(array, separator, depth),
            Value::Object(_) => Ok(Value::from("")),
            text => Ok(Value::from(text.to_text().as_ref())),
        }
    }

    fn join_items(&mut self, array: &Array, separator: Option<&Node>, depth: usize) -> Outcome {
        let separator = match separator {
            // One item or none needs no separator.
            Some(node) if array.len() > 1 => Some(self.node(node, depth)?),
            _ => None,
        };
        let separator = separator
            .as_ref()
            .filter(|value| value.is_primitive())
            .map(Value::to_text);
        let separator = separator.as_deref().unwrap_or(",");
        let mut text = self.memory.text_builder();
        for (at, item) in array.iter().enumerate() {
            if at > 0 {
                text.push(separator)?;
            }
            text.push(&item.to_text())?;
        }
        Ok(Value::from(text.finish()))
    }

    fn write_json(&mut self, value: &Node, depth: usize) -> Outcome {
        let value = self.node(value, depth)?;
        let mut text = self.memory.text_builder();
        json::write_bounded(&value, &mut text)?;
        Ok(Value::from(text.finish()))
    }

    fn read_json(&mut self, text: &Node, depth: usize) -> Outcome {
        let text = self.node(text, depth)?;
        let left = self.memory.left();
        let (value, bytes) = json::read_lenient(&text.to_text(), left)?;
        self.memory.add(depth - 1, bytes)?;
        Ok(value)
    }

    fn case(&mut self, branches: &[Node], default: &Node, depth: usize) -> Outcome {
        for branch in branches.chunks_exact(2) {
            match self.node(&branch[0], depth)? {
                Value::Bool(true) => return self.node(&branch[1], depth),
                Value::Bool(false) => {}
                _ => {
                    let text = "case predicate must evaluate to a boolean value";
                    return Err(EvalError::Failed(text.to_owned()));
                }
            }
        }
        self.node(default, depth)
    }

    fn hash_files(&mut self, patterns: &[Node], depth: usize) -> Outcome {
        let patterns = self.texts(patterns, depth)?;
        match self.scope.host.hash_files(&patterns) {
            Ok(digest) => Ok(Value::from(digest)),
            Err(HashFilesError::Pending) => Err(EvalError::NeedsFiles(patterns)),
            Err(HashFilesError::Failed(reason)) => Err(EvalError::Failed(reason)),
        }
    }

    fn status(&mut self, status: StatusFunction, ids: &[Node], depth: usize) -> Outcome {
        let ids = self.texts(ids, depth)?;
        Ok(Value::from(self.scope.host.status(status, &ids)))
    }

    fn texts(&mut self, nodes: &[Node], depth: usize) -> Result<Vec<String>, EvalError> {
        nodes
            .iter()
            .map(|node| Ok(self.node(node, depth)?.to_text().into_owned()))
            .collect()
    }
}

impl From<FormatError> for EvalError {
    fn from(error: FormatError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<LenientError> for EvalError {
    fn from(error: LenientError) -> Self {
        Self::Failed(error.to_string())
    }
}
