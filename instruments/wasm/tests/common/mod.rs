//! What the tests share: running the instrument on small modules, in each engine of this build.
#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The program under test.
pub const WASM: &str = env!("CARGO_BIN_EXE_bakeoff-wasm");

/// The markers and WASI functions that modules of the tests import.
pub const IMPORTS: &str = r#"
    (import "bakeoff" "startup" (func $startup))
    (import "bakeoff" "finish" (func $finish))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
        (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
"#;

/// A folder with one module in it.
pub struct Module {
    folder: TempDir,
    /// The module.
    pub path: PathBuf,
}

impl Module {
    /// A module from text; the imports of the tests stand before its own.
    pub fn new(text: &str) -> Self {
        Self::of(&wat::parse_str(format!("(module {IMPORTS} {text})")).unwrap())
    }

    /// A module from bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("module.wasm");
        std::fs::write(&path, bytes).unwrap();
        Self { folder, path }
    }

    /// A module whose `_start` is this.
    pub fn start(body: &str) -> Self {
        Self::new(&format!(r#"(func (export "_start") {body})"#))
    }

    /// The module's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs the instrument on it.
    pub fn run(&self, options: &[&str]) -> Told {
        let output = self.command(options).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        Told::read(&output)
    }

    /// The instrument's command.
    pub fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(WASM);
        command.arg(&self.path).arg("--json").args(options).stdin(Stdio::null());
        command
    }
}

/// What the instrument has told.
#[derive(Debug)]
pub struct Told {
    /// The module.
    pub module: Value,
    /// The replications.
    pub replications: Vec<Value>,
    /// The end.
    pub end: Value,
}

impl Told {
    /// Reads its lines.
    pub fn read(output: &Output) -> Self {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let mut events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let end = events.pop().unwrap();
        let module = events.remove(0);
        assert_eq!((&module["event"], &end["event"]), (&"module".into(), &"end".into()));
        assert!(events.iter().all(|event| event["event"] == "replication"));
        Self { module, replications: events, end }
    }

    /// The only replication.
    pub fn one(&self) -> &Value {
        assert_eq!(self.replications.len(), 1);
        &self.replications[0]
    }

    /// How the only replication ended: outcome, phase and reason.
    pub fn ending(&self) -> (&str, &str, &str) {
        let one = self.one();
        (
            one["outcome"].as_str().unwrap(),
            one["phase"].as_str().unwrap(),
            one["reason"].as_str().unwrap_or(""),
        )
    }
}

/// The engines of this build.
pub fn engines() -> Vec<String> {
    let output = Command::new(WASM).arg("--engines").output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let engines = told["engines"].as_object().unwrap();
    assert!(engines.values().all(|version| version.as_str().unwrap().contains('.')), "{told}");
    engines.keys().cloned().collect()
}

/// A number of a record.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// Waits for something to become true, for as long as a busy machine may need.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
