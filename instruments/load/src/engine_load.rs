//! The engine's way from a free connection over request and response back to a free connection.

use crate::clock::{MILLISECOND, now};
use crate::connection::State;
use crate::engine::{DIALLING, Engine, Wire};
use crate::errors::ErrorClass;
use crate::worker::{Exchange, Outcome};

impl<W: Wire> Engine<W> {
    /// The place is free: the closed loop sends its next request at once, the open loop keeps it for an arrival.
    #[inline]
    pub(crate) fn proceed(&mut self, place: u32, time: u64) {
        if self.worker.is_paced() {
            self.release(place);
            return self.dispatch(time);
        }
        match self.worker.take_due(time) {
            Some(due) => self.start(place, due, time),
            None => self.release(place),
        }
    }

    /// Keeps a free place for later.
    fn release(&mut self, place: u32) {
        match self.connections[place as usize].state {
            State::Idle => self.idle.push(place),
            State::Vacant => self.vacant.push(place),
            _ => {}
        }
    }

    /// The open loop: sends what is due, as far as there are connections.
    #[inline]
    pub(crate) fn dispatch(&mut self, time: u64) {
        while self.worker.next_due().is_some_and(|due| due <= time) {
            let Some(place) = self.free_place() else {
                let waiting = self.worker.starve(time);
                return self.grow(waiting, time);
            };
            match self.worker.take_due(time) {
                Some(due) => self.start(place, due, now()),
                None => return self.release(place),
            }
        }
    }

    /// A place that can take a request: with a connection, or any where each request has its own.
    fn free_place(&mut self) -> Option<u32> {
        while let Some(place) = self.idle.pop() {
            if self.connections[place as usize].state == State::Idle {
                return Some(place);
            }
        }
        if self.lane.plan.keepalive { None } else { self.vacant.pop() }
    }

    /// Adds connections for arrivals that found none, up to the limit.
    fn grow(&mut self, waiting: u64, time: u64) {
        if !self.lane.plan.keepalive {
            return;
        }
        while (self.dialling as u64) < waiting.min(DIALLING as u64) {
            let Some(place) = self.vacant.pop() else { return };
            self.dial(place, time);
        }
    }

    /// Begins an exchange on a free place; connects first where there is no connection.
    #[inline]
    fn start(&mut self, place: u32, due: u64, time: u64) {
        let connection = &mut self.connections[place as usize];
        self.worker.begin(&mut connection.exchange, due, time);
        if connection.state == State::Idle { self.send(place) } else { self.dial(place, time) }
    }

    /// Sends the request of the exchange.
    #[inline]
    pub(crate) fn send(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.state = State::Busy;
        let template = connection.exchange.template;
        if self.lane.plan.templates[template].fixed().is_none() {
            self.worker.render(template, &mut connection.request);
        }
        match self.wire.send(place, connection, self.lane.plan.templates[template].fixed()) {
            Ok(written) => self.worker.wrote(written),
            Err(class) => self.fail_send(place, class),
        }
    }

    /// The request could not be sent. The place is used again from the loop, not from here: a server that always
    /// closes at once must not make us call ourselves without end.
    fn fail_send(&mut self, place: u32, class: ErrorClass) {
        let time = now();
        let connection = &mut self.connections[place as usize];
        self.worker.give_up(&mut connection.exchange, class, time);
        self.wire.forget(place, connection);
        connection.close();
        self.open -= 1;
        self.pause(time, place);
    }

    /// Writes on, where the socket was full.
    pub(crate) fn write_on(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        let fixed = self.lane.plan.templates[connection.exchange.template].fixed();
        match connection.continue_request(fixed) {
            Ok(written) => {
                self.worker.wrote(written);
                if connection.wants_write {
                    self.wire.await_writable(place, connection);
                }
            }
            Err(class) => self.fail(place, class),
        }
    }

    /// Bytes of the socket have come, at `came` where the kernel says when.
    #[inline]
    pub(crate) fn on_received(&mut self, place: u32, bytes: &[u8], came: Option<u64>) {
        if self.connections[place as usize].is_protected() {
            self.on_records(place, bytes, came);
        } else {
            self.on_bytes(place, bytes, came);
        }
    }

