use proptest::prelude::*;

use super::*;

/// Checks which of the paths the patterns match, with the workspace at `/w/r`.
fn check(lines: &[&str], yes: &[&str], no: &[&str]) {
    let patterns = Patterns::parse(lines, "/w/r").unwrap();
    for path in yes {
        assert!(patterns.matches(path), "{lines:?} must match {path}");
        for (end, _) in path.match_indices('/').skip(1) {
            let directory = path.get(..end).unwrap();
            let starts = patterns.search_paths();
            let above = starts.iter().any(|start| start.starts_with(directory));
            assert!(
                above || patterns.partial_matches(directory),
                "{lines:?} must enter {directory} for {path}"
            );
        }
    }
    for path in no {
        assert!(!patterns.matches(path), "{lines:?} must not match {path}");
    }
}

#[test]
fn patterns_match_whole_paths() {
    check(
        &["a.txt"],
        &["/w/r/a.txt", "/w/r/a.txt/below"],
        &["/w/r/b/a.txt", "/w/a.txt", "/w/r/a.txt2"],
    );
    check(&["./a.txt"], &["/w/r/a.txt"], &["/a.txt"]);
    check(&["/w/r/a.txt"], &["/w/r/a.txt"], &["/w/r/w/r/a.txt"]);
    check(&["**"], &["/w/r/a", "/w/r/.git/b", "/w/r"], &["/w/x"]);
    check(&["**/a.txt"], &["/w/r/a.txt", "/w/r/x/y/a.txt"], &["/w/r/xa.txt"]);
    check(
        &["x/**/y/**/z"],
        &["/w/r/x/y/z", "/w/r/x/1/y/2/3/z", "/w/r/x/y/y/z"],
        &["/w/r/x/z", "/w/r/y/z"],
    );
    check(
        &["*.rs"],
        &["/w/r/a.rs", "/w/r/.rs", "/w/r/.hidden.rs"],
        &["/w/r/a/b.rs", "/w/r/a.rsx"],
    );
    check(
        &["a*b*c"],
        &["/w/r/abc", "/w/r/a-b-b-c"],
        &["/w/r/acb", "/w/r/abcd"],
    );
    check(&["a**c"], &["/w/r/abc"], &["/w/r/a/c"]);
    check(&["a?c"], &["/w/r/abc", "/w/r/aüc"], &["/w/r/ac", "/w/r/abbc"]);
    check(&["/**/z"], &["/z", "/q/z"], &["/zz"]);
}

#[test]
fn directories_bring_what_they_hold() {
    check(&["src"], &["/w/r/src/a", "/w/r/src/b/c"], &["/w/r/srcs/a"]);
    check(&["src/"], &["/w/r/src/a", "/w/r/src/b/c"], &[]);
    check(&["*/x/"], &["/w/r/1/x/a"], &["/w/r/x/a"]);
}

#[test]
fn later_patterns_override_earlier_ones() {
    check(
        &["**", "!**/*.md"],
        &["/w/r/a"],
        &["/w/r/a.md", "/w/r/x/b.md", "/w/r/d.md/c"],
    );
    check(&["**", "!**/*.md", "a.md"], &["/w/r/a.md"], &["/w/r/b.md"]);
    check(&["!a", "a"], &["/w/r/a"], &[]);
    check(&["!!a"], &["/w/r/a"], &[]);
    check(&["**", "! node_modules/"], &["/w/r/a"], &["/w/r/node_modules/x"]);
}

#[test]
fn lines_and_comments_are_told_apart() {
    check(
        &["# no\n\n  a  \n#b\nc\r"],
        &["/w/r/a", "/w/r/c"],
        &["/w/r/b", "/w/r/#b"],
    );
    check(&["\\#b"], &["/w/r/#b"], &[]);
    check(&["sub dir/ü*"], &["/w/r/sub dir/ünï"], &[]);
}

#[test]
fn classes_are_sets_of_characters() {
    check(&["[abc]"], &["/w/r/a"], &["/w/r/d", "/w/r/ab"]);
    check(&["[a-c]x"], &["/w/r/bx"], &["/w/r/dx", "/w/r/-x"]);
    check(&["[!a-c]"], &["/w/r/d"], &["/w/r/b"]);
    check(&["[^a-c]"], &["/w/r/d"], &["/w/r/b"]);
    check(&["[]-]"], &["/w/r/]", "/w/r/-"], &["/w/r/["]);
    check(&["[a\\]]"], &["/w/r/]"], &["/w/r/\\"]);
    check(&["[a"], &["/w/r/[a"], &["/w/r/a"]);
    check(&["[z-a]"], &["/w/r/[z-a]"], &["/w/r/z"]);
    check(&["\\*"], &["/w/r/*"], &["/w/r/a"]);
    check(
        &["{a,b}", "+(c)"],
        &["/w/r/{a,b}", "/w/r/+(c)"],
        &["/w/r/a", "/w/r/c"],
    );
}

