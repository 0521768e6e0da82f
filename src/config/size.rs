//! Sizes: bytes, or a number with a unit such as `10GB`, `512mb` or `1TiB`, which all count in 1024s.

use std::fmt;

use super::duration::scaled;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Size(u64);

const PREFIXES: [char; 5] = ['k', 'm', 'g', 't', 'p'];

impl Size {
    /// The bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Reads a size; blanks may stand before the unit, and its case does not matter.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
        let (number, unit) = text.split_at(end.unwrap_or(text.len()));
        let mut unit = unit.trim_start();
        let mut factor = 1_i128;
        let mut endings: &[&str] = &["", "b"];
        if let Some(power) = PREFIXES.iter().position(|prefix| unit.starts_with(*prefix)) {
            factor = 1_i128 << (10 * (power + 1));
            unit = &unit[1..];
            endings = &["", "b", "ib"];
        }
        let known = endings.contains(&unit);
        let bytes = known.then(|| scaled(number, factor)).flatten()?;
        u64::try_from(bytes).ok().map(Self)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |power: &usize| self.0 != 0 && self.0.trailing_zeros() as usize >= 10 * power;
        match (1..=PREFIXES.len()).rev().find(whole) {
            Some(power) => {
                let prefix = PREFIXES[power - 1].to_ascii_uppercase();
                write!(f, "{}{prefix}B", self.0 >> (10 * power))
            }
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_in_1024s_whatever_their_case() {
        let cases = [
            ("0", Some(0)),
            ("1048576", Some(1 << 20)),
            ("10GB", Some(10 << 30)),
            ("512mb", Some(512 << 20)),
            ("1TiB", Some(1 << 40)),
            ("1.5 k", Some(1536)),
            ("7b", Some(7)),
            ("2P", Some(2 << 50)),
            ("", None),
            ("GB", None),
            (".", None),
            ("-1", None),
            ("1ib", None),
            ("1kibb", None),
            ("1XB", None),
            ("1GBs", None),
            ("20000P", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(Size::parse(text).map(Size::bytes), bytes, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_written_so_that_they_can_be_read() {
        for text in ["0", "1", "1KB", "1536", "10GB", "1TB", "1025MB"] {
            assert_eq!(Size::parse(text).map(|s| s.to_string()).as_deref(), Some(text));
        }
    }
}
