//! Telling results, as JSON lines or as a few lines for people.

use crate::human;
use crate::report::{End, ModuleRecord, Replication};
use bakeoff_share::jsonl;
use serde::Serialize;
use std::io;

/// Tells results. If nobody reads them, the measurement is of no use, so that ends the process.
#[derive(Debug, Clone)]
pub struct Teller {
    json: bool,
}

impl Teller {
    /// As JSON lines on standard output, or as words on standard error.
    pub fn new(json: bool) -> Self {
        Self { json }
    }

    /// The module.
    pub fn module(&self, record: &ModuleRecord) {
        self.tell(record, human::module);
    }

    /// A replication.
    pub fn replication(&self, record: &Replication) {
        self.tell(record, human::replication);
    }

    /// The end.
    pub fn end(&self, record: &End) {
        self.tell(record, human::end);
    }

    /// The end of a run that cannot go on, and of this process. Nothing is unwound: another thread is stuck.
    pub fn end_early(&self, replications: u32) -> ! {
        self.end(&End { event: "end", replications, complete: false, calibration: None });
        // SAFETY: _exit has no preconditions.
        unsafe { libc::_exit(0) }
    }

    fn tell<T: Serialize>(&self, record: &T, words: impl FnOnce(&T) -> String) {
        if !self.json {
            eprint!("{}", words(record));
        } else if let Err(error) = jsonl::write_line(&mut io::stdout().lock(), record) {
            eprintln!("bakeoff-wasm: cannot write the result: {error}");
            // SAFETY: _exit has no preconditions.
            unsafe { libc::_exit(3) }
        }
    }
}
