//! From text to tokens. Which token may follow which is decided here, so the parser sees only legal sequences.

use std::ops::Range;

use super::ast::Literal;
use super::{Value, number};

/// An operator between or before operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Not,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    /// `(` around an operand.
    StartGroup,
    /// `[`
    StartIndex,
    /// `(` of a function call.
    StartParameters,
    /// `)` around an operand.
    EndGroup,
    /// `]`
    EndIndex,
    /// `)` of a function call.
    EndParameters,
    /// `,`
    Separator,
    /// `.`
    Dereference,
    /// `*`
    Wildcard,
    Operator(Operator),
    Literal(Literal),
    /// The name after a `.`.
    PropertyName,
    /// A name before a `(`.
    Function,
    /// Any other name.
    NamedValue,
}

/// A piece of the expression's text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Where it stands, in bytes.
    pub(super) span: Range<usize>,
}

/// The range of bytes that cannot stand where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unexpected(pub(super) Range<usize>);

/// What the last token was, as far as it decides what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing, a separator, an operator or a `(` of a group: an operand must follow.
    Opening,
    StartIndex,
    StartParameters,
    Function,
    Dereference,
    /// An operand that can be indexed.
    Indexable,
    Literal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Group,
    Index,
    Parameters,
}

/// Cuts an expression into tokens.
pub(super) struct Lexer<'a> {
    source: &'a str,
    at: usize,
    last: Last,
    unclosed: Vec<Bracket>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            at: 0,
            last: Last::Opening,
            unclosed: Vec::new(),
        }
    }

    /// Tells whether the expression may end after the last token.
    pub(super) fn may_end(&self) -> bool {
        self.unclosed.is_empty() && matches!(self.last, Last::Indexable | Last::Literal)
    }

    /// Reads the next token; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Token>, Unexpected> {
        self.at += self.rest().len() - self.rest().trim_start().len();
        let Some(c) = self.rest().chars().next() else {
            return Ok(None);
        };
        let token = match c {
            '(' if self.last == Last::Function => self.symbol(TokenKind::StartParameters),
            '(' => self.symbol(TokenKind::StartGroup),
            '[' => self.symbol(TokenKind::StartIndex),
            ')' if self.unclosed.last() == Some(&Bracket::Parameters) => {
                self.symbol(TokenKind::EndParameters)
            }
            ')' => self.symbol(TokenKind::EndGroup),
            ']' => self.symbol(TokenKind::EndIndex),
            ',' => self.symbol(TokenKind::Separator),
            '*' => self.symbol(TokenKind::Wildcard),
            '\'' => self.string()?,
            '!' | '>' | '<' | '=' | '&' | '|' => self.operator()?,
            '.' if !self.expects_operand() => self.symbol(TokenKind::Dereference),
            '.' | '-' | '+' | '0'..='9' => self.number()?,
            _ => self.name(c)?,
        };
        self.check(&token)?;
        Ok(Some(token))
    }

    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    /// Makes a token of the next `len` bytes.
    fn take(&mut self, kind: TokenKind, len: usize) -> Token {
        let span = self.at..self.at + len;
        self.at = span.end;
        Token { kind, span }
    }

    fn symbol(&mut self, kind: TokenKind) -> Token {
        self.take(kind, 1)
    }

    fn unexpected(&self, len: usize) -> Unexpected {
        Unexpected(self.at..self.at + len)
    }

    fn string(&mut self) -> Result<Token, Unexpected> {
        let rest = self.rest();
        let mut text = String::new();
        let mut from = 1;
        while let Some(len) = rest[from..].find('\'') {
            text.push_str(&rest[from..from + len]);
            from += len + 1;
            if !rest[from..].starts_with('\'') {
                return Ok(self.take(TokenKind::Literal(Literal(Value::from(text))), from));
            }
            text.push('\'');
            from += 1;
        }
        Err(self.unexpected(rest.len()))
    }

    fn operator(&mut self) -> Result<Token, Unexpected> {
        const OPERATORS: [(&str, Operator); 9] = [
            ("!=", Operator::NotEqual),
            ("!", Operator::Not),
            (">=", Operator::GreaterOrEqual),
            (">", Operator::Greater),
            ("<=", Operator::LessOrEqual),
            ("<", Operator::Less),
            ("==", Operator::Equal),
            ("&&", Operator::And),
            ("||", Operator::Or),
        ];
        let rest = self.rest();
        match OPERATORS.iter().find(|(text, _)| rest.starts_with(text)) {
            Some((text, operator)) => Ok(self.take(TokenKind::Operator(*operator), text.len())),
            None => Err(self.unexpected(1 + len_to(&rest[1..], is_boundary))),
        }
    }

    fn number(&mut self) -> Result<Token, Unexpected> {
        let rest = self.rest();
        let len = 1 + len_to(&rest[1..], |c| c != '.' && is_boundary(c));
        let number = number::parse(&rest[..len]);
        if number.is_nan() {
            return Err(self.unexpected(len));
        }
        Ok(self.take(TokenKind::Literal(Literal(Value::from(number))), len))
    }

    fn name(&mut self, first: char) -> Result<Token, Unexpected> {
        let rest = self.rest();
        let len = first.len_utf8() + len_to(&rest[first.len_utf8()..], is_boundary);
        let name = &rest[..len];
        if !is_name(name) {
            return Err(self.unexpected(len));
        }
        let kind = match name {
            _ if self.last == Last::Dereference => TokenKind::PropertyName,
            "null" => TokenKind::Literal(Literal(Value::Null)),
            "true" => TokenKind::Literal(Literal(Value::from(true))),
            "false" => TokenKind::Literal(Literal(Value::from(false))),
            "NaN" => TokenKind::Literal(Literal(Value::from(f64::NAN))),
            "Infinity" => TokenKind::Literal(Literal(Value::from(f64::INFINITY))),
            _ if rest[len..].trim_start().starts_with('(') => TokenKind::Function,
            _ => TokenKind::NamedValue,
        };
        Ok(self.take(kind, len))
    }

    fn expects_operand(&self) -> bool {
        matches!(
            self.last,
            Last::Opening | Last::StartIndex | Last::StartParameters
        )
    }

    /// Checks that the token may follow the last one and closes what is open; then makes it the last one.
    fn check(&mut self, token: &Token) -> Result<(), Unexpected> {
        use TokenKind as Kind;
        let ends_operand = matches!(self.last, Last::Indexable | Last::Literal);
        let (is_legal, last) = match &token.kind {
            Kind::StartGroup | Kind::Operator(Operator::Not) => (self.expects_operand(), Last::Opening),
            Kind::Literal(_) => (self.expects_operand(), Last::Literal),
            Kind::NamedValue => (self.expects_operand(), Last::Indexable),
            Kind::Function => (self.expects_operand(), Last::Function),
            Kind::StartParameters => (self.last == Last::Function, Last::StartParameters),
            Kind::StartIndex => (self.last == Last::Indexable, Last::StartIndex),
            Kind::Dereference => (self.last == Last::Indexable, Last::Dereference),
            Kind::PropertyName => (self.last == Last::Dereference, Last::Indexable),
            Kind::Wildcard => (
                matches!(self.last, Last::StartIndex | Last::Dereference),
                Last::Indexable,
            ),
            Kind::Operator(_) => (ends_operand, Last::Opening),
            Kind::Separator => (
                ends_operand && self.unclosed.last() == Some(&Bracket::Parameters),
                Last::Opening,
            ),
            Kind::EndGroup => (ends_operand && self.closes(Bracket::Group), Last::Indexable),
            Kind::EndIndex => (ends_operand && self.closes(Bracket::Index), Last::Indexable),
            Kind::EndParameters => {
                let is_empty = self.last == Last::StartParameters;
                (
                    (ends_operand || is_empty) && self.closes(Bracket::Parameters),
                    Last::Indexable,
                )
            }
        };
        if !is_legal {
            return Err(Unexpected(token.span.clone()));
        }
        match token.kind {
            Kind::StartGroup => self.unclosed.push(Bracket::Group),
            Kind::StartIndex => self.unclosed.push(Bracket::Index),
            Kind::StartParameters => self.unclosed.push(Bracket::Parameters),
            _ => {}
        }
        self.last = last;
        Ok(())
    }

    fn closes(&mut self, bracket: Bracket) -> bool {
        self.unclosed.pop_if(|open| *open == bracket).is_some()
    }
}

