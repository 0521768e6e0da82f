use proptest::prelude::*;

use super::*;

fn masks(values: &[&str]) -> Masks {
    let masks = Masks::default();
    for (index, value) in values.iter().enumerate() {
        masks.add_secret(&format!("S{index}"), value).unwrap();
    }
    masks
}

fn check_mask(values: &[&str], text: &str, expected: &str) {
    let masks = masks(values);
    assert_eq!(masks.mask(text), expected, "{values:?} in {text:?}");
    for size in 1..text.len() {
        assert_eq!(
            stream(&masks, text, |_| size),
            expected,
            "{values:?} in {text:?} by {size}"
        );
    }
}

/// Redacts the text in pieces, whose lengths `size` gives.
fn stream(masks: &Masks, text: &str, size: impl Fn(usize) -> usize) -> String {
    let mut redactor = masks.redactor();
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(size(rest.len()).max(1)));
        redactor.push(piece, &mut out);
        rest = after;
    }
    redactor.flush(&mut out);
    assert!(!redactor.is_holding());
    out
}

#[test]
fn values_are_replaced() {
    check_mask(&["s3cret"], "", "");
    check_mask(&["s3cret"], "nothing s3cre t", "nothing s3cre t");
    check_mask(&["s3cret"], "s3cret", "***");
    check_mask(&["s3cret"], "a s3cret b s3crets", "a *** b ***s");
    check_mask(&["s3cret"], "s3crets3crets3cret", "***");
    check_mask(&["grüße"], "die grüße 日本", "die *** 日本");
}

#[test]
fn overlapping_and_nested_values_are_merged() {
    check_mask(&["abcdef", "defghi"], "xabcdefghix", "x***x");
    check_mask(
        &["abcdefghi", "cdef"],
        "xabcdefghix cdef abcdefgh",
        "x***x *** ab***gh",
    );
    check_mask(
        &["abcd", "abcdefgh", "abcdef"],
        "abcd abcdef abcdefg abcdefgh",
        "*** *** ***g ***",
    );
    check_mask(&["abcd", "efgh"], "abcdefgh abcd efgh", "*** *** ***");
    check_mask(&["aaaa"], "aaaaaaa aaa", "*** aaa");
    check_mask(&["abab", "ababX"], "abababX", "***");
}

#[test]
fn values_of_several_lines_leave_the_rows() {
    let key = "-----BEGIN KEY-----\nMIIabcdef\n  ==\n-----END KEY-----\n";
    check_mask(
        &[key],
        "cat\n-----BEGIN KEY-----\nMIIabcdef\n  ==\n-----END KEY-----\nend",
        "cat\n***\n***\n***\n***\nend",
    );
    check_mask(&[key], "MIIabcdef -----END KEY-----", "*** ***");
    check_mask(
        &["one1\r\ntwo2"],
        "one1\r\ntwo2 one1\ntwo2 two2",
        "***\n*** ***\n*** ***",
    );
    check_mask(&["ab\ncd\nef"], "ab\ncd\nef ab cd", "***\n***\n*** ab cd");
}

