//! One thread's share of a step, without input or output: what to send next, whether a response is right, what to
//! record. The engines carry its decisions out.

use std::sync::Arc;

use crate::arrivals::Arrivals;
use crate::clock::MILLISECOND;
use crate::errors::ErrorClass;
pub use crate::exchange::{Exchange, Outcome, Summary, Times};
use crate::intervals::Intervals;
use crate::plan::{Plan, Step};
use crate::random::Random;
use crate::recorder::Record;
use crate::reports::Reports;
use crate::response::{Context, Fed, KnownHead};
use crate::template::{Choice, Fill, Template};

/// How long after its end a step still sends an arrival that was due before it.
const GRACE: u64 = 10 * MILLISECOND;

/// One thread's share of a step.
pub struct Worker {
    /// The plan of the run.
    pub plan: Arc<Plan>,
    /// The moments of the step.
    pub times: Times,
    /// Exchanges under way.
    pub in_flight: u64,
    /// What is handed over at the end.
    pub summary: Summary,
    arrivals: Option<Arrivals>,
    /// Arrivals due until here found no free connection.
    starved: u64,
    /// Measured requests that may still be begun.
    quota: u64,
    begun: u64,
    choice: Choice,
    fill: Fill,
    known: Vec<KnownHead>,
    record: Box<Record>,
    cut: Intervals,
    interval: u64,
    next_interval: u64,
    reports: Reports,
    usage_at_start: crate::usage::Usage,
    measuring: bool,
    counted_end: bool,
}

impl Worker {
    /// The share of thread `thread`, whose connections and requests are in `step` already.
    pub fn new(plan: Arc<Plan>, step: &Step, thread: usize, times: Times, reports: Reports) -> Self {
        let stream =
            |purpose: u64| Random::new(plan.seed, (step.index as u64) << 32 | (thread as u64) << 8 | purpose);
        let arrivals = step
            .rate
            .map(|rate| Arrivals::new(plan.spacing, rate, thread, plan.threads, times.start, stream(0)));
        Self {
            times,
            in_flight: 0,
            summary: Summary::default(),
            arrivals,
            starved: 0,
            quota: step.requests.unwrap_or(u64::MAX),
            begun: 0,
            choice: Choice::new(plan.templates.iter().map(|template| template.weight), stream(1)),
            fill: Fill::new(thread, plan.threads, stream(2)),
            known: plan.templates.iter().map(|_| KnownHead::default()).collect(),
            record: reports.empty(),
            cut: Intervals::new(plan.job.interval.0, step.duration),
            interval: 0,
            next_interval: times.measure,
            reports,
            usage_at_start: crate::usage::Usage::of_thread(),
            measuring: false,
            counted_end: false,
            plan,
        }
    }

    /// The loop is open: requests have a time of their own.
    #[inline]
    pub fn is_paced(&self) -> bool {
        self.arrivals.is_some()
    }

    /// The time of the next arrival of the open loop.
    #[inline]
    pub fn next_due(&self) -> Option<u64> {
        let due = self.arrivals.as_ref()?.next();
        (due < self.times.end && self.quota > 0).then_some(due)
    }

    /// Takes the permission to send a request now and returns when it was due, or nothing.
    #[inline]
    pub fn take_due(&mut self, now: u64) -> Option<u64> {
        if self.quota == 0 {
            return None;
        }
        let Some(arrivals) = &mut self.arrivals else {
            return (now < self.times.end).then_some(now);
        };
        let due = arrivals.next();
        if due > now || due >= self.times.end || now >= self.times.end + GRACE {
            return None;
        }
        arrivals.take();
        if due >= self.times.measure {
            if due <= self.starved {
                self.record.waited += 1;
            } else if now - due > self.plan.lag_bound {
                self.record.late += 1;
            }
        }
        Some(due)
    }

    /// Arrivals that are due at `now` found no free connection; returns about how many there are.
    pub fn starve(&mut self, now: u64) -> u64 {
        self.starved = now;
        self.arrivals.as_ref().map_or(0, |arrivals| arrivals.backlog(now))
    }

