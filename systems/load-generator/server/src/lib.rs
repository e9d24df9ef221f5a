//! What the two servers share: arguments, the listener, epoll, requests, and the orders of the lab's wrapper.
//!
//! Both answer every request with the same 13 bytes, count the requests, and take two orders on the same port:
//! `GET /bakeoff/reset` starts the record anew, `GET /bakeoff/report?rate=R&seconds=S` tells it as JSON. Orders are not counted.

pub mod delays;
pub mod truth;

use std::io::{Read, Write};
use std::mem::size_of;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{SystemTime, UNIX_EPOCH};

/// The answer to every request.
pub const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";
/// The epoll key of the listener.
pub const LISTENER: u64 = u64::MAX;
/// Most events taken at once.
pub const BATCH: usize = 256;

/// One event of epoll.
pub type Event = libc::epoll_event;

/// Whether the other side has ended the connection.
pub fn is_over(event: &Event) -> bool {
    event.events & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
}

/// The value of `--NAME VALUE`, or the default.
pub fn argument(name: &str, default: &str) -> String {
    let words: Vec<String> = std::env::args().collect();
    let at = words.iter().position(|word| *word == format!("--{name}"));
    at.and_then(|at| words.get(at + 1)).map_or(default, String::as_str).to_owned()
}

/// Nanoseconds of the date: the clock of the kernel's timestamps.
pub fn date() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_nanos() as u64)
}

/// CPU seconds of this process so far.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to our own timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Binds this process to the first of the CPUs that it may use; load generators take the last.
pub fn take_first_cpu() {
    // SAFETY: zeroes are an empty set, and the pointers are to our own sets of the size given.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let mut first: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed);
        if let Some(cpu) = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &allowed)) {
            libc::CPU_SET(cpu, &mut first);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &first);
        }
    }
}

/// The listener of `--host` and `--port`, with the longest backlog that the kernel allows; says that it is ready.
pub fn listen() -> std::io::Result<TcpListener> {
    let address = format!("{}:{}", argument("host", "127.0.0.1"), argument("port", "0"));
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    // SAFETY: no pointers; listening again only sets the backlog.
    unsafe { libc::listen(listener.as_raw_fd(), 65_535) };
    println!("@bakeoff ready {{\"port\": {}}}", listener.local_addr()?.port());
    Ok(listener)
}

/// An epoll instance.
pub struct Epoll(libc::c_int);

impl Epoll {
    /// A new one that watches the listener.
    pub fn new(listener: &TcpListener) -> Epoll {
        // SAFETY: no pointers.
        let epoll = Epoll(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) });
        epoll.add(listener.as_raw_fd(), libc::EPOLLIN, LISTENER);
        epoll
    }

    fn add(&self, fd: libc::c_int, events: libc::c_int, key: u64) {
        let mut event = Event { events: events as u32, u64: key };
        // SAFETY: the pointer is to our own event.
        unsafe { libc::epoll_ctl(self.0, libc::EPOLL_CTL_ADD, fd, &mut event) };
    }

    /// Waits for events for so many nanoseconds at most; returns their keys' count.
    pub fn wait(&self, events: &mut [Event; BATCH], span: u64) -> usize {
        let limit = libc::timespec {
            tv_sec: (span / 1_000_000_000) as libc::time_t,
            tv_nsec: (span % 1_000_000_000) as libc::c_long,
        };
        let none = std::ptr::null::<libc::sigset_t>();
        // SAFETY: the pointers are to our own array of BATCH events and timespec; no signal mask is given.
        let count = unsafe {
            let pointer = events.as_mut_ptr();
            libc::syscall(libc::SYS_epoll_pwait2, self.0, pointer, BATCH, &raw const limit, none, 8usize)
        };
        count.max(0) as usize
    }
}

/// The connections, each at the index of its descriptor, which is also its epoll key.
#[derive(Default)]
pub struct Connections {
    slots: Vec<Option<Connection>>,
    /// Connections accepted since the record began.
    pub accepted: u64,
}

/// One connection and how far its requests have come.
pub struct Connection {
    /// The socket.
    pub stream: TcpStream,
    /// Tells this connection from earlier ones of the same descriptor.
    pub number: u64,
    ends: Ends,
}

impl Connections {
    /// Accepts what waits; `prepare` is called with each new socket.
    pub fn accept(&mut self, listener: &TcpListener, epoll: &Epoll, prepare: impl Fn(&TcpStream)) {
        while let Ok((stream, _)) = listener.accept() {
            let _ = (stream.set_nonblocking(true), stream.set_nodelay(true));
            prepare(&stream);
            let fd = stream.as_raw_fd();
            epoll.add(fd, libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET, fd as u64);
            let index = fd as usize;
            if self.slots.len() <= index {
                self.slots.resize_with(index + 1, || None);
            }
            self.accepted += 1;
            self.slots[index] = Some(Connection { stream, number: self.accepted, ends: Ends::default() });
        }
    }

