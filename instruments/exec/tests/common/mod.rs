//! What the tests share: running the instrument on the subject.
#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program under test.
pub const EXEC: &str = env!("CARGO_BIN_EXE_bakeoff-exec-under-test");
/// The program that does one known thing.
pub const SUBJECT: &str = env!("CARGO_BIN_EXE_bakeoff-exec-subject");

/// The instrument with these options on this command.
pub fn exec(options: &[&str], command: &[&str]) -> Command {
    let mut exec = Command::new(EXEC);
    exec.args(options).arg("--").args(command).stdin(Stdio::null());
    exec
}

/// The result of a run that is expected to succeed.
pub fn result(options: &[&str], command: &[&str]) -> Value {
    let output = exec(options, command).with_json().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    last_line(&output)
}

/// The last line of standard output as JSON.
pub fn last_line(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.lines().last().expect("a line")).expect("JSON")
}

/// Adds `--json` before the command.
pub trait Json {
    /// The same command with `--json`.
    fn with_json(self) -> Command;
}

impl Json for Command {
    fn with_json(self) -> Command {
        let mut with = Command::new(self.get_program());
        with.arg("--json").args(self.get_args()).stdin(Stdio::null());
        with
    }
}

/// The ways of accounting that work on this machine.
pub fn cgroup_modes() -> Vec<&'static str> {
    let works =
        |mode: &&str| exec(&["--json", "--cgroup", mode], &["true"]).output().unwrap().status.success();
    let modes: Vec<&str> = ["v2", "v1", "none"].into_iter().filter(works).collect();
    assert!(modes.contains(&"none"));
    modes
}

/// A number of a result.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// Whether a process lives.
pub fn lives(pid: i64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Waits for something to become true, for as long as a busy machine may need.
pub fn eventually(what: &str, mut is_true: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_true() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The living processes whose environment has this variable with this value.
pub fn marked(variable: &str, value: &str) -> Vec<i64> {
    let wanted = format!("{variable}={value}");
    let has = |pid: &i64| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| has(pid) && lives(*pid)).collect()
}

/// The groups that an instrument with this process id has made.
pub fn groups_of(pid: u32) -> Vec<PathBuf> {
    fn below(folder: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if folder.ends_with("bakeoff") && entry.file_name().to_string_lossy().starts_with(prefix) {
                    found.push(entry.path());
                }
                below(&entry.path(), prefix, found);
            }
        }
    }
    let mut found = Vec::new();
    below(Path::new("/sys/fs/cgroup"), &format!("{pid}-"), &mut found);
    found
}
