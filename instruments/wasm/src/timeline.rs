//! The points in time of one replication. The module stamps two of them itself, through the host functions.

use bakeoff_share::clock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A point in time of a replication, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Just before the store and the instance are made.
    Begin,
    /// The instance is there.
    Instantiated,
    /// Just before the entry is called.
    Called,
    /// The module has called `startup`.
    Startup,
    /// The module has called `finish`.
    Finish,
    /// The entry has returned.
    Returned,
    /// Instance and store are dropped.
    Dropped,
}

const POINTS: usize = Point::Dropped as usize + 1;

/// The stamps of one replication, in nanoseconds of CLOCK_MONOTONIC; 0 where a point was not reached. Atomic, because the
/// watchdog looks at them from its own thread.
#[derive(Debug, Default)]
pub struct Timeline([AtomicU64; POINTS]);

impl Timeline {
    /// Stamps a point now. The first stamp of a point counts: a module may call `startup` again.
    #[inline]
    pub fn stamp(&self, point: Point) {
        let place = &self.0[point as usize];
        let now = clock::now_ns();
        if place.load(Relaxed) == 0 {
            place.store(now, Relaxed);
        }
    }

    /// When a point was reached.
    pub fn at(&self, point: Point) -> Option<u64> {
        Some(self.0[point as usize].load(Relaxed)).filter(|&ns| ns != 0)
    }

    /// Seconds from one point to another; None unless both were reached, in this order.
    pub fn seconds(&self, from: Point, to: Point) -> Option<f64> {
        let ns = self.at(to)?.checked_sub(self.at(from)?)?;
        Some(clock::seconds(ns))
    }

    /// The phase that is under way, or that the module ended in.
    pub fn phase(&self, with_markers: bool) -> &'static str {
        let reached = |point| self.at(point).is_some();
        match () {
            () if !reached(Point::Called) => "instantiate",
            () if reached(Point::Finish) => "shutdown",
            () if !with_markers => "entry",
            () if reached(Point::Startup) => "execution",
            () => "startup",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_the_points() {
        let timeline = Timeline::default();
        timeline.stamp(Point::Begin);
        assert_eq!(timeline.phase(true), "instantiate");
        timeline.stamp(Point::Called);
        assert_eq!((timeline.phase(true), timeline.phase(false)), ("startup", "entry"));
        timeline.stamp(Point::Startup);
        assert_eq!(timeline.phase(true), "execution");
        timeline.stamp(Point::Finish);
        assert_eq!(timeline.phase(true), "shutdown");
    }

    #[test]
    fn the_first_stamp_counts() {
        let timeline = Timeline::default();
        timeline.stamp(Point::Startup);
        let first = timeline.at(Point::Startup);
        timeline.stamp(Point::Startup);
        assert_eq!(timeline.at(Point::Startup), first);
    }

    #[test]
    fn a_wrong_order_has_no_length() {
        let timeline = Timeline::default();
        timeline.stamp(Point::Finish);
        while clock::now_ns() == timeline.at(Point::Finish).unwrap() {}
        timeline.stamp(Point::Startup);
        assert_eq!(timeline.seconds(Point::Startup, Point::Finish), None);
        assert_eq!(timeline.seconds(Point::Begin, Point::Finish), None);
    }
}
