//! The tree of processes: who is in it, what it has used, and how it is brought to an end.
//!
//! We are a subreaper: whatever in the tree loses its parent becomes our child. So every process of the tree descends from
//! us, and when we have no children left, the tree is gone.

use crate::cgroup::Group;
use crate::kernel::{self, Signals, Waited};
use crate::process;
use crate::tally::Tally;
use bakeoff_share::clock;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// How long killed processes may take to be gone. A process that the kernel holds (state D) may take forever.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// A process that was alive when it should have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Killed {
    /// Its process id.
    pub pid: i32,
    /// Its command line.
    pub command: String,
    /// The last signal it was sent.
    pub signal: String,
}

/// The end of the root process.
#[derive(Debug, Clone, Copy)]
pub struct RootEnd {
    /// As wait4 tells it.
    pub status: i32,
    /// When we learned of it: CLOCK_MONOTONIC in nanoseconds.
    pub at_ns: u64,
}

/// One tree, from its root's start.
pub struct Tree<'a> {
    /// The group that keeps the accounts.
    pub group: &'a mut dyn Group,
    root: i32,
    /// Children that we had before, from a program that became this one. They are none of our business.
    foreign: &'a [i32],
    /// Accounts of the processes that have ended and were waited for, by us or in the tree.
    reaped: Tally,
    /// Highest resident memory of one process that has ended, in bytes.
    pub largest_process: u64,
    /// The root's end.
    pub root_end: Option<RootEnd>,
    childless: bool,
    /// With an inner group: the last look at each process that was ever seen in it.
    inside: BTreeMap<i32, Tally>,
    /// What the group had used before this tree.
    cpu_before_ns: u64,
    /// The most that a sum over processes has shown.
    cpu_seen_ns: u64,
    memory_kills_before: u64,
}

impl<'a> Tree<'a> {
    /// A tree about to be started in the group.
    pub fn new(group: &'a mut dyn Group, foreign: &'a [i32]) -> Self {
        Self {
            root: 0,
            foreign,
            reaped: Tally::default(),
            largest_process: 0,
            root_end: None,
            childless: false,
            inside: BTreeMap::new(),
            cpu_before_ns: group.cpu().map_or(0, |cpu| cpu.total_ns),
            cpu_seen_ns: 0,
            memory_kills_before: group.memory_kills(),
            group,
        }
    }

    /// Tells the tree its root.
    pub fn started(&mut self, root: i32) {
        self.root = root;
    }

    /// Takes notice of all children that have ended.
    pub fn reap(&mut self) {
        let at_ns = clock::now_ns();
        loop {
            match kernel::wait_any() {
                Waited::Ended(pid, status, usage) => {
                    if self.foreign.contains(&pid) {
                        continue;
                    }
                    self.reaped = self.reaped.plus(&Tally::from_rusage(&usage));
                    if self.group.inner().is_none() {
                        self.largest_process = self.largest_process.max(usage.ru_maxrss as u64 * 1024);
                    }
                    if pid == self.root {
                        self.root_end = Some(RootEnd { status, at_ns });
                    }
                }
                Waited::None => return,
                Waited::Childless => {
                    self.childless = true;
                    return;
                }
            }
        }
    }

    /// Whether nothing of the tree is left.
    pub fn is_gone(&self) -> bool {
        self.root_end.is_some() && (self.childless || (self.children().is_empty() && self.alive().is_empty()))
    }

    /// Our children of this tree, living or not yet waited for. While anything of the tree lives there is at least one: what
    /// forks and ends at once can be missed by a look at all processes, but its child is ours before it is dead itself.
    fn children(&self) -> Vec<i32> {
        let mut children = process::children_of(std::process::id() as i32);
        children.retain(|pid| !self.foreign.contains(pid));
        children
    }

    /// All living processes of the tree.
    pub fn alive(&self) -> Vec<i32> {
        let mut found = Vec::new();
        self.each(|pid| found.push(pid));
        found.sort_unstable();
        found.retain(|&pid| process::stat(pid).is_some_and(|stat| !stat.is_dead()));
        found
    }

    /// Shows each process of the tree once, living or not yet waited for: our descendants, wherever they have moved to, and those in
    /// the group. A parent comes before its children are looked up. So what it waits for meanwhile is missed, and never seen
    /// twice: once as a process and once in its parent's account.
    fn each(&self, mut see: impl FnMut(i32)) {
        let mut seen = BTreeSet::new();
        let mut open = self.children();
        while let Some(pid) = open.pop() {
            if seen.insert(pid) {
                see(pid);
                open.extend(process::children_of(pid));
            }
        }
        self.group.pids().into_iter().filter(|&pid| seen.insert(pid)).for_each(see);
    }

