//! A server whose delays are known, to hold a load generator's percentiles against.
//!
//!     truth_server KIND [PORT [SECONDS]]     KIND: constant, two, lognormal, stop
//!
//! Each request is answered a planned delay after it came: `constant` 2 ms; `two` 1 ms, and 50 ms for 1 in 100; `lognormal`
//! with median 2 ms and sigma 0.5; `stop` 1 ms, and every 2 s nothing is answered for 200 ms. Sleeping has an error of its
//! own, so the plan is not the truth: the truth is what it really did, for each request from the moment its last byte came into
//! the socket (the kernel's timestamp of receipt, SO_TIMESTAMPNS of socket(7)) to the moment before its answer is
//! written. So waiting for a stopped server is in it. `GET /truth` answers with its percentiles in
//! microseconds, each as itself, the lowest and the highest value that is right, and starts anew.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bakeoff_load::random::Random;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// The stop: how often, and how long.
const STOP: (u64, u64) = (2_000_000, 200_000);
/// A percentile is known as far as this share of its tail allows: a distribution with a jump has no single value at the jump.
const EDGE: f64 = 0.02;

/// The server's state; times are microseconds since its start.
struct Server {
    kind: String,
    start: Instant,
    random: Random,
    /// When to answer which connection, and when its request came (microseconds of the date).
    due: BinaryHeap<Reverse<(u64, usize, u64)>>,
    delays: Vec<u32>,
    connections: Vec<Option<TcpStream>>,
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().expect("KIND: constant, two, lognormal, stop");
    let port = arguments.next().map_or(0, |text| text.parse().expect("a port"));
    let seconds = arguments.next().map_or(120, |text| text.parse().expect("seconds"));
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    // SAFETY: no pointers; listening again only sets the backlog, which must hold all connections of a stop.
    unsafe { libc::listen(listener.as_raw_fd(), 4096) };
    println!("listening {}", listener.local_addr()?.port());
    // SAFETY: no pointers. Timers are 50 µs late otherwise.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let mut server = Server {
        kind,
        start: Instant::now(),
        random: Random::new(42, 0),
        due: BinaryHeap::new(),
        delays: Vec::new(),
        connections: Vec::new(),
    };
    // SAFETY: no pointers.
    let epoll = unsafe { libc::epoll_create1(0) };
    add(epoll, listener.as_raw_fd(), u64::MAX);
    while server.start.elapsed() < Duration::from_secs(seconds) {
        server.stop();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        let count = wait(epoll, &mut events, server.until_next());
        for event in &events[..count.max(0) as usize] {
            match event.u64 {
                u64::MAX => server.accept(&listener, epoll),
                index => server.read(index as usize),
            }
        }
        server.answer();
    }
    Ok(())
}

/// Microseconds of the date, which is the clock of the kernel's timestamps.
fn date() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |span| span.as_micros() as u64)
}

fn ask_for_timestamps(stream: &TcpStream) {
    let on: libc::c_int = 1;
    let (level, name, size) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, size_of::<libc::c_int>());
    // SAFETY: the pointer is to our own value of the size given.
    unsafe { libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const on).cast(), size as u32) };
}

/// Reads once; returns how many bytes and when the last of them came, or nothing if there was nothing.
fn receive(stream: &TcpStream, buffer: &mut [u8]) -> Option<(usize, u64)> {
    let mut control = [0u64; 16];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: zeroes are a valid msghdr; its pointers are to our own buffers, which live during the calls; the control
    // message is read only if it is a timestamp, whose data is a timespec.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let count = libc::recvmsg(stream.as_raw_fd(), &mut message, 0);
        if count < 0 {
            return (std::io::Error::last_os_error().kind() != std::io::ErrorKind::WouldBlock)
                .then_some((0, 0));
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        let came = match header.as_ref() {
            Some(header_of) if header_of.cmsg_type == libc::SCM_TIMESTAMPNS => {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1000
            }
            _ => date(),
        };
        Some((count as usize, came))
    }
}

