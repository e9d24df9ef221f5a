//! What is printed: JSON lines, or a summary for people.

use std::io::Write;

use serde::Serialize;
use serde_json::json;

use crate::clock::seconds;
use crate::plan::{Plan, Step};
use crate::recorder::Record;
use crate::result::{Spread, StepResult};

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A summary for people.
    Text,
    /// One JSON object a step.
    Steps,
    /// JSON lines of everything that happens.
    Events,
}

/// Prints what happens.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// What to print.
    pub form: Form,
}

impl Output {
    /// The run begins.
    pub fn started(&self, plan: &Plan) {
        self.event(json!({
            "event": "started", "instrument": "bakeoff-load", "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(), "url": plan.job.url, "threads": plan.threads, "steps": plan.steps.len(),
        }));
    }

    /// A step begins.
    pub fn step_started(&self, step: &Step) {
        self.event(json!({
            "event": "step_started", "step": step.index, "connections": step.connections,
            "rate_requested": step.rate, "requests": step.requests,
        }));
    }

    /// An interval of so many nanoseconds is over; it ended at `end`.
    pub fn progress(&self, step: &Step, end: u64, length: u64, record: &Record) {
        self.event(json!({
            "event": "progress", "step": step.index, "t_s": seconds(end), "ok": record.ok, "rate": record.ok as f64 / seconds(length),
            "errors": record.errors.total(), "p50_us": record.response.value_at_quantile(0.5),
            "p99_us": record.response.value_at_quantile(0.99),
        }));
    }

    /// A step is over.
    pub fn step(&self, result: &StepResult) {
        match self.form {
            Form::Text => print(&text(result)),
            Form::Steps | Form::Events => line(result),
        }
    }

    /// The run is over.
    pub fn end(&self, outcome: &str) {
        self.event(json!({"event": "end", "outcome": outcome}));
    }

    fn event(&self, event: serde_json::Value) {
        if self.form == Form::Events {
            line(&event);
        }
    }
}

/// Prints one JSON line at once.
fn line(value: &impl Serialize) {
    // A reader that has gone away is no reason to fail.
    let _ = bakeoff_share::jsonl::write_line(&mut std::io::stdout().lock(), value);
}

/// Writes and flushes; a reader that has gone away is no reason to fail.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// A summary for people.
fn text(result: &StepResult) -> String {
    let mut lines = vec![format!(
        "{}  {} loop, {} connections, {} threads, {}, {:.1} s",
        result.url, result.kind, result.connections, result.threads, result.backend, result.duration_s
    )];
    let requested = result.rate_requested.map_or(String::new(), |rate| format!(" of {rate} requested"));
    lines
        .push(format!("  requests   {} ({} ok, {} failed)", result.requests, result.ok, result.errors_total));
    lines.push(format!("  rate       {:.1}/s{requested}", result.rate_achieved));
    lines.push(
        "  µs               mean       p50       p90       p95       p99     p99.9    p99.99       max"
            .into(),
    );
    lines.push(spread("response", &result.latency_us));
    if result.kind == "open" {
        lines.push(spread("service", &result.service_us));
        lines.push(spread("send lag", &result.send_lag_us));
    }
    lines.push(spread("connect", &result.connect_us));
    lines.push(format!(
        "  own CPU    {:.2} s, {:.2} µs a request; limit: {}",
        result.cpu_seconds,
        result.cpu_us_per_request,
        format!("{:?}", result.limit).to_lowercase()
    ));
    for (class, count) in result.errors.iter().filter(|(_, count)| **count > 0) {
        lines.push(format!("  error      {class}: {count}"));
    }
    lines.extend(result.flags.iter().map(|flag| format!("  FLAG       {}: {}", flag.name, flag.reason)));
    lines.push(String::new());
    lines.join("\n")
}

fn spread(name: &str, spread: &Spread) -> String {
    let values = [spread.p50, spread.p90, spread.p95, spread.p99, spread.p999, spread.p9999, spread.max];
    let values: String = values.iter().map(|value| format!("{value:>10}")).collect();
    format!("  {name:<10} {:>10.1}{values}", spread.mean)
}
