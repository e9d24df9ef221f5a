//! The sweep: what instruments that were killed outright have left behind is killed and removed.
//!
//! Groups of ours are known by their names and processes by their environment; both name the owner. What belongs to a living
//! owner is left alone. A process that has emptied its environment and has left its group is not found.

use crate::cgroup::{self, Hierarchies};
use crate::kernel;
use crate::name::{NAMESPACE_VARIABLE, TREE_VARIABLE, TreeName, pid_namespace};
use crate::process;
use crate::tree::Killed;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// What a sweep did.
#[derive(Debug, Default, Serialize)]
pub struct Swept {
    /// `bakeoff-exec`.
    pub instrument: &'static str,
    /// `sweep`, so that nobody takes it for a result.
    pub swept: bool,
    /// Groups that were removed.
    pub removed_groups: Vec<String>,
    /// Processes that were killed.
    pub killed: Vec<Killed>,
    /// What could not be removed.
    pub leftover: Vec<String>,
}

/// Rounds of killing. Orphans may own trees themselves, which become orphans when they are killed.
const ROUNDS: u32 = 20;

/// Sweeps once.
pub fn sweep() -> Swept {
    let mut swept = Swept { instrument: "bakeoff-exec", swept: true, ..Swept::default() };
    let hierarchies = Hierarchies::of_this_process().unwrap_or_default();
    let mounts = hierarchies.mounts();
    let find = || mounts.iter().flat_map(|mount| cgroup::find_groups(mount)).collect::<Vec<_>>();
    for round in 0..ROUNDS {
        let mut found: Vec<i32> = find().iter().flat_map(|group| cgroup::group_pids(group)).collect();
        found.extend(orphans());
        found.sort_unstable();
        found.dedup();
        found.retain(|&pid| process::stat(pid).is_some_and(|stat| !stat.is_dead()));
        if found.is_empty() {
            break;
        }
        for pid in found {
            if round == ROUNDS - 1 {
                swept.leftover.push(format!("process {pid} ({})", process::command_of(pid)));
            } else if round == 0 || !swept.killed.iter().any(|known| known.pid == pid) {
                swept.killed.push(Killed {
                    pid,
                    command: process::command_of(pid),
                    signal: "KILL".to_owned(),
                });
            }
            kernel::send(pid, libc::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for group in find() {
        // What was frozen when its owner was killed dies only when it thaws.
        if Path::new(&group).join("freezer.state").exists() {
            let _ = std::fs::write(group.join("freezer.state"), "THAWED");
        }
        let left = cgroup::remove_group(&group);
        if left.is_empty() {
            swept.removed_groups.push(group.display().to_string());
        }
        swept.leftover.extend(left);
    }
    swept
}

/// Processes whose environment names a tree without a living owner.
fn orphans() -> Vec<i32> {
    let namespace = pid_namespace("self").map(|number| number.to_string());
    let is_orphan = |&pid: &i32| {
        let Some(name) = process::variable_of(pid, TREE_VARIABLE).as_deref().and_then(TreeName::parse) else {
            return false;
        };
        // In another namespace the owner's process id is somebody else's.
        process::variable_of(pid, NAMESPACE_VARIABLE) == namespace && !name.owner_lives()
    };
    process::all_pids().into_iter().filter(is_orphan).collect()
}
