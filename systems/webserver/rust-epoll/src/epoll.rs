//! The kernel's calls, made safe.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A set of descriptors that are watched, edge-triggered: each change is reported once.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

/// Room for the events of one wait.
pub struct Events(Vec<libc::epoll_event>);

impl Epoll {
    /// An empty set.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor is new and belongs to nobody else.
        Ok(Epoll(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Watches a descriptor until it is closed. `token` comes back with its events.
    pub fn add(&self, watched: &impl AsRawFd, token: u64) -> io::Result<()> {
        let events = (libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: the pointer is valid for the call.
        check(unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, watched.as_raw_fd(), &mut event)
        })?;
        Ok(())
    }

    /// Waits for events, at most so many milliseconds; -1 is for ever.
    pub fn wait(&self, events: &mut Events, milliseconds: i32) -> io::Result<()> {
        events.0.clear();
        let room = events.0.spare_capacity_mut();
        // SAFETY: the kernel writes at most as many events as there is room for.
        let count = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), room.as_mut_ptr().cast(), room.len() as i32, milliseconds)
        };
        match check(count) {
            // SAFETY: the kernel has written that many.
            Ok(count) => unsafe { events.0.set_len(count as usize) },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Events {
    /// Room for so many.
    pub fn with_capacity(capacity: usize) -> Self {
        Events(Vec::with_capacity(capacity))
    }

    /// The tokens of the last wait.
    pub fn tokens(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|event| event.u64)
    }
}

/// Wakes a waiting thread up.
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A new one, to be added to the set of the thread that is to be woken.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: the descriptor is new and belongs to nobody else.
        Ok(Waker(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Each call is a change, so the edge-triggered set reports it; the count need never be read.
    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: the pointer is valid for eight bytes. The count cannot overflow in the life of a machine.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
