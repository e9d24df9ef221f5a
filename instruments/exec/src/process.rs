//! What /proc and the process clocks say of one process.

use crate::kernel::{read_small, read_text};
use crate::tally::Tally;
use std::fs;

/// The fields of /proc/PID/stat that we use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// State letter: `R`, `S`, `D`, `T`, `Z`, `X` …
    pub state: char,
    /// Parent.
    pub parent: i32,
    /// Threads that it has, without those that have ended; the first one counts until the process is waited for.
    pub threads: u64,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
    /// Page faults of the process and of its children that it has waited for, without reading from disk.
    pub minor_faults: u64,
    /// The same with reading from disk.
    pub major_faults: u64,
    /// CPU time of the process itself in clock ticks: user, system.
    pub own_ticks: (u64, u64),
    /// CPU time of its children that it has waited for in clock ticks: user, system.
    pub children_ticks: (u64, u64),
}

impl Stat {
    /// Whether it has ended and only waits for its parent's notice. A process whose first thread alone has ended shows the same
    /// state, and lives.
    pub fn is_dead(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }

    /// Reads the text of /proc/PID/stat.
    pub fn parse(text: &str) -> Option<Self> {
        // The command stands in parentheses and may hold anything, so count from the last one.
        let rest = text.get(text.rfind(')')? + 2..)?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // proc(5) counts from 1 and the state is its field 3.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            parent: fields.get(1)?.parse().ok()?,
            threads: number(20)?,
            start_ticks: number(22)?,
            minor_faults: number(10)? + number(11)?,
            major_faults: number(12)? + number(13)?,
            own_ticks: (number(14)?, number(15)?),
            children_ticks: (number(16)?, number(17)?),
        })
    }
}

/// The state of a process; None if there is no such process.
pub fn stat(pid: i32) -> Option<Stat> {
    Stat::parse(&read_text(format!("/proc/{pid}/stat")).ok()?)
}

/// The command line of a process as one line, or its short name in brackets, as `ps` shows it.
pub fn command_of(pid: i32) -> String {
    let line = read_small(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words: Vec<_> = line.split(|&byte| byte == 0).map(String::from_utf8_lossy).collect();
    while words.last().is_some_and(|word| word.is_empty()) {
        words.pop();
    }
    if words.is_empty() {
        let name = read_text(format!("/proc/{pid}/comm")).unwrap_or_default();
        return format!("[{}]", name.trim_end());
    }
    let mut text = words.join(" ");
    if let Some((end, _)) = text.char_indices().nth(200) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The children of a process. The kernel lists them per thread; without that list all processes are looked at.
pub fn children_of(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        match read_text(thread.path().join("children")) {
            Ok(list) => {
                children.extend(list.split_ascii_whitespace().filter_map(|id| id.parse::<i32>().ok()))
            }
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) && thread.path().exists() => {
                return all_pids()
                    .into_iter()
                    .filter(|&id| stat(id).is_some_and(|s| s.parent == pid))
                    .collect();
            }
            Err(_) => {}
        }
    }
    children
}

