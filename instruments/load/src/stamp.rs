//! When the kernel received bytes: SO_TIMESTAMPNS of socket(7).
//!
//! On TCP the stamp is that of the last segment that was read. It is made when the segment enters the stack, so a response is not
//! counted longer because this program had no CPU at that moment.

use std::os::fd::RawFd;

use crate::clock::{SECOND, now};
use crate::socket::{Errno, refused_or_later, set_option};

/// Room for one stamp: a header and a timespec.
const ROOM: usize = 64;

/// Asks for stamps on a socket.
pub fn enable(fd: RawFd) -> Result<(), Errno> {
    set_option(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32)
}

/// Reads what is there, as [`crate::socket::receive`]; also the stamp, in nanoseconds of CLOCK_REALTIME.
#[inline]
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> (Option<Result<usize, Errno>>, Option<u64>) {
    #[repr(align(8))]
    struct Control([u8; ROOM]);
    let mut control = Control([0; ROOM]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: zeroes are a valid msghdr; its pointers are to our own buffers with their lengths, alive during the call.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = ROOM;
        let count = libc::recvmsg(fd, &mut message, 0);
        if count < 0 {
            return (refused_or_later(), None);
        }
        (Some(Ok(count as usize)), stamp(&message))
    }
}

/// The stamp among the control messages.
///
/// # Safety
/// The message is one that recvmsg(2) has filled, and its buffers are alive.
unsafe fn stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: the macros walk the control buffer of a filled message; the data of this kind is one timespec.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        let ours = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_TIMESTAMPNS;
        ours.then(|| {
            let time: libc::timespec = std::ptr::read_unaligned(libc::CMSG_DATA(header).cast());
            time.tv_sec as u64 * SECOND + time.tv_nsec as u64
        })
    }
}

/// The way from the kernel's wall clock to the clock of [`now`].
#[derive(Debug, Default)]
pub struct Offset(u64);

impl Offset {
    /// Reads both clocks. Done often, since the wall clock is slewed and may be set.
    pub fn renew(&mut self) {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to our own timespec.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
        self.0 = (time.tv_sec as u64 * SECOND + time.tv_nsec as u64).wrapping_sub(now());
    }

    /// A stamp on the clock of [`now`].
    pub fn apply(&self, stamp: u64) -> u64 {
        stamp.wrapping_sub(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    #[test]
    fn a_late_reader_learns_when_the_bytes_came() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        enable(near.as_raw_fd()).unwrap();
        // The kernel switches its stamps on a moment after the first socket has asked for them.
        std::thread::sleep(Duration::from_millis(50));
        let (before, mut buffer) = (now(), [0; 16]);
        far.write_all(b"late").unwrap();
        let after = now();
        std::thread::sleep(Duration::from_millis(30));
        let (result, stamp) = receive(near.as_raw_fd(), &mut buffer);
        assert_eq!(result, Some(Ok(4)));
        let mut offset = Offset::default();
        offset.renew();
        let came = offset.apply(stamp.expect("the kernel stamps what comes over TCP"));
        let slack = 1_000_000;
        assert!(came + slack >= before && came <= after + slack, "{before} {came} {after}");
    }
}
