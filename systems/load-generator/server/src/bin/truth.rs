//! A server whose delays are known, to hold a load generator's percentiles against.
//!
//!     truth --delay constant|two|lognormal|stop [--host ADDRESS] [--port PORT]
//!
//! Each request is answered a planned delay after it came into the socket (the kernel's timestamp, SO_TIMESTAMPNS of socket(7)); no
//! delay blocks other requests, only a full stop does. Sleeping has an error of its own, so the plan is not the truth: the
//! truth is what each request really had, from the kernel's receipt to the moment before its answer is written. With
//! stops that is not enough: a generator that waits for answers sends too little during a stop, and the record lacks
//! the requests that it should have sent. Therefore the report gives, beside the record (`server_…`), the times that the load would
//! have had as it was meant (`true_…`): see `truth::intended`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use load_generator_server::delays::{Delays, FIRST_STOP, Kind, MS, STOP};
use load_generator_server::truth::{self, Intended, Stop};
use load_generator_server::{
    BATCH, Connections, Epoll, Event, LISTENER, Order, Record, argument, date, is_over, listen,
    take_first_cpu,
};

/// What waits to be answered.
type Waiting = BinaryHeap<Reverse<(u64, usize, u64, u64)>>;

/// The server's state; times are nanoseconds of the date.
struct Server {
    kind: Kind,
    delays: Delays,
    connections: Connections,
    /// When to answer which connection (its index and number), and when its request came.
    due: Waiting,
    record: Record,
    /// What requests really had.
    given: Vec<u64>,
    /// The same of those that no stop touched.
    free: Vec<u64>,
    stops: Vec<Stop>,
    next_stop: u64,
    /// Catching up after a stop: since when, from which number of answers on.
    catching_up: Option<(u64, usize)>,
    /// Time spent catching up, and the answers given in it.
    caught_up: (u64, u64),
}

fn main() -> std::io::Result<()> {
    let name = argument("delay", "constant");
    let Some(kind) = Kind::named(&name) else {
        eprintln!("--delay is constant, two, lognormal or stop, and not {name:?}");
        std::process::exit(2);
    };
    take_first_cpu();
    // SAFETY: no pointers. Timers are 50 µs late otherwise.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let listener = listen()?;
    let epoll = Epoll::new(&listener);
    let mut server = Server::new(kind);
    let mut events = [Event { events: 0, u64: 0 }; BATCH];
    loop {
        server.stop();
        let count = epoll.wait(&mut events, server.until_next());
        for event in &events[..count] {
            match event.u64 {
                LISTENER => server.connections.accept(&listener, &epoll, ask_for_timestamps),
                key => {
                    let goes_on = server.read(key as usize);
                    if !goes_on || is_over(event) {
                        server.connections.close(key as usize);
                    }
                }
            }
        }
        server.answer();
        if count < BATCH {
            server.caught_up();
        }
    }
}

fn ask_for_timestamps(stream: &TcpStream) {
    let on: libc::c_int = 1;
    let (level, name, size) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, size_of::<libc::c_int>());
    // SAFETY: the pointer is to our own value of the size given.
    unsafe { libc::setsockopt(stream.as_raw_fd(), level, name, (&raw const on).cast(), size as u32) };
}

/// Reads once: how many bytes, and when the last of them came; `None` if there is nothing now, 0 bytes at the end.
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
            let nothing = std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock;
            return (!nothing).then_some((0, 0));
        }
        let header = libc::CMSG_FIRSTHDR(&message);
        let came = match header.as_ref() {
            Some(found) if found.cmsg_type == libc::SCM_TIMESTAMPNS => {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
            }
            _ => date(),
        };
        Some((count as usize, came))
    }
}

impl Server {
    fn new(kind: Kind) -> Server {
        Server {
            kind,
            delays: Delays::new(kind),
            connections: Connections::default(),
            due: Waiting::new(),
            record: Record::new(),
            given: Vec::new(),
            free: Vec::new(),
            stops: Vec::new(),
            next_stop: u64::MAX,
            catching_up: None,
            caught_up: (0, 0),
        }
    }