/// Tells whether a text is a name: letters, digits, `_` and `-`, not beginning with a digit or `-`.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

/// Tells whether a name, a number or an unknown symbol ends before the character.
fn is_boundary(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '(' | ')' | '[' | ']' | ',' | '.' | '!' | '>' | '<' | '=' | '&' | '|'
        )
}

/// The number of bytes before the first character that is an end.
fn len_to(text: &str, is_end: impl Fn(char) -> bool) -> usize {
    text.find(is_end).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the tokens, and of what is unexpected with a `?` before it.
    fn tokens(source: &str) -> Vec<String> {
        let mut lexer = Lexer::new(source);
        let mut texts = Vec::new();
        loop {
            match lexer.next() {
                Ok(Some(token)) => texts.push(source[token.span].to_owned()),
                Ok(None) => return texts,
                Err(Unexpected(span)) => {
                    texts.push(format!("?{}", &source[span]));
                    return texts;
                }
            }
        }
    }

    #[test]
    fn texts_are_cut_into_tokens() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" a . b [ 'c''d' ] ", &["a", ".", "b", "[", "'c''d'", "]"]),
            ("a.*.b[*]", &["a", ".", "*", ".", "b", "[", "*", "]"]),
            ("!a!=b", &["!", "a", "!=", "b"]),
            ("f (1,.5,-1e3)", &["f", "(", "1", ",", ".5", ",", "-1e3", ")"]),
            ("1<=2&&3||4", &["1", "<=", "2", "&&", "3", "||", "4"]),
            ("1=1", &["1", "?=1"]),
            ("1 .5", &["1", "?."]),
            ("1-1", &["?1-1"]),
            ("a-1", &["a-1"]),
            ("a.b()", &["a", ".", "b", "?("]),
            ("f(1,)", &["f", "(", "1", ",", "?)"]),
            ("(1]", &["(", "1", "?]"]),
            ("'a", &["?'a"]),
            ("a*b", &["?a*b"]),
            ("é.x", &["?é"]),
            ("a,b", &["a", "?,"]),
            ("true.a", &["true", "?."]),
        ];
        for (source, want) in cases {
            assert_eq!(tokens(source), *want, "{source}");
        }
    }
}
