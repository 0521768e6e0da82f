//! The encodings in which tools print values.

use std::fmt::Write;

pub(crate) const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
pub(super) const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64 without padding.
pub(crate) fn base64(bytes: &[u8], alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..=chunk.len() {
            let index = (bits >> (18 - 6 * digit)) & 63;
            out.extend(
                usize::try_from(index)
                    .ok()
                    .and_then(|index| alphabet.get(index))
                    .map(|&c| char::from(c)),
            );
        }
    }
    out
}

/// The digits that `bytes` determines alone when it stands in longer data, after `before` (0, 1 or 2) bytes of a
/// group of three.
pub(super) fn base64_within(bytes: &[u8], before: usize, alphabet: &[u8; 64]) -> String {
    let mut padded = vec![0; before];
    padded.extend_from_slice(bytes);
    let digits = base64(&padded, alphabet);
    // The digits that the neighbours share: none, two or three in front, and the last one unless a group ends there.
    let front = if before == 0 { 0 } else { before + 1 };
    let back = usize::from(!padded.len().is_multiple_of(3));
    digits
        .get(front..digits.len().saturating_sub(back))
        .unwrap_or_default()
        .to_owned()
}

/// Percent-encoding; letters, digits and `-._~` stay, and so do the characters of `keep`.
pub(super) fn percent(value: &str, keep: &str, uppercase: bool) -> String {
    let mut out = String::with_capacity(value.len() * 2);
    for byte in value.bytes() {
        let char = char::from(byte);
        if char.is_ascii_alphanumeric() || "-._~".contains(char) || (byte.is_ascii() && keep.contains(char)) {
            out.push(char);
        } else {
            push_hex(&mut out, "%", u32::from(byte), 2, uppercase);
        }
    }
    out
}

/// The encoding of HTML forms: a space becomes `+`.
pub(super) fn form(value: &str) -> String {
    percent(value, "* ", true).replace('~', "%7E").replace(' ', "+")
}

/// Two digits for each byte.
pub(super) fn hex(value: &str, uppercase: bool) -> String {
    let mut out = String::with_capacity(value.len() * 2);
    for byte in value.bytes() {
        push_hex(&mut out, "", u32::from(byte), 2, uppercase);
    }
    out
}

/// The inside of a JSON string; the characters of `also`, and all beyond ASCII if `ascii` is set, become `\uXXXX`.
pub(super) fn json(value: &str, also: &str, ascii: bool) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    let mut units = [0; 2];
    for char in value.chars() {
        match char {
            '"' | '\\' => out.extend(['\\', char]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{C}' => out.push_str("\\f"),
            _ if char < ' ' || also.contains(char) || (ascii && !char.is_ascii()) => {
                for unit in char.encode_utf16(&mut units) {
                    push_hex(&mut out, "\\u", u32::from(*unit), 4, false);
                }
            }
            _ => out.push(char),
        }
    }
    out
}

/// The inside of an XML or HTML text, with the given forms of the two quotes.
pub(super) fn xml(value: &str, double: &str, single: &str) -> String {
    let mut out = String::with_capacity(value.len() + 8);
    for char in value.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str(double),
            '\'' => out.push_str(single),
            _ => out.push(char),
        }
    }
    out
}

/// The data, or with `property` a property, of a workflow command.
pub(super) fn command(value: &str, property: bool) -> String {
    let data = value
        .replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A");
    if property {
        data.replace(':', "%3A").replace(',', "%2C")
    } else {
        data
    }
}

fn push_hex(out: &mut String, prefix: &str, number: u32, width: usize, uppercase: bool) {
    let done = if uppercase {
        write!(out, "{prefix}{number:0width$X}")
    } else {
        write!(out, "{prefix}{number:0width$x}")
    };
    debug_assert!(done.is_ok(), "writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_exact() {
        let cases = [
            (base64(b"", STANDARD), ""),
            (base64(b"f", STANDARD), "Zg"),
            (base64(b"fo", STANDARD), "Zm8"),
            (base64(b"foobar", STANDARD), "Zm9vYmFy"),
            (base64(b"\xFB\xEF\xFF", STANDARD), "++//"),
            (base64(b"\xFB\xEF\xFF", URL_SAFE), "--__"),
            (percent("a b/ü~%", "", true), "a%20b%2F%C3%BC~%25"),
            (percent("a b/ü", "/", false), "a%20b/%c3%bc"),
            (form("a b~*&"), "a+b%7E*%26"),
            (hex("az\n", false), "617a0a"),
            (hex("az\n", true), "617A0A"),
            (json("\"\\\n\t\u{1}<ü", "", false), "\\\"\\\\\\n\\t\\u0001<ü"),
            (json("<ü🎉", "<>&", true), "\\u003c\\u00fc\\ud83c\\udf89"),
            (
                xml("<a href=\"&'\">", "&quot;", "&apos;"),
                "&lt;a href=&quot;&amp;&apos;&quot;&gt;",
            ),
            (command("50%\r\na:b,", false), "50%25%0D%0Aa:b,"),
            (command("a:b,", true), "a%3Ab%2C"),
        ];
        for (actual, expected) in cases {
            assert_eq!(actual, expected);
        }
    }

    #[test]
    fn digits_within_longer_data_are_found_there() {
        for length in 1..20 {
            let value = &b"\xFFsecret value 0123456789"[..length];
            for before in 0..9 {
                for after in 0..4 {
                    let data = [&vec![b'x'; before][..], value, &vec![b'y'; after][..]].concat();
                    let digits = base64_within(value, before % 3, STANDARD);
                    assert!(
                        base64(&data, STANDARD).contains(&digits),
                        "{length} {before} {after}"
                    );
                    assert!(digits.len() + 3 >= length * 4 / 3, "{length} {before}: {digits}");
                }
            }
        }
    }
}
