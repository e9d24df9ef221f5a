//! When requests are due: the open loop's arrivals, which know nothing of HTTP.
//!
//! Arrivals are worked out one by one when they are wanted, so a queue of any length costs no memory: the arrivals
//! that wait are those the clock has passed and nobody has taken.

use crate::clock::SECOND;
use crate::random::Random;

/// How arrivals are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Spacing {
    /// Every 1/rate seconds.
    Constant,
    /// A Poisson process: gaps exponentially distributed, mean 1/rate.
    Poisson,
}

/// One thread's share of the arrivals.
#[derive(Debug, Clone)]
pub struct Arrivals {
    spacing: Spacing,
    start: u64,
    /// Nanoseconds between this thread's arrivals, on average.
    gap: f64,
    /// Nanoseconds from `start` to the next arrival.
    next: f64,
    /// How many constant arrivals were taken: they are multiples, so that no rounding adds up.
    taken: u64,
    /// The first constant arrival, so that threads take turns.
    offset: f64,
    random: Random,
}

impl Arrivals {
    /// The arrivals of thread `thread` of `threads` at `rate` a second over all threads. A sum of Poisson
    /// processes is one; constant arrivals of the threads interleave evenly.
    pub fn new(
        spacing: Spacing,
        rate: f64,
        thread: usize,
        threads: usize,
        start: u64,
        mut random: Random,
    ) -> Self {
        let gap = SECOND as f64 / rate * threads as f64;
        let offset = gap * thread as f64 / threads as f64;
        let next = match spacing {
            Spacing::Constant => offset,
            Spacing::Poisson => random.exponential(gap),
        };
        Self { spacing, start, gap, next, taken: 0, offset, random }
    }

    /// About how many arrivals are due at `now` and not taken.
    pub fn backlog(&self, now: u64) -> u64 {
        let due = self.next();
        if due > now { 0 } else { 1 + ((now - due) as f64 / self.gap) as u64 }
    }

    /// When the next arrival is due, on the clock.
    #[inline]
    pub fn next(&self) -> u64 {
        self.start + self.next as u64
    }

    /// Takes the next arrival and returns when it was due.
    #[inline]
    pub fn take(&mut self) -> u64 {
        let due = self.next();
        self.taken += 1;
        self.next = match self.spacing {
            Spacing::Constant => self.offset + self.taken as f64 * self.gap,
            Spacing::Poisson => self.next + self.random.exponential(self.gap),
        };
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(spacing: Spacing, rate: f64, threads: usize, until: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for thread in 0..threads {
            let mut arrivals =
                Arrivals::new(spacing, rate, thread, threads, 0, Random::new(3, thread as u64));
            while arrivals.next() < until {
                times.push(arrivals.take());
            }
        }
        times.sort_unstable();
        times
    }

    #[test]
    fn constant_arrivals_of_threads_interleave() {
        let times = all(Spacing::Constant, 1_000.0, 3, SECOND);
        assert_eq!(times.len(), 1_000);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (999_998..=1_000_002).contains(gap)), "{:?}", &gaps[..5]);
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_deviation_of_an_exponential() {
        let times = all(Spacing::Poisson, 10_000.0, 2, 5 * SECOND);
        let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean / 100_000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "{}", variance.sqrt() / mean);
    }

    proptest! {
        #[test]
        fn the_count_is_the_rate_times_the_time(rate in 1.0..50_000.0f64, threads in 1usize..9) {
            let times = all(Spacing::Constant, rate, threads, SECOND);
            prop_assert!((times.len() as f64 - rate).abs() <= threads as f64 + 1.0);
        }
    }
}
