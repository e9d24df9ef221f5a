//! The lifeline: whoever started an instrument keeps a pipe to its standard input open. When that pipe ends, by intent or
//! because the starter died, the instrument stops everything and ends.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// What one look at a descriptor brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing has come.
    Nothing,
    /// So many bytes were read into the buffer.
    Bytes(usize),
    /// The other side has gone.
    End,
}

/// Reads what there is, without waiting. It does not make the descriptor non-blocking, because standard input may be
/// shared with other processes, which would be surprised.
///
/// # Errors
/// What the kernel says, save that an interrupted call counts as nothing.
pub fn look(fd: BorrowedFd, buffer: &mut [u8]) -> io::Result<Look> {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: `poll` is one valid entry, and one is what is announced.
    if unsafe { libc::poll(&raw mut poll, 1, 0) } <= 0 || poll.revents == 0 {
        return Ok(Look::Nothing);
    }
    // SAFETY: the buffer is valid for writes of its whole length.
    match unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) } {
        0 => Ok(Look::End),
        count if count > 0 => Ok(Look::Bytes(count as usize)),
        _ => match io::Error::last_os_error() {
            error if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {
                Ok(Look::Nothing)
            }
            error => Err(error),
        },
    }
}

/// Waits until the descriptor ends, for a thread of its own. An error counts as the end.
pub fn wait_for_end(fd: BorrowedFd) {
    let mut buffer = [0u8; 512];
    loop {
        // SAFETY: the buffer is valid for writes of its whole length.
        let count = unsafe { libc::read(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) };
        if count == 0 || (count < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsFd;

    #[test]
    fn sees_nothing_then_bytes_then_the_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut buffer = [0u8; 8];
        assert_eq!(look(reader.as_fd(), &mut buffer).unwrap(), Look::Nothing);
        writer.write_all(b"abc").unwrap();
        assert_eq!(look(reader.as_fd(), &mut buffer).unwrap(), Look::Bytes(3));
        drop(writer);
        assert_eq!(look(reader.as_fd(), &mut buffer).unwrap(), Look::End);
        wait_for_end(reader.as_fd());
    }
}
