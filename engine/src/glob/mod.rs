//! The file patterns of `hashFiles`: those of `@actions/glob`.
//!
//! This module is pure: it tells which paths match and which directories may hold a match. Whoever walks the tree
//! starts at [`Patterns::search_paths`] in their order, enters a directory if [`Patterns::partial_matches`] says so,
//! and takes the entries of a directory in the order of the bytes of their names, the contents of a subdirectory at
//! its place. GitHub's digest depends on that order.

mod pattern;
mod segment;

use pattern::Pattern;

/// The arguments of `hashFiles`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashOptions {
    /// `--follow-symbolic-links`: links are followed, without falling into cycles.
    pub follow_symbolic_links: bool,
    /// The remaining arguments; each may hold several lines.
    pub patterns: Vec<String>,
}

impl HashOptions {
    /// Takes the option off the front of the arguments.
    ///
    /// # Errors
    /// The text that GitHub's users know, if the first argument is another option.
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let (follow_symbolic_links, patterns) = match arguments.split_first() {
            Some((first, rest)) if first.eq_ignore_ascii_case("--follow-symbolic-links") => (true, rest),
            Some((first, _)) if first.starts_with("--") => {
                return Err(format!(
                    "Invalid glob option {first}, avaliable option: '--follow-symbolic-links'."
                ));
            }
            _ => (false, arguments),
        };
        Ok(Self {
            follow_symbolic_links,
            patterns: patterns.to_vec(),
        })
    }
}

/// A list of patterns; later ones override earlier ones.
#[derive(Debug, Clone)]
pub struct Patterns {
    patterns: Vec<Pattern>,
}

impl Patterns {
    /// Reads patterns, one a line; empty lines and comments (`#`) are skipped.
    ///
    /// Relative patterns start at `root`, the absolute path of the workspace. A pattern that matches a directory
    /// matches all that it holds.
    ///
    /// # Errors
    /// A pattern holds `.` or `..` as a segment, or nothing but `!`.
    pub fn parse<S: AsRef<str>>(lines: &[S], root: &str) -> Result<Self, String> {
        let mut patterns = Vec::new();
        for line in lines.iter().flat_map(|text| text.as_ref().split('\n')) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pattern = Pattern::parse(line, root)?;
            let descendants = pattern.descendants();
            patterns.push(pattern);
            patterns.extend(descendants);
        }
        Ok(Self { patterns })
    }

    /// Tells whether the file at this absolute path matches. A symbolic link that is not followed is a file.
    pub fn matches(&self, path: &str) -> bool {
        let path = split(path);
        self.patterns.iter().fold(false, |matched, pattern| {
            if pattern.matches(&path) {
                !pattern.negated
            } else {
                matched
            }
        })
    }

    /// Tells whether the directory at this absolute path may hold a match, and so must be searched.
    pub fn partial_matches(&self, directory: &str) -> bool {
        let path = split(directory);
        self.patterns
            .iter()
            .any(|pattern| !pattern.negated && pattern.partial_matches(&path))
    }

    /// Where to start: the literal paths in front of the first wildcard of each pattern, without those that lie
    /// below another one.
    pub fn search_paths(&self) -> Vec<String> {
        let all: Vec<String> = self
            .patterns
            .iter()
            .filter(|pattern| !pattern.negated)
            .map(Pattern::search_path)
            .collect();
        let below = |path: &str, other: &str| {
            path.strip_prefix(other.trim_end_matches('/'))
                .is_some_and(|rest| rest.starts_with('/') && path != other)
        };
        let mut paths: Vec<String> = Vec::new();
        for path in &all {
            if !paths.contains(path) && !all.iter().any(|other| below(path, other)) {
                paths.push(path.clone());
            }
        }
        paths
    }
}

fn split(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests;
