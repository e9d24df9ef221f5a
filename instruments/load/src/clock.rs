//! The clock of every measurement: CLOCK_MONOTONIC in nanoseconds, which never jumps.

/// Nanoseconds of the clock (about 25 ns a call through the vDSO), and nanoseconds as seconds.
pub use bakeoff_share::clock::{now_ns as now, seconds};

/// Nanoseconds in one second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in one millisecond.
pub const MILLISECOND: u64 = 1_000_000;

/// A span in nanoseconds as the kernel wants it.
pub fn timespec(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: (nanoseconds / SECOND) as libc::time_t,
        tv_nsec: (nanoseconds % SECOND) as libc::c_long,
    }
}

/// Sleeps until `deadline` on the clock of [`now`].
pub fn sleep_until(deadline: u64) {
    let span = deadline.saturating_sub(now());
    std::thread::sleep(std::time::Duration::from_nanos(span));
}

/// Reads a span of time as people write it: `10`, `10s`, `500ms`, `2m`, `1h`; a bare number is
/// seconds, as with wrk and hey.
pub fn parse_span(text: &str) -> Result<u64, String> {
    match text.trim().parse::<f64>() {
        Ok(seconds) if (0.0..1e9).contains(&seconds) => Ok((seconds * 1e9).round() as u64),
        _ => bakeoff_share::durations::parse_duration(text).map(|span| span.as_nanos() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        assert_eq!(parse_span("10"), Ok(10 * SECOND));
        assert_eq!(parse_span("1.5s"), Ok(1_500 * MILLISECOND));
        assert_eq!(parse_span("250ms"), Ok(250 * MILLISECOND));
        assert_eq!(parse_span("20us"), Ok(20_000));
        assert_eq!(parse_span("2m"), Ok(120 * SECOND));
        for wrong in ["", "s", "ten", "10 parsecs", "-1", "1.2.3"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_clock_goes_forward() {
        let before = now();
        assert!(now() >= before);
        assert_eq!(timespec(1_500_000_001).tv_nsec, 500_000_001);
    }
}
