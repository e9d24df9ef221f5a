//! Control groups, version 1: one folder for each controller.

use super::dir::{self, Claim, Gauge};
use super::mounts::Hierarchies;
use super::{CpuReading, Entry, Group, MemoryReading};
use crate::limits::{CPU_PERIOD_US, Limits};
use crate::name::TreeName;
use crate::process::field;
use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A tree's groups in the hierarchies of version 1.
pub struct V1 {
    /// The tree's name.
    name: TreeName,
    /// The path of the inner group, if there is one.
    inner: Option<String>,
    /// Where others make groups of this tree: in the hierarchies that we do not use.
    elsewhere: Vec<PathBuf>,
    /// The most processes that were seen to be killed for want of memory; a group takes its count with it when it goes.
    kills: Cell<u64>,
    /// The groups, each once, even where controllers share a hierarchy. The first accounts CPU time.
    folders: Vec<PathBuf>,
    /// Their files that take new members, in the same order.
    members: Vec<File>,
    usage: Gauge,
    /// User and system time in nanoseconds, where the kernel has them.
    split: Option<(Gauge, Gauge)>,
    /// The kernel's memory; missing where the kernel was told not to account it.
    kernel: Option<Gauge>,
    memory_stat: Gauge,
    memory: PathBuf,
    /// Where the freezer's group is made when it is needed. Most trees end by themselves and never need it.
    freezer: Option<PathBuf>,
    _claim: Option<Claim>,
}

impl V1 {
    /// Makes the groups: CPU accounting and memory always, others for the limits that need them.
    ///
    /// An inner group has the same path in all hierarchies, which is why it stands below their tops.
    pub fn make(
        hierarchies: &Hierarchies,
        limits: &Limits,
        name: &TreeName,
        inner: bool,
    ) -> Result<Self, String> {
        let mut folders: Vec<PathBuf> = Vec::new();
        let made = Self::make_folders(hierarchies, limits, name, inner, &mut folders).and_then(|memory| {
            let open = |folder: &Path, file: &str| {
                Gauge::open(folder, file).ok_or_else(|| format!("{} has no {file}", folder.display()))
            };
            let join = |folder: &PathBuf| {
                let path = client(folder, inner).join("cgroup.procs");
                File::options()
                    .write(true)
                    .open(&path)
                    .map_err(|error| format!("{}: {error}", path.display()))
            };
            let cpuacct = counted(&folders[0], inner);
            Ok(Self {
                inner: inner.then(|| format!("/{}/{name}/{}", super::OUR_FOLDER, super::SYSTEM_FOLDER)),
                elsewhere: if inner { hierarchies.same(&folders[0]) } else { Vec::new() },
                kills: Cell::new(0),
                name: name.clone(),
                members: folders.iter().map(join).collect::<Result<_, _>>()?,
                usage: open(&cpuacct, "cpuacct.usage")?,
                split: Gauge::open(&cpuacct, "cpuacct.usage_user")
                    .zip(Gauge::open(&cpuacct, "cpuacct.usage_sys"))
                    .filter(|_| inner),
                kernel: Gauge::open(&memory, "memory.kmem.usage_in_bytes"),
                memory_stat: open(&memory, "memory.stat")?,
                memory,
                freezer: hierarchies.v1.get("freezer").map(|place| place.own.clone()),
                _claim: Claim::on(&folders[0]),
                folders: folders.clone(),
            })
        });
        if made.is_err() {
            folders.iter().for_each(|folder| drop(dir::remove_group(folder)));
        }
        made
    }

