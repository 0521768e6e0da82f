//! The reader of `fromJSON`: JSON as Newtonsoft's reader takes it, with that reader's messages.
//!
//! Beyond the standard it takes single quotes, keys without quotes, comments, commas without values, hexadecimal and
//! octal numbers, `NaN` and the infinities. What follows the first value is ignored.

mod number;
mod path;

use std::sync::Arc;

use super::super::memory::{MemoryExceeded, VALUE_BYTES, text_bytes};
use super::super::{Array, Object, Value};
use super::scanner::{Mistake, Scanner, is_identifier};
use path::Path;

/// How deep lists and mappings may nest.
const MAX_DEPTH: usize = 64;

/// Why a text has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in super::super) enum LenientError {
    /// The text is malformed, with the reader's message.
    #[error("{0}")]
    Malformed(String),
    /// The values would take more memory than an evaluation may use.
    #[error(transparent)]
    Memory(#[from] MemoryExceeded),
}

/// Reads the first value of a text; returns it with the bytes that it costs, which are at most `max_bytes`.
pub(in super::super) fn read(text: &str, max_bytes: usize) -> Result<(Value, usize), LenientError> {
    let mut reader = Reader {
        scanner: Scanner::new(text),
        state: State::Start,
        open: Vec::new(),
        saw_item: false,
        bytes_left: max_bytes,
    };
    let value = reader.read()?;
    Ok((value, max_bytes - reader.bytes_left))
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The first value of all.
    Start,
    /// The first item of a list, or its end.
    ArrayStart,
    /// An item of a list after a comma, or its end.
    Array,
    /// The first key of a mapping, or its end.
    ObjectStart,
    /// A key of a mapping after a comma, or its end.
    Object,
    /// The value of a key.
    Property,
    /// A comma or the end of the list or mapping.
    PostValue,
    /// Nothing; the first value is complete.
    Finished,
}

/// A list or mapping whose end was not read yet.
enum Open {
    Array { items: Vec<Value>, started: usize },
    Object { object: Object, key: Option<Arc<str>> },
}

/// What was read.
enum Token {
    Value(Value),
    Start(Open),
    End(char),
    Comment(String),
    Key,
}

