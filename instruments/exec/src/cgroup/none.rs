//! No control group: everything is told by wait4 and /proc.

use super::{CpuReading, Entry, Group, MemoryReading};

/// The absence of a group.
pub struct NoGroup;

impl Group for NoGroup {
    fn version(&self) -> &'static str {
        "none"
    }

    fn entry(&self) -> Entry {
        Entry::default()
    }

    fn cpu(&self) -> Option<CpuReading> {
        None
    }

    fn memory(&self) -> Option<MemoryReading> {
        None
    }

    fn high_water(&self) -> Option<u64> {
        None
    }

    fn reset_high_water(&mut self) -> bool {
        false
    }

    fn pids(&self) -> Vec<i32> {
        Vec::new()
    }

    fn memory_kills(&self) -> u64 {
        0
    }

    fn kill_all(&mut self) {}

    fn remove(&mut self) -> Vec<String> {
        Vec::new()
    }
}
