//! A pattern for one name, without slashes: `*`, `?`, `[...]` and `\`.

/// The tokens of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment(Vec<Token>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?`: one character.
    One,
    /// `*`: any number of characters.
    Many,
    /// `[...]`: one character of a set of ranges.
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Segment {
    /// A segment that matches this name only.
    pub fn literal(name: &str) -> Self {
        Self(name.chars().map(Token::Char).collect())
    }

    /// Reads a segment. Anything that is no valid wildcard stands for itself.
    pub fn parse(text: &str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            rest = rest.get(char.len_utf8()..).unwrap_or_default();
            match char {
                '*' if tokens.last() == Some(&Token::Many) => {}
                '*' => tokens.push(Token::Many),
                '?' => tokens.push(Token::One),
                '\\' => {
                    let escaped = rest.chars().next().unwrap_or('\\');
                    rest = rest.get(escaped.len_utf8()..).unwrap_or_default();
                    tokens.push(Token::Char(escaped));
                }
                '[' => match parse_class(rest) {
                    Some((class, after)) => {
                        tokens.push(class);
                        rest = after;
                    }
                    None => tokens.push(Token::Char('[')),
                },
                other => tokens.push(Token::Char(other)),
            }
        }
        Self(tokens)
    }

    /// The only name that matches, if there is just one.
    pub fn as_literal(&self) -> Option<String> {
        let literal = |token: &Token| match token {
            Token::Char(char) => Some(*char),
            Token::Class {
                negated: false,
                ranges,
            } => match ranges.as_slice() {
                [(low, high)] if low == high => Some(*low),
                _ => None,
            },
            _ => None,
        };
        self.0.iter().map(literal).collect()
    }

    /// Matches a whole name, which is not empty. The work is bounded by the product of the lengths.
    pub fn matches(&self, name: &str) -> bool {
        let (mut token, mut rest) = (0, name);
        let mut widen: Option<(usize, &str)> = None;
        while let Some(char) = rest.chars().next() {
            let after = rest.get(char.len_utf8()..).unwrap_or_default();
            match self.0.get(token) {
                Some(Token::Many) => {
                    token += 1;
                    widen = Some((token, rest));
                    continue;
                }
                Some(one) if one.matches(char) => {
                    (token, rest) = (token + 1, after);
                    continue;
                }
                _ => {}
            }
            let Some((next, from)) = widen else { return false };
            let mut chars = from.chars();
            chars.next();
            widen = Some((next, chars.as_str()));
            (token, rest) = (next, chars.as_str());
        }
        self.0.iter().skip(token).all(|token| *token == Token::Many)
    }
}

impl Token {
    fn matches(&self, char: char) -> bool {
        match self {
            Self::Char(own) => *own == char,
            Self::One => true,
            Self::Many => false,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(low, high)| (low..=high).contains(&&char)) != *negated
            }
        }
    }
}

/// Reads a class after its `[`; none if it is not closed or a range runs backwards.
fn parse_class(text: &str) -> Option<(Token, &str)> {
    let body = text.strip_prefix(['!', '^']);
    let negated = body.is_some();
    let mut rest = body.unwrap_or(text);
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let (char, escaped, after) = next_member(rest)?;
        // A bracket that comes first stands for itself.
        if char == ']' && !escaped && !ranges.is_empty() {
            return Some((Token::Class { negated, ranges }, after));
        }
        rest = after;
        let range_end = rest
            .strip_prefix('-')
            .and_then(next_member)
            .filter(|&(end, escaped, _)| end != ']' || escaped);
        match range_end {
            Some((end, _, after)) if char <= end => {
                ranges.push((char, end));
                rest = after;
            }
            Some(_) => return None,
            None => ranges.push((char, char)),
        }
    }
}

fn next_member(text: &str) -> Option<(char, bool, &str)> {
    let mut chars = text.chars();
    match chars.next()? {
        '\\' => chars.next().map(|char| (char, true, chars.as_str())),
        char => Some((char, false, chars.as_str())),
    }
}
