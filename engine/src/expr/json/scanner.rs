//! The lexical part of the lenient reader: white space, words, texts, numbers, comments.

use std::borrow::Cow;

/// A mistake without its place; the reader adds the place where the scanner stopped.
pub(super) type Mistake = Cow<'static, str>;

const UNEXPECTED_END: Mistake = Cow::Borrowed("Unexpected end when reading JSON.");
const OPEN_COMMENT: Mistake = Cow::Borrowed("Unexpected end while parsing comment.");

/// A cursor in a JSON text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    line_start: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            line_start: 0,
        }
    }

    /// The line, from 1, and the number of UTF-16 units before the cursor in it.
    pub(super) fn place(&self) -> (usize, usize) {
        (
            self.line,
            self.text[self.line_start..self.at].encode_utf16().count(),
        )
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Moves past the next character; a line break counts as a line.
    pub(super) fn bump(&mut self) {
        let Some(c) = self.peek() else { return };
        self.at += c.len_utf8();
        if c == '\r' && self.peek() == Some('\n') {
            self.at += 1;
        }
        if c == '\r' || c == '\n' {
            self.line += 1;
            self.line_start = self.at;
        }
    }

    pub(super) fn skip_white_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.bump();
        }
    }

    /// Moves past white space and NUL characters, which are ignored between tokens, and shows what follows.
    pub(super) fn peek_token(&mut self) -> Option<char> {
        while self.peek().is_some_and(|c| c.is_whitespace() || c == '\0') {
            self.bump();
        }
        self.peek()
    }

    pub(super) fn looking_at(&self, prefix: &str) -> bool {
        self.rest().starts_with(prefix)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Reads `word`, which must be followed by a separator or the end; `what` names it in the message.
    pub(super) fn word(&mut self, word: &str, what: &str) -> Result<(), Mistake> {
        if self.rest().encode_utf16().nth(word.len() - 1).is_none() {
            self.at = self.text.len();
            return Err(UNEXPECTED_END);
        }
        let same = self
            .rest()
            .bytes()
            .zip(word.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        self.at += same;
        if same == word.len() && self.is_at_separator() {
            return Ok(());
        }
        Err(format!("Error parsing {what} value.").into())
    }

    fn is_at_separator(&self) -> bool {
        match self.peek() {
            None | Some('}' | ']' | ',' | '\0') => true,
            Some('/') => self.looking_at("/*") || self.looking_at("//"),
            Some(c) => c.is_whitespace(),
        }
    }

    pub(super) fn is_at_last_character(&self) -> bool {
        self.rest().chars().nth(1).is_none()
    }

    /// Moves past a letter after which a word might go on, and tells that it does not.
    pub(super) fn unexpected_end(&mut self) -> Mistake {
        self.bump();
        UNEXPECTED_END
    }

    /// Reads the characters of a number; the cursor stands on the first one.
    pub(super) fn number(&mut self) -> Result<&'a str, Mistake> {
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_hexdigit() || matches!(c, '-' | '+' | 'x' | 'X' | '.');
        let digits = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        self.at += digits.len();
        match self.peek() {
            None | Some(',' | '}' | ']' | ')' | '/' | '\0') => Ok(digits),
            Some(c) if c.is_whitespace() => Ok(digits),
            Some(c) => Err(format!("Unexpected character encountered while parsing number: {c}.").into()),
        }
    }

    /// Reads a text to its closing quote; the cursor stands on the opening one.
    pub(super) fn text(&mut self, quote: char) -> Result<String, Mistake> {
        self.bump();
        let mut text = String::new();
        loop {
            let Some(c) = self.peek() else {
                return Err(format!("Unterminated string. Expected delimiter: {quote}.").into());
            };
            let start = self.at;
            self.bump();
            match c {
                '\\' => text.push(self.escape(quote)?),
                _ if c == quote => return Ok(text),
                _ => text.push_str(&self.text[start..self.at]),
            }
        }
    }

    fn escape(&mut self, quote: char) -> Result<char, Mistake> {
        let Some(c) = self.peek() else {
            return Err(format!("Unterminated string. Expected delimiter: {quote}.").into());
        };
        self.at += c.len_utf8();
        Ok(match c {
            'b' => '\u{8}',
            't' => '\t',
            'n' => '\n',
            'f' => '\u{c}',
            'r' => '\r',
            '\\' | '"' | '\'' | '/' => c,
            'u' => self.unicode()?,
            _ => return Err(format!("Bad JSON escape sequence: \\{c}.").into()),
        })
    }

    /// Reads the digits of `\uXXXX`, and of the second half of a pair; a half without its other is U+FFFD.
    fn unicode(&mut self) -> Result<char, Mistake> {
        let first = self.unit()?;
        if (0xD800..0xDC00).contains(&first) && self.looking_at("\\u") {
            let (at, mark) = (self.at, self.at + 2);
            self.at = mark;
            let second = self.unit()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = at;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn unit(&mut self) -> Result<u32, Mistake> {
        let rest = self.rest();
        let Some((end, _)) = rest.char_indices().nth(4).or_else(|| {
            // The digits may be the last characters of the text.
            (rest.chars().count() == 4).then_some((rest.len(), '\0'))
        }) else {
            self.at = self.text.len();
            return Err(Cow::Borrowed(
                "Unexpected end while parsing Unicode escape sequence.",
            ));
        };
        let digits = &rest[..end];
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!("Invalid Unicode escape sequence: \\u{digits}.").into());
        }
        self.at += end;
        u32::from_str_radix(digits, 16).map_err(|error| error.to_string().into())
    }

    /// Reads a key without quotes.
    pub(super) fn bare_key(&mut self) -> Result<&'a str, Mistake> {
        let rest = self.rest();
        let key = &rest[..rest.find(|c| !is_identifier(c)).unwrap_or(rest.len())];
        self.at += key.len();
        match self.peek() {
            None => Err(Cow::Borrowed(
                "Unexpected end while parsing unquoted property name.",
            )),
            Some(c) if c == ':' || c.is_whitespace() => Ok(key),
            Some(c) => Err(format!("Invalid JavaScript property identifier character: {c}.").into()),
        }
    }

    /// Reads a comment of either form and returns what it says.
    pub(super) fn comment(&mut self) -> Result<&'a str, Mistake> {
        self.bump();
        let is_line = match self.peek() {
            Some('/') => true,
            Some('*') => false,
            Some(c) => return Err(format!("Error parsing comment. Expected: *, got {c}.").into()),
            None => return Err(OPEN_COMMENT),
        };
        self.bump();
        let rest = self.rest();
        if is_line {
            let text = &rest[..rest.find(['\r', '\n']).unwrap_or(rest.len())];
            self.at += text.len();
            return Ok(text);
        }
        let text = rest.find("*/").map(|end| &rest[..end]);
        let end = self.at + text.map_or(rest.len(), str::len);
        while self.at < end {
            self.bump();
        }
        self.at += text.map_or(0, |_| 2);
        text.ok_or(OPEN_COMMENT)
    }
}

/// Tells whether a key without quotes may contain the character.
pub(super) fn is_identifier(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
