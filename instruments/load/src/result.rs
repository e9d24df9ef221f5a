//! The result of a step, as it is written out.

use std::collections::BTreeMap;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::Serialize;

use crate::clock::seconds;
use crate::doubt::{Flag, Limit};
use crate::plan::{Plan, Step};
use crate::recorder::{Openings, Record};
use crate::worker::Summary;

/// A distribution in microseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Spread {
    /// How many values.
    pub count: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The smallest value.
    pub min: u64,
    /// The 50th percentile: the smallest recorded value that at least 50% of the values do not exceed; so are the others.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    #[serde(rename = "p99.9")]
    pub p999: u64,
    /// The 99.99th percentile.
    #[serde(rename = "p99.99")]
    pub p9999: u64,
    /// The largest value.
    pub max: u64,
}

impl Spread {
    /// Of a histogram of microseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| histogram.value_at_quantile(quantile);
        Self {
            count: histogram.len(),
            mean: (histogram.mean() * 10.0).round() / 10.0,
            min: if histogram.is_empty() { 0 } else { histogram.min() },
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            p9999: at(0.9999),
            max: histogram.max(),
        }
    }
}

/// A histogram in the HdrHistogram format V2, compressed, in base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    match V2DeflateSerializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => base64::engine::general_purpose::STANDARD.encode(bytes),
        Err(_) => String::new(),
    }
}

/// One value per interval of the measured time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// The end of each interval, seconds from the start of the measured time.
    pub t_s: Vec<f64>,
    /// Right responses a second in the interval.
    pub rate: Vec<f64>,
    /// Median response time, microseconds.
    pub p50_us: Vec<u64>,
    /// 99th percentile of the response time, microseconds.
    pub p99_us: Vec<u64>,
    /// Failures in the interval.
    pub errors: Vec<u64>,
    /// Each interval's histogram of response times, under `--intervals`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub histogram: Vec<String>,
}

impl Series {
    /// Adds an interval of so many nanoseconds that ends at `end`.
    pub fn push(&mut self, end: u64, length: u64, record: &Record, with_histogram: bool) {
        self.t_s.push(seconds(end));
        self.rate.push(record.ok as f64 / seconds(length));
        self.p50_us.push(record.response.value_at_quantile(0.5));
        self.p99_us.push(record.response.value_at_quantile(0.99));
        self.errors.push(record.errors.total());
        if with_histogram {
            self.histogram.push(encode(&record.response));
        }
    }
}

/// What one thread used in the measured time.
#[derive(Debug, Clone, Serialize)]
pub struct ThreadUse {
    /// CPU time over the measured time, 0 to 1.
    pub cpu: f64,
    /// Time it was ready but had no CPU, over the measured time.
    pub waiting: f64,
}

/// All of a step, before it is put into words.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that was recorded.
    pub record: Record,
    /// How connections were opened.
    pub openings: Openings,
    /// Each thread's own summary.
    pub threads: Vec<Summary>,
    /// Second by second.
    pub series: Series,
    /// Nanoseconds of the measured time.
    pub duration: u64,
    /// The engine that was used.
    pub backend: &'static str,
    /// Why another engine than the one asked for was used.
    pub fallback: Option<String>,
    /// Told to end before the time.
    pub interrupted: bool,
}

impl Outcome {
    /// Right responses a second: in the closed loop those that ended inside the measured time, in the open loop
    /// all that were due in it; where the number of requests bounds the step, all.
    pub fn rate(&self, step: &Step) -> f64 {
        let closed_by_time = step.rate.is_none() && step.requests.is_none();
        let count = if closed_by_time { self.record.in_window } else { self.record.ok };
        if self.duration == 0 { 0.0 } else { count as f64 / seconds(self.duration) }
    }
}

/// The result of a step: one JSON object.
#[derive(Debug, Serialize)]
pub struct StepResult {
    /// Always `step`.
    pub event: &'static str,
    /// Index from 0.
    pub step: usize,
    /// Where the load went.
    pub url: String,
    /// `closed` or `open`.
    #[serde(rename = "loop")]
    pub kind: &'static str,
    /// `epoll`, `uring` or `h2`.
    pub backend: &'static str,
    /// Why another engine than the one asked for was used.
    pub backend_fallback: Option<String>,
    /// Whose moment the last byte is: the `kernel`'s that received it, or that of this `program`, which has read it.
    pub receipt: &'static str,
    /// Threads.
    pub threads: usize,
    /// A connection carries many requests.
    pub keepalive: bool,
    /// Connections asked for.
    pub connections_requested: u64,
    /// Most connections that were open at once, summed over threads.
    pub connections: u64,
    /// Connections opened.
    pub connects: u64,
    /// Attempts to open one that failed, by class.
    pub connect_failures: BTreeMap<&'static str, u64>,
    /// Time to open a connection.
    pub connect_us: Spread,
    /// Seconds measured.
    pub duration_s: f64,
    /// Requests that ended: `ok` and `errors` together.
    pub requests: u64,
    /// Right responses.
    pub ok: u64,
    /// Failures by class.
    pub errors: BTreeMap<&'static str, u64>,
    /// Failures of all classes.
    pub errors_total: u64,
    /// Requests a second that were asked for; null in the closed loop.
    pub rate_requested: Option<f64>,
    /// Right responses a second.
    pub rate_achieved: f64,
    /// Response time: from the intended time to the last byte (corrected for coordinated omission). Right responses, and
    /// timeouts with the timeout's value.
    pub latency_us: Spread,
    /// Service time: from the sending to the last byte (uncorrected).
    pub service_us: Spread,
    /// Send lag: from the intended time to the sending.
    pub send_lag_us: Spread,
    /// Arrivals that found no free connection and waited for one.
    pub arrivals_waited: u64,
    /// Arrivals that had a free connection and were sent late (over the bound) all the same.
    pub arrivals_late: u64,
    /// Arrivals never sent; `latency_us` has them with the time they had waited, which is less than the truth.
    pub arrivals_unsent: u64,
    /// Requests in flight at the end of the measured time.
    pub in_flight_at_end: u64,
    /// Of those, how many had not ended after the timeout; they are counted as timeouts.
    pub abandoned: u64,
    /// Bytes or ends of connections that came where no request was in flight.
    pub unsolicited: u64,
    /// Bytes received.
    pub bytes_read: u64,
    /// Bytes sent.
    pub bytes_written: u64,
    /// CPU seconds of our threads in the measured time.
    pub cpu_seconds: f64,
    /// Of those, in user mode.
    pub cpu_user_seconds: f64,
    /// Of those, in the kernel.
    pub cpu_system_seconds: f64,
    /// CPU microseconds a request.
    pub cpu_us_per_request: f64,
    /// Each thread's use.
    pub thread_use: Vec<ThreadUse>,
    /// What limited the rate: `generator`, `server` or `none`.
    pub limit: Limit,
    /// Reasons why the figures may not mean what they say.
    pub flags: Vec<Flag>,
    /// How responses were checked.
    pub checks: String,
    /// Second by second.
    pub series: Series,
    /// The three histograms, under `--histograms`.
    pub histograms: Option<BTreeMap<&'static str, String>>,
}