/// Every process that /proc shows.
pub fn all_pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The value of a variable in the environment that a process was started with.
pub fn variable_of(pid: i32, name: &str) -> Option<String> {
    let environment = read_small(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// CPU time of all threads of a process, living and ended, in nanoseconds, from its own CPU clock.
fn clock_ns(pid: i32) -> Option<u64> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both places are valid; the calls only write to them.
    let failed = unsafe {
        libc::clock_getcpuclockid(pid, &raw mut clock) != 0 || libc::clock_gettime(clock, &raw mut time) != 0
    };
    (!failed).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

fn tick_ns() -> u64 {
    // SAFETY: sysconf has no preconditions.
    1_000_000_000 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64
}

/// The accounts of a living process, with those of its children that it has waited for. Context switches are those of the
/// threads that live: the kernel shows those of ended threads only when the process itself has ended.
pub fn tally_of(pid: i32) -> Option<Tally> {
    let stat = stat(pid)?;
    let tick = tick_ns();
    let own = Tally {
        user_ns: stat.own_ticks.0 * tick,
        system_ns: stat.own_ticks.1 * tick,
        cpu_ns: own_ns(pid, &stat),
        ..Tally::default()
    };
    let (voluntary, involuntary) = switches_of(pid);
    let own = own.split_exactly();
    Some(Tally {
        user_ns: own.user_ns + stat.children_ticks.0 * tick,
        system_ns: own.system_ns + stat.children_ticks.1 * tick,
        cpu_ns: own.cpu_ns + (stat.children_ticks.0 + stat.children_ticks.1) * tick,
        voluntary,
        involuntary,
        minor_faults: stat.minor_faults,
        major_faults: stat.major_faults,
    })
}

/// CPU time of a process, living or not yet waited for, with that of its children that it has waited for, in nanoseconds.
pub fn cpu_ns_of(pid: i32) -> Option<u64> {
    let stat = stat(pid)?;
    Some(own_ns(pid, &stat) + (stat.children_ticks.0 + stat.children_ticks.1) * tick_ns())
}

fn own_ns(pid: i32, stat: &Stat) -> u64 {
    clock_ns(pid).unwrap_or_else(|| (stat.own_ticks.0 + stat.own_ticks.1) * tick_ns())
}

fn switches_of(pid: i32) -> (u64, u64) {
    let (mut voluntary, mut involuntary) = (0, 0);
    for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let text = read_text(thread.path().join("status")).unwrap_or_default();
        voluntary += field(&text, "\nvoluntary_ctxt_switches:").unwrap_or(0);
        involuntary += field(&text, "\nnonvoluntary_ctxt_switches:").unwrap_or(0);
    }
    (voluntary, involuntary)
}

/// Resident memory of a process in bytes, pages that it shares counted in part (PSS); if the kernel does not tell, in full.
pub fn memory_of(pid: i32) -> Option<u64> {
    let rollup = read_text(format!("/proc/{pid}/smaps_rollup")).ok();
    if let Some(kib) = rollup.as_deref().and_then(|text| field(text, "\nPss:")) {
        return Some(kib * 1024);
    }
    let status = read_text(format!("/proc/{pid}/status")).ok()?;
    Some(field(&status, "\nVmRSS:")? * 1024)
}

/// The number after `key` in a text of the kernel's.
pub fn field(text: &str, key: &str) -> Option<u64> {
    let rest = &text[text.find(key)? + key.len()..];
    rest.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_stat_with_a_nasty_name() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 10 20 1 2 30 40 5 6 20 0 1 0 987 8192 2 0";
        let stat = Stat::parse(text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.start_ticks), ('S', 1, 987));
        assert_eq!((stat.minor_faults, stat.major_faults), (30, 3));
        assert_eq!((stat.own_ticks, stat.children_ticks), ((30, 40), (5, 6)));
    }

    #[test]
    fn knows_itself() {
        let me = std::process::id() as i32;
        assert!(!stat(me).unwrap().is_dead());
        assert!(command_of(me).contains("bakeoff"));
        assert!(memory_of(me).unwrap() > 100_000);
        assert!(tally_of(me).unwrap().minor_faults > 0);
        assert!(all_pids().contains(&me));
    }

    #[test]
    fn finds_children_and_their_environment() {
        let mut child =
            std::process::Command::new("sleep").arg("10").env("BAKEOFF_TEST", "a=b").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(children_of(std::process::id() as i32).contains(&pid));
        // The kernel shows the environment a moment after exec.
        while variable_of(pid, "PATH").is_none() {
            std::thread::yield_now();
        }
        assert_eq!(variable_of(pid, "BAKEOFF_TEST").as_deref(), Some("a=b"));
        assert_eq!(variable_of(pid, "BAKEOFF"), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
