//! How often a module has called WASI, by name, and how many bytes it has read and written that way.

use serde::Serialize;
use std::collections::BTreeMap;

/// Whether a call brings bytes to the module or takes them from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `fd_read` and its like.
    Read,
    /// `fd_write` and its like.
    Write,
}

/// The calls of one replication.
#[derive(Debug, Clone, Default, Serialize, PartialEq, Eq)]
pub struct Counts {
    /// Calls by name.
    pub calls: BTreeMap<&'static str, u64>,
    /// Calls that answered with an error, by name.
    pub errors: BTreeMap<&'static str, u64>,
    /// Bytes that `fd_read` and `fd_pread` brought.
    pub bytes_read: u64,
    /// Bytes that `fd_write`, `fd_pwrite` and `sock_send` took.
    pub bytes_written: u64,
}

impl Counts {
    /// Which way a call moves bytes, if it does. Their number is where the call's last argument points to.
    pub fn direction(name: &str) -> Option<Direction> {
        match name {
            "fd_read" | "fd_pread" => Some(Direction::Read),
            "fd_write" | "fd_pwrite" | "sock_send" => Some(Direction::Write),
            _ => None,
        }
    }

    /// Counts a call: its errno, and the bytes that it has moved.
    pub fn see(&mut self, name: &'static str, errno: i32, moved: u32) {
        *self.calls.entry(name).or_default() += 1;
        if errno != 0 {
            *self.errors.entry(name).or_default() += 1;
            return;
        }
        match Self::direction(name) {
            Some(Direction::Read) => self.bytes_read += u64::from(moved),
            Some(Direction::Write) => self.bytes_written += u64::from(moved),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_name_and_direction() {
        let mut counts = Counts::default();
        counts.see("fd_write", 0, 5);
        counts.see("fd_write", 8, 99);
        counts.see("fd_read", 0, 7);
        counts.see("random_get", 0, 3);
        assert_eq!(counts.calls, BTreeMap::from([("fd_read", 1), ("fd_write", 2), ("random_get", 1)]));
        assert_eq!(counts.errors, BTreeMap::from([("fd_write", 1)]));
        assert_eq!((counts.bytes_read, counts.bytes_written), (7, 5));
    }
}
