//! What the generator itself used: CPU time, and time it waited for a CPU.

use crate::clock::SECOND;

/// CPU time of a thread, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage {
    /// In user mode (getrusage, RUSAGE_THREAD).
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Ready to run, but waiting for a CPU (second field of /proc/thread-self/schedstat); 0 where the kernel does
    /// not say.
    pub waiting: f64,
}

impl Usage {
    /// What the calling thread has used since it began.
    pub fn of_thread() -> Self {
        // SAFETY: rusage is plain numbers, for which zeroes are valid, and the pointer is to our own.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        Self { user: seconds(usage.ru_utime), system: seconds(usage.ru_stime), waiting: waiting() }
    }

    /// What was used since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user - earlier.user,
            system: self.system - earlier.system,
            waiting: (self.waiting - earlier.waiting).max(0.0),
        }
    }

    /// User and system time.
    pub fn cpu(&self) -> f64 {
        self.user + self.system
    }
}

fn waiting() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: u64 = text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0);
    nanoseconds as f64 / SECOND as f64
}
