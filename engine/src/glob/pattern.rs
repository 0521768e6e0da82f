//! One pattern: segments that each match one name, and `**`.

use super::segment::Segment;
use super::split;

/// One pattern, rooted.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    /// `!`: what matches is excluded.
    pub negated: bool,
    parts: Vec<Part>,
    /// A slash at the end: only directories match.
    directories_only: bool,
}

#[derive(Debug, Clone)]
enum Part {
    /// `**`: any number of names.
    Any,
    /// One name.
    One(Segment),
}

impl Pattern {
    /// Reads a pattern that is trimmed and not empty.
    pub fn parse(text: &str, root: &str) -> Result<Self, String> {
        let mut negated = false;
        let mut rest = text;
        while let Some(after) = rest.strip_prefix('!') {
            negated = !negated;
            rest = after.trim_start();
        }
        if rest.is_empty() {
            return Err("pattern cannot be empty".to_owned());
        }
        let rooted = rest.starts_with('/');
        let mut names = split(rest);
        if !rooted && names.first() == Some(&".") {
            names.remove(0);
        }
        let segments: Vec<Part> = names.into_iter().map(Part::parse).collect();
        if segments.iter().any(Part::is_relative) {
            return Err(format!(
                "Invalid pattern '{rest}'. Relative pathing '.' and '..' is not allowed."
            ));
        }
        let mut parts = Vec::new();
        if !rooted {
            parts.extend(
                split(root)
                    .into_iter()
                    .map(|name| Part::One(Segment::literal(name))),
            );
        }
        parts.extend(segments);
        Ok(Self {
            negated,
            parts,
            directories_only: rest.ends_with('/'),
        })
    }

    /// The pattern for all that a matching directory holds, unless this pattern says so itself.
    pub fn descendants(&self) -> Option<Self> {
        if !self.directories_only && matches!(self.parts.last(), Some(Part::Any)) {
            return None;
        }
        let mut parts = self.parts.clone();
        parts.push(Part::Any);
        Some(Self {
            negated: self.negated,
            parts,
            directories_only: false,
        })
    }

    /// Matches the whole path of a file.
    ///
    /// Only the latest `**` is ever widened: what an earlier one could take, the latest can take as well. So the
    /// work is bounded by the product of the lengths.
    pub fn matches(&self, path: &[&str]) -> bool {
        if self.directories_only {
            return false;
        }
        let (mut part, mut name) = (0, 0);
        let mut widen: Option<(usize, usize)> = None;
        while let Some(&text) = path.get(name) {
            match self.parts.get(part) {
                Some(Part::Any) => {
                    part += 1;
                    widen = Some((part, name));
                    continue;
                }
                Some(Part::One(segment)) if segment.matches(text) => {
                    (part, name) = (part + 1, name + 1);
                    continue;
                }
                _ => {}
            }
            let Some((after, taken)) = widen else { return false };
            widen = Some((after, taken + 1));
            (part, name) = (after, taken + 1);
        }
        self.parts.iter().skip(part).all(|part| matches!(part, Part::Any))
    }

    /// Tells whether something below the directory at `path` may match.
    pub fn partial_matches(&self, path: &[&str]) -> bool {
        for (index, name) in path.iter().enumerate() {
            match self.parts.get(index) {
                Some(Part::Any) => return true,
                Some(Part::One(segment)) if segment.matches(name) => {}
                _ => return false,
            }
        }
        true
    }

    /// The literal path in front of the first wildcard.
    pub fn search_path(&self) -> String {
        let literals = self.parts.iter().map_while(|part| match part {
            Part::Any => None,
            Part::One(segment) => segment.as_literal(),
        });
        format!("/{}", literals.collect::<Vec<_>>().join("/"))
    }
}

impl Part {
    fn parse(text: &str) -> Self {
        if text == "**" {
            Self::Any
        } else {
            Self::One(Segment::parse(text))
        }
    }

    fn is_relative(&self) -> bool {
        match self {
            Self::Any => false,
            Self::One(segment) => matches!(segment.as_literal().as_deref(), Some("." | "..")),
        }
    }
}
