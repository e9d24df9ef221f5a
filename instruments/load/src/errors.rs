//! What can go wrong with a request, as classes that are counted.

use std::collections::BTreeMap;

/// Why a request did not end in the right response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum ErrorClass {
    /// Nobody listens at the address (ECONNREFUSED), or there is no way to it.
    Refused,
    /// The connection was reset (ECONNRESET, EPIPE).
    Reset,
    /// The last byte had not come within the timeout.
    Timeout,
    /// The server closed before the response was whole.
    ClosedEarly,
    /// The bytes are not a response of HTTP, or bytes came after a response that nobody asked for.
    Malformed,
    /// The status is not an expected one.
    WrongStatus,
    /// The body is not the expected one, by length, bytes or digest.
    WrongBody,
    /// No free local port for a connection (EADDRNOTAVAIL).
    OutOfPorts,
    /// No free file descriptor or socket memory (EMFILE, ENFILE, ENOBUFS, ENOMEM).
    OutOfDescriptors,
    /// TLS failed: the handshake, a certificate, a record.
    Tls,
}

/// All classes, in the order of output.
pub const CLASSES: [ErrorClass; 10] = [
    ErrorClass::Refused,
    ErrorClass::Reset,
    ErrorClass::Timeout,
    ErrorClass::ClosedEarly,
    ErrorClass::Malformed,
    ErrorClass::WrongStatus,
    ErrorClass::WrongBody,
    ErrorClass::OutOfPorts,
    ErrorClass::OutOfDescriptors,
    ErrorClass::Tls,
];

impl ErrorClass {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::Timeout => "timeout",
            Self::ClosedEarly => "closed_early",
            Self::Malformed => "malformed",
            Self::WrongStatus => "wrong_status",
            Self::WrongBody => "wrong_body",
            Self::OutOfPorts => "out_of_ports",
            Self::OutOfDescriptors => "out_of_descriptors",
            Self::Tls => "tls",
        }
    }

    /// The class of an error number of connect, read or write.
    pub fn of_errno(errno: i32) -> Self {
        match errno {
            libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED => Self::Reset,
            libc::EADDRNOTAVAIL | libc::EADDRINUSE => Self::OutOfPorts,
            libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM => Self::OutOfDescriptors,
            libc::ETIMEDOUT => Self::Timeout,
            _ => Self::Refused,
        }
    }
}

/// How many requests failed, by class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorCounts([u64; CLASSES.len()]);

impl ErrorCounts {
    /// Counts one failure.
    #[inline]
    pub fn add(&mut self, class: ErrorClass) {
        self.0[class as usize] += 1;
    }

    /// The failures of one class.
    pub fn of(&self, class: ErrorClass) -> u64 {
        self.0[class as usize]
    }

    /// All failures.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds another thread's counts.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Name and count of every class, also of those with none.
    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        CLASSES.iter().map(|&class| (class.name(), self.of(class))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_counted_apart_and_merged() {
        let mut counts = ErrorCounts::default();
        counts.add(ErrorClass::Reset);
        counts.add(ErrorClass::Tls);
        let mut other = ErrorCounts::default();
        other.add(ErrorClass::Reset);
        counts.merge(&other);
        assert_eq!((counts.of(ErrorClass::Reset), counts.of(ErrorClass::Tls), counts.total()), (2, 1, 3));
        assert_eq!(counts.by_name().len(), CLASSES.len());
        assert!(CLASSES.iter().enumerate().all(|(index, &class)| class as usize == index));
    }

    #[test]
    fn error_numbers_have_classes() {
        assert_eq!(ErrorClass::of_errno(libc::ECONNREFUSED), ErrorClass::Refused);
        assert_eq!(ErrorClass::of_errno(libc::EADDRNOTAVAIL), ErrorClass::OutOfPorts);
        assert_eq!(ErrorClass::of_errno(libc::EMFILE), ErrorClass::OutOfDescriptors);
        assert_eq!(ErrorClass::of_errno(libc::EPIPE), ErrorClass::Reset);
    }
}
