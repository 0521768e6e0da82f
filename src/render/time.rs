//! Times and durations as text.

use std::time::Duration;

pub use gantry_actors::engine::stamp::rfc3339;

/// A duration for a person: `12 ms`, `3.4 s`, `2 min 05 s`, `1 h 02 min`.
pub fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{}.{} s", seconds, duration.subsec_millis() / 100),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        let cases = [
            (7, "7 ms"),
            (1250, "1.2 s"),
            (125_000, "2 min 05 s"),
            (3_725_000, "1 h 02 min"),
        ];
        for (millis, text) in cases {
            assert_eq!(human(Duration::from_millis(millis)), text);
        }
    }
}
