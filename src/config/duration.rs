//! Durations as Go writes them: `1h30m`, `250ms`, `-5s`.

use std::fmt;
use std::time::Duration;

/// A duration of the configuration, of either sign, with a nanosecond's precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct GoDuration(i64);

/// The units in nanoseconds; longer names stand before those that they begin with.
const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

impl GoDuration {
    /// A duration of whole seconds.
    pub const fn from_secs(seconds: u32) -> Self {
        Self(seconds as i64 * 1_000_000_000)
    }

    /// The duration; a negative one is zero.
    pub fn get(self) -> Duration {
        u64::try_from(self.0).map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// Tells whether it is less than zero, which means "never" where a key says so.
    #[allow(dead_code, reason = "service containers wait by it")]
    pub fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// Tells whether it is zero or less.
    pub fn is_off(self) -> bool {
        self.0 <= 0
    }

    /// Reads a duration: an optional sign, then numbers with their units; `0` needs no unit.
    pub fn parse(text: &str) -> Option<Self> {
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Some(Self::default());
        }
        if rest.is_empty() {
            return None;
        }
        let mut nanos = 0_i128;
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
            let (unit, factor) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit))?;
            nanos = nanos.checked_add(scaled(&rest[..end], *factor)?)?;
            rest = &rest[end + unit.len()..];
        }
        i64::try_from(nanos * sign).ok().map(Self)
    }
}

/// A decimal number times an integer, rounded towards zero.
pub(super) fn scaled(number: &str, factor: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // More digits than these are below the precision of any unit.
    let digits = &fraction[..fraction.len().min(18)];
    let part: i128 = if digits.is_empty() {
        0
    } else {
        digits.parse().ok()?
    };
    let divisor = 10_i128.pow(u32::try_from(digits.len()).ok()?);
    whole.checked_mul(factor)?.checked_add(part * factor / divisor)
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let nanos = self.0.unsigned_abs();
        let seconds = nanos / 1_000_000_000;
        for (value, unit) in [
            (seconds / 3600, "h"),
            (seconds / 60 % 60, "m"),
            (seconds % 60, "s"),
        ] {
            if value > 0 {
                write!(f, "{value}{unit}")?;
            }
        }
        match nanos % 1_000_000_000 {
            0 => Ok(()),
            rest if rest % 1_000_000 == 0 => write!(f, "{}ms", rest / 1_000_000),
            rest => write!(f, "{rest}ns"),
        }
    }
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
            (".5s", Some(500)),
            ("1.s", Some(1000)),
            ("250ms", Some(250)),
            ("+2m3s", Some(123_000)),
            ("-5s", Some(0)),
            ("", None),
            ("-", None),
            ("5", None),
            ("5 s", None),
            ("s", None),
            (".s", None),
            ("1..5s", None),
            ("1d", None),
            ("1h-5m", None),
            ("99999999999999999999999h", None),
            ("9999999999999999999999999999999999999999999h", None),
        ];
        for (text, millis) in cases {
            let want = millis.map(Duration::from_millis);
            assert_eq!(GoDuration::parse(text).map(GoDuration::get), want, "{text:?}");
        }
    }

    #[test]
    fn durations_are_written_so_that_they_can_be_read() {
        for text in [
            "0s", "3h", "1h30m", "1m1s", "250ms", "1s5ms", "7ns", "-5s", "-1h1ns",
        ] {
            assert_eq!(
                GoDuration::parse(text).map(|d| d.to_string()).as_deref(),
                Some(text)
            );
        }
    }
}
