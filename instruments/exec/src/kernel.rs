//! The few system calls that the standard library lacks, made safe.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::ptr;
use std::time::Duration;

/// Signals that come as something to read, and never as an interruption.
pub struct Signals(File);

impl Signals {
    /// Takes over SIGCHLD and the signals that tell us to end.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn take_over() -> io::Result<Self> {
        // SAFETY: the set is initialised by sigemptyset before any other use.
        let fd = unsafe {
            let mut set = MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for signal in [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            libc::sigprocmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
            libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        Ok(Self(File::from(own(fd)?)))
    }

    /// The numbers of the signals that have come.
    pub fn read(&mut self) -> Vec<i32> {
        const SIZE: usize = size_of::<libc::signalfd_siginfo>();
        let mut buffer = [0u8; SIZE * 8];
        let count = self.0.read(&mut buffer).unwrap_or(0);
        // The signal's number is the first field.
        let number = |entry: &[u8]| i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
        buffer[..count].chunks_exact(SIZE).map(number).collect()
    }
}

impl AsRawFd for Signals {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn own(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a descriptor that was returned without an error is open and nobody else's.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

/// Waits until one of the descriptors has something or has ended, or the time is over. The answer has one truth for each.
/// A descriptor of -1 never has anything.
pub fn wait_for<const N: usize>(fds: [RawFd; N], timeout: Option<Duration>) -> [bool; N] {
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let time = timeout.map(|time| libc::timespec {
        tv_sec: time.as_secs().min(1 << 31) as libc::time_t,
        tv_nsec: libc::c_long::from(time.subsec_nanos() as i32),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the array has N entries, and the time is null or valid.
    unsafe { libc::ppoll(polls.as_mut_ptr(), N as libc::nfds_t, time, ptr::null()) };
    polls.map(|poll| poll.revents != 0)
}

/// A pipe that is not inherited and whose reading end does not block.
///
/// # Errors
/// What the kernel says.
pub fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: the array has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (reader, writer) = (File::from(own(ends[0])?), File::from(own(ends[1])?));
    // SAFETY: the descriptor is open and ours.
    unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    Ok((reader, writer))
}

/// Makes a pipe hold more, if the kernel allows it; a writer of much then waits less.
pub fn widen(pipe: &File, bytes: i32) {
    // SAFETY: the descriptor is open.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, bytes) };
}

/// Makes orphans among our descendants our children, so that none escapes our notice.
pub fn become_subreaper() {
    // SAFETY: prctl with this option reads no memory.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// What waiting for children brought.
pub enum Waited {
    /// A child has ended: its id, its status, its accounts.
    Ended(i32, i32, Box<libc::rusage>),
    /// There are children, and none has ended.
    None,
    /// There are no children at all.
    Childless,
}

/// Waits for any child that has ended already.
pub fn wait_any() -> Waited {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both places are valid for writing.
    match unsafe { libc::wait4(-1, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) } {
        0 => Waited::None,
        pid if pid > 0 => {
            // SAFETY: all-zero is a valid rusage, and the kernel has filled it.
            Waited::Ended(pid, status, Box::new(unsafe { usage.assume_init() }))
        }
        _ => Waited::Childless,
    }
}

/// Reads a file of /proc or of a control group. Their sizes are not known beforehand, and asking for them, as the standard
/// library does, costs more than reading them.
///
/// # Errors
/// What the kernel says.
pub fn read_small(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4096);
    File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// What the kernel says.
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_small(path)?).into_owned())
}

/// Sends a signal. That the process is gone already is no error here.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: kill has no preconditions.
    unsafe { libc::kill(pid, signal) };
}

/// A duplicate-free view of our own standard input.
pub fn stdin_fd() -> BorrowedFd<'static> {
    // SAFETY: descriptor 0 is open for the life of the process; the runtime opens it if the caller had closed it.
    unsafe { BorrowedFd::borrow_raw(0) }
}
