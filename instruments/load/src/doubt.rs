//! Self-doubt: the rules by which a result says that it may not mean what it says.

use serde::Serialize;

use crate::errors::ErrorClass;
use crate::plan::{Plan, Step};
use crate::recorder::microseconds;
use crate::result::Outcome;

/// A thread that used more of its time than this on a CPU had no time to be punctual.
const BUSY: f64 = 0.9;
/// A thread that was ready but had no CPU for more than this share of the time was disturbed.
const STARVED: f64 = 0.05;
/// The open loop is reached when this share of the requested rate is.
const REACHED: f64 = 0.99;
/// More late arrivals than this share are our own fault.
const LATE: f64 = 0.01;

/// A validity flag.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Flag {
    /// The rule that made it.
    pub name: &'static str,
    /// The figures that made it.
    pub reason: String,
}

/// What limited the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// We could not send faster.
    Generator,
    /// The server did not answer faster (in the closed loop: at this number of connections).
    Server,
    /// Nothing: the requested rate was reached.
    None,
}

/// Applies all rules to a step.
pub fn judge(plan: &Plan, step: &Step, outcome: &Outcome) -> (Limit, Vec<Flag>) {
    let mut flags = Vec::new();
    let mut flag = |name, reason| flags.push(Flag { name, reason });
    let record = &outcome.record;
    // Spinning uses the CPU on purpose; whether it was punctual is then seen by the send lag alone.
    let spins = plan.job.spin.0 > 0 && step.rate.is_some();
    let saturated = if spins { None } else { saturation(outcome) };
    if let Some(reason) = &saturated {
        flag("generator_saturated", reason.clone());
    }
    let starved = starvation(outcome);
    if let Some(reason) = &starved {
        flag("generator_starved", reason.clone());
    }
    let lag = record.lag.value_at_quantile(0.99);
    if step.rate.is_some() && lag > microseconds(plan.lag_bound) {
        let (bound, waited, late) = (microseconds(plan.lag_bound), record.waited, record.late);
        flag(
            "send_lag",
            format!(
                "p99 of the send lag is {lag} µs, over the bound of {bound} µs; {waited} arrivals waited for a connection, {late} were late by our own fault"
            ),
        );
    }
    let achieved = outcome.rate(step);
    let reached = step.rate.is_none_or(|rate| achieved >= rate * REACHED);
    if let Some(rate) = step.rate.filter(|_| !reached) {
        flag("rate_not_reached", format!("{achieved:.1} of {rate} requests a second"));
    }
    for class in [ErrorClass::OutOfPorts, ErrorClass::OutOfDescriptors] {
        let count = record.errors.of(class) + outcome.openings.failures.of(class);
        if count > 0 {
            flag(class.name(), mend(class, count));
        }
    }
    if record.errors.total() > 0 {
        flag("errors", format!("{} of {} requests failed", record.errors.total(), record.requests()));
    }
    if record.unsent > 0 {
        let count = record.unsent;
        flag(
            "arrivals_unsent",
            format!("{count} arrivals were never sent; their true response time is higher than recorded"),
        );
    }
    let connections: u64 = outcome.threads.iter().map(|thread| thread.connections).sum();
    if plan.keepalive && connections < step.connections {
        flag("connections_missing", format!("{connections} of {} connections were opened", step.connections));
    }
    if let Some(reason) = &outcome.fallback {
        flag("backend_fallback", reason.clone());
    }
    if outcome.interrupted {
        flag("interrupted", "told to end before the time".into());
    }
    let own_fault = record.late as f64 > LATE * record.requests() as f64;
    let limit = match step.rate {
        Some(_) if reached => Limit::None,
        _ if saturated.is_some() || starved.is_some() || (own_fault && record.waited < record.late) => {
            Limit::Generator
        }
        _ => Limit::Server,
    };
    (limit, flags)
}

/// The busiest thread used too much of its time.
fn saturation(outcome: &Outcome) -> Option<String> {
    let most = outcome.threads.iter().map(|thread| thread.shares().0).fold(0.0, f64::max);
    (most > BUSY).then(|| {
        format!("a thread was on the CPU {:.0}% of the time, over {:.0}%", most * 100.0, BUSY * 100.0)
    })
}

/// A thread was kept from its CPU.
fn starvation(outcome: &Outcome) -> Option<String> {
    let most = outcome.threads.iter().map(|thread| thread.shares().1).fold(0.0, f64::max);
    (most > STARVED).then(|| {
        format!(
            "a thread was ready but had no CPU {:.0}% of the time, over {:.0}%",
            most * 100.0,
            STARVED * 100.0
        )
    })
}

fn mend(class: ErrorClass, count: u64) -> String {
    match class {
        ErrorClass::OutOfPorts => {
            format!(
                "{count} times there was no free port; --source 127.0.0.2,127.0.0.3 adds ports, --reset-close frees them at once"
            )
        }
        _ => format!("{count} times there was no free descriptor; ulimit -n must be above the connections"),
    }
}