    fn make_folders(
        hierarchies: &Hierarchies,
        limits: &Limits,
        name: &TreeName,
        inner: bool,
        folders: &mut Vec<PathBuf>,
    ) -> Result<PathBuf, String> {
        let mut make = |controller: &str| -> Result<PathBuf, String> {
            let place = hierarchies
                .v1
                .get(controller)
                .ok_or_else(|| format!("the controller {controller} is not mounted"))?;
            let parent = if inner { place.mount.clone() } else { place.own.clone() };
            let folder = parent.join(super::OUR_FOLDER).join(name.to_string());
            if !folders.contains(&folder) {
                let is_cpuset =
                    hierarchies.v1.get("cpuset").is_some_and(|cpuset| cpuset.mount == place.mount);
                let prepare = |ours: &Path, group: &Path| {
                    if is_cpuset {
                        inherit_cpuset(&parent, ours).and_then(|()| inherit_cpuset(&parent, group))
                    } else {
                        Ok(())
                    }
                };
                folders.push(dir::make(&parent, name, prepare)?);
                if inner {
                    for below in [client(&folder, true), counted(&folder, true)] {
                        fs::create_dir(&below).map_err(|error| format!("{}: {error}", below.display()))?;
                        if is_cpuset {
                            inherit_cpuset(&parent, &below).map_err(|error| error.to_string())?;
                        }
                    }
                }
            }
            Ok(counted(&folder, inner))
        };
        make("cpuacct")?;
        let memory = make("memory")?;
        let write = |folder: &Path, file: &str, value: &str| {
            dir::write(folder, file, value).map_err(|e| e.to_string())
        };
        if let Some(bytes) = limits.memory_bytes {
            write(&memory, "memory.limit_in_bytes", &bytes.to_string())?;
            // Without it the kernel would let the tree swap; it is missing where there is no accounting of swap.
            if memory.join("memory.memsw.limit_in_bytes").exists() {
                write(&memory, "memory.memsw.limit_in_bytes", &bytes.to_string())?;
            }
        }
        if let Some(cores) = limits.cpu_cores {
            let cpu = make("cpu")?;
            write(&cpu, "cpu.cfs_period_us", &CPU_PERIOD_US.to_string())?;
            write(&cpu, "cpu.cfs_quota_us", &((cores * CPU_PERIOD_US as f64) as u64).to_string())?;
        }
        if let Some(cpus) = &limits.cpus {
            write(&make("cpuset")?, "cpuset.cpus", &cpus.to_string())?;
        }
        Ok(memory)
    }
}

/// The group that is counted.
fn counted(folder: &Path, inner: bool) -> PathBuf {
    if inner { folder.join(super::SYSTEM_FOLDER) } else { folder.to_owned() }
}

/// The group that the root process joins.
fn client(folder: &Path, inner: bool) -> PathBuf {
    if inner { folder.join(super::CLIENT_FOLDER) } else { folder.to_owned() }
}

/// How many processes were killed for want of memory in a group and in those below it.
fn kills_below(group: &Path) -> u64 {
    let own = field(&dir::read(group, "memory.oom_control"), "\noom_kill ").unwrap_or(0);
    own + dir::subfolders(group).iter().map(|below| kills_below(below)).sum::<u64>()
}

/// A new group of version 1 has no CPUs and no memory nodes until it is given some.
fn inherit_cpuset(parent: &Path, group: &Path) -> io::Result<()> {
    for (file, source) in [("cpuset.cpus", "cpuset.effective_cpus"), ("cpuset.mems", "cpuset.effective_mems")]
    {
        if dir::read(group, file).is_empty() {
            dir::write(group, file, &dir::read(parent, source))?;
        }
    }
    Ok(())
}

