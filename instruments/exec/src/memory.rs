//! The peak of a tree's memory.
//!
//! What is counted is what the processes hold: anonymous and shared memory, and the kernel's memory on their behalf (page
//! tables, sockets). Page cache is left out, because the kernel charges it to whoever reads a file first and keeps it for
//! as long as nobody needs the room: it says more about the machine's past than about the tree.
//!
//! The kernel keeps a high-water mark only of everything together. So the peak lies between that mark less the most page
//! cache that was seen, and that mark itself; it is taken to be the former, or the highest sample where that is more. For a
//! tree that reads no cold files and writes none the two bounds are the same. The kernel charges its mark in batches, so the
//! peak of a tree that ends before its first sample may be too high by up to 256 KiB per CPU.
//!
//! Without a control group the peak is the highest sampled sum of the processes' resident memory, shared pages counted in
//! part (PSS), or the highest resident memory of any one process (`ru_maxrss`), whichever is more. Mapped files count there.
//! The kernel counts the starter's memory into a child's `ru_maxrss`, so that it is never less than the few MiB of the
//! instrument.

use crate::cgroup::{Group, MemoryReading};

/// What has been seen of the memory in a span of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Peak {
    /// The most that the processes held in any sample, in bytes.
    pub sampled: u64,
    /// The most page cache in any sample, in bytes.
    pub page_cache: u64,
    /// The kernel's high-water mark over everything, in bytes.
    pub high_water: Option<u64>,
    /// The highest resident memory of any one process that has ended, in bytes; only used without a group.
    pub one_process: u64,
}

impl Peak {
    /// Takes a sample of a group.
    pub fn see(&mut self, reading: MemoryReading) {
        self.sampled = self.sampled.max(reading.held);
        self.page_cache = self.page_cache.max(reading.page_cache);
    }

    /// Takes the group's high-water mark.
    pub fn see_high_water(&mut self, group: &dyn Group) {
        self.high_water = self.high_water.max(group.high_water());
    }

    /// The peak in bytes.
    pub fn bytes(&self) -> u64 {
        let by_mark = self.high_water.map_or(self.one_process, |mark| mark.saturating_sub(self.page_cache));
        self.sampled.max(by_mark)
    }
}

/// Says how the peak was found.
pub fn accounting(group: &dyn Group) -> &'static str {
    if group.high_water().is_some() {
        "cgroup: high-water mark less page cache"
    } else if group.memory().is_some() {
        "cgroup: highest sample less page cache"
    } else {
        "highest sampled sum of PSS, or ru_maxrss of the largest process"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_cache_is_left_out() {
        let mut peak = Peak { high_water: Some(1000), ..Peak::default() };
        peak.see(MemoryReading { held: 600, page_cache: 300 });
        assert_eq!(peak.bytes(), 700);
        peak.see(MemoryReading { held: 850, page_cache: 100 });
        assert_eq!(peak.bytes(), 850);
    }

    #[test]
    fn without_a_group_the_largest_process_counts() {
        let peak = Peak { sampled: 10, one_process: 30, ..Peak::default() };
        assert_eq!(peak.bytes(), 30);
    }
}
