//! The command line.

use bakeoff_share::failure::Failure;
use bakeoff_share::{durations::parse_duration, sizes::parse_size};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// Which kind of control group keeps the accounts and the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CgroupChoice {
    /// v2 if it can account memory, else v1, else none.
    Auto,
    /// Version 2, or an error.
    V2,
    /// Version 1, or an error.
    V1,
    /// No control group: accounts from wait4 and /proc.
    None,
}

/// Measures a process tree: time, CPU, memory, switches, faults and counters, from its start until all of it is gone.
#[derive(Debug, Clone, Parser)]
#[command(name = "bakeoff-exec", version, max_term_width = 100)]
#[command(override_usage = "bakeoff-exec [OPTIONS] [--json] -- COMMAND [ARG]...\n       \
    bakeoff-exec --serve [OPTIONS] -- COMMAND [ARG]...\n       bakeoff-exec --sweep")]
pub struct Settings {
    /// Print the result as one JSON object on standard output
    #[arg(long)]
    pub json: bool,
    /// Keep the tree up; take orders on standard input, give events on standard output, as JSON lines
    #[arg(long, conflicts_with = "repeat")]
    pub serve: bool,
    /// Remove what instruments that were killed have left behind (groups, processes), say what was done, and end
    #[arg(long, conflicts_with_all = ["serve", "command"])]
    pub sweep: bool,
    /// CPU set of the tree, such as 0 or 0-1,3
    #[arg(long, value_name = "LIST", value_parser = parse_cpus)]
    pub cpus: Option<CpuList>,
    /// CPU time per second that the tree may use, such as 1.5
    #[arg(long, value_name = "CORES", value_parser = parse_cores)]
    pub cpu_limit: Option<f64>,
    /// Memory that the tree may use, such as 512MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Stop the tree after this time, such as 30s
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Time between the stop signal and SIGKILL
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    pub grace: Duration,
    /// Signal that asks the tree to end
    #[arg(long, value_name = "NAME", default_value = "TERM", value_parser = parse_signal)]
    pub stop_signal: i32,
    /// Working directory of the command
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Variable of the command's environment; may be given many times
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = parse_variable)]
    pub env: Vec<(String, String)>,
    /// Start from an empty environment
    #[arg(long)]
    pub clear_env: bool,
    /// File that the command reads as standard input (default: nothing)
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// File that keeps standard output
    #[arg(long, value_name = "FILE")]
    pub stdout: Option<PathBuf>,
    /// File that keeps standard error
    #[arg(long, value_name = "FILE")]
    pub stderr: Option<PathBuf>,
    /// Most bytes kept in each of the two files: head and tail are kept, the middle is dropped
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = parse_size)]
    pub log_limit: u64,
    /// Interval of the series; 0 for none
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse_duration)]
    pub sample: Duration,
    /// Count instructions, cycles, cache misses, branch misses and context switches with perf
    #[arg(long)]
    pub counters: bool,
    /// Which control group to use
    #[arg(long, value_enum, default_value = "auto")]
    pub cgroup: CgroupChoice,
    /// Count only what is in the group that the variable BAKEOFF_GROUP names; the rest of the tree, such as a container's
    /// client, starts it there, is ended with it, and is not counted
    #[arg(long)]
    pub inner_group: bool,
    /// Folder that is made before and removed after, whatever happens
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Stop everything when our own standard input ends
    #[arg(long)]
    pub lifeline: bool,
    /// Run the command N times, with one result each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub repeat: u32,
    /// Most markers that are kept
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub marker_limit: usize,
    /// The command and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "sweep")]
    pub command: Vec<String>,
}

/// A CPU set, sorted, without doubles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuList(pub Vec<usize>);

impl std::fmt::Display for CpuList {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let names: Vec<String> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&names.join(","))
    }
}

