//! One connection of the epoll engine: its socket, TLS if there is any, and bytes waiting to be written.

use std::os::fd::{AsRawFd, OwnedFd};

use crate::errors::ErrorClass;
use crate::socket;
use crate::tls::Session;
use crate::worker::Exchange;

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// There is no socket.
    #[default]
    Vacant,
    /// On its way to be connected, or in the handshake of TLS.
    Connecting,
    /// Connected, without a request in flight.
    Idle,
    /// With a request in flight.
    Busy,
}

/// One place for a connection; sockets come and go in it.
#[derive(Debug, Default)]
pub struct Connection {
    /// Where it stands.
    pub state: State,
    /// Counts the sockets, so that an event of an earlier one is known.
    pub generation: u32,
    /// When the connect was begun.
    pub dialled: u64,
    /// Failures to connect in a row.
    pub failures: u32,
    /// It has been read up to the end of what was there, and the peer may have ended.
    pub hung_up: bool,
    /// The request in flight.
    pub exchange: Exchange,
    /// The request, where it is not the same every time.
    pub request: Vec<u8>,
    /// How much of the request is written.
    written: usize,
    /// Not all is written; an event will say when more fits.
    pub wants_write: bool,
    socket: Option<OwnedFd>,
    session: Option<Box<Session>>,
}

/// What reading came to.
#[derive(Debug, PartialEq, Eq)]
pub enum Reading {
    /// So many bytes of the buffer are new.
    Bytes(usize),
    /// There is nothing more for now.
    Later,
    /// The peer has ended.
    End,
    /// It failed.
    Failed(ErrorClass),
}

impl Connection {
    /// Takes a socket.
    pub fn attach(&mut self, socket: OwnedFd, now: u64) -> i32 {
        let fd = socket.as_raw_fd();
        self.socket = Some(socket);
        self.session = None;
        self.state = State::Connecting;
        self.dialled = now;
        self.hung_up = false;
        self.wants_write = false;
        fd
    }

    /// Puts TLS between us and the socket.
    pub fn protect(&mut self, session: Session) {
        self.session = Some(Box::new(session));
    }

    /// The handshake of TLS is not over.
    pub fn is_handshaking(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_handshaking())
    }

    /// TLS is in use.
    pub fn is_protected(&self) -> bool {
        self.session.is_some()
    }

    /// Closes the socket.
    pub fn close(&mut self) {
        self.socket = None;
        self.session = None;
        self.state = State::Vacant;
        self.generation = self.generation.wrapping_add(1);
    }

    /// The descriptor; -1, which no call accepts, where there is none.
    #[inline]
    pub fn fd(&self) -> i32 {
        self.socket.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }

    /// Starts to send a request. Returns the bytes that went out at once.
    #[inline]
    pub fn start_request(&mut self, fixed: Option<&[u8]>) -> Result<usize, ErrorClass> {
        self.written = 0;
        if let Some(session) = &mut self.session {
            session.send(fixed.unwrap_or(&self.request)).map_err(|_| ErrorClass::Tls)?;
            return self.flush_session();
        }
        self.continue_request(fixed)
    }

    /// The request, for a wire that sends it on its own and takes it as sent.
    #[inline]
    pub fn queue_request<'a>(&'a mut self, fixed: Option<&'a [u8]>) -> &'a [u8] {
        self.wants_write = false;
        fixed.unwrap_or(&self.request)
    }

    /// Only so much of the request was written after all.
    pub fn was_written(&mut self, count: usize) {
        self.written = count;
        self.wants_write = true;
    }

    /// Writes on, after the socket was full.
    #[inline]
    pub fn continue_request(&mut self, fixed: Option<&[u8]>) -> Result<usize, ErrorClass> {
        if self.session.is_some() {
            return self.flush_session();
        }
        let bytes = fixed.unwrap_or(&self.request);
        let before = self.written;
        while self.written < bytes.len() {
            match socket::send(self.fd(), &bytes[self.written..]) {
                Some(Ok(count)) => self.written += count,
                Some(Err(errno)) => return Err(ErrorClass::of_errno(errno)),
                None => break,
            }
        }
        self.wants_write = self.written < bytes.len();
        Ok(self.written - before)
    }

    /// Writes the records that TLS has ready.
    pub fn flush_session(&mut self) -> Result<usize, ErrorClass> {
        let fd = self.fd();
        let Some(session) = &mut self.session else { return Ok(0) };
        let mut written = 0;
        while written < session.outgoing.len() {
            match socket::send(fd, &session.outgoing[written..]) {
                Some(Ok(count)) => written += count,
                Some(Err(errno)) => return Err(ErrorClass::of_errno(errno)),
                None => break,
            }
        }
        session.outgoing.drain(..written);
        self.wants_write = !session.outgoing.is_empty();
        Ok(written)
    }

    /// Reads once into `buffer`.
    #[inline]
    pub fn read(&mut self, buffer: &mut [u8]) -> Reading {
        reading(socket::receive(self.fd(), buffer))
    }

    /// Reads once into `buffer`; also when the kernel received the last of it, on its wall clock, where it says so.
    #[inline]
    pub fn read_stamped(&mut self, buffer: &mut [u8]) -> (Reading, Option<u64>) {
        let (result, stamp) = crate::stamp::receive(self.fd(), buffer);
        (reading(result), stamp)
    }

    /// Turns bytes of the socket into plain ones; without TLS there is nothing to do.
    pub fn decrypt(&mut self, records: &[u8], plain: &mut Vec<u8>) -> Result<(), ErrorClass> {
        plain.clear();
        let Some(session) = &mut self.session else { return Ok(()) };
        let result = session.receive(records, plain).map_err(|_| ErrorClass::Tls);
        if result.is_err() {
            // The alert that says why; if it does not go out, nothing is lost.
            let _ = self.flush_session();
        }
        result
    }
}

#[inline]
fn reading(result: Option<Result<usize, socket::Errno>>) -> Reading {
    match result {
        Some(Ok(0)) => Reading::End,
        Some(Ok(count)) => Reading::Bytes(count),
        Some(Err(errno)) => Reading::Failed(ErrorClass::of_errno(errno)),
        None => Reading::Later,
    }
}
