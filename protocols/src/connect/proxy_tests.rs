//! What the environment means, as tables.

use super::*;

fn proxies(variables: &[(&str, &str)]) -> Result<Proxies, Error> {
    Proxies::from_lookup(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

/// The proxy of a server, as `host:port`.
fn proxy_of(variables: &[(&str, &str)], server: &str) -> String {
    let proxies = proxies(variables).unwrap_or_else(|error| panic!("{error}"));
    let server = Address::parse(server).unwrap();
    proxies
        .proxy_of(&server)
        .map_or_else(String::new, Proxy::authority)
}

#[test]
fn a_scheme_has_its_own_proxy_and_either_case_counts() {
    let both = [("HTTP_PROXY", "plain:1"), ("https_proxy", "http://secure:2/")];
    assert_eq!(proxy_of(&both, "http://a.test"), "plain:1");
    assert_eq!(proxy_of(&both, "https://a.test"), "secure:2");
    let cases = [("HTTP_PROXY", "upper"), ("http_proxy", "lower")];
    assert_eq!(proxy_of(&cases, "http://a.test"), "upper:80");
    assert_eq!(proxy_of(&cases, "https://a.test"), "");
    assert_eq!(
        proxy_of(&[("HTTP_PROXY", " "), ("http_proxy", "lower")], "http://a.test"),
        "lower:80"
    );
}

#[test]
fn no_proxy_is_a_list_of_rules() {
    let table = [
        ("", "http://a.test", true),
        ("*", "http://a.test", false),
        ("a.test", "http://a.test", false),
        ("A.test", "http://a.TEST", false),
        ("a.test", "http://x.a.test", false),
        ("a.test", "http://xa.test", true),
        (".a.test", "http://a.test", true),
        (".a.test", "http://x.a.test", false),
        ("*.a.test", "http://x.a.test", false),
        ("*.a.test", "http://a.test", true),
        ("a.test:8080", "http://a.test:8080", false),
        ("a.test:8080", "http://a.test", true),
        ("b.test, a.test ,", "http://a.test", false),
        ("10.0.0.0/8", "http://10.1.2.3", false),
        ("10.0.0.0/8", "http://11.1.2.3", true),
        ("0.0.0.0/0", "http://11.1.2.3", false),
        ("10.0.0.0/99", "http://10.1.2.3", true),
        ("10.1.2.3", "http://10.1.2.3:99", false),
        ("10.1.2.3:98", "http://10.1.2.3:99", true),
        ("fd00::/8", "http://[fd00::1]", false),
        ("[fd00::1]:80", "http://[fd00::1]", false),
        ("fd00::1", "http://[fd00::1]", false),
        ("fd00::/8", "http://10.1.2.3", true),
        // This machine needs no rule.
        ("", "http://localhost:3000", false),
        ("", "http://127.0.0.2", false),
        ("", "http://[::1]", false),
    ];
    for (rules, server, proxied) in table {
        let proxy = proxy_of(&[("HTTP_PROXY", "p:1"), ("NO_PROXY", rules)], server);
        assert_eq!(!proxy.is_empty(), proxied, "{rules:?} {server}");
    }
}

#[test]
fn a_password_becomes_a_header_and_can_be_masked() {
    let variables = [("HTTP_PROXY", "http://us%65r:p%40ss%zz@proxy.test:3128")];
    let proxies = proxies(&variables).unwrap_or_else(|error| panic!("{error}"));
    let proxy = proxies
        .proxy_of(&Address::parse("http://a.test").unwrap())
        .unwrap();
    assert_eq!(proxy.authority(), "proxy.test:3128");
    let header = proxy
        .authorization
        .as_deref()
        .unwrap()
        .strip_prefix("Basic ")
        .unwrap();
    assert_eq!(BASE64_STANDARD.decode(header).unwrap(), b"user:p@ss%zz");
    assert_eq!(proxies.passwords().collect::<Vec<_>>(), ["p@ss%zz"]);
}

#[test]
fn proxies_that_cannot_be_used_are_named_without_their_password() {
    for value in ["socks5://u:hush@p:1", "https://u:hush@p"] {
        let error = proxies(&[("https_proxy", value)]).err().unwrap();
        assert!(matches!(&error, Error::Scheme { variable, .. } if variable == "https_proxy"));
        assert!(!error.to_string().contains("hush"));
    }
    let error = proxies(&[("HTTP_PROXY", "http://u:hush@:x")]).err().unwrap();
    assert_eq!(error.to_string(), "HTTP_PROXY: not the address of a proxy");
}
