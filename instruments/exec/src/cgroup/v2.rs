//! Control groups, version 2: one folder for everything.

use super::dir::{self, Claim, Gauge};
use super::mounts::{Hierarchies, Place};
use super::{CpuReading, Entry, Group, MemoryReading};
use crate::limits::{CPU_PERIOD_US, Limits};
use crate::name::TreeName;
use crate::process::field;
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A tree's group in the hierarchy of version 2.
pub struct V2 {
    folder: PathBuf,
    /// The group that is counted: the inner one, if there is one.
    counted: PathBuf,
    /// Where others make groups of this tree: in the hierarchies that we do not use.
    elsewhere: Vec<PathBuf>,
    /// The path of the inner group, if there is one.
    inner: Option<String>,
    /// The most processes that were seen to be killed for want of memory.
    kills: Cell<u64>,
    /// The folder, open, for birth into it.
    handle: File,
    members: File,
    cpu_stat: Gauge,
    charged: Option<Gauge>,
    memory_stat: Option<Gauge>,
    /// The high-water mark. A reset holds only for the descriptor it was written to, so this one stays open.
    peak: Option<File>,
    _claim: Option<Claim>,
}

impl V2 {
    /// Makes the group. With `memory_needed` it fails where memory cannot be accounted.
    pub fn make(
        hierarchies: &Hierarchies,
        limits: &Limits,
        name: &TreeName,
        inner: bool,
        memory_needed: bool,
    ) -> Result<Self, String> {
        let place = hierarchies.v2.as_ref().ok_or("it is not mounted")?;
        let parent = parent_for_groups(place);
        let available = dir::read(&parent, "cgroup.controllers");
        let has = |controller: &str| available.split(' ').any(|name| name == controller);
        let mut wanted = limits.controllers();
        if has("memory") || memory_needed {
            wanted.push("memory");
        }
        wanted.sort_unstable();
        wanted.dedup();
        if let Some(lacking) = wanted.iter().find(|controller| !has(controller)) {
            return Err(format!("{} has no controller {lacking}", parent.display()));
        }
        let prepare = |ours: &Path, _: &Path| enable(&parent, &wanted).and_then(|()| enable(ours, &wanted));
        let folder = dir::make(&parent, name, prepare)?;
        let path = format!("/{}", folder.strip_prefix(&place.mount).unwrap_or(&folder).display());
        let made = if inner { divide(&folder, &wanted) } else { Ok((folder.clone(), folder.clone())) };
        let made = made.and_then(|(client, counted)| {
            limit(&counted, limits)?;
            Self::open(&folder, &client, counted)
        });
        let made = made.map(|group| Self {
            elsewhere: if inner { hierarchies.same(&folder) } else { Vec::new() },
            inner: inner.then(|| format!("{path}/{}", super::SYSTEM_FOLDER)),
            ..group
        });
        made.map_err(|error| {
            dir::remove_group(&folder);
            error.to_string()
        })
    }

    fn open(folder: &Path, client: &Path, counted: PathBuf) -> io::Result<Self> {
        let path = client.join("cgroup.procs");
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        Ok(Self {
            elsewhere: Vec::new(),
            inner: None,
            kills: Cell::new(0),
            handle: File::open(client)?,
            members: File::options().write(true).open(&path).map_err(named)?,
            cpu_stat: Gauge::open(&counted, "cpu.stat").ok_or(io::ErrorKind::NotFound)?,
            charged: Gauge::open(&counted, "memory.current"),
            memory_stat: Gauge::open(&counted, "memory.stat"),
            peak: open_peak(&counted),
            _claim: Claim::on(folder),
            folder: folder.to_owned(),
            counted,
        })
    }
}

/// Linux 6.12 and later let the mark be reset; before that it can only be read, and since 5.19 there is one.
fn open_peak(folder: &Path) -> Option<File> {
    let path = folder.join("memory.peak");
    File::options().read(true).write(true).open(&path).or_else(|_| File::open(&path)).ok()
}

/// Where our folder goes: in the top, or beside our own group, since a group with processes may not have groups that
/// share its resources.
fn parent_for_groups(place: &Place) -> PathBuf {
    match place.own.parent() {
        Some(parent) if place.own != place.mount => parent.to_owned(),
        _ => place.own.clone(),
    }
}

/// Makes the groups of the client and of what is counted; a group with groups below it has no processes of its own.
fn divide(folder: &Path, controllers: &[&str]) -> io::Result<(PathBuf, PathBuf)> {
    let (client, counted) = (folder.join(super::CLIENT_FOLDER), folder.join(super::SYSTEM_FOLDER));
    enable(folder, controllers)?;
    fs::create_dir(&client)?;
    fs::create_dir(&counted)?;
    Ok((client, counted))
}

