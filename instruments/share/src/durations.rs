//! Durations as people write them: `500ms`, `30s`, `1.5m`, `2h`.

use std::time::Duration;

/// Reads a duration. A unit is needed, except for 0: `us`, `ms`, `s`, `m` (or `min`), `h`.
///
/// # Errors
/// A sentence that says how a duration is written.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wanted =
        || format!("{text:?} is no duration; write a number and a unit, such as 500ms, 30s, 2m or 1h");
    let text = text.trim();
    let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let number: f64 = number.parse().map_err(|_| wanted())?;
    let unit_s = match unit.trim() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "" if number == 0.0 => 1.0,
        _ => return Err(wanted()),
    };
    Duration::try_from_secs_f64(number * unit_s).map_err(|_| wanted())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_units() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("1h"), Ok(Duration::from_secs(3600)));
        assert_eq!(parse_duration("0"), Ok(Duration::ZERO));
    }

    #[test]
    fn refuses_what_is_unclear() {
        for text in ["", "30", "s", "-1s", "1 fortnight", "1e3s", "99999999999999999999999h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
