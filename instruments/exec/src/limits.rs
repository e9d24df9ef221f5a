//! The limits that a tree runs under.

use crate::args::{CpuList, Settings};
use bakeoff_share::failure::Failure;
use serde_json::{Value, json};

/// The period over which a limit of CPU time is enforced, in microseconds: the kernel's own default.
pub const CPU_PERIOD_US: u64 = 100_000;

/// What the tree may use; None is no limit.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// The CPUs it may run on.
    pub cpus: Option<CpuList>,
    /// CPU time per time, in cores.
    pub cpu_cores: Option<f64>,
    /// Memory in bytes, swap included.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// The limits that the command line asks for.
    ///
    /// # Errors
    /// When a CPU is asked for that this process may not use.
    pub fn from_settings(settings: &Settings) -> Result<Self, Failure> {
        if let Some(asked) = &settings.cpus {
            let usable = usable_cpus();
            if let Some(cpu) = asked.0.iter().find(|cpu| !usable.0.contains(cpu)) {
                return Err(Failure::CannotRun(format!(
                    "--cpus: CPU {cpu} cannot be used here; usable are {usable}"
                )));
            }
        }
        Ok(Self { cpus: settings.cpus.clone(), cpu_cores: settings.cpu_limit, memory_bytes: settings.memory })
    }

    /// The flag of a limit that only a control group can enforce.
    pub fn needing_group(&self) -> Option<&'static str> {
        match (self.memory_bytes, self.cpu_cores) {
            (Some(_), _) => Some("--memory"),
            (_, Some(_)) => Some("--cpu-limit"),
            _ => None,
        }
    }

    /// The controllers of version 2 that enforce the limits.
    pub fn controllers(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        names.extend(self.cpus.as_ref().map(|_| "cpuset"));
        names.extend(self.cpu_cores.map(|_| "cpu"));
        names.extend(self.memory_bytes.map(|_| "memory"));
        names
    }

    /// The limits for the result, with the means of each.
    pub fn describe(&self, group: &str) -> Value {
        let by_group = format!("cgroup {group}");
        let mut limits = serde_json::Map::new();
        if let Some(cpus) = &self.cpus {
            // Without a group a process may change its own set; the result says so by naming the means.
            let by = if group == "none" { "sched_setaffinity" } else { &by_group };
            limits.insert("cpus".into(), json!({"value": cpus.to_string(), "by": by}));
        }
        if let Some(cores) = self.cpu_cores {
            limits.insert("cpu_limit".into(), json!({"value": cores, "by": by_group}));
        }
        if let Some(bytes) = self.memory_bytes {
            limits.insert("memory_bytes".into(), json!({"value": bytes, "by": by_group}));
        }
        Value::Object(limits)
    }
}

/// The CPUs that this process may use.
fn usable_cpus() -> CpuList {
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid for writes of the size that is given.
    unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    // SAFETY: every index lies below the size of the set.
    CpuList((0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        let settings = Settings::parse_from(["bakeoff-exec", "--cpus", "1000", "--", "true"]);
        let error = Limits::from_settings(&settings).unwrap_err();
        assert!(error.to_string().contains("CPU 1000"), "{error}");
        assert_eq!(error.code(), 3);
    }

    #[test]
    fn the_means_are_said() {
        let limits = Limits { cpus: Some(CpuList(vec![0])), cpu_cores: Some(1.0), memory_bytes: None };
        assert_eq!(limits.describe("none")["cpus"]["by"], "sched_setaffinity");
        assert_eq!(limits.describe("v1")["cpu_limit"]["by"], "cgroup v1");
        assert_eq!(limits.needing_group(), Some("--cpu-limit"));
        assert_eq!(limits.controllers(), ["cpuset", "cpu"]);
    }
}
