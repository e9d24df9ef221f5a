//! A group as a folder: making, reading, writing, listing, removing.

use super::OUR_FOLDER;
use crate::kernel::read_text;
use crate::name::TreeName;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a group that is still busy is tried again, each time later: for five seconds. The kernel needs a moment after the
/// last process has ended, and a long one on a machine whose CPUs are taken away.
const REMOVAL_TRIES: u32 = 50;

/// Makes the folder `name` in our folder in `parent` and prepares it; `prepare` gets our folder and the new one. Another
/// instrument may remove our folder in between, since it is removed when it is empty: then it is tried again.
pub fn make(
    parent: &Path,
    name: &TreeName,
    prepare: impl Fn(&Path, &Path) -> io::Result<()>,
) -> Result<PathBuf, String> {
    let ours = parent.join(OUR_FOLDER);
    let group = ours.join(name.to_string());
    let attempt = || {
        match fs::create_dir(&ours) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        fs::create_dir(&group)?;
        prepare(&ours, &group)
    };
    let mut result = attempt();
    for _ in 0..10 {
        match &result {
            Err(error) if error.kind() == io::ErrorKind::NotFound && parent.is_dir() => {
                // What a failed preparation has left would be in the way.
                let _ = fs::remove_dir(&group);
                result = attempt();
            }
            _ => break,
        }
    }
    result.map_err(|error| {
        let _ = fs::remove_dir(&group);
        let _ = fs::remove_dir(&ours);
        format!("cannot make a group in {}: {error}", parent.display())
    })?;
    Ok(group)
}

/// Writes a value into a file of a group; the error names the file.
pub fn write(group: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = group.join(file);
    fs::write(&path, value)
        .map_err(|error| io::Error::new(error.kind(), format!("{} = {value}: {error}", path.display())))
}

/// Reads a file of a group, without its last newline; empty if it cannot be read.
pub fn read(group: &Path, file: &str) -> String {
    read_text(group.join(file)).unwrap_or_default().trim_end().to_owned()
}

/// A file of a group that is read often and therefore stays open.
pub struct Gauge(File);

impl Gauge {
    /// Opens it; None if there is no such file.
    pub fn open(group: &Path, file: &str) -> Option<Self> {
        File::open(group.join(file)).ok().map(Self)
    }

    /// Its present text.
    pub fn text(&self) -> Option<String> {
        let mut buffer = [0u8; 8192];
        let count = self.0.read_at(&mut buffer, 0).ok()?;
        Some(String::from_utf8_lossy(&buffer[..count]).into_owned())
    }

    /// Its present number.
    pub fn number(&self) -> Option<u64> {
        self.text()?.trim().parse().ok()
    }
}

/// A sign, for whoever may be unable to see our process, that a group has a living owner.
pub struct Claim {
    _folder: File,
}

impl Claim {
    /// Claims a group for as long as the claim lives.
    pub fn on(group: &Path) -> Option<Self> {
        let folder = File::open(group).ok()?;
        // SAFETY: the descriptor is open; flock has no other preconditions.
        (unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0)
            .then_some(Self { _folder: folder })
    }
}

/// Whether a group's owner is gone: its process has ended, and nobody holds the claim.
fn is_orphan(group: &Path, name: &TreeName) -> bool {
    !name.owner_lives() && Claim::on(group).is_some()
}

/// The groups below a mount point that are named as ours and whose owners are gone.
pub fn find_groups(mount: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in subfolders(mount) {
        if mount.file_name().is_some_and(|name| name == OUR_FOLDER) {
            let name = folder.file_name().and_then(|name| name.to_str()).and_then(TreeName::parse);
            if let Some(name) = name
                && is_orphan(&folder, &name)
            {
                found.push(folder);
                continue;
            }
        }
        found.extend(find_groups(&folder));
    }
    found
}

/// The groups directly below a group.
pub fn subfolders(group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// All processes in a group and in those below it.
pub fn group_pids(group: &Path) -> Vec<i32> {
    let list = read_text(group.join("cgroup.procs")).unwrap_or_default();
    let mut pids: Vec<i32> = list.lines().filter_map(|line| line.parse().ok()).collect();
    // A folder has two links and one more for each folder in it; most groups have none below.
    if fs::metadata(group).is_ok_and(|metadata| metadata.nlink() != 2) {
        for below in subfolders(group) {
            pids.extend(group_pids(&below));
        }
    }
    pids
}

/// Removes a group, those below it, and our folder if that is then empty. Returns what could not be removed.
pub fn remove_group(group: &Path) -> Vec<String> {
    let mut left = Vec::new();
    for try_number in 1.. {
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break,
            Err(error) if try_number == REMOVAL_TRIES => {
                left.push(format!("{}: {error}", group.display()));
                break;
            }
            Err(_) => {
                for below in subfolders(group) {
                    let _ = remove_below(&below);
                }
                if try_number > 1 {
                    std::thread::sleep(Duration::from_millis(4 * u64::from(try_number)));
                }
            }
            Ok(()) => break,
        }
    }
    if let Some(ours) = group.parent().filter(|folder| folder.ends_with(OUR_FOLDER)) {
        // It fails while others use it, as it should.
        let _ = fs::remove_dir(ours);
    }
    left
}

fn remove_below(group: &Path) -> io::Result<()> {
    for below in subfolders(group) {
        remove_below(&below)?;
    }
    fs::remove_dir(group)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A folder of its own for a test, removed at its end.
    pub struct Scratch(pub PathBuf);

    impl Scratch {
        /// A new folder.
        pub fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("bakeoff-test-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn groups_are_made_and_removed_with_our_folder() {
        let top = Scratch::new("make");
        let group = make(&top.0, &TreeName::own(1), |_, _| Ok(())).unwrap();
        assert!(group.is_dir());
        fs::create_dir_all(group.join("a/b")).unwrap();
        assert!(remove_group(&group).is_empty());
        assert!(!top.0.join(OUR_FOLDER).exists());
    }

    #[test]
    fn only_orphans_are_found() {
        let top = Scratch::new("orphans");
        make(&top.0, &TreeName::own(1), |_, _| Ok(())).unwrap();
        let dead = TreeName { start_ticks: 1, ..TreeName::own(2) };
        fs::create_dir_all(top.0.join("deep")).unwrap();
        let orphan = make(&top.0.join("deep"), &dead, |_, _| Ok(())).unwrap();
        assert_eq!(find_groups(&top.0), [orphan.as_path()]);
        let _claim = Claim::on(&orphan).unwrap();
        assert!(find_groups(&top.0).is_empty());
    }

    #[test]
    fn pids_of_groups_below_count() {
        let top = Scratch::new("pids");
        fs::create_dir_all(top.0.join("below")).unwrap();
        fs::write(top.0.join("cgroup.procs"), "1\n2\n").unwrap();
        fs::write(top.0.join("below/cgroup.procs"), "3\n").unwrap();
        assert_eq!(group_pids(&top.0), [1, 2, 3]);
    }
}
