//! How a thread's records reach the thread that merges them, and come back empty.
//!
//! A record is three histograms of some 200 KB each. Made anew at the end of each interval, it would cost the thread about a
//! millisecond of page faults, just when the next request may be due.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use crate::recorder::{Interval, Record};

/// Empty records, whose memory is there.
#[derive(Debug, Clone, Default)]
pub struct Pool(Arc<Mutex<Vec<Record>>>);

impl Pool {
    /// Empties a record and keeps it for the next interval.
    pub fn take_back(&self, mut record: Box<Record>) {
        record.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(*record);
    }

    /// An empty record.
    fn lend(&self) -> Box<Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().map_or_else(Box::default, Box::new)
    }
}

/// A thread's end of the way.
#[derive(Debug, Clone)]
pub struct Reports {
    sender: Sender<Interval>,
    pool: Pool,
}

impl Reports {
    /// The way for so many threads: their end, the merging end, and the pool that the merging thread fills again.
    pub fn new(threads: usize) -> (Self, Receiver<Interval>, Pool) {
        let (sender, receiver) = channel();
        let pool = Pool::default();
        // One that is being filled, one on its way, one in hand.
        (0..3 * threads).for_each(|_| pool.take_back(Box::default()));
        (Self { sender, pool: pool.clone() }, receiver, pool)
    }

    /// An empty record.
    pub fn empty(&self) -> Box<Record> {
        self.pool.lend()
    }

    /// Hands over what an interval holds.
    pub fn hand_over(&self, index: u64, record: Box<Record>) {
        // Nobody listens any more only when the run is being ended.
        let _ = self.sender.send(Interval { index, record });
    }
}
