//! The wire on epoll(7).
//!
//! Each socket is registered once, edge-triggered, for reading and writing; the set of awaited events never changes.
//! After a response the next request is written at once, and its writability is only waited for when the socket is full.
//! The clock is read once after each read that ended a response; that moment is the last byte of one request and the
//! sending of the next, so a sending is stamped less than the work between two calls (about 1 µs) early.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::clock::{self, SECOND};
use crate::connection::{Connection, Reading, State};
use crate::engine::{Engine, Wire};
use crate::errors::ErrorClass;
use crate::lane::Lane;
use crate::socket::{Errno, errno};
use crate::stamp::{self, Offset};

/// Bytes read at once.
const BUFFER: usize = 64 * 1024;
/// Events taken at once: few, so that a connection does not wait long behind others that are ready.
const BATCH: usize = 128;
/// Reads of one connection in a row, so that one with an endless body does not keep the others waiting.
const READS: usize = 16;

/// The epoll instance of one thread.
pub struct Epoll {
    epoll: OwnedFd,
    buffer: Vec<u8>,
    /// Connections with more to read than one turn takes: place and generation.
    unread: Vec<(u32, u32)>,
    /// The kernel says when bytes came, and this makes it our time.
    stamps: Option<Offset>,
}

impl Wire for Epoll {
    fn new(lane: &Lane) -> Result<Self, String> {
        // SAFETY: no pointers; a returned descriptor is new and ours alone.
        let epoll = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            if fd < 0 {
                return Err(format!("epoll_create1: {}", std::io::Error::last_os_error()));
            }
            OwnedFd::from_raw_fd(fd)
        };
        let stamps = lane.plan.takes_kernel_receipt().then(Offset::default);
        Ok(Self { epoll, buffer: vec![0; BUFFER], unread: Vec::new(), stamps })
    }

    fn watch(&mut self, place: u32, connection: &mut Connection, _connected: bool) -> Result<(), Errno> {
        if self.stamps.is_some() {
            stamp::enable(connection.fd())?;
        }
        let key = u64::from(place) | u64::from(connection.generation) << 32;
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: events as u32, u64: key };
        // SAFETY: the pointer is to our own event.
        let result = unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, connection.fd(), &mut event)
        };
        if result == 0 { Ok(()) } else { Err(errno()) }
    }

    fn listen(&mut self, _place: u32, _connection: &mut Connection) {}

    #[inline]
    fn send(
        &mut self,
        _place: u32,
        connection: &mut Connection,
        fixed: Option<&[u8]>,
    ) -> Result<usize, ErrorClass> {
        connection.start_request(fixed)
    }

    fn await_writable(&mut self, _place: u32, _connection: &Connection) {}

    fn forget(&mut self, _place: u32, _connection: &Connection) {}

    fn wait(engine: &mut Engine<Self>, span: u64) {
        let span = if engine.wire.unread.is_empty() { span.min(SECOND) } else { 0 };
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let limit = clock::timespec(span);
        // SAFETY: the pointers are to our own array and timespec, with the right length; no signal mask is given.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                engine.wire.epoll.as_raw_fd(),
                events.as_mut_ptr(),
                BATCH as libc::c_int,
                &raw const limit,
                std::ptr::null::<libc::sigset_t>(),
                8usize,
            )
        };
        if let Some(offset) = &mut engine.wire.stamps {
            offset.renew();
        }
        for event in &events[..count.max(0) as usize] {
            let (key, flags) = (event.u64, event.events);
            let (place, generation) = (key as u32, (key >> 32) as u32);
            if engine.connections[place as usize].generation == generation {
                engine.on_event(place, flags as i32);
            }
        }
        for (place, generation) in std::mem::take(&mut engine.wire.unread) {
            if engine.connections[place as usize].generation == generation {
                engine.read(place);
            }
        }
    }
}

impl Engine<Epoll> {
    fn on_event(&mut self, place: u32, flags: i32) {
        let connection = &self.connections[place as usize];
        let ended = flags & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) != 0;
        if connection.state == State::Connecting
            && !connection.is_protected()
            && (ended || flags & libc::EPOLLOUT != 0)
        {
            self.on_connected(place);
        }
        if self.connections[place as usize].wants_write && flags & libc::EPOLLOUT != 0 {
            self.write_on(place);
        }
        let connection = &mut self.connections[place as usize];
        connection.hung_up |= ended;
        if (ended || flags & libc::EPOLLIN != 0) && connection.state != State::Vacant {
            self.read(place);
        }
    }

    /// Reads what is there and acts on it.
    #[inline]
    fn read(&mut self, place: u32) {
        for _ in 0..READS {
            let connection = &mut self.connections[place as usize];
            let generation = connection.generation;
            let (reading, came) = match &self.wire.stamps {
                None => (connection.read(&mut self.wire.buffer), None),
                Some(offset) => {
                    let (reading, stamp) = connection.read_stamped(&mut self.wire.buffer);
                    (reading, stamp.map(|stamp| offset.apply(stamp)))
                }
            };
            match reading {
                Reading::Bytes(count) => {
                    // A short read took all that was there; an end of the peer needs another.
                    let more = count == BUFFER || connection.hung_up;
                    let buffer = std::mem::take(&mut self.wire.buffer);
                    self.on_received(place, &buffer[..count], came);
                    self.wire.buffer = buffer;
                    if !more || self.connections[place as usize].generation != generation {
                        return;
                    }
                }
                Reading::End => return self.on_end(place),
                Reading::Failed(class) => return self.fail(place, class),
                Reading::Later => return,
            }
        }
        self.wire.unread.push((place, self.connections[place as usize].generation));
    }
}
