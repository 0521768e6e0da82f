//! The YAML 1.2 core schema: what a scalar's text means.

use std::sync::Arc;

use super::Error;
use crate::model::Position;

/// What a scalar is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::model) enum Literal {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Any number.
    Number(f64),
    /// Everything else.
    String,
}

/// The tags that a scalar may carry, without `tag:yaml.org,2002:`.
const CORE: &str = "tag:yaml.org,2002:";

/// Finds what `text` means: by its tag, else by the core schema if it is written plainly, else it is a string.
///
/// `style` names the style of a scalar that is quoted or a block.
pub(super) fn resolve(
    text: &Arc<str>,
    style: Option<&'static str>,
    tag: Option<&str>,
    at: Position,
) -> Result<Literal, Error> {
    let invalid = |kind: &str| Error::InvalidValue {
        value: text.to_string(),
        position: at,
        tag: format!("{CORE}{kind}"),
    };
    let Some(tag) = tag else {
        return match style {
            None => plain(text).map_err(invalid),
            Some(_) => Ok(Literal::String),
        };
    };
    let kind = tag.strip_prefix(CORE).unwrap_or("");
    if kind == "str" {
        return Ok(Literal::String);
    }
    if let Some(style) = style {
        return Err(Error::TaggedStyle {
            style,
            position: at,
            tag: tag.to_owned(),
        });
    }
    let found = match kind {
        "null" => null(text),
        "bool" => boolean(text),
        "int" => integer(text).transpose().map_err(invalid)?,
        "float" => float(text),
        _ => return Err(Error::UnexpectedTag(tag.to_owned())),
    };
    found.ok_or_else(|| invalid(kind))
}

/// Resolves an untagged plain scalar; the error names the type whose range it exceeds.
fn plain(text: &str) -> Result<Literal, &'static str> {
    if let Some(literal) = null(text).or_else(|| boolean(text)) {
        return Ok(literal);
    }
    // Only these can start a number; most scalars of a workflow are told apart by their first character.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return Ok(Literal::String);
    }
    match integer(text) {
        Some(number) => number,
        None => Ok(float(text).unwrap_or(Literal::String)),
    }
}

fn null(text: &str) -> Option<Literal> {
    matches!(text, "" | "null" | "Null" | "NULL" | "~").then_some(Literal::Null)
}

fn boolean(text: &str) -> Option<Literal> {
    match text {
        "true" | "True" | "TRUE" => Some(Literal::Bool(true)),
        "false" | "False" | "FALSE" => Some(Literal::Bool(false)),
        _ => None,
    }
}

/// Decimal digits with an optional sign, `0x` or `0o` digits; the latter two are 32 bits wide, two's complement.
fn integer(text: &str) -> Option<Result<Literal, &'static str>> {
    let radix = |digits: &str, radix: u32| {
        let bits = u32::from_str_radix(digits, radix).map_err(|_| "int")?;
        Ok(Literal::Number(f64::from(bits.cast_signed())))
    };
    let is = |digits: &str, legal: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|b| legal(&b));
    if let Some(digits) = text
        .strip_prefix("0x")
        .filter(|digits| is(digits, u8::is_ascii_hexdigit))
    {
        return Some(radix(digits, 16));
    }
    if let Some(digits) = text
        .strip_prefix("0o")
        .filter(|digits| is(digits, |b| matches!(b, b'0'..=b'7')))
    {
        return Some(radix(digits, 8));
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if is(digits, u8::is_ascii_digit) {
        return text.parse().ok().map(|number| Ok(Literal::Number(number)));
    }
    None
}