/// Reads a CPU set as the kernel writes it: `0`, `0-3`, `0-1,3`.
///
/// # Errors
/// A sentence that says how a CPU set is written.
pub fn parse_cpus(text: &str) -> Result<CpuList, String> {
    let wanted = || format!("{text:?} is no CPU set; write CPU numbers and ranges, such as 0 or 0-1,3");
    let mut cpus = Vec::new();
    for piece in text.trim().split(',') {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        let first: usize = first.trim().parse().map_err(|_| wanted())?;
        let last: usize = last.trim().parse().map_err(|_| wanted())?;
        if first > last || last >= MOST_CPUS {
            return Err(wanted());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(CpuList(cpus))
}

/// As many CPUs as the C library's `cpu_set_t` can name.
const MOST_CPUS: usize = 1024;

fn parse_cores(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // The kernel refuses less than 1 ms in its period of 100 ms.
        Ok(cores) if (0.01..=MOST_CPUS as f64).contains(&cores) => Ok(cores),
        _ => {
            Err(format!("{text:?} is no number of cores; write a number of at least 0.01, such as 0.5 or 2"))
        }
    }
}

fn parse_signal(text: &str) -> Result<i32, String> {
    let name = text.strip_prefix("SIG").unwrap_or(text);
    SIGNALS.iter().find(|(known, _)| *known == name).map(|&(_, number)| number).ok_or_else(|| {
        let names: Vec<&str> = SIGNALS.iter().map(|&(known, _)| known).collect();
        format!("{text:?} is no signal that stops; use one of {}", names.join(", "))
    })
}

const SIGNALS: [(&str, i32); 7] = [
    ("TERM", libc::SIGTERM),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("HUP", libc::SIGHUP),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("KILL", libc::SIGKILL),
];

/// The name of a signal as `--stop-signal` takes it, or its number.
pub fn signal_name(number: i32) -> String {
    match SIGNALS.iter().find(|&&(_, known)| known == number) {
        Some((name, _)) => (*name).to_owned(),
        None => number.to_string(),
    }
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("{text:?} is no variable; write KEY=VALUE")),
    }
}

impl Settings {
    /// Checks what clap cannot.
    ///
    /// # Errors
    /// A usage failure that names the flag and the mend.
    pub fn check(&self) -> Result<(), Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if self.memory.is_some_and(|bytes| bytes < 1 << 20) {
            return usage(
                "--memory is less than 1MiB, in which no program starts; give more, such as 512MiB",
            );
        }
        if !self.sample.is_zero() && self.sample < Duration::from_millis(1) {
            return usage("--sample is shorter than 1ms; give 1ms or more, or 0 for no series");
        }
        if self.stdout.is_some() && self.stdout == self.stderr {
            return usage("--stdout and --stderr name one file; give two files");
        }
        if self.inner_group && self.cgroup == CgroupChoice::None {
            return usage("--inner-group needs a control group; leave --cgroup none away");
        }
        if self.command.first().is_some_and(String::is_empty) {
            return usage("the command is empty; give its name after --");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Settings::command().debug_assert();
    }

    #[test]
    fn reads_cpu_sets() {
        assert_eq!(parse_cpus("0-1,3,1").unwrap().0, [0, 1, 3]);
        assert_eq!(parse_cpus("0-1,3").unwrap().to_string(), "0,1,3");
        for text in ["", "a", "3-1", "0,", "99999"] {
            assert!(parse_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn reads_signals() {
        assert_eq!(parse_signal("SIGINT"), Ok(libc::SIGINT));
        assert_eq!(parse_signal("TERM"), Ok(libc::SIGTERM));
        assert!(parse_signal("STOP").is_err());
        assert_eq!(signal_name(libc::SIGKILL), "KILL");
    }

    #[test]
    fn refuses_little_memory() {
        let settings = Settings::parse_from(["bakeoff-exec", "--memory", "4096", "--", "true"]);
        assert!(settings.check().unwrap_err().to_string().contains("--memory"));
    }
}
