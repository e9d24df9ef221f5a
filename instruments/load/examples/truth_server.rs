//! A server whose delays are known, to hold a load generator's percentiles against.
//!
//!     truth_server KIND [PORT [SECONDS]]     KIND: constant, two, lognormal, stop
//!
//! Each request is answered a planned delay after it came: `constant` 2 ms; `two` 1 ms, and 50 ms for 1 in 100; `lognormal`
//! with median 2 ms and sigma 0.5; `stop` 1 ms, and every 2 s nothing is answered for 200 ms. Sleeping has an error of its
//! own, so the plan is not the truth. `GET /truth` answers what it really did, since then, as JSON:
//! for each request the microseconds from reading it to writing its answer (the server's own view) as percentiles,
//! and ends the collection. In `stop`, requests that come during a stop are read after it; the truth then comes from the
//! plan: a request due at a time spread evenly over the 2 s waits for the rest of the stop, see `benchmarks/load_truth.py`.

use std::collections::BinaryHeap;
use std::cmp::Reverse;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use bakeoff_load::random::Random;

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
/// The stop: how often, and how long.
const STOP: (u64, u64) = (2_000_000, 200_000);

/// The server's state; times are microseconds since its start.
struct Server {
    kind: String,
    start: Instant,
    random: Random,
    /// When to answer which connection, and when its request was read.
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
    add(epoll, std::os::fd::AsRawFd::as_raw_fd(&listener), u64::MAX);
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

/// Waits for events for so many microseconds at most, to the nanosecond.
fn wait(epoll: i32, events: &mut [libc::epoll_event; 64], span: u64) -> i64 {
    let limit = bakeoff_load::clock::timespec(span * 1000);
    let none = std::ptr::null::<libc::sigset_t>();
    // SAFETY: the pointers are to our own array of 64 events and timespec; no signal mask is given.
    unsafe { libc::syscall(libc::SYS_epoll_pwait2, epoll, events.as_mut_ptr(), 64, &raw const limit, none, 8usize) }
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
            add(epoll, std::os::fd::AsRawFd::as_raw_fd(&stream), self.connections.len() as u64);
            self.connections.push(Some(stream));
        }
    }

    fn read(&mut self, index: usize) {
        let mut buffer = [0; 4096];
        let Some(stream) = &mut self.connections[index] else { return };
        match stream.read(&mut buffer) {
            Ok(count @ 1..) if buffer[..count].starts_with(b"GET /truth") => self.tell(index),
            Ok(1..) => {
                let now = self.now();
                let due = now + self.delay();
                self.due.push(Reverse((due, index, now)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            _ => self.connections[index] = None,
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
        while let Some(&Reverse((due, index, read))) = self.due.peek() {
            if due > self.now() {
                return;
            }
            self.due.pop();
            if let Some(stream) = &mut self.connections[index] {
                let _ = stream.write_all(RESPONSE);
            }
            self.delays.push((self.now() - read) as u32);
        }
    }

    /// Answers with the delays there really were.
    fn tell(&mut self, index: usize) {
        self.delays.sort_unstable();
        let at = |quantile: f64| {
            let rank = (quantile * self.delays.len() as f64).ceil() as usize;
            self.delays.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        let body = format!(
            "{{\"count\": {}, \"p50\": {}, \"p90\": {}, \"p99\": {}, \"p99.9\": {}}}",
            self.delays.len(), at(0.5), at(0.9), at(0.99), at(0.999)
        );
        self.delays.clear();
        if let Some(stream) = &mut self.connections[index] {
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    }
}
