//! The state behind a module: its WASI, and what is shared with the watchdog and outlives the instance.

use crate::counts::Counts;
use crate::output::Sink;
use crate::timeline::{Point, Timeline};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

/// The name under which modules import the markers.
pub const MODULE: &str = "bakeoff";

/// What a module is given.
#[derive(Debug, Clone, Default)]
pub struct Gift {
    /// Its arguments, the program's name first.
    pub args: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// Folders: the host's path and the module's name for it.
    pub dirs: Vec<(PathBuf, String)>,
    /// Whether its WASI calls are counted.
    pub counting: bool,
}

/// The state of one replication's module; an engine's store owns it.
pub struct Host {
    /// WASI preview 1.
    pub wasi: WasiP1Ctx,
    /// What outlives the instance.
    pub shared: Arc<Shared>,
    /// Whether WASI calls are counted.
    pub counting: bool,
}

/// What outlives the instance.
#[derive(Debug, Default)]
pub struct Shared {
    /// The points in time.
    pub timeline: Timeline,
    /// The module's standard output.
    pub stdout: Sink,
    /// The module's standard error.
    pub stderr: Sink,
    /// The module's linear memory.
    pub memory: Memory,
    counts: Mutex<Counts>,
}

/// The linear memory of a module, all its memories together.
#[derive(Debug, Default)]
pub struct Memory {
    now: AtomicU64,
    refused: AtomicBool,
}

/// Table elements that a module may have in all: 80 MB, so that a table cannot be the way around the limit of memory.
pub const MOST_ELEMENTS: usize = 10_000_000;

impl Memory {
    /// Whether a memory may grow from `current` to `desired` bytes. Memory never shrinks, so the sum is the high-water mark.
    /// What is over the memory's own maximum fails by itself and does not count.
    pub fn may_grow(
        &self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
        limit: Option<u64>,
    ) -> bool {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return true;
        }
        let more = desired.saturating_sub(current) as u64;
        let sum = self.now.load(Relaxed).saturating_add(more);
        let allowed = limit.is_none_or(|limit| sum <= limit);
        if allowed {
            self.now.store(sum, Relaxed);
        } else {
            self.refused.store(true, Relaxed);
        }
        allowed
    }

    /// Whether a table may have so many elements.
    pub fn table_may_grow(&self, desired: usize) -> bool {
        let allowed = desired <= MOST_ELEMENTS;
        if !allowed {
            self.refused.store(true, Relaxed);
        }
        allowed
    }

    /// The most bytes that the module had.
    pub fn high_water(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Whether the module has been refused memory.
    pub fn was_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }
}

impl Shared {
    /// The counts of WASI calls.
    pub fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    /// A fresh state.
    ///
    /// # Errors
    /// The folder that cannot be opened, and why.
    pub fn new(gift: &Gift) -> Result<Self, String> {
        let shared = Arc::new(Shared::default());
        let mut builder = WasiCtxBuilder::new();
        builder
            // Files are read and written on this thread, as a native program would, and not handed to another one.
            .allow_blocking_current_thread(true)
            .args(&gift.args)
            .envs(&gift.env)
            .stdout(shared.stdout.clone())
            .stderr(shared.stderr.clone());
        for (host, guest) in &gift.dirs {
            builder
                .preopened_dir(host, guest, FsPerms::ReadWrite)
                .map_err(|error| format!("{}: {error:#}", host.display()))?;
        }
        Ok(Self { wasi: builder.build_p1(), shared, counting: gift.counting })
    }

    /// The host function `startup`.
    #[inline]
    pub fn startup(&self) {
        self.shared.timeline.stamp(Point::Startup);
    }

    /// The host function `finish`.
    #[inline]
    pub fn finish(&self) {
        self.shared.timeline.stamp(Point::Finish);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_for_all_memories_together() {
        let memory = Memory::default();
        assert!(memory.may_grow(0, 60, None, Some(100)));
        assert!(memory.may_grow(0, 40, None, Some(100)));
        assert!(memory.may_grow(40, 90, Some(80), Some(100)));
        assert!(!memory.was_refused());
        assert!(!memory.may_grow(40, 41, None, Some(100)));
        assert_eq!((memory.high_water(), memory.was_refused()), (100, true));
    }
}
