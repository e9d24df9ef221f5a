//! Where this process stands in the hierarchies of control groups.

use crate::kernel::read_text;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// One mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The folder of the group in which this process is.
    pub own: PathBuf,
}

/// All mounted hierarchies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// The hierarchy of version 2.
    pub v2: Option<Place>,
    /// The hierarchies of version 1, by controller.
    pub v1: BTreeMap<String, Place>,
}

impl Hierarchies {
    /// Those that this process sees.
    ///
    /// # Errors
    /// When /proc cannot be read.
    pub fn of_this_process() -> io::Result<Self> {
        let mounts = read_text("/proc/self/mountinfo")?;
        // Without this file the kernel has no control groups at all.
        let groups = read_text("/proc/self/cgroup").unwrap_or_default();
        Ok(Self::parse(&mounts, &groups))
    }

    /// Reads the texts of /proc/self/mountinfo and /proc/self/cgroup.
    pub fn parse(mounts: &str, groups: &str) -> Self {
        let mut found = Self::default();
        for mount in mounts.lines().filter_map(Mount::parse) {
            for line in groups.lines() {
                let mut fields = line.splitn(3, ':');
                let (Some(id), Some(names), Some(path)) = (fields.next(), fields.next(), fields.next())
                else {
                    continue;
                };
                if mount.is_v2 && id == "0" && names.is_empty() {
                    // A later mount hides an earlier one only at the same place; the first is good enough.
                    found.v2.get_or_insert_with(|| mount.place(path));
                } else if !mount.is_v2 {
                    for name in
                        names.split(',').filter(|name| mount.options.split(',').any(|option| option == *name))
                    {
                        found.v1.entry(name.to_owned()).or_insert_with(|| mount.place(path));
                    }
                }
            }
        }
        found
    }

    /// The folders with the same path as this group in all hierarchies.
    pub fn same(&self, group: &Path) -> Vec<PathBuf> {
        let mounts = self.mounts();
        let own = mounts.iter().filter_map(|mount| group.strip_prefix(mount).ok()).next().unwrap_or(group);
        mounts.iter().map(|mount| mount.join(own)).collect()
    }

    /// Every mount point, each once.
    pub fn mounts(&self) -> Vec<PathBuf> {
        let mut mounts: Vec<PathBuf> =
            self.v1.values().chain(self.v2.as_ref()).map(|place| place.mount.clone()).collect();
        mounts.sort();
        mounts.dedup();
        mounts
    }
}

/// A line of mountinfo that is about control groups.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    options: &'a str,
    is_v2: bool,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(3);
        let (root, point) = (left.next()?, left.next()?);
        let mut right = right.split(' ');
        let kind = right.next()?;
        let options = right.nth(1).unwrap_or("");
        matches!(kind, "cgroup" | "cgroup2").then_some(Self {
            root,
            point,
            options,
            is_v2: kind == "cgroup2",
        })
    }

    /// The folder of the group `path`. In a container only a part of the hierarchy may be mounted; what lies outside of it
    /// is taken to be the mounted part's top.
    fn place(&self, path: &str) -> Place {
        let below = match path.strip_prefix(self.root.trim_end_matches('/')) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest.trim_start_matches('/'),
            _ => "",
        };
        let mount = PathBuf::from(self.point);
        let own = if below.is_empty() || !Path::new(self.point).join(below).is_dir() {
            mount.clone()
        } else {
            mount.join(below)
        };
        Place { mount, own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_hybrid_machine() {
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /nowhere/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n\
             41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n\
             42 31 0:38 / /proc rw - proc proc rw\n";
        let groups = "4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/x\n0::/\n";
        let found = Hierarchies::parse(mounts, groups);
        assert_eq!(found.v2.unwrap().own, Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(found.v1["cpuacct"].own, Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(found.v1["cpuacct"], found.v1["cpu"]);
        // The folder is not there, so the top of the mount stands in for it.
        assert_eq!(found.v1["memory"].own, Path::new("/nowhere/memory"));
    }

    #[test]
    fn strips_what_a_container_does_not_see() {
        let top = std::env::temp_dir().join(format!("bakeoff-mounts-{}", std::process::id()));
        std::fs::create_dir_all(top.join("inner")).unwrap();
        let mounts = format!("1 2 0:1 /docker/abc {} rw - cgroup2 cgroup2 rw\n", top.display());
        let found = Hierarchies::parse(&mounts, "0::/docker/abc/inner\n");
        assert_eq!(found.v2.unwrap().own, top.join("inner"));
        std::fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn a_group_has_the_same_path_everywhere() {
        let place = |mount: &str| Place { mount: mount.into(), own: mount.into() };
        let v1 = ["memory", "pids"].map(|name| (name.to_owned(), place(&format!("/c/{name}"))));
        let found = Hierarchies { v2: Some(place("/c/unified")), v1: v1.into_iter().collect() };
        let same = found.same(Path::new("/c/memory/bakeoff/1-2-3"));
        assert_eq!(
            same,
            ["/c/memory/bakeoff/1-2-3", "/c/pids/bakeoff/1-2-3", "/c/unified/bakeoff/1-2-3"]
                .map(PathBuf::from)
        );
    }

    #[test]
    fn without_mounts_there_is_nothing() {
        assert_eq!(Hierarchies::parse("", "0::/\n"), Hierarchies::default());
    }
}