    /// Begins an exchange due at `intended`.
    #[inline]
    pub fn begin(&mut self, exchange: &mut Exchange, intended: u64, now: u64) {
        exchange.template = self.choice.draw();
        exchange.intended = intended;
        exchange.sent = now;
        exchange.active = true;
        exchange.response.begin(&self.plan.templates[exchange.template].expected, self.begun);
        self.begun += 1;
        self.in_flight += 1;
        if intended >= self.times.measure && self.quota != u64::MAX {
            self.quota -= 1;
        }
    }

    /// The template of an exchange.
    #[inline]
    pub fn template(&self, exchange: &Exchange) -> &Template {
        &self.plan.templates[exchange.template]
    }

    /// Writes the bytes of a request that is not the same every time.
    pub fn render(&mut self, template: usize, out: &mut Vec<u8>) {
        self.plan.templates[template].render(out, &mut self.fill);
    }

    /// What fields are filled with, for engines that do not send text.
    pub fn fill(&mut self) -> &mut Fill {
        &mut self.fill
    }

    /// Bytes went out.
    #[inline]
    pub fn wrote(&mut self, bytes: usize) {
        self.record.bytes_written += bytes as u64;
    }

    /// Takes bytes of a response at `now`.
    #[inline]
    pub fn receive(&mut self, exchange: &mut Exchange, bytes: &[u8], now: u64) -> Outcome {
        self.record.bytes_read += bytes.len() as u64;
        let template = &self.plan.templates[exchange.template];
        let mut context = Context {
            bodiless: template.bodiless,
            expected: &template.expected,
            known: &mut self.known[exchange.template],
        };
        match exchange.response.feed(bytes, &mut context) {
            Ok(Fed::More) => Outcome::More,
            Ok(Fed::Whole(used)) if used == bytes.len() => {
                let verdict = exchange.response.conclude(&template.expected);
                self.over(exchange, verdict, now);
                Outcome::Over { keep: exchange.response.keeps() && self.plan.keepalive }
            }
            Ok(Fed::Whole(_)) => self.give_up(exchange, ErrorClass::Malformed, now),
            Err(class) => self.give_up(exchange, class, now),
        }
    }

    /// A status has come, on an engine that takes responses apart itself.
    pub fn receive_status(&mut self, exchange: &mut Exchange, status: u16) {
        exchange.response.set_status(status);
    }

    /// A piece of a body has come, on an engine that takes responses apart itself.
    pub fn receive_piece(&mut self, exchange: &mut Exchange, piece: &[u8]) -> Result<(), ErrorClass> {
        exchange.response.piece(&self.plan.templates[exchange.template].expected, piece)
    }

    /// A response is whole or has failed, on an engine that takes responses apart itself.
    pub fn conclude(&mut self, exchange: &mut Exchange, verdict: Result<(), ErrorClass>, now: u64) {
        let expected = &self.plan.templates[exchange.template].expected;
        let verdict = verdict.and_then(|()| exchange.response.conclude(expected));
        self.over(exchange, verdict, now);
    }

    /// Bytes were received and sent, on an engine that counts them itself.
    pub fn traffic(&mut self, read: u64, written: u64) {
        self.record.bytes_read += read;
        self.record.bytes_written += written;
    }

    /// Gives up all exchanges under way, on an engine that holds them where they cannot be reached: each counts as a
    /// timeout sent at the end of the step.
    pub fn abandon_in_flight(&mut self) {
        let (end, drain) = (self.times.end, self.times.drain);
        for _ in 0..self.in_flight {
            let mut exchange = Exchange { intended: end, sent: end, ..Exchange::default() };
            self.summary.abandoned += 1;
            self.over(&mut exchange, Err(ErrorClass::Timeout), drain);
        }
    }

    /// The server closed the connection under an exchange.
    pub fn closed(&mut self, exchange: &mut Exchange, now: u64) {
        let expected = &self.plan.templates[exchange.template].expected;
        let verdict = exchange.response.close().and_then(|()| exchange.response.conclude(expected));
        self.over(exchange, verdict, now);
    }

    /// An exchange failed for good.
    pub fn give_up(&mut self, exchange: &mut Exchange, class: ErrorClass, now: u64) -> Outcome {
        self.over(exchange, Err(class), now);
        Outcome::Over { keep: false }
    }

