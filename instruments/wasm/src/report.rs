//! What is reported, each as one JSON line.

use crate::counts::Counts;
use crate::engine::{Import, Kind};
use crate::output::StreamRecord;
use serde::Serialize;

/// How a replication ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The entry returned, or the module ended itself with an exit code.
    Exited,
    /// The module trapped.
    Trapped,
    /// The engine does not take the module, or nobody gives what it imports.
    Refused,
    /// Its time was over.
    Timeout,
    /// It wanted more memory than `--memory-limit`, and did not end well without.
    MemoryLimit,
    /// A fault of the engine or of this program.
    Fault,
}

/// The module, once a run.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleRecord {
    /// `module`.
    pub event: &'static str,
    /// `bakeoff-wasm`.
    pub instrument: &'static str,
    /// The instrument's version.
    pub version: &'static str,
    /// The module's path.
    pub module: String,
    /// Its size in bytes.
    pub size: u64,
    /// The engine.
    pub engine: Kind,
    /// The version of the engine's library.
    pub engine_version: &'static str,
    /// The function that is called.
    pub entry: String,
    /// Whether the module imports `startup` and `finish`; if not, these phases have no times.
    pub markers: bool,
    /// What the module imports.
    pub imports: Vec<Import>,
    /// Whether times are taken.
    pub timed: bool,
    /// Seconds to compile it; None if it was compiled before, and kept.
    pub compile_s: Option<f64>,
    /// Seconds to load the compiled form from its file, with `--compiled`.
    pub load_s: Option<f64>,
    /// Seconds to resolve its imports.
    pub link_s: Option<f64>,
}

/// One replication.
#[derive(Debug, Clone, Serialize)]
pub struct Replication {
    /// `replication`.
    pub event: &'static str,
    /// Which one, from 0.
    pub index: u32,
    /// Whether it was asked for by `--warm-up`.
    pub warm_up: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// The phase that it ended in.
    pub phase: &'static str,
    /// Why it did not end by an exit.
    pub reason: Option<String>,
    /// The exit code; 0 if the entry returned.
    pub exit: Option<i32>,
    /// Seconds to make store and instance.
    pub instantiate_s: Option<f64>,
    /// Seconds from the call of the entry until the module called `startup`.
    pub startup_s: Option<f64>,
    /// Seconds from there until it called `finish`.
    pub execution_s: Option<f64>,
    /// Seconds from there until the entry had returned and instance and store were dropped.
    pub shutdown_s: Option<f64>,
    /// Seconds from the call of the entry to its return.
    pub entry_s: Option<f64>,
    /// Seconds from before the store was made until it was dropped.
    pub total_s: Option<f64>,
    /// The most linear memory that the module had, in bytes.
    pub memory_high_water_bytes: u64,
    /// Whether the module was refused memory.
    pub memory_refused: bool,
    /// Resident memory of this process after the replication, in bytes.
    pub resident_bytes: Option<u64>,
    /// Fuel used, with `--fuel`.
    pub fuel: Option<u64>,
    /// WASI calls, with `--count-calls`.
    pub wasi: Option<Counts>,
    /// What the module wrote.
    pub outputs: Outputs,
    /// The fresh folder, if it was kept.
    pub files: Option<String>,
    /// What `--check` said.
    pub check: Option<Checked>,
}

/// Both streams of a module.
#[derive(Debug, Clone, Serialize)]
pub struct Outputs {
    /// Standard output.
    pub stdout: StreamRecord,
    /// Standard error.
    pub stderr: StreamRecord,
}

/// What the check of the files said.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// Its exit code; None if it could not be started or a signal ended it.
    pub exit: Option<i32>,
    /// What it printed, both streams together.
    pub text: String,
}

/// How long the evaluator itself takes: an empty module that calls `startup` and `finish` at once.
#[derive(Debug, Clone, Serialize)]
pub struct Calibration {
    /// Replications of the empty module that count.
    pub replications: usize,
    /// Medians, in seconds.
    pub startup_s: f64,
    /// Median of the time between the two calls, in seconds.
    pub execution_s: f64,
    /// Median of the shutdown, in seconds: returning, and dropping an instance with one page of memory.
    pub shutdown_s: f64,
    /// Median of making store and instance, in seconds.
    pub instantiate_s: f64,
    /// Start-up of the very first one, in seconds: as in a cold process, save that the evaluator was touched before.
    pub first_startup_s: f64,
    /// 90th percentile of the start-up, in seconds.
    pub startup_p90_s: f64,
    /// Most that the start-up may be, in seconds.
    pub startup_bound_s: f64,
    /// Whether the median is within that bound.
    pub within_bound: bool,
}

/// The end of a run.
#[derive(Debug, Clone, Serialize)]
pub struct End {
    /// `end`.
    pub event: &'static str,
    /// Replications reported, warm-up included.
    pub replications: u32,
    /// Whether all were reported that were asked for.
    pub complete: bool,
    /// The evaluator's own times; None if nothing was timed or the process had to end early.
    pub calibration: Option<Calibration>,
}