    /// The connection at an index, if it is still there.
    pub fn get(&mut self, index: usize) -> Option<&mut Connection> {
        self.slots.get_mut(index)?.as_mut()
    }

    /// Closes a connection.
    pub fn close(&mut self, index: usize) {
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = None;
        }
    }
}

impl Connection {
    /// How many requests end in what has come.
    pub fn requests(&mut self, data: &[u8]) -> u64 {
        self.ends.count(data)
    }

    /// Reads once; `None` if there is nothing now, 0 at the end of the connection.
    pub fn read(&mut self, buffer: &mut [u8]) -> Option<usize> {
        match self.stream.read(buffer) {
            Ok(count) => Some(count),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => None,
            Err(_) => Some(0),
        }
    }

    /// Answers one request; `false` if the connection takes no more.
    pub fn answer(&mut self) -> bool {
        self.stream.write_all(ANSWER).is_ok()
    }

    /// Answers an order of the wrapper's; the connection is closed after it.
    pub fn tell(&mut self, body: &str) {
        let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        let _ = self.stream.write_all((head + body).as_bytes());
    }
}

/// Counts the blank lines that end requests without bodies, in pieces of any size.
#[derive(Default)]
pub struct Ends(u8);

impl Ends {
    /// How many requests end in this piece.
    pub fn count(&mut self, data: &[u8]) -> u64 {
        let mut ended = 0;
        for byte in data {
            self.0 = match (self.0, byte) {
                (0 | 2, b'\r') => self.0 + 1,
                (1, b'\n') => 2,
                (3, b'\n') => {
                    ended += 1;
                    0
                }
                (_, b'\r') => 1,
                _ => 0,
            };
        }
        ended
    }
}

/// An order of the wrapper's.
#[derive(Debug, PartialEq)]
pub enum Order {
    /// Start the record anew.
    Reset,
    /// Tell the record; the load was meant to be so many requests a second for so many seconds, 0 for a closed loop.
    Report {
        /// Requests a second.
        rate: f64,
        /// Length of the load.
        seconds: f64,
    },
}

impl Order {
    /// The order that a request is, if it is one.
    pub fn of(request: &[u8]) -> Option<Order> {
        let path = request.strip_prefix(b"GET /bakeoff/")?;
        let path = String::from_utf8_lossy(path.split(|byte| *byte == b' ').next()?).into_owned();
        let value = |name: &str| {
            let query = path.split_once('?').map_or("", |(_, query)| query);
            let found = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            found.and_then(|text| text.parse().ok()).unwrap_or(0.0)
        };
        Some(match path.split('?').next()? {
            "report" => Order::Report { rate: value("rate"), seconds: value("seconds") },
            _ => Order::Reset,
        })
    }
}

/// What both servers record.
#[derive(Default)]
pub struct Record {
    /// Requests that came.
    pub requests: u64,
    /// When the first and the last came, in nanoseconds of the date.
    pub first: u64,
    /// When the last came.
    pub last: u64,
    cpu: f64,
}

impl Record {
    /// An empty record.
    pub fn new() -> Record {
        Record { cpu: cpu_seconds(), ..Record::default() }
    }

    /// Requests that came at a time.
    pub fn came(&mut self, requests: u64, at: u64) {
        if self.requests == 0 {
            self.first = at;
        }
        self.requests += requests;
        self.last = at;
    }

    /// The record as the inside of a JSON object.
    pub fn json(&self) -> String {
        let seconds = self.last.saturating_sub(self.first) as f64 / 1e9;
        let rate = if seconds > 0.0 { (self.requests - 1) as f64 / seconds } else { 0.0 };
        format!(
            "\"requests\": {}, \"seconds\": {seconds:.6}, \"rate\": {rate:.3}, \"cpu_s\": {:.6}",
            self.requests,
            cpu_seconds() - self.cpu
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_in_any_pieces() {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\n\r\n";
        for size in 1..text.len() {
            let mut ends = Ends::default();
            let count: u64 = text.chunks(size).map(|piece| ends.count(piece)).sum();
            assert_eq!(count, 3, "in pieces of {size}");
        }
    }

    #[test]
    fn orders_are_told_from_load() {
        assert_eq!(Order::of(b"GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(Order::of(b"GET /bakeoff/reset HTTP/1.1\r\n\r\n"), Some(Order::Reset));
        let report = Order::of(b"GET /bakeoff/report?rate=5000&seconds=4.5 HTTP/1.1\r\n\r\n");
        assert_eq!(report, Some(Order::Report { rate: 5000.0, seconds: 4.5 }));
    }
}
