//! Hides what might be a secret in values that are shown.

use serde_json::Value as Json;

/// What the names of variables with secret values have in them.
const TELLING: [&str; 7] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "CREDENTIAL",
    "API_KEY",
    "PRIVATE_KEY",
];

/// A text without the password of a URL in it.
pub fn text(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest.get(..authority).and_then(|authority| authority.rfind('@')) {
        Some(at) => format!("{scheme}://***{}", rest.get(at..).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A value of a map; its name may tell that it is secret.
pub fn named(name: &str, value: &Json, is_secret: bool) -> Json {
    let upper = name.to_ascii_uppercase();
    let is_secret = is_secret || TELLING.iter().any(|word| upper.contains(word));
    match value {
        Json::String(found) if found.is_empty() => value.clone(),
        Json::String(_) | Json::Number(_) | Json::Bool(_) if is_secret => Json::from("***"),
        Json::String(found) => Json::from(text(found)),
        Json::Object(pairs) => {
            let hidden = pairs
                .iter()
                .map(|(name, value)| (name.clone(), named(name, value, is_secret)));
            Json::Object(hidden.collect())
        }
        Json::Array(items) => items.iter().map(|item| named(name, item, is_secret)).collect(),
        value => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_urls_are_hidden() {
        let cases = [
            ("https://user:pass@host/p@th", "https://***@host/p@th"),
            ("https://host/a@b", "https://host/a@b"),
            ("https://tok@host", "https://***@host"),
            ("user:pass@host", "user:pass@host"),
        ];
        for (given, want) in cases {
            assert_eq!(text(given), want);
        }
    }
}
