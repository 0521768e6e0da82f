//! Times as text.

use std::time::{SystemTime, UNIX_EPOCH};

/// A time in UTC as RFC 3339 writes it, with milliseconds, such as `2026-07-01T12:00:00.000Z`.
pub fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / 86_400);
    let (hour, minute, second) = time_of_day(since.as_secs());
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// A time in UTC as the name of a file can begin with it, such as `20260701-120000`; later times are greater texts.
pub fn compact(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / 86_400);
    let (hour, minute, second) = time_of_day(since.as_secs());
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

fn time_of_day(seconds: u64) -> (u64, u64, u64) {
    (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// Year, month and day of a day counted from 1970-01-01, by the 400-year cycle of the Gregorian calendar.
///
/// The year is taken to begin in March, so that the leap day is its last day.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_written_as_rfc_3339() {
        let cases = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_709_251_200_000, "2024-03-01T00:00:00.000Z"),
            (4_102_444_800_001, "2100-01-01T00:00:00.001Z"),
        ];
        for (millis, text) in cases {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn names_of_files_begin_with_the_time() {
        let time = UNIX_EPOCH + Duration::from_secs(951_782_400 + 3 * 3600 + 4 * 60 + 5);
        assert_eq!(compact(time), "20000229-030405");
    }
}