impl StepResult {
    /// Puts a step into words.
    pub fn new(plan: &Plan, step: &Step, mut outcome: Outcome) -> Self {
        let open = step.rate.is_some();
        if !open {
            // The closed loop has no time of its own: a request is due when it is sent.
            outcome.record.service = outcome.record.response.clone();
            let count = outcome.record.response.len();
            outcome.record.lag.saturating_record_n(0, count);
        }
        let (limit, flags) = crate::doubt::judge(plan, step, &outcome);
        let sum = |part: fn(&Summary) -> f64| outcome.threads.iter().map(part).sum::<f64>();
        let count = |part: fn(&Summary) -> u64| outcome.threads.iter().map(part).sum::<u64>();
        let (user, system) = (sum(|thread| thread.cpu.user), sum(|thread| thread.cpu.system));
        let record = &outcome.record;
        let per_request = (user + system) * 1e6 / record.requests().max(1) as f64;
        Self {
            event: "step",
            step: step.index,
            url: plan.job.url.clone(),
            kind: if open { "open" } else { "closed" },
            backend: outcome.backend,
            backend_fallback: outcome.fallback.clone(),
            receipt: if outcome.backend == "epoll" && plan.takes_kernel_receipt() {
                "kernel"
            } else {
                "program"
            },
            threads: plan.threads,
            keepalive: plan.keepalive,
            connections_requested: step.connections,
            connections: count(|thread| thread.connections),
            connects: outcome.openings.connects,
            connect_failures: outcome.openings.failures.by_name(),
            connect_us: Spread::of(&outcome.openings.span),
            duration_s: seconds(outcome.duration),
            requests: record.requests(),
            ok: record.ok,
            errors: record.errors.by_name(),
            errors_total: record.errors.total(),
            rate_requested: step.rate,
            rate_achieved: outcome.rate(step),
            latency_us: Spread::of(&record.response),
            service_us: Spread::of(&record.service),
            send_lag_us: Spread::of(&record.lag),
            arrivals_waited: record.waited,
            arrivals_late: record.late,
            arrivals_unsent: record.unsent,
            in_flight_at_end: count(|thread| thread.in_flight_at_end),
            abandoned: count(|thread| thread.abandoned),
            unsolicited: record.unsolicited,
            bytes_read: record.bytes_read,
            bytes_written: record.bytes_written,
            cpu_seconds: user + system,
            cpu_user_seconds: user,
            cpu_system_seconds: system,
            cpu_us_per_request: (per_request * 1000.0).round() / 1000.0,
            thread_use: outcome.threads.iter().map(thread_use).collect(),
            limit,
            flags,
            checks: checks(plan),
            histograms: plan.job.histograms.then(|| histograms(record)),
            series: outcome.series,
        }
    }
}

fn thread_use(summary: &Summary) -> ThreadUse {
    let (cpu, waiting) = summary.shares();
    ThreadUse { cpu, waiting }
}

fn histograms(record: &Record) -> BTreeMap<&'static str, String> {
    [("latency_us", &record.response), ("service_us", &record.service), ("send_lag_us", &record.lag)]
        .map(|(name, histogram)| (name, encode(histogram)))
        .into()
}

/// Says what was compared.
fn checks(plan: &Plan) -> String {
    let expected = |template: &crate::template::Template| {
        let expected = &template.expected;
        let body = match (expected.body.is_some(), expected.sha256.is_some(), expected.every) {
            (false, false, _) => "body not compared".to_owned(),
            (_, _, 1) => "body of each".to_owned(),
            (_, _, every) => format!("body of every {every}th"),
        };
        format!("framing and status of each, {body}")
    };
    let mut found: Vec<String> = plan.templates.iter().map(expected).collect();
    found.dedup();
    found.join("; ")
}
