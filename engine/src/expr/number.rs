//! Numbers as text: the forms that GitHub reads, and the form that it writes.

/// Reads a text as a number; what is no number is NaN.
///
/// White space around it is ignored and an empty text is 0. Hexadecimal and octal digits give the 32-bit integer
/// with these bits, so `0xFFFFFFFF` is -1.
pub(super) fn parse(text: &str) -> f64 {
    let text = text.trim();
    if text.is_empty() {
        return 0.0;
    }
    if is_decimal(text) {
        return text.parse().unwrap_or(f64::NAN);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return from_digits(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return from_digits(digits, 8);
    }
    infinity(text)
}

/// Tells whether the text is an optional sign, digits with an optional point, and an optional exponent.
pub(super) fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let legal_exponent = exponent.is_none_or(|text| {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        !unsigned.is_empty() && digits(unsigned)
    });
    (!whole.is_empty() || !fraction.is_empty()) && digits(whole) && digits(fraction) && legal_exponent
}

fn from_digits(digits: &str, radix: u32) -> f64 {
    // The standard parser would also accept a sign here.
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return f64::NAN;
    }
    u32::from_str_radix(digits, radix).map_or(f64::NAN, |bits| f64::from(bits.cast_signed()))
}

fn infinity(text: &str) -> f64 {
    let (sign, word) = match text.strip_prefix('-') {
        Some(word) => (-1.0, word),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if word.eq_ignore_ascii_case("Infinity") {
        sign * f64::INFINITY
    } else {
        f64::NAN
    }
}

/// Writes a number as GitHub does: at most 15 significant digits, scientific from 1E+15 up and below 0.0001.
///
/// This is the format `G15` of .NET with the invariant culture, except that negative zero is `0`.
pub fn number_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    let (digits, exponent) = significant_digits(number.abs());
    if (-4..15).contains(&exponent) {
        format!("{sign}{}", positional(&digits, exponent))
    } else {
        format!("{sign}{}", scientific(&digits, exponent))
    }
}

/// The first 15 significant digits, rounded and without trailing zeros, and the decimal exponent of the first one.
fn significant_digits(number: f64) -> (String, i32) {
    let text = format!("{number:.14e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (
        digits.trim_end_matches('0').to_owned(),
        exponent.parse().unwrap_or(0),
    )
}

fn positional(digits: &str, exponent: i32) -> String {
    let Ok(exponent) = usize::try_from(exponent) else {
        let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    let whole = exponent + 1;
    if digits.len() <= whole {
        return format!("{digits}{}", "0".repeat(whole - digits.len()));
    }
    format!("{}.{}", &digits[..whole], &digits[whole..])
}

fn scientific(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    format!("{first}{point}{rest}E{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_numbers() {
        let cases = [
            ("", 0.0),
            (" \u{3000}\t", 0.0),
            (" 12 ", 12.0),
            ("+5", 5.0),
            ("-.5", -0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1E-3", 0.001),
            ("1e400", f64::INFINITY),
            ("0x1f", 31.0),
            ("0xFFFFFFFF", -1.0),
            ("0x0000000000001", 1.0),
            ("0o17", 15.0),
            ("infinity", f64::INFINITY),
            ("-INFINITY", f64::NEG_INFINITY),
        ];
        for (text, want) in cases {
            let number = parse(text);
            assert_eq!(
                number.to_bits(),
                want.to_bits(),
                "{text:?} is {want}, not {number}"
            );
        }
    }

    #[test]
    fn other_texts_are_no_numbers() {
        let texts = [
            "a",
            ".",
            "1e",
            "1e+",
            "e5",
            "1_000",
            "1,000",
            "0x",
            "0xg",
            "0x+1",
            "0X1F",
            "0x100000000",
            "-0x1",
            "0o8",
            "0b1",
            "1 2",
            "1.2.3",
            "--1",
            "１",
            "∞",
            "inf",
            "nan",
            "true",
        ];
        for text in texts {
            assert!(parse(text).is_nan(), "{text:?}");
        }
    }

    #[test]
    fn numbers_are_written_with_15_digits() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (2.0 / 3.0, "0.666666666666667"),
            (100.0, "100"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1E+15"),
            (9_999_999_999_999_999.0, "1E+16"),
            (1_234_567_890_123_456.0, "1.23456789012346E+15"),
            (0.0001, "0.0001"),
            (0.000_123_4, "0.0001234"),
            (0.000_01, "1E-05"),
            (-1.23e-10, "-1.23E-10"),
            (1.5e300, "1.5E+300"),
            (f64::MAX, "1.79769313486232E+308"),
            (5e-324, "4.94065645841247E-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (number, want) in cases {
            assert_eq!(number_text(number), want);
        }
    }
}