/// Waits for events for so many microseconds at most, to the nanosecond.
fn wait(epoll: i32, events: &mut [libc::epoll_event; 64], span: u64) -> i64 {
    let limit = bakeoff_load::clock::timespec(span * 1000);
    let none = std::ptr::null::<libc::sigset_t>();
    // SAFETY: the pointers are to our own array of 64 events and timespec; no signal mask is given.
    unsafe {
        libc::syscall(libc::SYS_epoll_pwait2, epoll, events.as_mut_ptr(), 64, &raw const limit, none, 8usize)
    }
}

fn add(epoll: i32, fd: i32, key: u64) {
    let events = libc::EPOLLIN as u32;
    let mut event = libc::epoll_event { events, u64: key };
    // SAFETY: the pointer is to our own event.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
}

impl Server {
    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    /// Sleeps out a full stop, which takes the first 200 ms of every 2 s.
    fn stop(&self) {
        let phase = self.now() % STOP.0;
        if self.kind == "stop" && phase < STOP.1 {
            std::thread::sleep(Duration::from_micros(STOP.1 - phase));
        }
    }

    /// Microseconds until something is to be done.
    fn until_next(&self) -> u64 {
        let now = self.now();
        let due = self.due.peek().map_or(now + 100_000, |&Reverse((due, ..))| due);
        let stop = if self.kind == "stop" { now - now % STOP.0 + STOP.0 } else { u64::MAX };
        due.min(stop).saturating_sub(now)
    }

    fn accept(&mut self, listener: &TcpListener, epoll: i32) {
        while let Ok((stream, _)) = listener.accept() {
            let _ = (stream.set_nonblocking(true), stream.set_nodelay(true));
            ask_for_timestamps(&stream);
            add(epoll, stream.as_raw_fd(), self.connections.len() as u64);
            self.connections.push(Some(stream));
        }
    }

    fn read(&mut self, index: usize) {
        let mut buffer = [0; 4096];
        let Some(stream) = &self.connections[index] else { return };
        match receive(stream, &mut buffer) {
            Some((count @ 1.., _)) if buffer[..count].starts_with(b"GET /truth") => self.tell(index),
            Some((1.., came)) => {
                let due = self.now() + self.delay();
                self.due.push(Reverse((due, index, came)));
            }
            Some((0, _)) => self.connections[index] = None,
            None => {}
        }
    }

    /// The planned delay of the next request.
    fn delay(&mut self) -> u64 {
        match self.kind.as_str() {
            "constant" => 2_000,
            "two" if self.random.between(1, 100) == 1 => 50_000,
            "lognormal" => {
                // Box and Muller 1958.
                let (a, b) = (1.0 - self.random.unit(), self.random.unit());
                let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
                (2_000.0 * (0.5 * normal).exp()) as u64
            }
            _ => 1_000,
        }
    }

    fn answer(&mut self) {
        while let Some(&Reverse((due, index, came))) = self.due.peek() {
            if due > self.now() {
                return;
            }
            self.due.pop();
            self.delays.push((date() - came) as u32);
            if let Some(stream) = &mut self.connections[index] {
                let _ = stream.write_all(RESPONSE);
            }
        }
    }

    /// Answers with the delays there really were: percentiles, each with the lowest and the highest value that is right.
    fn tell(&mut self, index: usize) {
        self.delays.sort_unstable();
        let at = |share: f64| {
            let rank = (share * self.delays.len() as f64 - 1e-9).ceil() as usize;
            self.delays.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        let told = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)].map(|(name, share)| {
            let edge = (1.0 - share) * EDGE;
            format!("\"{name}\": [{}, {}, {}]", at(share), at(share - edge), at(share + edge))
        });
        let body = format!("{{\"count\": {}, {}}}", self.delays.len(), told.join(", "));
        self.delays.clear();
        if let Some(stream) = &mut self.connections[index] {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    }
}
