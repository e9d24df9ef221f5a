//! One thread's loop over its own listening socket, its own connections and its own timers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Instant;

use webserver_parser::Response;
use webserver_parser::serving::pause_after;

use crate::connection::{Connection, Want};
use crate::epoll::{Epoll, Events};
use crate::pool::{Job, Mailbox};

const LISTENER: u64 = u64::MAX;
const MAILBOX: u64 = u64::MAX - 1;

/// A place for a connection. Places are used again; the generation tells the connections of a place apart.
#[derive(Default)]
struct Place {
    generation: u32,
    connection: Option<Connection>,
}

/// The loop.
pub struct EventLoop {
    epoll: Epoll,
    listener: TcpListener,
    places: Vec<Place>,
    free: Vec<u32>,
    /// When which connection is to be answered, the soonest first.
    timers: BinaryHeap<Reverse<(Instant, u64)>>,
    mailbox: Arc<Mailbox>,
    pool: Sender<Job>,
}

impl EventLoop {
    /// A loop over connections that come to this listening socket, which must not block.
    pub fn new(listener: TcpListener, pool: Sender<Job>) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        let mailbox = Arc::new(Mailbox::new()?);
        epoll.add(&listener, LISTENER)?;
        epoll.add(&mailbox.waker, MAILBOX)?;
        Ok(EventLoop {
            epoll,
            listener,
            places: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            mailbox,
            pool,
        })
    }

    /// Serves for ever.
    pub fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            self.epoll.wait(&mut events, self.until_next_timer())?;
            for token in events.tokens() {
                match token {
                    LISTENER => self.accept(),
                    MAILBOX => {
                        for (token, result) in self.mailbox.take() {
                            self.with(token, |connection| {
                                connection.answer(&Response::text(result.to_string()))
                            });
                        }
                    }
                    token => self.with(token, Connection::drive),
                }
            }
            self.run_timers();
        }
    }

    /// Milliseconds, rounded up: nobody is woken too early.
    fn until_next_timer(&self) -> i32 {
        self.timers.peek().map_or(-1, |Reverse((at, _))| {
            let left = at.saturating_duration_since(Instant::now());
            left.as_micros().div_ceil(1000).try_into().unwrap_or(i32::MAX)
        })
    }

    fn run_timers(&mut self) {
        while let Some(Reverse((at, token))) = self.timers.peek().copied() {
            if at > Instant::now() {
                break;
            }
            self.timers.pop();
            self.with(token, |connection| connection.answer(&Response::empty(200)));
        }
    }

    /// Accepts all who wait: the set would not report them again.
    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // A connection that cannot be set up is closed.
                    if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok() {
                        self.admit(Connection::new(stream));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => {
                    if let Some(pause) = pause_after(&error) {
                        thread::sleep(pause);
                    }
                }
            }
        }
    }

    fn admit(&mut self, connection: Connection) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        let token = u64::from(place.generation) << 32 | u64::from(index);
        let watched = self.epoll.add(connection.stream(), token);
        place.connection = Some(connection);
        // Bytes that are here already are reported by the set too, so there is nothing to do yet.
        if watched.is_err() {
            self.end(token);
        }
    }

    /// Does something with a connection, if it is still there, and sees to what it wants then.
    fn with(&mut self, token: u64, action: impl FnOnce(&mut Connection) -> Want) {
        let place = &mut self.places[(token & u64::from(u32::MAX)) as usize];
        let Some(connection) =
            place.connection.as_mut().filter(|_| u64::from(place.generation) == token >> 32)
        else {
            return;
        };
        match action(connection) {
            Want::Io => {}
            Want::Sleep(time) => self.timers.push(Reverse((Instant::now() + time, token))),
            Want::Fibonacci(number) => {
                let job = Job { token, number, reply: Arc::clone(&self.mailbox) };
                self.pool.send(job).expect("the pool lives as long as the process");
            }
            Want::End => self.end(token),
        }
    }

    fn end(&mut self, token: u64) {
        let index = token as u32;
        let place = &mut self.places[index as usize];
        place.connection = None;
        // The highest generations would look like the listener's token.
        place.generation = (place.generation + 1) & (u32::MAX >> 1);
        self.free.push(index);
    }
}
