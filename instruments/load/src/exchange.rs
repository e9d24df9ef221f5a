//! What the engines and the worker pass to each other: the moments of a step, an exchange, a thread's summary.

use crate::plan::{Plan, Step};
use crate::recorder::Openings;
use crate::response::Response;
use crate::usage::Usage;

/// The moments of a step, on the clock.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Load begins (warm-up).
    pub start: u64,
    /// Recording begins.
    pub measure: u64,
    /// The last moment at which a request may be due.
    pub end: u64,
    /// The last moment at which a response is waited for.
    pub drain: u64,
}

impl Times {
    /// The moments of a step that starts at `start`.
    pub fn new(start: u64, plan: &Plan, step: &Step) -> Self {
        let measure = start + plan.warm_up;
        let end = measure + step.duration;
        Self { start, measure, end, drain: end + plan.timeout }
    }
}

/// One request and its response, on one connection.
#[derive(Debug, Default)]
pub struct Exchange {
    /// When it was due.
    pub intended: u64,
    /// When it was sent: the write, or the connect where it has a connection of its own.
    pub sent: u64,
    /// Which template it is of.
    pub template: usize,
    /// A request is on its way.
    pub active: bool,
    pub(crate) response: Response,
}

/// What the bytes received came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The response goes on.
    More,
    /// The exchange is over and recorded; `keep` says whether the connection may be used again.
    Over {
        /// The connection may carry another request.
        keep: bool,
    },
}

/// What a thread hands over when its step is over.
#[derive(Debug, Default)]
pub struct Summary {
    /// Connections opened.
    pub openings: Openings,
    /// Most connections open at once.
    pub connections: u64,
    /// Requests in flight at the end of the measured time.
    pub in_flight_at_end: u64,
    /// Of those, how many never ended within the timeout.
    pub abandoned: u64,
    /// When the last request ended.
    pub last: u64,
    /// CPU seconds of the measured time: user and system.
    pub cpu: Usage,
    /// Nanoseconds the measured time lasted for this thread.
    pub measured: u64,
    /// An engine's own remark, such as why a backend was not taken.
    pub remark: Option<String>,
}

impl Summary {
    /// CPU time, and time without a CPU though ready, as shares of the measured time.
    pub fn shares(&self) -> (f64, f64) {
        let measured = crate::clock::seconds(self.measured.max(1));
        let share = |seconds: f64| (seconds / measured * 1e4).round() / 1e4;
        (share(self.cpu.cpu()), share(self.cpu.waiting))
    }
}
