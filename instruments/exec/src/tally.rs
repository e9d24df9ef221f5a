//! Accounts that only grow: CPU time, switches and faults.

/// What a process, or many, have used up so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// CPU time in total, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time in programs' own code, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel on their behalf, in nanoseconds.
    pub system_ns: u64,
    /// Context switches because a thread waited.
    pub voluntary: u64,
    /// Context switches because another thread's turn had come.
    pub involuntary: u64,
    /// Page faults without reading from disk.
    pub minor_faults: u64,
    /// Page faults with reading from disk.
    pub major_faults: u64,
}

impl Tally {
    /// From what the kernel returns when a child is waited for. It covers the child and all descendants waited for in turn.
    pub fn from_rusage(usage: &libc::rusage) -> Self {
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
        let (user_ns, system_ns) = (ns(usage.ru_utime), ns(usage.ru_stime));
        Self {
            cpu_ns: user_ns + system_ns,
            user_ns,
            system_ns,
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
            minor_faults: usage.ru_minflt as u64,
            major_faults: usage.ru_majflt as u64,
        }
    }

    /// The sum of two accounts.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What has come since `earlier`. It never goes below zero: an estimate may shrink a little when a process ends.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            cpu_ns: f(self.cpu_ns, other.cpu_ns),
            user_ns: f(self.user_ns, other.user_ns),
            system_ns: f(self.system_ns, other.system_ns),
            voluntary: f(self.voluntary, other.voluntary),
            involuntary: f(self.involuntary, other.involuntary),
            minor_faults: f(self.minor_faults, other.minor_faults),
            major_faults: f(self.major_faults, other.major_faults),
        }
    }

    /// Scales user and system time so that they add up to the total. The kernel knows the total to the nanosecond, but
    /// most kernels only sample in which of the two modes it was spent.
    #[must_use]
    pub fn split_exactly(self) -> Self {
        let parts = u128::from(self.user_ns) + u128::from(self.system_ns);
        let user_ns = match (u128::from(self.cpu_ns) * u128::from(self.user_ns)).checked_div(parts) {
            Some(user_ns) => user_ns as u64,
            None => self.cpu_ns,
        };
        Self { user_ns, system_ns: self.cpu_ns - user_ns, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_split_adds_up() {
        let tally = Tally { cpu_ns: 1001, user_ns: 300, system_ns: 100, ..Tally::default() }.split_exactly();
        assert_eq!((tally.user_ns, tally.system_ns), (750, 251));
        let unknown = Tally { cpu_ns: 7, ..Tally::default() }.split_exactly();
        assert_eq!((unknown.user_ns, unknown.system_ns), (7, 0));
    }

    #[test]
    fn differences_do_not_wrap() {
        let small = Tally { cpu_ns: 1, ..Tally::default() };
        let large = Tally { cpu_ns: 5, minor_faults: 2, ..Tally::default() };
        assert_eq!(large.since(&small).cpu_ns, 4);
        assert_eq!(small.since(&large), Tally::default());
        assert_eq!(small.plus(&large).cpu_ns, 6);
    }
}
