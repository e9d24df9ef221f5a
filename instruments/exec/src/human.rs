//! The result as a few lines for people.

use crate::result::Record;
use bakeoff_share::sizes::show_size;
use std::fmt::Write;

/// A short summary of a result.
pub fn summary(record: &Record) -> String {
    let mut text = String::new();
    let outcome = match (record.exit, record.signal) {
        (Some(code), _) => format!("{:?}, exit {code}", record.outcome),
        (_, Some(signal)) => format!("{:?}, signal {signal}", record.outcome),
        _ => format!("{:?}", record.outcome),
    };
    let usage = &record.usage;
    let mut line = |name: &str, value: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name:>10}  {value}");
    };
    line("outcome", outcome.to_lowercase());
    line("wall", format!("{:.6} s", record.wall_s));
    line("cpu", format!("{:.6} s ({:.6} user, {:.6} system)", usage.cpu_s, usage.user_s, usage.system_s));
    line("memory", format!("{} at most", show_size(record.peak_memory_bytes)));
    line(
        "switches",
        format!(
            "{} voluntary, {} involuntary",
            usage.voluntary_context_switches, usage.involuntary_context_switches
        ),
    );
    line("faults", format!("{} minor, {} major", usage.minor_page_faults, usage.major_page_faults));
    line("processes", format!("{} at most", record.peak_processes));
    for (name, count) in record.counters.iter().flatten() {
        line(name, count.map_or("missing".to_owned(), |count| count.to_string()));
    }
    for marker in &record.markers {
        let data = marker.data.as_ref().map_or("", |data| data.get());
        line("marker", format!("{:.6} s {} {data}", marker.t_s, marker.name));
    }
    for killed in &record.killed {
        line("killed", format!("{} {} (SIG{})", killed.pid, killed.command, killed.signal));
    }
    for left in &record.leftover {
        line("LEFT OVER", left.clone());
    }
    match &record.accounting.cgroup_missing {
        Some(why) => line("accounts", format!("cgroup none: {why}")),
        None => line("accounts", format!("cgroup {}", record.accounting.cgroup)),
    }
    text
}
