//! Control groups: who is in the tree, what it uses, and what it may use. Version 2, version 1, or none.

mod dir;
mod mounts;
mod none;
mod v1;
mod v2;

pub use dir::{find_groups, group_pids, remove_group};
pub use mounts::Hierarchies;
pub use none::NoGroup;

use crate::args::CgroupChoice;
use crate::limits::Limits;
use crate::name::TreeName;
use bakeoff_share::failure::Failure;
use std::os::fd::RawFd;

/// The folder, in every hierarchy that is used, in which our groups stand.
pub const OUR_FOLDER: &str = "bakeoff";

/// Where the root process of a tree with an inner group is: the tools that start what is counted.
const CLIENT_FOLDER: &str = "client";
/// The inner group: what is counted, and what the limits hold.
const SYSTEM_FOLDER: &str = "system";

/// CPU time of a group and of all that has ever ended in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuReading {
    /// In total, in nanoseconds.
    pub total_ns: u64,
    /// User and system time in nanoseconds, where the kernel tells them to better than a clock tick.
    pub split_ns: Option<(u64, u64)>,
}

/// Memory of a group at one moment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryReading {
    /// What the processes hold: anonymous and shared memory, and the kernel's on their behalf.
    pub held: u64,
    /// Page cache that the group is charged for: contents of files, without shared memory and tmpfs.
    pub page_cache: u64,
}

/// How a child gets into a group before it starts the command.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// Open files into which the child writes `0`.
    pub join: Vec<RawFd>,
    /// A group's folder into which the kernel puts the child at birth.
    pub born_in: Option<RawFd>,
}

/// One control group, whatever its version. Whatever it cannot tell is None, and the caller falls back on /proc.
pub trait Group {
    /// `v2`, `v1` or `none`.
    fn version(&self) -> &'static str;
    /// How a child gets in.
    fn entry(&self) -> Entry;
    /// CPU time so far.
    fn cpu(&self) -> Option<CpuReading>;
    /// Memory now.
    fn memory(&self) -> Option<MemoryReading>;
    /// The most bytes charged since the beginning or the last reset, page cache included.
    fn high_water(&self) -> Option<u64>;
    /// Sets the high-water mark to what is charged now; false if the kernel cannot.
    fn reset_high_water(&mut self) -> bool;
    /// All processes in the group and in groups below it.
    fn pids(&self) -> Vec<i32>;
    /// The path of the inner group from the top of each hierarchy, if only what is in it is counted.
    fn inner(&self) -> Option<&str> {
        None
    }
    /// The processes that are counted.
    fn counted_pids(&self) -> Vec<i32> {
        self.pids()
    }
    /// How many processes the kernel has killed for want of memory within the limit.
    fn memory_kills(&self) -> u64;
    /// Kills everything in the group in such a way that forking does not help it.
    fn kill_all(&mut self);
    /// Removes the group; returns what could not be removed.
    fn remove(&mut self) -> Vec<String>;
}

/// A group, and why it is not a better one.
pub struct Opened {
    /// The group.
    pub group: Box<dyn Group>,
    /// Why there is no control group, if there is none and one was wished for.
    pub missing: Option<String>,
}

/// Makes a group of the chosen kind with the limits in force; with `inner` an inner group is what is counted.
///
/// # Errors
/// When the chosen kind, or a limit, cannot be had.
pub fn open(choice: CgroupChoice, limits: &Limits, name: &TreeName, inner: bool) -> Result<Opened, Failure> {
    if choice == CgroupChoice::None {
        return without(limits, "--cgroup none", None);
    }
    let hierarchies = Hierarchies::of_this_process().map_err(Failure::cannot("cannot read /proc/self"))?;
    match choice {
        CgroupChoice::V2 => made(v2::V2::make(&hierarchies, limits, name, inner, false), "v2"),
        CgroupChoice::V1 => made(v1::V1::make(&hierarchies, limits, name, inner), "v1"),
        _ => {
            let why_not_v2 = match v2::V2::make(&hierarchies, limits, name, inner, true) {
                Ok(group) => return Ok(Opened { group: Box::new(group), missing: None }),
                Err(why) => why,
            };
            let why_not_v1 = match v1::V1::make(&hierarchies, limits, name, inner) {
                Ok(group) => return Ok(Opened { group: Box::new(group), missing: None }),
                Err(why) => why,
            };
            let why = format!("v2: {why_not_v2}; v1: {why_not_v1}");
            if inner {
                return Err(Failure::CannotRun(format!(
                    "--inner-group needs a control group, and there is none ({why}); run as root"
                )));
            }
            without(limits, &why, Some(why.clone()))
        }
    }
}

fn made<G: Group + 'static>(group: Result<G, String>, version: &str) -> Result<Opened, Failure> {
    let group = group.map_err(|why| {
        Failure::CannotRun(format!(
            "--cgroup {version} cannot be had: {why}; use --cgroup auto to do without"
        ))
    })?;
    Ok(Opened { group: Box::new(group), missing: None })
}

fn without(limits: &Limits, why: &str, missing: Option<String>) -> Result<Opened, Failure> {
    if let Some(flag) = limits.needing_group() {
        return Err(Failure::CannotRun(format!(
            "{flag} needs a control group, and there is none ({why}); run as root or in a delegated group \
             (systemd-run --user --scope -p Delegate=yes …), or leave {flag} away"
        )));
    }
    Ok(Opened { group: Box::new(none::NoGroup), missing })
}