#[test]
fn encodings_are_replaced() {
    let value = "p\"s's&<w>%: /+\\ü";
    let cases = [
        "cFwicydzJjx3PiU6IC8rXMO8",
        "p%22s%27s%26%3Cw%3E%25%3A%20%2F%2B%5C%C3%BC",
        "p%22s's%26%3Cw%3E%25%3A%20%2F%2B%5C%C3%BC",
        "p%22s%27s%26%3cw%3e%25%3a%20%2f%2b%5c%c3%bc",
        "p%22s%27s%26%3Cw%3E%25%3A+%2F%2B%5C%C3%BC",
        "p\\\"s's&<w>%: /+\\\\ü",
        "p\\\"s's\\u0026\\u003cw\\u003e%: /+\\\\ü",
        "p\\\"s's&<w>%: /+\\\\\\u00fc",
        "p\\\"s's&<w>%: \\/+\\\\ü",
        "p&quot;s&apos;s&amp;&lt;w&gt;%: /+\\ü",
        "p&#34;s&#39;s&amp;&lt;w&gt;%: /+\\ü",
        "p\"s's&amp;&lt;w&gt;%: /+\\ü",
        "702273277326",
        "p\"s''s&<w>%: /+\\ü",
        "p\"s's&<w>%25: /+\\ü",
        "p\"s's&<w>%25%3A /+\\ü",
        "p\\\"s's&<w>%: /+\\ü",
        "p\"s'\\''s&<w>%: /+\\ü",
    ];
    let masks = masks(&[value]);
    for case in cases {
        // Only the two that are no whole encoding are given as a part of one.
        let text = match case {
            "702273277326" => encode::hex(value, false),
            "cFwicydzJjx3PiU6IC8rXMO8" => encode::base64(value.as_bytes(), encode::STANDARD),
            case => case.to_owned(),
        };
        assert_eq!(masks.mask(&format!("<{text}>")), "<***>", "{case}");
    }
    check_mask(&["\"quoted value\""], "quoted value", "***");
    check_mask(
        &["part-one&part-two&part-three"],
        "part-one&part-two& and part-three",
        "*** and ***",
    );
    check_mask(&["part-one&+part-two"], "part-one&+ and art-two", "*** and ***");
}

#[test]
fn base64_is_found_at_every_alignment_and_over_rows() {
    let value = "s3cr3t-v4lue?>~ that is long enough to be folded into rows by tools";
    let masks = masks(&[value]);
    for before in 0..6 {
        let data = format!("{}{value} tail", "x".repeat(before));
        for alphabet in [encode::STANDARD, encode::URL_SAFE] {
            let digits = encode::base64(data.as_bytes(), alphabet);
            let masked = masks.mask(&digits).into_owned();
            assert!(
                masked.contains("***") && masked.len() < before * 2 + 20,
                "{before}: {masked}"
            );
            let rows: Vec<_> = digits
                .as_bytes()
                .chunks(64)
                .map(|row| String::from_utf8_lossy(row))
                .collect();
            let masked = stream(&masks, &rows.join("\n"), |_| 7);
            assert_eq!(masked.matches('\n').count(), rows.len() - 1);
            assert!(masked.len() < 40, "{masked}");
        }
    }
}

#[test]
fn short_and_common_values_are_refused_once() {
    let masks = Masks::default();
    assert_eq!(
        masks.add_secret("A", "abc"),
        Err(Refusal::TooShort("the secret 'A'".into()))
    );
    assert_eq!(masks.add_secret("A", "abc"), Ok(()));
    assert_eq!(
        masks.add_secret("B", " TRUE\n"),
        Err(Refusal::TooCommon("the secret 'B'".into()))
    );
    assert_eq!(
        masks.add_value("e").unwrap_err().to_string(),
        "a value of add-mask has fewer than 4 characters and is not masked, as that would hide ordinary text"
    );
    assert_eq!(masks.add_value("f"), Ok(()));
    assert_eq!(masks.add_value(" \n"), Ok(()));
    assert_eq!(masks.mask("abc true e f"), "abc true e f");
    masks.add_value("line one\nab\ntrue").unwrap();
    assert_eq!(masks.mask("line one; ab; true"), "***; ab; true");
    assert!(!format!("{masks:?}{:?}", masks.redactor()).contains("line"));
}

#[test]
fn huge_masks_are_bounded() {
    let masks = Masks::default();
    let value: Vec<_> = (0..10_000).map(|n| format!("{n:08}")).collect();
    let value = value.join("-");
    masks.add_value(&value).unwrap();
    let mut redactor = masks.redactor();
    let mut out = String::new();
    redactor.push(&value, &mut out);
    redactor.flush(&mut out);
    assert_eq!(out, "***");
    masks.write().index.set_limit(200_000);
    let refused: Vec<_> = (0..20)
        .map(|n| masks.add_value(&format!("{n}-{value}")))
        .filter_map(Result::err)
        .collect();
    assert_eq!(refused, [Refusal::Full("a value of add-mask".into())]);
}