    /// The living processes that are counted.
    pub fn counted(&self) -> Vec<i32> {
        if self.group.inner().is_some() { self.group.counted_pids() } else { self.alive() }
    }

    /// How many processes live, as cheaply as can be told.
    pub fn count(&self) -> usize {
        match self.group.version() {
            "none" => self.alive().len(),
            _ => self.group.counted_pids().len(),
        }
    }

    /// What the tree has used so far. The group knows the CPU time of everything that ever was in it; the rest is the sum of
    /// what has been waited for and what lives.
    pub fn tally(&mut self) -> Tally {
        let cpu = self.group.cpu();
        let mut tally = self.reaped;
        if self.group.inner().is_some() {
            self.look_inside();
            tally = self.inside.values().fold(Tally::default(), |sum, one| sum.plus(one));
        } else if !self.childless {
            self.each(|pid| tally = tally.plus(&process::tally_of(pid).unwrap_or_default()));
        }
        let Some(cpu) = cpu else { return tally };
        tally.cpu_ns = cpu.total_ns.saturating_sub(self.cpu_before_ns);
        if let (Some((user_ns, system_ns)), 0) = (cpu.split_ns, self.cpu_before_ns) {
            (tally.user_ns, tally.system_ns) = (user_ns, system_ns);
        }
        tally.split_exactly()
    }

    /// Looks at the processes of the inner group. Others wait for those that end, so that the last look is all we have.
    pub fn look_inside(&mut self) {
        if self.group.inner().is_some() {
            for pid in self.group.counted_pids() {
                if let Some(tally) = process::tally_of(pid) {
                    self.inside.insert(pid, tally);
                }
            }
        }
    }

    /// CPU time so far in nanoseconds, as cheaply as can be told. It never falls: a sum that has missed a process that ended just
    /// then says no more than the sum before it.
    pub fn cpu_ns(&mut self) -> u64 {
        if let Some(cpu) = self.group.cpu() {
            return cpu.total_ns.saturating_sub(self.cpu_before_ns);
        }
        let mut sum = self.reaped.cpu_ns;
        self.each(|pid| sum += process::cpu_ns_of(pid).unwrap_or_default());
        self.cpu_seen_ns = self.cpu_seen_ns.max(sum);
        self.cpu_seen_ns
    }

    /// Whether the kernel has killed something in the tree because the memory limit was reached.
    pub fn hit_memory_limit(&self) -> bool {
        self.group.memory_kills() > self.memory_kills_before
    }

    /// Sends a signal to all of the tree; returns who got it.
    pub fn signal(&self, signal: i32) -> Vec<Killed> {
        let alive = self.alive();
        let killed = alive.iter().map(|&pid| killed(pid, signal)).collect();
        for &pid in &alive {
            kernel::send(pid, signal);
            // What has been stopped could not act on the signal.
            kernel::send(pid, libc::SIGCONT);
        }
        killed
    }

    /// Kills everything that lives, however it forks, and waits until it is gone. Adds to `list` what was killed, sets
    /// `told_to_end` if a signal comes meanwhile, and returns what could not be killed.
    pub fn kill(
        &mut self,
        signals: &mut Signals,
        list: &mut Vec<Killed>,
        told_to_end: &mut bool,
    ) -> Vec<String> {
        let deadline = Instant::now() + KILL_PATIENCE;
        for round in 0.. {
            self.reap();
            // Without children only what others have moved into the group can be left.
            if self.childless && self.group.pids().is_empty() {
                break;
            }
            let alive = self.alive();
            if alive.is_empty() && (self.childless || (self.root_end.is_some() && self.children().is_empty()))
            {
                break;
            }
            if Instant::now() > deadline {
                let state = |pid: i32| process::stat(pid).map_or('?', |stat| stat.state);
                let held = if alive.is_empty() { self.children() } else { alive };
                return held
                    .iter()
                    .map(|&pid| format!("process {pid} ({}): state {}", process::command_of(pid), state(pid)))
                    .collect();
            }
            for pid in alive {
                let entry = killed(pid, libc::SIGKILL);
                match list.iter_mut().find(|known| known.pid == pid) {
                    Some(known) => known.signal = entry.signal,
                    None => list.push(entry),
                }
                kernel::send(pid, libc::SIGKILL);
            }
            // Most trees are gone with the first round. What is not may be forking, and is held before it is killed.
            if round > 0 {
                self.group.kill_all();
            }
            kernel::wait_for([signals.as_raw_fd()], Some(Duration::from_millis(10)));
            *told_to_end |= signals.read().iter().any(|&signal| signal != libc::SIGCHLD);
        }
        Vec::new()
    }
}

fn killed(pid: i32, signal: i32) -> Killed {
    Killed { pid, command: process::command_of(pid), signal: crate::args::signal_name(signal) }
}