    /// An exchange is over: records it, if it belongs to the measured time.
    #[inline]
    pub fn over(&mut self, exchange: &mut Exchange, verdict: Result<(), ErrorClass>, now: u64) {
        exchange.active = false;
        self.in_flight -= 1;
        self.summary.last = now;
        let elapsed = now.saturating_sub(exchange.sent);
        let verdict = if elapsed > self.plan.timeout { Err(ErrorClass::Timeout) } else { verdict };
        let right = verdict.is_ok();
        if right && now >= self.times.measure && now < self.times.end {
            self.record.in_window += 1;
        }
        if exchange.intended < self.times.measure {
            return;
        }
        let (intended, sent) = (exchange.intended, exchange.sent);
        match verdict {
            Ok(()) => {
                self.record.ok += 1;
                self.record.spans(self.arrivals.is_some(), intended, sent, now);
            }
            Err(class) => {
                self.record.failure(class);
                if class == ErrorClass::Timeout {
                    let last = sent + self.plan.timeout;
                    self.record.spans(self.arrivals.is_some(), intended, sent, last);
                }
            }
        }
    }

    /// No connection could be had for the next arrival of the open loop: it fails.
    pub fn fail_due(&mut self, class: ErrorClass, now: u64) {
        if let Some(due) = self.take_due(now) {
            let mut exchange = Exchange::default();
            self.begin(&mut exchange, due, now);
            self.over(&mut exchange, Err(class), now);
        }
    }

    /// Something came on a connection without a request in flight.
    pub fn unsolicited(&mut self) {
        self.record.unsolicited += 1;
    }

    /// The exchange has been under way for longer than the timeout.
    #[inline]
    pub fn is_late(&self, exchange: &Exchange, now: u64) -> bool {
        exchange.active && now.saturating_sub(exchange.sent) > self.plan.timeout
    }

    /// Does what is due by the clock: the start of the measured time, the end of each interval.
    #[inline]
    pub fn tick(&mut self, now: u64) {
        if now >= self.next_interval {
            self.turn_interval(now);
        }
        if now >= self.times.end && !self.counted_end {
            self.counted_end = true;
            self.summary.in_flight_at_end = self.in_flight;
            self.finish_usage(now);
        }
    }

    /// The next moment at which [`Worker::tick`] has something to do.
    #[inline]
    pub fn next_tick(&self) -> u64 {
        if self.counted_end { self.next_interval } else { self.next_interval.min(self.times.end) }
    }

    fn turn_interval(&mut self, now: u64) {
        if self.measuring {
            self.hand_over();
        } else {
            self.measuring = true;
            self.record.clear();
            self.usage_at_start = crate::usage::Usage::of_thread();
        }
        self.interval = self.cut.at(now - self.times.measure);
        self.next_interval = self.times.measure + self.cut.end(self.interval);
    }

    fn hand_over(&mut self) {
        let record = std::mem::replace(&mut self.record, self.reports.empty());
        self.reports.hand_over(self.interval, record);
    }

    fn finish_usage(&mut self, now: u64) {
        self.summary.cpu = crate::usage::Usage::of_thread().since(&self.usage_at_start);
        self.summary.measured = now.saturating_sub(self.times.measure);
    }

    /// Whether this thread's share of the step is over.
    #[inline]
    pub fn is_over(&self, now: u64) -> bool {
        let nothing_to_begin = match self.is_paced() {
            true => now >= self.times.end && (self.next_due().is_none() || now >= self.times.end + GRACE),
            false => self.quota == 0 || now >= self.times.end,
        } || self.quota == 0;
        (nothing_to_begin && self.in_flight == 0) || now >= self.times.drain
    }

    /// Ends the share: arrivals that were never sent are counted, the last record is handed over. The exchanges
    /// under way must have been given up before.
    pub fn finish(mut self, now: u64) -> Summary {
        while let Some(due) = self.next_due().filter(|&due| due <= now) {
            if let Some(arrivals) = &mut self.arrivals {
                arrivals.take();
            }
            if due >= self.times.measure {
                self.record.unsent += 1;
                self.record.response.saturating_record(crate::recorder::microseconds(now - due));
            }
        }
        if !self.counted_end {
            self.finish_usage(now);
        }
        if self.measuring {
            self.hand_over();
        }
        self.summary
    }
}