#[test]
fn a_mask_applies_from_the_next_row_on() {
    let masks = Masks::default();
    let mut redactor = masks.redactor();
    let mut out = String::new();
    redactor.push("value-1\n", &mut out);
    masks.add_value("value-1").unwrap();
    redactor.push("value-1\nvalu", &mut out);
    assert!(redactor.is_holding());
    masks.add_value("value-2").unwrap();
    redactor.push("e-2\n", &mut out);
    assert_eq!(out, "value-1\n***\n***\n");
}

#[test]
fn rows_are_not_held_without_need() {
    let masks = masks(&["secret value\nof two lines", "other"]);
    let mut redactor = masks.redactor();
    let mut out = String::new();
    redactor.push("a row with se\n", &mut out);
    assert!(!redactor.is_holding());
    redactor.push("secret value\n", &mut out);
    assert!(redactor.is_holding());
    redactor.push("and no more\n", &mut out);
    assert_eq!(out, "a row with se\n***\nand no more\n");
}

#[test]
fn leaks_are_reported_by_name() {
    let masks = masks(&["s3cret value", "another"]);
    let mut report = LeakReport::default();
    let mut redactor = masks.redactor();
    let mut out = String::new();
    redactor.push(
        "czNjcmV0IHZhbHVl s3cret value s3cret value s3cret%20value\n",
        &mut out,
    );
    assert!(report.is_empty());
    report.collect("build", &mut redactor);
    masks.add_value("added value").unwrap();
    redactor.push("added value\n", &mut out);
    report.collect("test", &mut redactor);
    let lines: Vec<_> = report.leaks().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "the secret 'S0' was printed by the step 'build' (raw)",
            "the secret 'S0' was printed by the step 'build' (base64)",
            "the secret 'S0' was printed by the step 'build' (percent-encoded)",
            "a value of add-mask was printed by the step 'test' (raw)",
        ]
    );
    let explained = masks.explain("x another czNjcmV0IHZhbHVl");
    assert_eq!(
        explained,
        [("S0".into(), Encoding::Base64), ("S1".into(), Encoding::Raw)]
    );
    assert!(!masks.is_clean("another") && masks.is_clean("other"));
}

/// Values of a small alphabet, so that they overlap, contain each other and span rows.
fn values() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[ab&\n\"ü]{4,9}", 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn chunking_makes_no_difference(
        values in values(), text in "[ab&\n\"üx%2;]{0,60}", sizes in prop::collection::vec(1_usize..9, 1..8),
    ) {
        let masks = Masks::default();
        for value in &values {
            masks.add_value(value).ok();
        }
        let whole = masks.mask(&text);
        let pieces = stream(&masks, &text, |rest| *sizes.get(rest % sizes.len()).unwrap());
        prop_assert_eq!(&whole, &pieces);
        prop_assert_eq!(whole.matches('\n').count(), text.matches('\n').count());
        prop_assert_eq!(masks.is_clean(&text), whole == text);
    }

    #[test]
    fn no_value_survives_in_any_encoding(
        values in prop::collection::vec("[ -~üß日]{5,30}", 1..6),
        before in "[ -~]{0,5}", after in "[ -~]{0,5}", size in 1_usize..20,
    ) {
        let masks = Masks::default();
        for value in &values {
            masks.add_value(value).ok();
        }
        for value in values.iter().filter(|value| matches!(check(value), Check::Fine)) {
            let value = value.trim_matches(['\r', '\n']);
            let found = derive::patterns(value, usize::MAX).found;
            let rows: Vec<_> = found.iter().map(|(text, _)| format!("{before}{text}{after}")).collect();
            let out = stream(&masks, &rows.join("\n"), |_| size);
            for (pattern, encoding) in found {
                // A fragment of a value may be part of the replacement or of what surrounds it by chance.
                if pattern.len() > 5 && !format!("{before}***{after}").contains(&pattern) {
                    prop_assert!(!out.contains(&pattern), "{:?}", encoding);
                }
            }
        }
    }

    #[test]
    fn text_without_values_is_unchanged(text in "\\PC{0,200}", value in "[0-9]{20,30}") {
        let masks = masks(&[&value]);
        prop_assert!(matches!(masks.mask(&text), Cow::Borrowed(same) if same == text));
        prop_assert_eq!(stream(&masks, &text, |_| 11), text);
    }
}