/// Lets the groups below `group` use the controllers.
fn enable(group: &Path, controllers: &[&str]) -> io::Result<()> {
    let enabled = dir::read(group, "cgroup.subtree_control");
    for controller in controllers.iter().filter(|wanted| !enabled.split(' ').any(|name| name == **wanted)) {
        dir::write(group, "cgroup.subtree_control", &format!("+{controller}"))?;
    }
    Ok(())
}

fn limit(folder: &Path, limits: &Limits) -> io::Result<()> {
    if let Some(bytes) = limits.memory_bytes {
        dir::write(folder, "memory.max", &bytes.to_string())?;
        // The tree is one thing: if a part of it must go, all of it goes. Older kernels lack it, and then we do it.
        let _ = dir::write(folder, "memory.oom.group", "1");
        if folder.join("memory.swap.max").exists() {
            dir::write(folder, "memory.swap.max", "0")?;
        }
    }
    if let Some(cores) = limits.cpu_cores {
        let quota = (cores * CPU_PERIOD_US as f64) as u64;
        dir::write(folder, "cpu.max", &format!("{quota} {CPU_PERIOD_US}"))?;
    }
    if let Some(cpus) = &limits.cpus {
        dir::write(folder, "cpuset.cpus", &cpus.to_string())?;
    }
    Ok(())
}

impl Group for V2 {
    fn version(&self) -> &'static str {
        "v2"
    }

    fn entry(&self) -> Entry {
        Entry { join: vec![self.members.as_raw_fd()], born_in: Some(self.handle.as_raw_fd()) }
    }

    fn cpu(&self) -> Option<CpuReading> {
        let text = self.cpu_stat.text()?;
        let ns = |key: &str| Some(field(&text, key)? * 1_000);
        Some(CpuReading {
            total_ns: ns("usage_usec ")?,
            split_ns: ns("\nuser_usec ").zip(ns("\nsystem_usec ")),
        })
    }

    fn memory(&self) -> Option<MemoryReading> {
        let stat = self.memory_stat.as_ref()?.text()?;
        let files = field(&stat, "\nfile ")?;
        let shared = field(&stat, "\nshmem ").unwrap_or(0);
        let page_cache = files.saturating_sub(shared);
        let part = |key: &str| field(&stat, key);
        let held = match part("\nkernel ") {
            Some(kernel) => part("anon ")? + shared + kernel + part("\nsock ").unwrap_or(0),
            // Before Linux 5.18 the kernel's part is not told as one number.
            None => self.charged.as_ref()?.number()?.saturating_sub(page_cache),
        };
        Some(MemoryReading { held, page_cache })
    }

    fn high_water(&self) -> Option<u64> {
        let mut buffer = [0u8; 32];
        let count = self.peak.as_ref()?.read_at(&mut buffer, 0).ok()?;
        std::str::from_utf8(&buffer[..count]).ok()?.trim().parse().ok()
    }

    fn reset_high_water(&mut self) -> bool {
        self.peak.as_mut().is_some_and(|file| file.write_all(b"reset").is_ok())
    }

    fn pids(&self) -> Vec<i32> {
        dir::group_pids(&self.folder)
    }

    fn inner(&self) -> Option<&str> {
        self.inner.as_deref()
    }

    fn counted_pids(&self) -> Vec<i32> {
        dir::group_pids(&self.counted)
    }

    fn memory_kills(&self) -> u64 {
        // The events of groups below count too.
        let events = dir::read(&self.counted, "memory.events");
        self.kills.set(self.kills.get().max(field(&events, "oom_kill ").unwrap_or(0)));
        self.kills.get()
    }

    fn kill_all(&mut self) {
        if dir::write(&self.folder, "cgroup.kill", "1").is_ok() {
            return;
        }
        // Before Linux 5.14: what is frozen cannot fork, and in version 2 it dies frozen.
        let _ = dir::write(&self.folder, "cgroup.freeze", "1");
        for pid in self.pids() {
            // SAFETY: kill has no preconditions.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        let _ = dir::write(&self.folder, "cgroup.freeze", "0");
    }

    fn remove(&mut self) -> Vec<String> {
        let mut left = dir::remove_group(&self.folder);
        left.extend(
            self.elsewhere
                .iter()
                .filter(|folder| folder.exists())
                .flat_map(|folder| dir::remove_group(folder)),
        );
        left
    }
}

