//! What a thread gets to do its share: a lane beside the others, sharing only the start and the order to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, OnceLock};

use crate::clock::{MILLISECOND, now};
use crate::plan::{Plan, Step};
use crate::reports::Reports;

/// The common start of the threads of a step.
#[derive(Debug)]
pub struct Gate {
    barrier: Barrier,
    start: OnceLock<u64>,
    opened: AtomicU64,
    /// With keep-alive a step without any connection does not start.
    needs_connection: bool,
    stop: &'static AtomicBool,
}

impl Gate {
    /// For so many threads.
    pub fn new(threads: usize, needs_connection: bool, stop: &'static AtomicBool) -> Self {
        let (start, opened) = (OnceLock::new(), AtomicU64::new(0));
        Self { barrier: Barrier::new(threads), start, opened, needs_connection, stop }
    }

    /// Waits for the other threads, with `opened` connections of our own. Returns the start of the step, or nothing
    /// if nobody could connect.
    pub fn wait(&self, opened: u64) -> Option<u64> {
        self.opened.fetch_add(opened, Ordering::Relaxed);
        self.barrier.wait();
        if self.needs_connection && self.opened.load(Ordering::Relaxed) == 0 {
            return None;
        }
        Some(*self.start.get_or_init(|| now() + MILLISECOND))
    }

    /// Told to stop.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A thread's share of a step.
#[derive(Debug, Clone)]
pub struct Lane {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// The step, with this thread's share of connections and requests.
    pub step: Step,
    /// The number of the thread.
    pub thread: usize,
    /// Where each second's record goes.
    pub reports: Reports,
    /// The common start.
    pub gate: Arc<Gate>,
}
