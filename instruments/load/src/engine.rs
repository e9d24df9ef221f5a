//! The engine: the connections of one thread and the turns of its loop, over a wire that is epoll or io_uring.

use std::collections::VecDeque;

use crate::clock::{self, MILLISECOND, SECOND, now};
use crate::connection::{Connection, State};
use crate::errors::ErrorClass;
use crate::lane::Lane;
use crate::socket::{Dialler, Errno};
use crate::tls::Session;
use crate::worker::{Summary, Times, Worker};

/// Connections on their way at once before the start, below the usual backlog of a listener.
pub(crate) const DIALLING: usize = 100;
/// First and longest pause after a failure to connect.
const PAUSE: (u64, u64) = (10 * MILLISECOND, SECOND);

/// How the kernel carries connections and says what has come.
pub trait Wire: Sized {
    /// The wire of one thread.
    fn new(lane: &Lane) -> Result<Self, String>;

    /// Takes a new socket, which is connected or on its way to be.
    fn watch(&mut self, place: u32, connection: &mut Connection, connected: bool) -> Result<(), Errno>;

    /// The socket is connected: from now on what comes is wanted.
    fn listen(&mut self, place: u32, connection: &mut Connection);

    /// Starts to send a request; returns the bytes known to be written. `fixed` outlives the run; otherwise the
    /// connection has the request.
    fn send(
        &mut self,
        place: u32,
        connection: &mut Connection,
        fixed: Option<&[u8]>,
    ) -> Result<usize, ErrorClass>;

    /// Not all could be written: says when more fits.
    fn await_writable(&mut self, place: u32, connection: &Connection);

    /// The socket is about to be closed.
    fn forget(&mut self, place: u32, connection: &Connection);

    /// Waits for what comes, at most `span` nanoseconds, and acts on it.
    fn wait(engine: &mut Engine<Self>, span: u64);
}

/// The state of one thread.
pub struct Engine<W> {
    pub(crate) lane: Lane,
    pub(crate) worker: Worker,
    pub(crate) wire: W,
    pub(crate) dialler: Dialler,
    pub(crate) connections: Vec<Connection>,
    /// Places whose connection waits for a request, the last used on top; may hold outdated entries.
    pub(crate) idle: Vec<u32>,
    /// Places without a connection.
    pub(crate) vacant: Vec<u32>,
    /// Places to be connected again, with the time.
    paused: VecDeque<(u64, u32)>,
    pub(crate) dialling: usize,
    pub(crate) open: u64,
    pub(crate) running: bool,
    pub(crate) plain: Vec<u8>,
    pub(crate) next_sweep: u64,
    spin: u64,
}

/// Runs a thread's share of a step.
pub fn run<W: Wire>(lane: Lane) -> Result<Summary, String> {
    Engine::<W>::new(lane)?.run()
}

impl<W: Wire> Engine<W> {
    fn new(lane: Lane) -> Result<Self, String> {
        let wire = W::new(&lane)?;
        let plan = lane.plan.clone();
        let job = &plan.job;
        let dialler = Dialler::new(&plan.address, &job.source, lane.thread, plan.keepalive, job.reset_close)?;
        let never = Times { start: u64::MAX, measure: u64::MAX, end: u64::MAX, drain: u64::MAX };
        let worker = Worker::new(plan.clone(), &lane.step, lane.thread, never, lane.reports.clone());
        let places = lane.step.max_connections as usize;
        Ok(Self {
            worker,
            wire,
            dialler,
            connections: (0..places).map(|_| Connection::default()).collect(),
            idle: Vec::with_capacity(places),
            vacant: (0..places as u32).rev().collect(),
            paused: VecDeque::new(),
            dialling: 0,
            open: 0,
            running: false,
            plain: Vec::new(),
            next_sweep: 0,
            spin: job.spin.0,
            lane,
        })
    }

    fn run(mut self) -> Result<Summary, String> {
        if self.lane.plan.keepalive {
            self.open_first();
        }
        let Some(start) = self.lane.gate.wait(self.open) else { return Ok(self.worker.summary) };
        clock::sleep_until(start);
        let times = Times::new(start, &self.lane.plan, &self.lane.step);
        let openings = std::mem::take(&mut self.worker.summary);
        self.worker = Worker::new(
            self.lane.plan.clone(),
            &self.lane.step,
            self.lane.thread,
            times,
            self.lane.reports.clone(),
        );
        self.worker.summary = openings;
        self.running = true;
        self.start_all();
        let mut time = now();
        while !self.worker.is_over(time) && !self.lane.gate.is_stopped() {
            self.turn(time);
            time = now();
        }
        self.abandon(time);
        Ok(self.worker.finish(time))
    }

