//! Hardware and software counters through perf_event_open.
//!
//! The counters are opened on this process, disabled, with inheritance and with enabling at exec. Every child gets its own copies, which begin to count when it
//! starts its command, and their counts come back to ours. We never start another program, so ours never count.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// The kernel's `struct perf_event_attr`, first version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TOTAL_TIME_ENABLED: u64 = 1;
const TOTAL_TIME_RUNNING: u64 = 1 << 1;
const FLAG_CLOEXEC: u64 = 8;

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;

/// Name, kind and number of each counter.
const EVENTS: [(&str, u32, u64); 5] = [
    ("instructions", HARDWARE, 1),
    ("cycles", HARDWARE, 0),
    ("cache-misses", HARDWARE, 3),
    ("branch-misses", HARDWARE, 5),
    ("context-switches", SOFTWARE, 3),
];

/// Counts by name; None where the machine refuses the counter.
pub type Counts = BTreeMap<&'static str, Option<u64>>;

/// One counter's raw state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Raw {
    value: u64,
    enabled_ns: u64,
    running_ns: u64,
}

/// All counters at one moment; two of them make a count.
#[derive(Debug, Clone, Default)]
pub struct Reading(Vec<Option<Raw>>);

/// The open counters.
pub struct Counters {
    files: Vec<Result<File, String>>,
}

impl Counters {
    /// Opens them all; what cannot be opened is told by `missing`.
    pub fn open() -> Self {
        Self { files: EVENTS.iter().map(|&(_, kind, config)| open(kind, config)).collect() }
    }

    /// Why counters are missing or count only a part; None if all is well.
    pub fn missing(&self) -> Option<String> {
        let refused = EVENTS
            .iter()
            .zip(&self.files)
            .filter_map(|((name, ..), file)| Some((name, file.as_ref().err()?)));
        let texts: Vec<String> = refused.map(|(name, why)| format!("{name}: {why}")).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// The counters now.
    pub fn read(&mut self) -> Reading {
        Reading(
            self.files
                .iter_mut()
                .map(|file| file.as_mut().ok().and_then(|file| Raw::read(file).ok()))
                .collect(),
        )
    }

    /// What was counted between two moments; None if no counter works.
    pub fn between(&self, earlier: &Reading, later: &Reading) -> Option<Counts> {
        self.files.iter().any(Result::is_ok).then(|| {
            let raws = later.0.iter().zip(&earlier.0);
            let counts = raws.map(|(later, earlier)| Some(later.as_ref()?.since((*earlier)?)));
            EVENTS.iter().map(|&(name, ..)| name).zip(counts).collect()
        })
    }
}

impl Raw {
    fn read(file: &mut File) -> io::Result<Self> {
        let mut bytes = [0u8; 24];
        file.read_exact(&mut bytes)?;
        let number = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        Ok(Self { value: number(0), enabled_ns: number(8), running_ns: number(16) })
    }

    /// The count since `earlier`. If the processor had too few counters, it counted for a part of the time only, and the
    /// count is scaled to the whole.
    fn since(&self, earlier: Self) -> u64 {
        let value = self.value.saturating_sub(earlier.value);
        let enabled = self.enabled_ns.saturating_sub(earlier.enabled_ns);
        let running = self.running_ns.saturating_sub(earlier.running_ns);
        if running == 0 || running >= enabled {
            return value;
        }
        (u128::from(value) * u128::from(enabled) / u128::from(running)) as u64
    }
}

fn open(kind: u32, config: u64) -> Result<File, String> {
    let flags = DISABLED | INHERIT | ENABLE_ON_EXEC | EXCLUDE_HYPERVISOR;
    perf_event_open(kind, config, flags).map_err(|error| match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            // Counting without the kernel's part is another count, so it is refused rather than passed off as this one.
            let user_only = perf_event_open(kind, config, flags | EXCLUDE_KERNEL).is_ok();
            let mend = "set /proc/sys/kernel/perf_event_paranoid to 1 or less, or run as root";
            format!("not allowed{}; {mend}", if user_only { " to count in the kernel" } else { "" })
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => "this machine has no such counter".to_owned(),
        Some(libc::ENOSYS) => "this kernel has no perf_event_open".to_owned(),
        _ => error.to_string(),
    })
}

fn perf_event_open(kind: u32, config: u64, flags: u64) -> io::Result<File> {
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        read_format: TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING,
        flags,
        ..Attributes::default()
    };
    // SAFETY: the attributes are valid and carry their own size. The process is this one, on any CPU, in no group.
    let fd =
        unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, FLAG_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that was returned without an error is open and nobody else's.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_scaled_to_the_whole() {
        let earlier = Raw { value: 10, enabled_ns: 100, running_ns: 100 };
        let later = Raw { value: 60, enabled_ns: 300, running_ns: 200 };
        assert_eq!(later.since(earlier), 100);
        assert_eq!(earlier.since(earlier), 0);
    }

    #[test]
    fn all_counters_are_named_or_excused() {
        let mut counters = Counters::open();
        let reading = counters.read();
        match counters.between(&reading, &reading) {
            Some(counts) => assert_eq!(counts.len(), EVENTS.len()),
            None => assert!(counters.missing().is_some()),
        }
    }
}
