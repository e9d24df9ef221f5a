//! The name of a tree: it says who owns it, so that a sweep can tell an orphan from a tree that is being measured.

use crate::process;

/// Variable that every process of a tree inherits; its value is the tree's name.
pub const TREE_VARIABLE: &str = "BAKEOFF_TREE";
/// Variable with the path of the group in which a platform puts what is to be counted, from the top of each hierarchy.
pub const GROUP_VARIABLE: &str = "BAKEOFF_GROUP";
/// Variable with the number of the process namespace in which the name's process id means something.
pub const NAMESPACE_VARIABLE: &str = "BAKEOFF_TREE_NAMESPACE";

/// `<pid>-<start>-<n>`: the instrument's process id, its start in clock ticks since boot, and a running number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeName {
    /// Process id of the instrument.
    pub pid: i32,
    /// When that process started, in clock ticks since boot. Ids are used again; the two together are not.
    pub start_ticks: u64,
    /// Which of the instrument's trees it is.
    pub number: u32,
}

impl TreeName {
    /// The name of this process's tree number `number`.
    pub fn own(number: u32) -> Self {
        let pid = std::process::id() as i32;
        let start_ticks = process::stat(pid).map_or(0, |stat| stat.start_ticks);
        Self { pid, start_ticks, number }
    }

    /// Reads a name; None if it is not one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let mut pieces = text.split('-');
        let name = Self {
            pid: pieces.next()?.parse().ok()?,
            start_ticks: pieces.next()?.parse().ok()?,
            number: pieces.next()?.parse().ok()?,
        };
        pieces.next().is_none().then_some(name)
    }

    /// Whether the instrument that owns the tree still runs.
    pub fn owner_lives(&self) -> bool {
        process::stat(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.is_dead())
    }
}

impl std::fmt::Display for TreeName {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.pid, self.start_ticks, self.number)
    }
}

/// The number of a process's process namespace; None if the kernel does not tell.
pub fn pid_namespace(pid: &str) -> Option<u64> {
    let link = std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_writing() {
        let name = TreeName::own(3);
        assert_eq!(TreeName::parse(&name.to_string()), Some(name.clone()));
        assert!(name.owner_lives());
        assert!(!TreeName { start_ticks: 1, ..name }.owner_lives());
    }

    #[test]
    fn other_names_are_not_ours() {
        for text in ["", "1-2", "1-2-3-4", "a-b-c", "user.slice"] {
            assert_eq!(TreeName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_namespace_is_known() {
        assert!(pid_namespace("self").is_some());
    }
}