    /// Opens the connections of the start, some at a time, for at most the timeout.
    fn open_first(&mut self) {
        let deadline = now() + self.lane.plan.timeout;
        let wanted = self.lane.step.connections;
        let mut failures = 0;
        loop {
            let time = now();
            self.reopen(time);
            while self.dialling < DIALLING && self.open + (self.dialling as u64) < wanted {
                let Some(place) = self.vacant.pop() else { break };
                self.dial(place, time);
            }
            failures += u64::from(self.open == 0 && self.dialling == 0);
            let refused = failures > 3;
            if self.open >= wanted || time > deadline || refused || self.lane.gate.is_stopped() {
                break;
            }
            W::wait(self, 20 * MILLISECOND);
        }
    }

    /// The load begins: the closed loop sends on every connection.
    fn start_all(&mut self) {
        if self.worker.is_paced() {
            return;
        }
        for place in std::mem::take(&mut self.idle) {
            self.proceed(place, now());
        }
        for place in std::mem::take(&mut self.vacant) {
            self.proceed(place, now());
        }
    }

    /// One turn of the loop: what the clock brings, then what the kernel brings.
    fn turn(&mut self, time: u64) {
        self.worker.tick(time);
        if time >= self.next_sweep {
            self.sweep(time);
        }
        self.reopen(time);
        self.dispatch(time);
        let mut until = self.worker.next_tick().min(self.next_sweep);
        if let Some(&(retry, _)) = self.paused.front() {
            until = until.min(retry);
        }
        if let Some(due) = self.worker.next_due().filter(|_| !self.idle.is_empty() || !self.vacant.is_empty())
        {
            until = until.min(due.max(time));
        }
        let span = until.saturating_sub(time);
        let spins = self.worker.is_paced() && span < self.spin;
        W::wait(self, if spins { 0 } else { span });
    }

    /// Begins to connect a place, which has no connection now.
    pub(crate) fn dial(&mut self, place: u32, time: u64) {
        self.connections[place as usize].dialled = time;
        let (socket, connected) = match self.dialler.dial() {
            Ok(dialled) => dialled,
            Err(errno) => return self.on_dial_failure(place, ErrorClass::of_errno(errno)),
        };
        let connection = &mut self.connections[place as usize];
        connection.attach(socket, time);
        self.dialling += 1;
        if let Err(errno) = self.wire.watch(place, connection, connected) {
            return self.on_dial_failure(place, ErrorClass::of_errno(errno));
        }
        if connected {
            self.on_connected(place);
        }
    }

    /// The socket is connected, or its connect has failed.
    pub(crate) fn on_connected(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        if let Some(errno) = crate::socket::pending_error(connection.fd()) {
            return self.on_dial_failure(place, ErrorClass::of_errno(errno));
        }
        self.wire.listen(place, connection);
        if let Some(client) = &self.lane.plan.tls
            && !connection.is_protected()
        {
            let Ok(session) = Session::new(client) else {
                return self.on_dial_failure(place, ErrorClass::Tls);
            };
            connection.protect(session);
            match connection.flush_session() {
                Ok(written) => self.worker.wrote(written),
                Err(class) => self.on_dial_failure(place, class),
            }
            return;
        }
        self.on_ready(place);
    }

    /// The connection can carry requests.
    pub(crate) fn on_ready(&mut self, place: u32) {
        let time = now();
        let connection = &mut self.connections[place as usize];
        connection.state = State::Idle;
        connection.failures = 0;
        let span = time - connection.dialled;
        self.dialling -= 1;
        self.open += 1;
        let summary = &mut self.worker.summary;
        summary.openings.opened(span);
        summary.connections = summary.connections.max(self.open);
        if self.connections[place as usize].exchange.active {
            self.send(place);
        } else if self.running {
            self.proceed(place, time);
        } else {
            self.idle.push(place);
        }
    }

    /// The place could not be connected.
    pub(crate) fn on_dial_failure(&mut self, place: u32, class: ErrorClass) {
        let time = now();
        let connection = &mut self.connections[place as usize];
        if connection.state == State::Connecting {
            self.dialling -= 1;
        }
        self.wire.forget(place, connection);
        connection.close();
        connection.failures += 1;
        let pause = (PAUSE.0 << connection.failures.min(10)).min(PAUSE.1) / 2;
        self.worker.summary.openings.failures.add(class);
        if connection.exchange.active {
            self.worker.give_up(&mut connection.exchange, class, time);
        } else if self.running && self.worker.is_paced() {
            self.worker.fail_due(class, time);
        }
        self.pause(time + pause, place);
    }

    pub(crate) fn pause(&mut self, until: u64, place: u32) {
        let at = self.paused.partition_point(|&(time, _)| time <= until);
        self.paused.insert(at, (until, place));
    }

    /// Connects again what has paused long enough.
    fn reopen(&mut self, time: u64) {
        while let Some(&(until, place)) = self.paused.front() {
            if until > time {
                break;
            }
            self.paused.pop_front();
            if self.running && !self.worker.is_paced() {
                self.proceed(place, time);
            } else {
                self.vacant.push(place);
            }
        }
    }
}
