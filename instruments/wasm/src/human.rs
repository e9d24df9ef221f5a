//! The results as a few lines for people.

use crate::report::{End, ModuleRecord, Outcome, Replication};
use bakeoff_share::sizes::show_size;
use std::fmt::Write;

/// The module's line.
pub fn module(record: &ModuleRecord) -> String {
    let mut text = format!(
        "{} ({}) in {} {}\n",
        record.module,
        show_size(record.size),
        record.engine.name(),
        record.engine_version
    );
    line(&mut text, "compile", record.compile_s);
    line(&mut text, "load", record.load_s);
    line(&mut text, "link", record.link_s);
    if !record.markers {
        text.push_str("  it imports no markers: start-up, execution and shutdown are not told apart\n");
    }
    text
}

/// A replication's lines.
pub fn replication(record: &Replication) -> String {
    let which = if record.warm_up { "warm-up" } else { "replication" };
    let end = match (record.outcome, record.exit) {
        (Outcome::Exited, Some(code)) => format!("exit {code}"),
        (outcome, _) => {
            format!("{outcome:?} in {}: {}", record.phase, record.reason.as_deref().unwrap_or(""))
        }
    };
    let mut text = format!("{which} {}: {end}\n", record.index);
    for (name, seconds) in [
        ("instantiate", record.instantiate_s),
        ("start-up", record.startup_s),
        ("execution", record.execution_s),
        ("shutdown", record.shutdown_s),
        ("total", record.total_s),
    ] {
        line(&mut text, name, seconds);
    }
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{:>12}  {} at most", "memory", show_size(record.memory_high_water_bytes));
    for (name, count) in record.wasi.iter().flat_map(|counts| &counts.calls) {
        let _ = writeln!(text, "{count:>12}  {name}");
    }
    if let Some(counts) = &record.wasi {
        let _ = writeln!(text, "{:>12}  bytes read, {} written", counts.bytes_read, counts.bytes_written);
    }
    if let Some(fuel) = record.fuel {
        let _ = writeln!(text, "{:>12}  {fuel}", "fuel");
    }
    if let Some(check) = &record.check {
        let verdict = if check.exit == Some(0) { "right" } else { "WRONG" };
        let _ = writeln!(text, "{:>12}  {verdict} {}", "check", check.text.trim_end());
    }
    for stream in [&record.outputs.stdout, &record.outputs.stderr] {
        text.push_str(&stream.text);
        if !stream.text.is_empty() && !stream.text.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

/// The last line: what the evaluator itself costs.
pub fn end(record: &End) -> String {
    let Some(own) = &record.calibration else {
        return String::new();
    };
    let verdict = if own.within_bound { "within" } else { "OVER" };
    format!(
        "the evaluator itself: start-up {:.0} ns ({verdict} its bound of {:.0} ns), execution {:.0} ns, shutdown {:.1} µs\n",
        own.startup_s * 1e9,
        own.startup_bound_s * 1e9,
        own.execution_s * 1e9,
        own.shutdown_s * 1e6
    )
}

fn line(text: &mut String, name: &str, seconds: Option<f64>) {
    if let Some(seconds) = seconds {
        let _ = writeln!(text, "{name:>12}  {:.3} ms", seconds * 1e3);
    }
}