struct Reader<'a> {
    scanner: Scanner<'a>,
    state: State,
    open: Vec<Open>,
    /// Whether anything was read since the first bracket.
    saw_item: bool,
    bytes_left: usize,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<Value, LenientError> {
        loop {
            let Some(token) = self.token()? else {
                return Err(self.ended());
            };
            self.saw_item |= !self.open.is_empty();
            let value = match token {
                Token::Start(open) => {
                    self.push(open)?;
                    continue;
                }
                Token::Value(value) => value,
                Token::End(bracket) => self.close(bracket)?,
                // The reader of the first value takes a comment for it.
                Token::Comment(text) if self.open.is_empty() => Value::from(text),
                Token::Comment(_) | Token::Key => continue,
            };
            match self.open.last_mut() {
                None => return Ok(value),
                Some(Open::Array { items, .. }) => items.push(value),
                Some(Open::Object { object, key }) => {
                    object.insert(key.clone().unwrap_or_default(), value);
                }
            }
        }
    }

    /// Reads the next token; none at the end of the text.
    fn token(&mut self) -> Result<Option<Token>, LenientError> {
        loop {
            let Some(c) = self.scanner.peek_token() else {
                return Ok(None);
            };
            match self.state {
                State::ObjectStart | State::Object => return self.key_or_end(c).map(Some),
                State::PostValue => match c {
                    ',' => {
                        self.scanner.bump();
                        self.state = match self.open.last() {
                            Some(Open::Array { .. }) => State::Array,
                            Some(Open::Object { .. }) => State::Object,
                            None => State::Finished,
                        };
                    }
                    '}' | ']' | ')' => return Ok(Some(self.end(c))),
                    '/' => return self.comment().map(Some),
                    _ => {
                        return Err(self.fail(format!(
                            "After parsing a value an unexpected character was encountered: {c}."
                        )));
                    }
                },
                State::Start | State::ArrayStart | State::Array | State::Property => {
                    return self.value(c).map(Some);
                }
                State::Finished => return Ok(None),
            }
        }
    }

    fn end(&mut self, bracket: char) -> Token {
        self.scanner.bump();
        Token::End(bracket)
    }

    fn comment(&mut self) -> Result<Token, LenientError> {
        let text = self.scanner.comment();
        self.located(text).map(|text| Token::Comment(text.to_owned()))
    }

    fn key_or_end(&mut self, c: char) -> Result<Token, LenientError> {
        let key = match c {
            '}' => return Ok(self.end(c)),
            '/' => return self.comment(),
            '"' | '\'' => self.scanner.text(c),
            _ if is_identifier(c) => self.scanner.bare_key().map(str::to_owned),
            _ => Err(format!("Invalid property identifier character: {c}.").into()),
        };
        let name = self.located(key)?;
        self.spend(text_bytes(&name))?;
        self.scanner.skip_white_space();
        let next = self.scanner.peek().unwrap_or('\0');
        if next != ':' {
            return Err(self.fail(format!(
                "Invalid character after parsing property name. Expected ':' but got: {next}."
            )));
        }
        self.scanner.bump();
        if let Some(Open::Object { key, .. }) = self.open.last_mut() {
            *key = Some(name.into());
        }
        self.state = State::Property;
        Ok(Token::Key)
    }

    fn value(&mut self, c: char) -> Result<Token, LenientError> {
        let value = match c {
            '"' | '\'' => {
                let text = self.scanner.text(c);
                let text = self.located(text)?;
                self.spend(text_bytes(&text))?;
                Value::from(text)
            }
            '[' => {
                return Ok(self.start(Open::Array {
                    items: Vec::new(),
                    started: 0,
                }));
            }
            '{' => {
                return Ok(self.start(Open::Object {
                    object: Object::new(),
                    key: None,
                }));
            }
            ']' | ')' => return Ok(self.end(c)),
            '/' => return self.comment(),
            // A comma without a value; it is read again as what follows that value.
            ',' => Value::from(""),
            '-' if self.scanner.looking_at("-I") => self.word("-Infinity", "-Infinity", f64::NEG_INFINITY)?,
            '-' | '.' => return self.number(),
            _ if c.is_numeric() => return self.number(),
            _ => self.named(c)?,
        };
        self.complete_value()?;
        Ok(Token::Value(value))
    }

    fn start(&mut self, open: Open) -> Token {
        self.scanner.bump();
        Token::Start(open)
    }

    /// Reads a value that is written as a word beginning with `c`.
    fn named(&mut self, c: char) -> Result<Value, LenientError> {
        match c {
            't' => self.word("true", "boolean", true),
            'f' => self.word("false", "boolean", false),
            'n' if self.scanner.looking_at("nu") => self.word("null", "null", Value::Null),
            'N' => self.word("NaN", "NaN", f64::NAN),
            'I' => self.word("Infinity", "Infinity", f64::INFINITY),
            'u' => self.word("undefined", "undefined", ""),
            'n' if self.scanner.is_at_last_character() => {
                let mistake = self.scanner.unexpected_end();
                Err(self.fail(mistake))
            }
            _ => Err(self.fail(format!(
                "Unexpected character encountered while parsing value: {c}."
            ))),
        }
    }

    fn word(&mut self, word: &str, what: &str, value: impl Into<Value>) -> Result<Value, LenientError> {
        let read = self.scanner.word(word, what);
        self.located(read).map(|()| value.into())
    }

    fn number(&mut self) -> Result<Token, LenientError> {
        let digits = self.scanner.number();
        let digits = self.located(digits)?;
        // The value counts as read before its digits are looked at; messages show it in their path.
        self.complete_value()?;
        let number = self.located(number::parse(digits))?;
        Ok(Token::Value(Value::from(number)))
    }

    /// Notes that a value without brackets was read.
    fn complete_value(&mut self) -> Result<(), LenientError> {
        self.count_item();
        self.state = if self.open.is_empty() {
            State::Finished
        } else {
            State::PostValue
        };
        self.spend(VALUE_BYTES)
    }

    fn count_item(&mut self) {
        if let Some(Open::Array { started, .. }) = self.open.last_mut() {
            *started += 1;
        }
    }

    fn push(&mut self, open: Open) -> Result<(), LenientError> {
        self.count_item();
        self.state = match open {
            Open::Array { .. } => State::ArrayStart,
            Open::Object { .. } => State::ObjectStart,
        };
        self.open.push(open);
        if self.open.len() > MAX_DEPTH {
            return Err(self.fail(format!("The reader's MaxDepth of {MAX_DEPTH} has been exceeded.")));
        }
        self.spend(VALUE_BYTES)
    }

    fn close(&mut self, bracket: char) -> Result<Value, LenientError> {
        let value = match (self.open.pop(), bracket) {
            (Some(Open::Array { items, .. }), ']') => Value::from(Array::new(items)),
            (Some(Open::Object { object, .. }), '}') => Value::from(object),
            (open, _) => return Err(self.mismatch(bracket, open.as_ref())),
        };
        self.state = if self.open.is_empty() {
            State::Finished
        } else {
            State::PostValue
        };
        Ok(value)
    }

    fn mismatch(&self, bracket: char, open: Option<&Open>) -> LenientError {
        let token = match bracket {
            '}' => "EndObject",
            ']' => "EndArray",
            _ => "EndConstructor",
        };
        let kind = match open {
            Some(Open::Array { .. }) => "Array",
            Some(Open::Object { .. }) => "Object",
            None => "None",
        };
        self.fail(format!(
            "JsonToken {token} is not valid for closing JsonType {kind}."
        ))
    }

    fn spend(&mut self, bytes: usize) -> Result<(), LenientError> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or(MemoryExceeded)?;
        Ok(())
    }

    /// The error for a text that ends too early.
    fn ended(&self) -> LenientError {
        let what = match self.open.first() {
            None => "JToken",
            Some(Open::Array { .. }) => "JArray",
            Some(Open::Object { .. }) => "JObject",
        };
        if self.saw_item {
            self.fail(format!("Unexpected end of content while loading {what}."))
        } else {
            self.fail(format!("Error reading {what} from JsonReader."))
        }
    }

    fn located<T>(&self, result: Result<T, Mistake>) -> Result<T, LenientError> {
        result.map_err(|mistake| self.fail(mistake))
    }

    /// Adds the place to a message.
    fn fail(&self, mistake: impl Into<Mistake>) -> LenientError {
        let (mut line, position) = self.scanner.place();
        if self.state == State::Start && position == 0 {
            line = 0;
        }
        // A list or mapping of which nothing was read yet is not part of the path.
        let is_at_start = matches!(self.state, State::ArrayStart | State::ObjectStart);
        let shown = self.open.len() - usize::from(is_at_start && !self.open.is_empty());
        let (mistake, path) = (mistake.into(), Path(&self.open[..shown]));
        LenientError::Malformed(format!(
            "{mistake} Path '{path}', line {line}, position {position}."
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<String, String> {
        read(text, 1_000_000)
            .map(|(value, _)| serde_json::Value::from(&value).to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn more_than_json_is_read() {
        let cases = [
            ("{'a': [1, 2,], b_$: .5}", r#"{"a":[1,2],"b_$":0.5}"#),
            ("[/* one */ 1 // two\n, 2]", "[1,2]"),
            ("[,]", r#"[""]"#),
            (r#"{"a":,"b":undefined}"#, r#"{"a":"","b":""}"#),
            ("[0x1F, 010, -010, 1E400, -Infinity]", "[31,8,-10,null,null]"),
            ("[0xFFFFFFFFFFFFFFFF]", "[-1]"),
            (r#""\u00e9\ud83d\ude00\ud83d""#, "\"é😀\u{FFFD}\""),
            ("// c\n1", r#"" c""#),
            ("[true,false,null] garbage", "[true,false,null]"),
            (r#"{"a":1,"b":2,"A":3}"#, r#"{"a":3,"b":2}"#),
        ];
        for (text, want) in cases {
            assert_eq!(read_text(text).as_deref(), Ok(want), "{text}");
        }
    }

    #[test]
    fn mistakes_have_a_path_and_a_place() {
        let cases = [
            (
                "{",
                "Error reading JObject from JsonReader. Path '', line 1, position 1.",
            ),
            (
                "[1",
                "Unexpected end of content while loading JArray. Path '[0]', line 1, position 2.",
            ),
            (
                "{\"a\":",
                "Unexpected end of content while loading JObject. Path 'a', line 1, position 5.",
            ),
            (
                "{\"a\":}",
                "Unexpected character encountered while parsing value: }. Path 'a', line 1, position 5.",
            ),
            (
                "{\n\"a\":{\"b c\":[1,tru]}}",
                "Error parsing boolean value. Path 'a['b c'][0]', line 2, position 17.",
            ),
            (
                "tru",
                "Unexpected end when reading JSON. Path '', line 1, position 3.",
            ),
            (
                "n",
                "Unexpected end when reading JSON. Path '', line 1, position 1.",
            ),
            (
                "trues",
                "Error parsing boolean value. Path '', line 1, position 4.",
            ),
            (
                "\"abc",
                "Unterminated string. Expected delimiter: \". Path '', line 1, position 4.",
            ),
            (
                "\"\\q\"",
                "Bad JSON escape sequence: \\q. Path '', line 1, position 3.",
            ),
            (
                "08",
                "Input string '08' is not a valid number. Path '', line 1, position 2.",
            ),
            (
                "[1-2]",
                "Input string '1-2' is not a valid number. Path '[0]', line 1, position 4.",
            ),
            (
                "1g",
                "Unexpected character encountered while parsing number: g. Path '', line 1, position 1.",
            ),
            (
                "]",
                "JsonToken EndArray is not valid for closing JsonType None. Path '', line 1, position 1.",
            ),
            (
                "{,}",
                "Invalid property identifier character: ,. Path '', line 1, position 1.",
            ),
            (
                "{\"a\" 1}",
                "Invalid character after parsing property name. Expected ':' but got: 1. Path '', line 1, position 5.",
            ),
            (
                "/x",
                "Error parsing comment. Expected: *, got x. Path '', line 1, position 1.",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(read_text(text), Err(want.to_owned()), "{text}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        assert!(read_text(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
        let want = format!(
            "The reader's MaxDepth of 64 has been exceeded. Path '{}', line 1, position 65.",
            "[0]".repeat(64)
        );
        assert_eq!(read_text(&"[".repeat(10_000)), Err(want));
    }
}
