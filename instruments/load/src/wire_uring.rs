//! The wire on io_uring(7): one issuer, deferred task work, registered descriptors, multishot receive into provided
//! buffers.
//!
//! Sends are queued and handed to the kernel at most [`SENDS`] at a time, so a sending is stamped at most the work of so
//! many responses and sends (about 100 µs at full load, a few µs otherwise) early: latency is never stated too low.
//! A send never outlives its hand-over: it carries MSG_DONTWAIT, so the kernel copies or refuses at once and its memory is
//! not referred to afterwards.

use std::os::fd::RawFd;

use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};

use crate::buffers::Buffers;
use crate::clock::SECOND;
use crate::connection::{Connection, State};
use crate::engine::{Engine, Wire};
use crate::errors::ErrorClass;
use crate::lane::Lane;
use crate::socket::Errno;

/// Sends that are handed over together.
const SENDS: u32 = 16;
/// Places in the submission queue.
const ENTRIES: u32 = 1024;
/// Completions taken at once.
const BATCH: usize = 256;

/// What a completion is of; in the highest byte of its user data.
mod kind {
    pub const RECEIVE: u8 = 1;
    pub const SEND: u8 = 2;
    pub const CONNECT: u8 = 3;
    pub const WRITABLE: u8 = 4;
}

/// The ring of one thread.
pub struct Uring {
    ring: IoUring,
    buffers: Buffers,
    sends: u32,
}

/// The user data: what it is of, 24 bits of the generation, the place.
fn key(kind: u8, place: u32, connection: &Connection) -> u64 {
    u64::from(kind) << 56 | u64::from(connection.generation & 0xFF_FFFF) << 32 | u64::from(place)
}

/// A ring with everything this wire needs; the error says what the kernel or a sandbox refuses.
fn open(places: u32) -> Result<IoUring, String> {
    let ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(places.next_power_of_two().clamp(4096, 65536))
        .build(ENTRIES)
        .map_err(|error| format!("io_uring_setup: {error}"))?;
    ring.submitter()
        .register_files_sparse(places)
        .map_err(|error| format!("io_uring_register of {places} descriptors: {error}"))?;
    Ok(ring)
}

/// Whether this kernel (and the sandbox we may be in) allows this wire for so many connections of a thread; the error says
/// what it refuses.
pub fn probe(places: u32) -> Result<(), String> {
    let ring = open(places.max(1))?;
    Buffers::new(&ring, places).map(drop)
}

impl Wire for Uring {
    fn new(lane: &Lane) -> Result<Self, String> {
        let places = lane.step.max_connections as u32;
        let ring = open(places.max(1))?;
        let buffers = Buffers::new(&ring, places)?;
        Ok(Self { ring, buffers, sends: 0 })
    }

    fn watch(&mut self, place: u32, connection: &mut Connection, connected: bool) -> Result<(), Errno> {
        let result = self.ring.submitter().register_files_update(place, &[connection.fd()]);
        result.map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
        if !connected {
            let poll = opcode::PollAdd::new(Fixed(place), libc::POLLOUT as u32).build();
            self.push(poll.user_data(key(kind::CONNECT, place, connection)));
        }
        Ok(())
    }

    fn listen(&mut self, place: u32, connection: &mut Connection) {
        let receive = opcode::RecvMulti::new(Fixed(place), crate::buffers::GROUP).build();
        self.push(receive.user_data(key(kind::RECEIVE, place, connection)));
    }

    #[inline]
    fn send(
        &mut self,
        place: u32,
        connection: &mut Connection,
        fixed: Option<&[u8]>,
    ) -> Result<usize, ErrorClass> {
        let key = key(kind::SEND, place, connection);
        let bytes = connection.queue_request(fixed);
        let send = opcode::Send::new(Fixed(place), bytes.as_ptr(), bytes.len() as u32)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL)
            .build()
            .flags(Flags::SKIP_SUCCESS)
            .user_data(key);
        let count = bytes.len();
        self.push(send);
        self.sends += 1;
        if self.sends >= SENDS {
            self.hand_over();
        }
        Ok(count)
    }

    fn await_writable(&mut self, place: u32, connection: &Connection) {
        let poll = opcode::PollAdd::new(Fixed(place), libc::POLLOUT as u32).build();
        self.push(poll.user_data(key(kind::WRITABLE, place, connection)));
    }

    fn forget(&mut self, place: u32, connection: &Connection) {
        if connection.fd() < 0 {
            return;
        }
        // What is queued names the place and the memory of this connection: hand it over before either changes.
        self.hand_over();
        shut_down(connection.fd());
        // If this fails the place is taken again by the next connection all the same.
        let _ = self.ring.submitter().register_files_update(place, &[-1]);
    }

    fn wait(engine: &mut Engine<Self>, span: u64) {
        engine.wire.enter(span.min(SECOND));
        let mut completions = [(0u64, 0i32, 0u32); BATCH];
        let mut count = 0;
        for (place, entry) in completions.iter_mut().zip(engine.wire.ring.completion()) {
            *place = (entry.user_data(), entry.result(), entry.flags());
            count += 1;
        }
        for &(key, result, flags) in &completions[..count] {
            engine.on_completion(key, result, flags);
        }
    }
}

