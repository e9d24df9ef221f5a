//! What one thread records, interval by interval, and how the threads' records become one.
//!
//! All three spans are in microseconds in HdrHistograms of 3 significant digits from 1 µs to 1 h
//! (<https://hdrhistogram.github.io/HdrHistogram/>): a value is kept within 0.1%.

use hdrhistogram::Histogram;

use crate::errors::{ErrorClass, ErrorCounts};

/// The highest span that is kept, 1 h; a longer one counts as this.
const HIGHEST_US: u64 = 3_600_000_000;

/// An empty histogram of microseconds.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("the bounds are valid")
}

/// Adds `other` to `sum`; they have the same bounds, so nothing can be lost.
pub fn add(sum: &mut Histogram<u64>, other: &Histogram<u64>) {
    sum.add(other).expect("the bounds are equal");
}

/// Nanoseconds as whole microseconds, rounded.
#[inline]
pub fn microseconds(nanoseconds: u64) -> u64 {
    (nanoseconds + 500) / 1000
}

/// What happened in one span of time (a second of one thread, or all of a step).
#[derive(Debug, Clone)]
pub struct Record {
    /// From the intended time to the last byte: the corrected latency.
    pub response: Histogram<u64>,
    /// From the sending to the last byte: the uncorrected latency. Only filled in the open loop; in the closed loop it is
    /// the response time.
    pub service: Histogram<u64>,
    /// From the intended time to the sending. Only filled in the open loop; in the closed loop it is nothing.
    pub lag: Histogram<u64>,
    /// Right responses.
    pub ok: u64,
    /// Right responses whose last byte came inside the measured time, whenever they were sent.
    pub in_window: u64,
    /// Failures by class.
    pub errors: ErrorCounts,
    /// Bytes received.
    pub bytes_read: u64,
    /// Bytes sent.
    pub bytes_written: u64,
    /// Arrivals that found no free connection and waited for one.
    pub waited: u64,
    /// Arrivals that had a free connection and were sent late all the same: our own fault.
    pub late: u64,
    /// Arrivals that were never sent; they are in `response` with the time they had waited.
    pub unsent: u64,
    /// Bytes or an end of the connection that came where no request was in flight.
    pub unsolicited: u64,
}

impl Record {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            response: histogram(),
            service: histogram(),
            lag: histogram(),
            ok: 0,
            in_window: 0,
            errors: ErrorCounts::default(),
            bytes_read: 0,
            bytes_written: 0,
            waited: 0,
            late: 0,
            unsent: 0,
            unsolicited: 0,
        }
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        let Self { response, service, lag, .. } = self;
        [response, service, lag].into_iter().for_each(Histogram::reset);
        self.errors = ErrorCounts::default();
        for count in [
            &mut self.ok,
            &mut self.in_window,
            &mut self.bytes_read,
            &mut self.bytes_written,
            &mut self.waited,
            &mut self.late,
            &mut self.unsent,
            &mut self.unsolicited,
        ] {
            *count = 0;
        }
    }

    /// Adds another record.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
        add(&mut self.lag, &other.lag);
        self.errors.merge(&other.errors);
        self.ok += other.ok;
        self.in_window += other.in_window;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.waited += other.waited;
        self.late += other.late;
        self.unsent += other.unsent;
        self.unsolicited += other.unsolicited;
    }

    /// Requests that ended, well or not.
    pub fn requests(&self) -> u64 {
        self.ok + self.errors.total()
    }

    /// Adds the spans of one request, in nanoseconds.
    #[inline]
    pub fn spans(&mut self, paced: bool, intended: u64, sent: u64, last: u64) {
        self.response.saturating_record(microseconds(last.saturating_sub(intended)));
        if paced {
            self.service.saturating_record(microseconds(last.saturating_sub(sent)));
            self.lag.saturating_record(microseconds(sent.saturating_sub(intended)));
        }
    }

    /// Counts a failure.
    pub fn failure(&mut self, class: ErrorClass) {
        self.errors.add(class);
    }
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

/// How connections were opened, during all of a step.
#[derive(Debug, Clone)]
pub struct Openings {
    /// Connections opened.
    pub connects: u64,
    /// Attempts that failed, by class.
    pub failures: ErrorCounts,
    /// Microseconds from connect to established (with TLS: to the end of the handshake).
    pub span: Histogram<u64>,
}

impl Default for Openings {
    fn default() -> Self {
        Self { connects: 0, failures: ErrorCounts::default(), span: histogram() }
    }
}

impl Openings {
    /// One connection was opened.
    pub fn opened(&mut self, nanoseconds: u64) {
        self.connects += 1;
        self.span.saturating_record(microseconds(nanoseconds));
    }

    /// Adds another thread's.
    pub fn merge(&mut self, other: &Self) {
        self.connects += other.connects;
        self.failures.merge(&other.failures);
        add(&mut self.span, &other.span);
    }
}

/// One interval of one thread, on its way to the thread that merges.
#[derive(Debug)]
pub struct Interval {
    /// Its number since the start of the measured time, from 0.
    pub index: u64,
    /// What happened in it.
    pub record: Box<Record>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merged_histograms_are_the_histogram_of_all(
            spans in prop::collection::vec((0u64..10_000_000_000, 0u64..1_000_000), 1..200),
            parts in 1usize..5,
        ) {
            let mut all = Record::new();
            let mut shares: Vec<Record> = (0..parts).map(|_| Record::new()).collect();
            for (index, (service, lag)) in spans.iter().enumerate() {
                all.spans(true, 0, *lag, lag + service);
                shares[index % parts].spans(true, 0, *lag, lag + service);
            }
            let mut merged = Record::new();
            shares.iter().for_each(|share| merged.merge(share));
            prop_assert_eq!(&merged.response, &all.response);
            prop_assert_eq!(&merged.service, &all.service);
            prop_assert_eq!(&merged.lag, &all.lag);
        }
    }

    #[test]
    fn a_cleared_record_is_a_new_one() {
        let mut record = Record::new();
        record.spans(true, 1, 2_000, 3_000_000);
        record.failure(ErrorClass::Timeout);
        for count in
            [&mut record.ok, &mut record.in_window, &mut record.bytes_read, &mut record.bytes_written]
        {
            *count = 7;
        }
        for count in [&mut record.waited, &mut record.late, &mut record.unsent, &mut record.unsolicited] {
            *count = 7;
        }
        record.clear();
        assert_eq!(format!("{record:?}"), format!("{:?}", Record::new()));
    }

    #[test]
    fn a_value_is_kept_within_a_thousandth() {
        for nanoseconds in [1_000u64, 999_400, 1_234_567_000, 3_599_000_000_000] {
            let mut record = Record::new();
            record.spans(true, 0, 0, nanoseconds);
            let error = record.response.max().abs_diff(nanoseconds / 1000) as f64;
            assert!(error <= nanoseconds as f64 / 1000.0 * 0.001 + 0.5, "{nanoseconds}: {error}");
        }
    }
}
