//! The truth: the response times that there were, and those that a load as it was meant would have had.

use crate::delays::STOP;

/// Percentiles that are told: their names and shares.
pub const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)];
/// A percentile is known as far as this share of its tail allows: a distribution with a jump has no single value at the jump.
pub const EDGE: f64 = 0.02;

/// A full stop: when it really began and ended.
#[derive(Clone, Copy, Debug)]
pub struct Stop {
    /// Its begin, in nanoseconds of the date.
    pub begin: u64,
    /// Its end.
    pub end: u64,
}

/// A load as it was meant: evenly spaced requests, whatever the generator made of it.
#[derive(Clone, Copy, Debug)]
pub struct Intended {
    /// When its first request came, in nanoseconds of the date.
    pub first: u64,
    /// Requests a second.
    pub rate: f64,
    /// Seconds.
    pub seconds: f64,
}

/// The response times (sorted, in nanoseconds) that the intended load would have had, each from its intended arrival.
///
/// A request that is due within a stop is answered after it, in the order of arrival, `each` nanoseconds a request: that is the
/// queue that the stop leaves behind. The others have the delays that requests outside of stops really had (`free`, sorted).
pub fn intended(load: Intended, stops: &[Stop], delay: u64, each: u64, free: &[u64]) -> Vec<u64> {
    let count = (load.rate * load.seconds) as u64;
    let mut times = Vec::with_capacity(count as usize);
    let (mut ended, mut untouched) = (0, 0usize);
    for number in 0..count {
        let arrival = load.first + (number as f64 * 1e9 / load.rate) as u64;
        let due = arrival + delay;
        let stop = stops.iter().find(|stop| stop.begin <= due && due < stop.end);
        let ready = stop.map_or(due, |stop| stop.end);
        let end = ready.max(ended + each);
        ended = end;
        if end == due && !free.is_empty() {
            untouched += 1;
        } else {
            times.push(end - arrival);
        }
    }
    times.extend((0..untouched).map(|number| free[number * free.len() / untouched]));
    times.sort_unstable();
    times
}

/// The value at a share of sorted values (nearest rank).
pub fn at(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64 - 1e-9).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(0)
}

/// The percentiles as the inside of a JSON object, in microseconds: each with the lowest and the highest value that is right.
pub fn json(prefix: &str, sorted: &[u64]) -> String {
    let us = |value: u64| value as f64 / 1e3;
    let told = PERCENTILES.map(|(name, share)| {
        let edge = (1.0 - share) * EDGE;
        format!(
            "\"{prefix}_{name}_us\": {:.1}, \"{prefix}_{name}_low_us\": {:.1}, \"{prefix}_{name}_high_us\": {:.1}",
            us(at(sorted, share)),
            us(at(sorted, share - edge)),
            us(at(sorted, share + edge))
        )
    });
    told.join(", ")
}

/// The stop that a schedule has next, from its begin on.
pub fn next_stop(begin: u64, now: u64) -> u64 {
    if now <= begin { begin } else { begin + (now - begin).div_ceil(STOP.0) * STOP.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delays::MS;

    #[test]
    fn a_stop_makes_all_who_meant_to_come_wait() {
        let stops = [Stop { begin: 900 * MS, end: 1_100 * MS }];
        let load = Intended { first: 0, rate: 1000.0, seconds: 2.0 };
        let times = intended(load, &stops, MS, 0, &[MS + 1]);
        assert_eq!(times.len(), 2000);
        assert_eq!(at(&times, 0.5), MS + 1);
        assert_eq!(times.iter().filter(|time| **time > 2 * MS).count(), 199);
        assert_eq!(at(&times, 0.99), 181 * MS, "20 of 2000 waited longer");
        assert_eq!(*times.last().unwrap(), 201 * MS);
    }

    #[test]
    fn the_queue_after_a_stop_takes_its_time() {
        let stops = [Stop { begin: 100 * MS, end: 200 * MS }];
        let load = Intended { first: 0, rate: 1000.0, seconds: 1.0 };
        let quick = intended(load, &stops, MS, 0, &[MS]);
        let slow = intended(load, &stops, MS, MS / 2, &[MS]);
        assert!(
            slow.iter().filter(|time| **time > MS).count() > quick.iter().filter(|time| **time > MS).count()
        );
    }

    #[test]
    fn a_percentile_at_a_jump_has_a_range() {
        let sorted: Vec<u64> = (0..10_000).map(|n| if n < 9_900 { MS } else { 50 * MS }).collect();
        let text = json("true", &sorted);
        assert!(text.contains("\"true_p99_low_us\": 1000.0, \"true_p99_high_us\": 50000.0"), "{text}");
        assert!(text.contains("\"true_p90_low_us\": 1000.0, \"true_p90_high_us\": 1000.0"), "{text}");
    }

    #[test]
    fn stops_keep_their_schedule() {
        assert_eq!(next_stop(900 * MS, 0), 900 * MS);
        assert_eq!(next_stop(900 * MS, 901 * MS), 2_900 * MS);
        assert_eq!(next_stop(900 * MS, 2_900 * MS), 2_900 * MS);
    }
}
