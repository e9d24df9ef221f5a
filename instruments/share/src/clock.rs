//! The one clock of all instruments: CLOCK_MONOTONIC.

/// Nanoseconds of CLOCK_MONOTONIC. It does not jump when the date is set; it stands still while the machine is suspended.
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for one timespec. CLOCK_MONOTONIC exists on every Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Nanoseconds as seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Seconds from `start_ns` to `end_ns`; 0 if the end lies before the start.
pub fn seconds_between(start_ns: u64, end_ns: u64) -> f64 {
    seconds(end_ns.saturating_sub(start_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_goes_back() {
        let first = now_ns();
        assert!(now_ns() >= first);
    }

    #[test]
    fn it_counts_nanoseconds() {
        assert_eq!(seconds(1_500_000_000), 1.5);
        assert_eq!(seconds_between(5, 2), 0.0);
    }
}
