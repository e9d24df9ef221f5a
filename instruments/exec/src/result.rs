//! What is reported: the result of a trial and the windows of its phases.

use crate::counters::Counts;
use crate::marker::Marker;
use crate::output::StreamRecord;
use crate::series::Series;
use crate::tree::Killed;
use serde::Serialize;
use serde_json::Value;

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The root process returned an exit code.
    Exited,
    /// A signal that did not come from us ended the root process.
    Signalled,
    /// `--timeout` was over.
    Timeout,
    /// The kernel killed a process because `--memory` was reached.
    MemoryLimit,
    /// An order, a signal to us, or the lifeline.
    Stopped,
}

/// What a tree used in a span of time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Usage {
    /// CPU time in programs' own code, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel on their behalf, in seconds.
    pub system_s: f64,
    /// CPU time in total, in seconds.
    pub cpu_s: f64,
    /// Times that a thread waited and another ran.
    pub voluntary_context_switches: u64,
    /// Times that a thread had to give way.
    pub involuntary_context_switches: u64,
    /// Page faults without reading from disk.
    pub minor_page_faults: u64,
    /// Page faults with reading from disk.
    pub major_page_faults: u64,
}

impl From<crate::tally::Tally> for Usage {
    fn from(tally: crate::tally::Tally) -> Self {
        let seconds = bakeoff_share::clock::seconds;
        Self {
            user_s: seconds(tally.user_ns),
            system_s: seconds(tally.system_ns),
            cpu_s: seconds(tally.cpu_ns),
            voluntary_context_switches: tally.voluntary,
            involuntary_context_switches: tally.involuntary,
            minor_page_faults: tally.minor_faults,
            major_page_faults: tally.major_faults,
        }
    }
}

/// One phase of a served tree.
#[derive(Debug, Clone, Serialize)]
pub struct Window {
    /// The phase's name.
    pub name: String,
    /// Its beginning, in seconds since just before exec.
    pub start_s: f64,
    /// Its end, in seconds since just before exec.
    pub end_s: f64,
    /// What was used in it.
    #[serde(flatten)]
    pub usage: Usage,
    /// Memory at its end, in bytes.
    pub memory_now_bytes: u64,
    /// Highest memory in it, in bytes; see [`crate::memory`] for what is counted.
    pub memory_peak_bytes: u64,
    /// Living processes at its end.
    pub processes: usize,
    /// Counts of it.
    pub counters: Option<Counts>,
}

/// Where the figures come from.
#[derive(Debug, Clone, Serialize)]
pub struct Accounting {
    /// `v2`, `v1` or `none`.
    pub cgroup: &'static str,
    /// Why there is no control group.
    pub cgroup_missing: Option<String>,
    /// Where CPU time comes from.
    pub cpu: &'static str,
    /// How user and system time were told apart.
    pub cpu_split: &'static str,
    /// Where the peak of memory comes from.
    pub memory: &'static str,
    /// Where switches and faults come from.
    pub switches_and_faults: &'static str,
    /// The inner group, if only what is in it was counted.
    pub inner_group: Option<String>,
}

/// The result of a trial.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// `bakeoff-exec`.
    pub instrument: &'static str,
    /// The instrument's version.
    pub version: &'static str,
    /// The command with its arguments.
    pub command: Vec<String>,
    /// Just before exec: CLOCK_MONOTONIC in nanoseconds.
    #[serde(skip)]
    pub start_ns: u64,
    /// Which repetition it is, from 0; only with `--repeat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition: Option<u32>,
    /// How it ended.
    pub outcome: Outcome,
    /// The command's exit code.
    pub exit: Option<i32>,
    /// The number of the signal that ended the command.
    pub signal: Option<i32>,
    /// Seconds from just before exec to the end of the root process.
    pub wall_s: f64,
    /// What the whole tree used.
    #[serde(flatten)]
    pub usage: Usage,
    /// Highest memory of the whole tree, in bytes; see [`crate::memory`] for what is counted.
    pub peak_memory_bytes: u64,
    /// The kernel's high-water mark of everything that the group was charged for, page cache included, in bytes.
    pub memory_high_water_bytes: Option<u64>,
    /// The most page cache that the group was seen to be charged for, in bytes.
    pub page_cache_bytes: Option<u64>,
    /// Most processes that were seen alive at once.
    pub peak_processes: usize,
    /// Counts of the whole tree.
    pub counters: Option<Counts>,
    /// Why counters are missing.
    pub counters_missing: Option<String>,
    /// The markers in the order in which they came.
    pub markers: Vec<Marker>,
    /// Markers beyond `--marker-limit`.
    pub markers_dropped: u64,
    /// The tree over time.
    pub series: Series,
    /// Standard output.
    pub stdout: StreamRecord,
    /// Standard error.
    pub stderr: StreamRecord,
    /// What was alive when it should have ended.
    pub killed: Vec<Killed>,
    /// What could not be removed.
    pub leftover: Vec<String>,
    /// Where the figures come from.
    pub accounting: Accounting,
    /// The limits in force.
    pub limits: Value,
    /// Seconds from the stop order to the end of the tree; only when it was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_s: Option<f64>,
    /// All windows; only in serving mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<Window>>,
}
