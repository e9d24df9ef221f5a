//! How the measured time of a step is cut into the intervals of progress and series.

/// Times and lengths in nanoseconds since the start of the measured time.
///
/// The last interval of the step ends with it. Those after it, in which answers are only waited for, begin there: no interval
/// has both, so that a rate is always the answers of an interval over its own length.
#[derive(Debug, Clone, Copy)]
pub struct Intervals {
    length: u64,
    duration: u64,
}

impl Intervals {
    /// Those of a step that lasts `duration`.
    pub fn new(length: u64, duration: u64) -> Self {
        Self { length: length.max(1), duration }
    }

    /// The number of the interval, from 0, that holds a time.
    pub fn at(self, time: u64) -> u64 {
        match time.checked_sub(self.duration) {
            None => time / self.length,
            Some(after) => self.within() + after / self.length,
        }
    }

    /// When it begins.
    pub fn start(self, index: u64) -> u64 {
        match index.checked_sub(self.within()) {
            None => index * self.length,
            Some(after) => self.duration + after * self.length,
        }
    }

    /// When it ends, which is when the next one begins.
    pub fn end(self, index: u64) -> u64 {
        self.start(index + 1)
    }

    /// How many lie within the step.
    fn within(self) -> u64 {
        self.duration.div_ceil(self.length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Intervals;

    #[test]
    fn the_last_one_ends_with_the_step_and_the_wait_begins_there() {
        let cut = Intervals::new(250, 550);
        let ends: Vec<_> = (0..5).map(|index| cut.end(index)).collect();
        assert_eq!(ends, [250, 500, 550, 800, 1050]);
        assert_eq!([0, 249, 250, 549, 550, 799, 800].map(|time| cut.at(time)), [0, 0, 1, 2, 3, 3, 4]);
    }

    #[test]
    fn a_step_of_whole_intervals_has_no_short_one() {
        let cut = Intervals::new(250, 500);
        assert_eq!([0, 1, 2].map(|index| cut.end(index)), [250, 500, 750]);
        assert_eq!([499, 500].map(|time| cut.at(time)), [1, 2]);
    }

    proptest! {
        #[test]
        fn each_time_lies_in_its_interval_and_none_is_empty(length in 1u64..2000, duration in 1u64..5000, time in 0u64..20_000) {
            let cut = Intervals::new(length, duration);
            let index = cut.at(time);
            prop_assert!(cut.start(index) <= time && time < cut.end(index));
            prop_assert!(cut.end(index) - cut.start(index) <= length);
        }
    }
}