#[cfg(test)]
mod tests {
    use super::dir::tests::Scratch;
    use super::*;
    use crate::args::CpuList;

    fn place(scratch: &Scratch, own: &str) -> Hierarchies {
        let own = scratch.0.join(own);
        fs::create_dir_all(&own).unwrap();
        Hierarchies { v2: Some(Place { mount: scratch.0.clone(), own }), ..Hierarchies::default() }
    }

    #[test]
    fn groups_stand_beside_our_own_group() {
        let scratch = Scratch::new("v2-beside");
        let found = place(&scratch, "user/session.scope");
        assert_eq!(parent_for_groups(found.v2.as_ref().unwrap()), scratch.0.join("user"));
        let top = Place { mount: scratch.0.clone(), own: scratch.0.clone() };
        assert_eq!(parent_for_groups(&top), scratch.0);
    }

    #[test]
    fn a_missing_controller_is_named() {
        let scratch = Scratch::new("v2-missing");
        let found = place(&scratch, "user/own");
        fs::write(scratch.0.join("user/cgroup.controllers"), "cpu pids\n").unwrap();
        let why = V2::make(&found, &Limits::default(), &TreeName::own(5), false, true).err().unwrap();
        assert!(why.contains("memory"), "{why}");
    }

    #[test]
    fn limits_are_written() {
        let scratch = Scratch::new("v2-limits");
        let cpus = Some(CpuList(vec![0, 1]));
        fs::write(scratch.0.join("memory.swap.max"), "max").unwrap();
        limit(&scratch.0, &Limits { cpus, cpu_cores: Some(1.5), memory_bytes: Some(1 << 20) }).unwrap();
        assert_eq!(dir::read(&scratch.0, "memory.max"), "1048576");
        assert_eq!(dir::read(&scratch.0, "memory.swap.max"), "0");
        assert_eq!(dir::read(&scratch.0, "cpu.max"), "150000 100000");
        assert_eq!(dir::read(&scratch.0, "cpuset.cpus"), "0,1");
    }

    #[test]
    fn controllers_are_enabled_once() {
        let scratch = Scratch::new("v2-enable");
        fs::write(scratch.0.join("cgroup.subtree_control"), "cpu memory\n").unwrap();
        enable(&scratch.0, &["cpu", "memory"]).unwrap();
        assert_eq!(dir::read(&scratch.0, "cgroup.subtree_control"), "cpu memory");
        enable(&scratch.0, &["pids"]).unwrap();
        assert_eq!(dir::read(&scratch.0, "cgroup.subtree_control"), "+pids");
    }

    #[test]
    fn an_inner_group_is_counted() {
        let scratch = Scratch::new("v2-inner");
        let (client, counted) = divide(&scratch.0, &["memory"]).unwrap();
        assert_eq!(dir::read(&scratch.0, "cgroup.subtree_control"), "+memory");
        for (folder, pid, usage) in [(&client, "1\n", 100), (&counted, "2\n", 300)] {
            fs::write(folder.join("cgroup.procs"), pid).unwrap();
            fs::write(folder.join("cpu.stat"), format!("usage_usec {usage}\n")).unwrap();
        }
        fs::write(scratch.0.join("cgroup.procs"), "").unwrap();
        let group = V2::open(&scratch.0, &client, counted).unwrap();
        assert_eq!(group.cpu().unwrap().total_ns, 300_000);
        assert_eq!(group.counted_pids(), [2]);
        let mut all = group.pids();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    }

    #[test]
    fn a_group_is_read() {
        let scratch = Scratch::new("v2-read");
        let files = [
            ("cgroup.procs", "12\n34\n"),
            ("cpu.stat", "usage_usec 300\nuser_usec 200\nsystem_usec 100\nnr_periods 0\n"),
            ("memory.current", "1000\n"),
            ("memory.stat", "anon 500\nfile 400\nkernel 70\nsock 20\nshmem 100\n"),
            ("memory.peak", "2000\n"),
            ("memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n"),
        ];
        for (file, text) in files {
            fs::write(scratch.0.join(file), text).unwrap();
        }
        let group = V2::open(&scratch.0, &scratch.0, scratch.0.clone()).unwrap();
        assert_eq!(
            group.cpu().unwrap(),
            CpuReading { total_ns: 300_000, split_ns: Some((200_000, 100_000)) }
        );
        assert_eq!(group.memory().unwrap(), MemoryReading { held: 690, page_cache: 300 });
        assert_eq!(group.high_water(), Some(2000));
        assert_eq!(group.memory_kills(), 2);
        assert_eq!(group.pids(), [12, 34]);
    }
}