    /// Sleeps out a full stop when its time has come.
    fn stop(&mut self) {
        let begin = date();
        if begin < self.next_stop {
            return;
        }
        let end = self.next_stop + STOP.1;
        std::thread::sleep(std::time::Duration::from_nanos(end.saturating_sub(begin)));
        let end = date();
        self.stops.push(Stop { begin, end });
        self.next_stop = truth::next_stop(self.next_stop, end);
        self.catching_up = Some((end, self.given.len()));
    }

    /// The queue that the stop has left is gone.
    fn caught_up(&mut self) {
        if let Some((since, answers)) = self.catching_up.take() {
            self.caught_up.0 += date() - since;
            self.caught_up.1 += (self.given.len() - answers) as u64;
        }
    }

    /// Nanoseconds until something is to be done.
    fn until_next(&self) -> u64 {
        let now = date();
        let due = self.due.peek().map_or(now + 100 * MS, |&Reverse((due, ..))| due);
        due.min(self.next_stop).saturating_sub(now)
    }

    /// Takes the requests that are there; `false` when the connection is over.
    fn read(&mut self, index: usize) -> bool {
        let mut buffer = [0; 8192];
        loop {
            let Some(connection) = self.connections.get(index) else { return true };
            let Some((count, came)) = receive(&connection.stream, &mut buffer) else { return true };
            if count == 0 {
                return false;
            }
            if let Some(order) = Order::of(&buffer[..count]) {
                self.obey(index, &order);
                return false;
            }
            let (ended, number) = (connection.requests(&buffer[..count]), connection.number);
            if ended > 0 {
                if self.record.requests == 0 && self.kind == Kind::Stop {
                    self.next_stop = came + FIRST_STOP;
                }
                self.record.came(ended, came);
            }
            for _ in 0..ended {
                self.due.push(Reverse((came + self.delays.draw(), index, number, came)));
            }
            if count < buffer.len() {
                return true;
            }
        }
    }

    fn answer(&mut self) {
        while let Some(&Reverse((due, index, number, came))) = self.due.peek() {
            let now = date();
            if due > now {
                return;
            }
            self.due.pop();
            let given = now.saturating_sub(came);
            self.given.push(given);
            if self.catching_up.is_none() {
                self.free.push(given);
            }
            if let Some(connection) = self.connections.get(index)
                && connection.number == number
                && !connection.answer()
            {
                self.connections.close(index);
            }
        }
    }

    fn obey(&mut self, index: usize, order: &Order) {
        let body = match *order {
            Order::Reset => {
                let connections = std::mem::take(&mut self.connections);
                *self = Server { connections, ..Server::new(self.kind) };
                "{}".to_owned()
            }
            Order::Report { rate, seconds } => self.report(rate, seconds),
        };
        if let Some(connection) = self.connections.get(index) {
            connection.tell(&body);
        }
    }

    /// The record, and the truth of a load of so many requests a second for so many seconds.
    fn report(&mut self, rate: f64, seconds: f64) -> String {
        self.given.sort_unstable();
        self.free.sort_unstable();
        let each = self.caught_up.0.checked_div(self.caught_up.1).unwrap_or(0);
        let load = Intended { first: self.record.first, rate, seconds };
        let meant = if self.kind == Kind::Stop && rate > 0.0 {
            truth::intended(load, &self.stops, Delays::new(self.kind).draw(), each, &self.free)
        } else {
            self.given.clone()
        };
        format!(
            "{{{}, \"stops\": {}, \"catch_up_us\": {:.3}, {}, {}}}",
            self.record.json(),
            self.stops.len(),
            each as f64 / 1e3,
            truth::json("server", &self.given),
            truth::json("true", &meant)
        )
    }
}
