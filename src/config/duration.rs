//! Durations as Go writes them: `1h30m`, `250ms`, `-5s`.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A duration of the configuration file; negative ones count as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GoDuration(Duration);

/// The units in nanoseconds; longer names stand before those that they begin with.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("μs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("h", 3600e9),
];

impl GoDuration {
    /// A duration of whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// The duration.
    pub fn get(self) -> Duration {
        self.0
    }

    /// Reads a duration: an optional sign, then numbers with their units; `0` needs no unit.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Some(Self::default());
        }
        if rest.is_empty() {
            return None;
        }
        let mut nanos = 0.0;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let number: f64 = rest[..end].parse().ok()?;
            let (unit, factor) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit))?;
            nanos += number * factor;
            rest = &rest[end + unit.len()..];
        }
        let duration = Duration::try_from_secs_f64(nanos / 1e9).ok()?;
        Some(Self(if negative { Duration::ZERO } else { duration }))
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_zero() {
            return f.write_str("0s");
        }
        let seconds = self.0.as_secs();
        for (value, unit) in [
            (seconds / 3600, "h"),
            (seconds / 60 % 60, "m"),
            (seconds % 60, "s"),
        ] {
            if value > 0 {
                write!(f, "{value}{unit}")?;
            }
        }
        match self.0.subsec_nanos() {
            0 => Ok(()),
            nanos if nanos % 1_000_000 == 0 => write!(f, "{}ms", nanos / 1_000_000),
            nanos => write!(f, "{nanos}ns"),
        }
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText)
    }
}

/// Reads the text inside of the YAML reader's call, so that an error carries the key and its place.
struct FromText;

impl Visitor<'_> for FromText {
    type Value = GoDuration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as 90s, 5m or 1h30m")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<GoDuration, E> {
        GoDuration::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads a duration for which 0 and less stand for the default of `DEFAULT` seconds.
pub fn positive_or_default<'de, D: Deserializer<'de>, const DEFAULT: u64>(
    deserializer: D,
) -> Result<GoDuration, D::Error> {
    let duration = GoDuration::deserialize(deserializer)?;
    Ok(if duration.0.is_zero() {
        GoDuration::from_secs(DEFAULT)
    } else {
        duration
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let cases = [
            ("0", Some(0)),
            ("90s", Some(90_000)),
            ("1h30m", Some(5_400_000)),
            ("1.5h", Some(5_400_000)),
            ("250ms", Some(250)),
            ("+2m3s", Some(123_000)),
            ("-5s", Some(0)),
            ("", None),
            ("-", None),
            ("5", None),
            ("5 s", None),
            ("s", None),
            ("1..5s", None),
            ("1d", None),
            ("99999999999999999999999h", None),
        ];
        for (text, millis) in cases {
            let want = millis.map(Duration::from_millis);
            assert_eq!(GoDuration::parse(text).map(GoDuration::get), want, "{text:?}");
        }
    }

    #[test]
    fn durations_are_written_so_that_they_can_be_read() {
        for text in ["0s", "3h", "1h30m", "1m1s", "250ms", "1s5ms", "7ns"] {
            assert_eq!(
                GoDuration::parse(text).map(|d| d.to_string()).as_deref(),
                Some(text)
            );
        }
    }
}