impl Uring {
    /// Queues an entry; a full queue is handed over first.
    #[inline]
    fn push(&mut self, entry: Entry) {
        // SAFETY: the entries of this wire refer to memory that lives until they are handed over (see `forget` and the
        // module's words on MSG_DONTWAIT), or to none.
        while unsafe { self.ring.submission().push(&entry) }.is_err() {
            self.hand_over();
        }
    }

    /// Hands the queue over to the kernel without waiting.
    fn hand_over(&mut self) {
        self.sends = 0;
        // A refusal (EBUSY, EINTR) leaves the queue as it is; the next hand-over takes it along.
        let _ = self.ring.submit();
    }

    /// Hands the queue over and waits for a completion.
    fn enter(&mut self, span: u64) {
        self.sends = 0;
        let limit = Timespec::new().sec(span / SECOND).nsec((span % SECOND) as u32);
        let waiting = usize::from(self.ring.completion().is_empty());
        // Running out of time is no failure, and others (EINTR, EBUSY) are mended by the next turn.
        let _ = self.ring.submitter().submit_with_args(waiting, &SubmitArgs::new().timespec(&limit));
    }
}

/// Ends both directions, so that a receive that is still under way lets go of the socket.
fn shut_down(fd: RawFd) {
    // SAFETY: no pointers.
    unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
}

impl Engine<Uring> {
    #[inline]
    fn on_completion(&mut self, key: u64, result: i32, flags: u32) {
        let (place, generation) = (key as u32, (key >> 32) as u32 & 0xFF_FFFF);
        let kind = (key >> 56) as u8;
        let current = self.connections[place as usize].generation & 0xFF_FFFF == generation;
        if kind == kind::RECEIVE {
            return self.on_receive(place, generation, result, flags);
        }
        if !current {
            return;
        }
        match kind {
            kind::CONNECT if self.connections[place as usize].state == State::Connecting => {
                self.on_connected(place)
            }
            kind::SEND => self.on_send_trouble(place, result),
            kind::WRITABLE => self.write_on(place),
            _ => {}
        }
    }

    #[inline]
    fn on_receive(&mut self, place: u32, generation: u32, result: i32, flags: u32) {
        let current = self.connections[place as usize].generation & 0xFF_FFFF == generation;
        let buffer = cqueue::buffer_select(flags);
        if current {
            match result {
                0 => self.on_end(place),
                1.. => {
                    if let Some(id) = buffer {
                        let memory = self.wire.buffers.lend();
                        self.on_received(place, memory.get(id, result as usize), None);
                        self.wire.buffers.take_back(memory);
                    }
                }
                errno if errno == -libc::ENOBUFS => {}
                errno => self.fail(place, ErrorClass::of_errno(-errno)),
            }
        }
        if let Some(id) = buffer {
            self.wire.buffers.put_back(id);
        }
        let ended = !cqueue::more(flags) && result != 0;
        if current && ended && self.connections[place as usize].generation & 0xFF_FFFF == generation {
            self.wire.listen(place, &mut self.connections[place as usize]);
        }
    }

    /// A send that was not done in full: only these have a completion.
    fn on_send_trouble(&mut self, place: u32, result: i32) {
        let connection = &mut self.connections[place as usize];
        if result >= 0 || result == -libc::EAGAIN {
            connection.was_written(result.max(0) as usize);
            self.wire.await_writable(place, connection);
        } else {
            self.fail(place, ErrorClass::of_errno(-result));
        }
    }
}
