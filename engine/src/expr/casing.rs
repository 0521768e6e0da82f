//! Comparison that ignores case, as GitHub does it: each character is mapped to its *simple* upper-case form, and the
//! forms are compared by their UTF-16 units.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::Hasher;

/// Maps a character to its simple upper-case form: one character, whatever the language.
fn upper(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    // The dotless i is the one letter that keeps its form, because its upper case is an ASCII letter's.
    if c == 'ı' {
        return c;
    }
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => upper_of_expanding(c),
    }
}

/// The simple form of a character whose full upper-case form has more than one character.
///
/// Only the Greek letters with a subscript iota have one; `ß`, `ŉ`, `ﬁ` and their like map to themselves.
fn upper_of_expanding(c: char) -> char {
    let offset = match c {
        '\u{1F80}'..='\u{1F87}' | '\u{1F90}'..='\u{1F97}' | '\u{1FA0}'..='\u{1FA7}' => 8,
        '\u{1FB3}' | '\u{1FC3}' | '\u{1FF3}' => 9,
        _ => 0,
    };
    char::from_u32(u32::from(c) + offset).unwrap_or(c)
}

/// A number that orders characters as their UTF-16 units are ordered: surrogate pairs stand below U+E000.
fn unit_order(c: char) -> u32 {
    match u32::from(c) {
        code @ 0xE000..=0xFFFF => code + 0x11_0000,
        code => code,
    }
}

/// Tells whether two texts are equal ignoring case.
pub(super) fn equal(left: &str, right: &str) -> bool {
    if left.is_ascii() && right.is_ascii() {
        return left.eq_ignore_ascii_case(right);
    }
    left.chars().map(upper).eq(right.chars().map(upper))
}

/// Orders two texts ignoring case.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let key = |c| unit_order(upper(c));
    left.chars().map(key).cmp(right.chars().map(key))
}

/// Tells whether `text` begins with `prefix`, ignoring case.
pub(super) fn starts_with(text: &str, prefix: &str) -> bool {
    let mut rest = text.chars();
    prefix
        .chars()
        .all(|wanted| rest.next().is_some_and(|c| upper(c) == upper(wanted)))
}

/// Tells whether `text` ends with `suffix`, ignoring case.
pub(super) fn ends_with(text: &str, suffix: &str) -> bool {
    let mut rest = text.chars().rev();
    suffix
        .chars()
        .rev()
        .all(|wanted| rest.next().is_some_and(|c| upper(c) == upper(wanted)))
}

/// Tells whether `part` stands anywhere in `text`, ignoring case. Takes linear time.
pub(super) fn contains(text: &str, part: &str) -> bool {
    folded(text).contains(folded(part).as_ref())
}

/// The upper-case form of a whole text.
fn folded(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase())
    {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() {
        return Cow::Owned(text.to_ascii_uppercase());
    }
    Cow::Owned(text.chars().map(upper).collect())
}

/// How many bytes a hasher is given at once.
const BLOCK: usize = 64;

/// Feeds `text` to a hasher so that texts which are equal ignoring case have equal hashes.
///
/// The bytes of the upper-case form are handed over in blocks of a fixed size, so that the calls do not show whether
/// the text itself is ASCII.
pub(super) fn hash(text: &str, state: &mut impl Hasher) {
    if text.is_ascii() {
        let mut block = [0; BLOCK];
        for chunk in text.as_bytes().chunks(BLOCK) {
            let block = &mut block[..chunk.len()];
            block.copy_from_slice(chunk);
            block.make_ascii_uppercase();
            state.write(block);
        }
    } else {
        folded(text)
            .as_bytes()
            .chunks(BLOCK)
            .for_each(|chunk| state.write(chunk));
    }
    // Ends the text, as `str` does it, so that keys cannot run into what is hashed next.
    state.write_u8(0xFF);
}

#[cfg(test)]
mod tests {
    use std::hash::DefaultHasher;

    use super::*;

    fn hash_of(text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        hash(text, &mut hasher);
        hasher.finish()
    }

    #[test]
    fn equality_uses_simple_upper_case() {
        let cases = [
            ("abc", "ABC", true),
            ("é", "É", true),
            ("ς", "σ", true),
            ("µ", "μ", true),
            ("ſ", "S", true),
            ("𐐨", "𐐀", true),
            ("ᾳ", "ᾼ", true),
            ("ა", "Ა", true),
            ("ß", "SS", false),
            ("ß", "ẞ", false),
            ("ﬁ", "FI", false),
            ("ı", "I", false),
            ("İ", "i", false),
            ("\u{212A}", "k", false),
            ("ᾳ", "ΑΙ", false),
            ("a", "ab", false),
        ];
        for (left, right, want) in cases {
            assert_eq!(equal(left, right), want, "{left} == {right}");
            if want {
                assert_eq!(hash_of(left), hash_of(right), "hash of {left} and {right}");
            }
        }
    }

    #[test]
    fn order_is_that_of_upper_case_units() {
        assert_eq!(compare("_", "z"), Ordering::Greater);
        assert_eq!(compare("[", "a"), Ordering::Greater);
        assert_eq!(compare("a", "B"), Ordering::Less);
        assert_eq!(compare("a", "ab"), Ordering::Less);
        assert_eq!(compare("\u{FFFD}", "😀"), Ordering::Greater);
    }

    #[test]
    fn parts_are_found_ignoring_case() {
        assert!(contains("Hello", "ELL"));
        assert!(contains("straße", "AßE"));
        assert!(!contains("STRASSE", "ß"));
        assert!(starts_with("Hello", "he") && !starts_with("he", "hello"));
        assert!(ends_with("Hello", "LO") && !ends_with("lo", "hello"));
    }

    #[test]
    fn long_keys_hash_alike() {
        let lower = "k".repeat(200) + "ſ";
        let upper = "K".repeat(200) + "s";
        assert!(equal(&lower, &upper));
        assert_eq!(hash_of(&lower), hash_of(&upper));
    }
}