/// `[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?`, infinities and not-a-number.
fn float(text: &str) -> Option<Literal> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Some(Literal::Number(f64::INFINITY));
        }
        "-.inf" | "-.Inf" | "-.INF" => return Some(Literal::Number(f64::NEG_INFINITY)),
        ".nan" | ".NaN" | ".NAN" => return Some(Literal::Number(f64::NAN)),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let whole = match mantissa.split_once('.') {
        Some((left, right)) => digits(left) && digits(right) && !(left.is_empty() && right.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    let scaled = exponent.is_none_or(|exponent| {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !whole || !scaled {
        return None;
    }
    text.parse().ok().map(Literal::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &Literal) {
        let found = resolve(&Arc::from(text), None, None, Position { line: 1, column: 1 });
        match (&found, expected) {
            (Ok(Literal::Number(left)), Literal::Number(right)) if left.is_nan() => {
                assert!(right.is_nan(), "{text}");
            }
            _ => assert_eq!(found.as_ref().ok(), Some(expected), "{text}"),
        }
    }

    #[test]
    fn resolves_plain_scalars_by_the_core_schema() {
        for text in ["", "null", "Null", "NULL", "~"] {
            check(text, &Literal::Null);
        }
        for text in ["true", "True", "TRUE"] {
            check(text, &Literal::Bool(true));
        }
        for text in [
            "yes",
            "no",
            "on",
            "off",
            "y",
            "n",
            "tRue",
            "nULL",
            "2001-01-01",
            "1_000",
            "0b1",
            "1:30",
        ] {
            check(text, &Literal::String);
        }
        for text in [
            "0X1F", "0x", "0o8", "1e", "1e+", ".", "+", "-", "+.", "1.2.3", "0x1G", "--1", "1 2",
        ] {
            check(text, &Literal::String);
        }
    }

    #[test]
    fn resolves_numbers() {
        let rows = [
            ("0755", 755.0),
            ("-12", -12.0),
            ("+5", 5.0),
            ("0x1F", 31.0),
            ("0xFFFFFFFF", -1.0),
            ("0o17", 15.0),
            ("1.10", 1.1),
            ("1.", 1.0),
            (".5", 0.5),
            ("-.5e-1", -0.05),
            ("1e3", 1000.0),
            ("1E+3", 1000.0),
            (".inf", f64::INFINITY),
            ("-.INF", f64::NEG_INFINITY),
            (".NaN", f64::NAN),
            ("99999999999999999999", 1e20),
        ];
        for (text, number) in rows {
            check(text, &Literal::Number(number));
        }
    }

    #[test]
    fn refuses_tags_that_do_not_fit() {
        let at = Position { line: 3, column: 28 };
        let fail = |text: &str, style, tag: &str| {
            resolve(&Arc::from(text), style, Some(tag), at)
                .map_or_else(|e| e.to_string(), |v| format!("{v:?}"))
        };
        let rows = [
            (
                "x",
                None,
                "tag:yaml.org,2002:int",
                "The value 'x' on line 3 and column 28 is invalid for the type 'tag:yaml.org,2002:int'",
            ),
            (
                "5",
                Some("DoubleQuoted"),
                "tag:yaml.org,2002:int",
                "The scalar style 'DoubleQuoted' on line 3 and column 28 is not valid with the tag 'tag:yaml.org,2002:int'",
            ),
            ("x", None, "!foo", "Unexpected tag '!foo'"),
            (
                "x",
                None,
                "tag:yaml.org,2002:binary",
                "Unexpected tag 'tag:yaml.org,2002:binary'",
            ),
            ("5", None, "tag:yaml.org,2002:str", "String"),
            ("5", None, "tag:yaml.org,2002:float", "Number(5.0)"),
            ("", None, "tag:yaml.org,2002:null", "Null"),
        ];
        for (text, style, tag, expected) in rows {
            assert_eq!(fail(text, style, tag), expected);
        }
        let wide = resolve(&Arc::from("0x1FFFFFFFF"), None, None, at).map_err(|e| e.to_string());
        assert_eq!(
            wide,
            Err("The value '0x1FFFFFFFF' on line 3 and column 28 is invalid for the type 'tag:yaml.org,2002:int'".into())
        );
    }
}