    /// Plain bytes have come.
    #[inline]
    fn on_bytes(&mut self, place: u32, bytes: &[u8], came: Option<u64>) {
        let time = now();
        // A wall clock that was set between stamp and reading must not make a response older than its request.
        let last = came
            .map_or(time, |came| came.clamp(self.connections[place as usize].exchange.sent.min(time), time));
        let connection = &mut self.connections[place as usize];
        if !connection.exchange.active {
            self.worker.unsolicited();
            return self.close_and_go_on(place, time);
        }
        match self.worker.receive(&mut connection.exchange, bytes, last) {
            Outcome::More => {}
            Outcome::Over { keep: true } if !connection.wants_write => {
                connection.state = State::Idle;
                self.proceed(place, time);
            }
            Outcome::Over { .. } => self.close_and_go_on(place, time),
        }
    }

    /// Records of TLS have come.
    fn on_records(&mut self, place: u32, records: &[u8], came: Option<u64>) {
        let mut plain = std::mem::take(&mut self.plain);
        let connection = &mut self.connections[place as usize];
        let was_handshaking = connection.is_handshaking();
        let result = connection
            .decrypt(records, &mut plain)
            .and_then(|()| connection.flush_session())
            .map(|written| self.worker.wrote(written));
        let handshaking = self.connections[place as usize].is_handshaking();
        match result {
            Err(class) => self.fail(place, class),
            Ok(()) if was_handshaking && !handshaking => self.on_ready(place),
            Ok(()) => {}
        }
        if result.is_ok() && !plain.is_empty() {
            self.on_bytes(place, &plain, came);
        }
        self.plain = plain;
    }

    /// The peer has ended the connection.
    pub(crate) fn on_end(&mut self, place: u32) {
        let time = now();
        let connection = &mut self.connections[place as usize];
        if connection.state == State::Connecting {
            return self.on_dial_failure(place, ErrorClass::ClosedEarly);
        }
        if connection.exchange.active {
            self.worker.closed(&mut connection.exchange, time);
        }
        self.close_and_go_on(place, time);
    }

    /// The connection has failed, and with it the exchange.
    pub(crate) fn fail(&mut self, place: u32, class: ErrorClass) {
        let time = now();
        let connection = &mut self.connections[place as usize];
        if connection.state == State::Connecting {
            return self.on_dial_failure(place, class);
        }
        if connection.exchange.active {
            self.worker.give_up(&mut connection.exchange, class, time);
        }
        self.close_and_go_on(place, time);
    }

    /// Closes a connection and uses its place again.
    fn close_and_go_on(&mut self, place: u32, time: u64) {
        let connection = &mut self.connections[place as usize];
        self.wire.forget(place, connection);
        connection.close();
        self.open -= 1;
        if self.running && (!self.worker.is_paced() || !self.lane.plan.keepalive) {
            return self.proceed(place, time);
        }
        self.vacant.push(place);
        if self.running && self.open + (self.dialling as u64) < self.lane.step.connections {
            self.grow(self.dialling as u64 + 1, time);
        }
    }

    /// Ends what has taken longer than the timeout. Looking seldom only delays the closing: a timeout is recorded with
    /// the timeout's value, and a response that came too late is a timeout whenever it is looked at.
    pub(crate) fn sweep(&mut self, time: u64) {
        let timeout = self.lane.plan.timeout;
        self.next_sweep = time + (timeout / 20).clamp(MILLISECOND, 100 * MILLISECOND);
        for place in 0..self.connections.len() as u32 {
            let connection = &self.connections[place as usize];
            if self.worker.is_late(&connection.exchange, time) {
                self.fail(place, ErrorClass::Timeout);
            } else if connection.state == State::Connecting && time - connection.dialled > timeout {
                self.on_dial_failure(place, ErrorClass::Timeout);
            }
        }
    }

    /// Gives up what is still under way when the time to drain is over.
    pub(crate) fn abandon(&mut self, time: u64) {
        for place in 0..self.connections.len() {
            let mut exchange = std::mem::take::<Exchange>(&mut self.connections[place].exchange);
            if exchange.active && !self.lane.gate.is_stopped() {
                self.worker.summary.abandoned += 1;
                self.worker.over(&mut exchange, Err(ErrorClass::Timeout), time);
            }
        }
    }
}