impl Group for V1 {
    fn version(&self) -> &'static str {
        "v1"
    }

    fn entry(&self) -> Entry {
        Entry { join: self.members.iter().map(AsRawFd::as_raw_fd).collect(), born_in: None }
    }

    fn cpu(&self) -> Option<CpuReading> {
        let split_ns = self.split.as_ref().and_then(|(user, system)| user.number().zip(system.number()));
        Some(CpuReading { total_ns: self.usage.number()?, split_ns })
    }

    fn memory(&self) -> Option<MemoryReading> {
        let stat = self.memory_stat.text()?;
        let cache = field(&stat, "\ntotal_cache ")?;
        let shared = field(&stat, "\ntotal_shmem ").unwrap_or(0);
        let anonymous = field(&stat, "\ntotal_rss ")?;
        let kernel = self.kernel.as_ref().and_then(Gauge::number).unwrap_or(0);
        Some(MemoryReading { held: anonymous + shared + kernel, page_cache: cache.saturating_sub(shared) })
    }

    fn high_water(&self) -> Option<u64> {
        dir::read(&self.memory, "memory.max_usage_in_bytes").parse().ok()
    }

    fn reset_high_water(&mut self) -> bool {
        dir::write(&self.memory, "memory.max_usage_in_bytes", "0").is_ok()
    }

    fn pids(&self) -> Vec<i32> {
        dir::group_pids(&self.folders[0])
    }

    fn inner(&self) -> Option<&str> {
        self.inner.as_deref()
    }

    fn counted_pids(&self) -> Vec<i32> {
        dir::group_pids(&counted(&self.folders[0], self.inner.is_some()))
    }

    fn memory_kills(&self) -> u64 {
        self.kills.set(self.kills.get().max(kills_below(&self.memory)));
        self.kills.get()
    }

    fn kill_all(&mut self) {
        let Some(place) = &self.freezer else { return };
        let freezer = place.join(super::OUR_FOLDER).join(self.name.to_string());
        if !self.folders.contains(&freezer) {
            match dir::make(place, &self.name, |_, _| Ok(())) {
                Ok(made) => self.folders.push(made),
                Err(_) => return,
            }
        }
        freeze_and_kill(&freezer, || self.pids());
    }

    fn remove(&mut self) -> Vec<String> {
        self.members.clear();
        let mut folders = std::mem::take(&mut self.folders);
        folders.append(&mut self.elsewhere);
        folders.iter().filter(|folder| folder.exists()).flat_map(|folder| dir::remove_group(folder)).collect()
    }
}

/// Moves all members into the freezer and kills them there: what is frozen cannot fork, so after a few rounds no new one
/// turns up.
fn freeze_and_kill(freezer: &Path, members: impl Fn() -> Vec<i32>) {
    let _ = dir::write(freezer, "freezer.state", "FROZEN");
    for _ in 0..100 {
        let frozen = dir::group_pids(freezer);
        let strangers: Vec<i32> = members().into_iter().filter(|pid| !frozen.contains(pid)).collect();
        if strangers.is_empty() {
            break;
        }
        for pid in strangers {
            // It fails for what has ended meanwhile.
            let _ = fs::write(freezer.join("cgroup.procs"), pid.to_string());
        }
    }
    for pid in dir::group_pids(freezer) {
        // SAFETY: kill has no preconditions.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    // A frozen process dies only when it thaws.
    let _ = dir::write(freezer, "freezer.state", "THAWED");
    std::thread::sleep(Duration::from_millis(1));
}

#[cfg(test)]
mod tests {
    use super::super::mounts::Place;
    use super::dir::tests::Scratch;
    use super::*;

    /// A tree of plain folders with the files that are read.
    fn fake(scratch: &Scratch) -> Hierarchies {
        let mut found = Hierarchies::default();
        for controller in ["cpuacct", "memory"] {
            let mount = scratch.0.join(controller);
            let group = mount.join("bakeoff").join(TreeName::own(9).to_string());
            fs::create_dir_all(&mount).unwrap();
            found.v1.insert(controller.to_owned(), Place { mount: mount.clone(), own: mount });
            assert!(!group.exists());
        }
        found
    }

    #[test]
    fn a_missing_controller_is_named() {
        let scratch = Scratch::new("v1-missing");
        let mut found = fake(&scratch);
        found.v1.remove("memory");
        let why = V1::make(&found, &Limits::default(), &TreeName::own(9), false).err().unwrap();
        assert!(why.contains("memory"), "{why}");
        // What had been made is gone.
        assert!(!scratch.0.join("cpuacct/bakeoff").exists());
    }

    #[test]
    fn a_strange_folder_is_refused_and_cleaned() {
        let scratch = Scratch::new("v1-strange");
        let why = V1::make(&fake(&scratch), &Limits::default(), &TreeName::own(9), false).err().unwrap();
        assert!(why.contains("cgroup.procs"), "{why}");
        assert!(!scratch.0.join("memory/bakeoff").exists());
    }
}