#[test]
fn the_root_is_literal() {
    let patterns = Patterns::parse(&["*"], "/w/[r]*").unwrap();
    assert!(patterns.matches("/w/[r]*/a"));
    assert!(!patterns.matches("/w/rr/a"));
    assert_eq!(patterns.search_paths(), ["/w/[r]*"]);
}

#[test]
fn search_starts_at_literal_paths() {
    let cases: [(&[&str], &[&str]); 7] = [
        (&["**/a"], &["/w/r"]),
        (&["src/*.rs", "src/a/b"], &["/w/r/src"]),
        (&["b/x", "a/*", "b/x"], &["/w/r/b/x", "/w/r/a"]),
        (&["src", "srcs"], &["/w/r/src", "/w/r/srcs"]),
        (&["[s]rc/\\*/?"], &["/w/r/src/*"]),
        (&["!a"], &[]),
        (&["/**", "a"], &["/"]),
    ];
    for (lines, expected) in cases {
        assert_eq!(
            Patterns::parse(lines, "/w/r").unwrap().search_paths(),
            expected,
            "{lines:?}"
        );
    }
}

#[test]
fn directories_without_a_match_are_not_entered() {
    let patterns = Patterns::parse(&["a/*/c", "d/**/e", "!a/x/**"], "/w/r").unwrap();
    for directory in ["/", "/w", "/w/r", "/w/r/a", "/w/r/a/x", "/w/r/d/1/2/3"] {
        assert!(patterns.partial_matches(directory), "{directory}");
    }
    for directory in ["/q", "/w/r/b", "/w/r/a/x/d"] {
        assert!(!patterns.partial_matches(directory), "{directory}");
    }
}

#[test]
fn mistakes_are_named() {
    for pattern in ["..", "a/../b", "a/./b", "/w/r/../x", "[.]./x", "\\.."] {
        let text = format!("Invalid pattern '{pattern}'. Relative pathing '.' and '..' is not allowed.");
        assert_eq!(Patterns::parse(&[pattern], "/w/r").unwrap_err(), text);
    }
    assert!(Patterns::parse(&["! "], "/w/r").is_err());
    let options = |arguments: &[&str]| {
        let arguments: Vec<_> = arguments.iter().map(ToString::to_string).collect();
        HashOptions::parse(&arguments)
            .map(|options| (options.follow_symbolic_links, options.patterns.join(",")))
    };
    assert_eq!(
        options(&["--Follow-Symbolic-Links", "a", "--b"]),
        Ok((true, "a,--b".into()))
    );
    assert_eq!(
        options(&["a", "--follow-symbolic-links"]),
        Ok((false, "a,--follow-symbolic-links".into()))
    );
    assert_eq!(options(&[]), Ok((false, String::new())));
    let text = "Invalid glob option --x, avaliable option: '--follow-symbolic-links'.";
    assert_eq!(options(&["--x"]), Err(text.into()));
}

#[test]
fn many_wildcards_take_bounded_time() {
    let pattern = ["**/a*a*a*a*a*b"; 30].join("/");
    let path = format!("/w/r/{}", [&*"a".repeat(60); 60].join("/"));
    assert!(!Patterns::parse(&[pattern], "/w/r").unwrap().matches(&path));
}

proptest! {
    #[test]
    fn any_pattern_is_read_without_panic(line in "[!a-c*?\\[\\]\\\\/.^-]{0,16}", path in "(/[a-c.\\[\\]-]{1,3}){0,4}") {
        if let Ok(patterns) = Patterns::parse(&[line], "/w") {
            patterns.search_paths();
            patterns.partial_matches(&path);
            patterns.matches(&path);
        }
    }

    #[test]
    fn every_directory_above_a_match_is_entered(line in "[ab*?/]{1,8}", path in "(/[ab]{1,2}){1,4}") {
        let patterns = Patterns::parse(&[line], "/").unwrap();
        if patterns.matches(&path) {
            for (end, _) in path.match_indices('/').skip(1) {
                prop_assert!(patterns.partial_matches(path.get(..end).unwrap()));
            }
        }
    }
}
