//! A run: the steps one after the other, each on its threads, merged as they report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use crate::backend::Backend;
use crate::errors::CLASSES;
use crate::intervals::Intervals;
use crate::lane::{Gate, Lane};
use crate::output::Output;
use crate::plan::{Plan, Step};
use crate::recorder::{Interval, Openings, Record};
use crate::reports::{Pool, Reports};
use crate::result::{Outcome, Series, StepResult};
use crate::worker::Summary;

/// Told to end, by a signal or the lifeline.
pub static STOP: AtomicBool = AtomicBool::new(false);

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Ending {
    /// All steps were measured.
    Measured,
    /// Told to end.
    Stopped,
    /// It cannot be measured here.
    Impossible(String),
}

/// Runs all steps.
pub fn run(plan: Plan, output: Output) -> Ending {
    let plan = Arc::new(plan);
    output.started(&plan);
    if let Err(reason) = crate::limits::prepare(&plan) {
        return Ending::Impossible(reason);
    }
    for step in &plan.steps {
        output.step_started(step);
        let outcome = match run_step(&plan, step, output) {
            Ok(outcome) => outcome,
            Err(reason) => return Ending::Impossible(reason),
        };
        if outcome.openings.connects == 0 && !outcome.interrupted {
            return Ending::Impossible(nothing_connected(&plan, &outcome));
        }
        output.step(&StepResult::new(&plan, step, outcome));
        if STOP.load(Ordering::Relaxed) {
            return Ending::Stopped;
        }
    }
    Ending::Measured
}

fn nothing_connected(plan: &Plan, outcome: &Outcome) -> String {
    let failures = &outcome.openings.failures;
    let class = CLASSES
        .into_iter()
        .max_by_key(|&class| failures.of(class))
        .map_or("timeout", |class| if failures.of(class) == 0 { "timeout" } else { class.name() });
    format!("nothing could connect to {}: {class}", plan.job.url)
}

/// Runs one step on its threads and merges what they recorded.
pub fn run_step(plan: &Arc<Plan>, step: &Step, output: Output) -> Result<Outcome, String> {
    let backend = Backend::choose(plan);
    let gate = Arc::new(Gate::new(plan.threads, plan.keepalive, &STOP));
    let (reports, intervals, pool) = Reports::new(plan.threads);
    let threads: Vec<JoinHandle<_>> = (0..plan.threads)
        .map(|thread| {
            let share = step.share(thread, plan.threads);
            let lane = Lane {
                plan: plan.clone(),
                step: share,
                thread,
                reports: reports.clone(),
                gate: gate.clone(),
            };
            let engine = backend.engine;
            std::thread::Builder::new().name(format!("load-{thread}")).spawn(move || {
                crate::limits::prepare_thread(&lane);
                engine(lane)
            })
        })
        .collect::<Result<_, _>>()
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    drop(reports);
    let (record, series) = collect(plan, step, &intervals, &pool, output);
    let mut summaries = Vec::new();
    for thread in threads {
        summaries.push(thread.join().map_err(|_| "a thread of ours has failed; this is a bug")??);
    }
    Ok(outcome(step, backend, record, series, summaries))
}

/// Merges the threads' intervals as they come, until all threads are done.
fn collect(
    plan: &Plan,
    step: &Step,
    intervals: &Receiver<Interval>,
    pool: &Pool,
    output: Output,
) -> (Record, Series) {
    let mut total = Record::new();
    let mut series = Series::default();
    let cut = Intervals::new(plan.job.interval.0, step.duration);
    let mut waiting: BTreeMap<u64, (usize, Record)> = BTreeMap::new();
    let mut close = |index: u64, record: &Record| {
        let (start, end) = (cut.start(index), cut.end(index));
        if start < step.duration || record.requests() > 0 {
            output.progress(step, end, end - start, record);
            series.push(end, end - start, record, plan.job.intervals);
        }
        total.merge(record);
    };
    for interval in intervals {
        let (threads, record) = waiting.entry(interval.index).or_insert_with(|| (0, Record::new()));
        *threads += 1;
        record.merge(&interval.record);
        pool.take_back(interval.record);
        while let Some(entry) = waiting.first_entry()
            && entry.get().0 >= plan.threads
        {
            let (index, (_, record)) = entry.remove_entry();
            close(index, &record);
        }
    }
    for (index, (_, record)) in waiting {
        close(index, &record);
    }
    (total, series)
}

fn outcome(step: &Step, backend: Backend, record: Record, series: Series, threads: Vec<Summary>) -> Outcome {
    let interrupted = STOP.load(Ordering::Relaxed);
    let mut openings = Openings::default();
    threads.iter().for_each(|thread| openings.merge(&thread.openings));
    let measured = threads.iter().map(|thread| thread.measured).max().unwrap_or(0);
    let duration = if step.requests.is_some() || interrupted { measured } else { step.duration };
    let fallback = backend.fallback.or_else(|| threads.iter().find_map(|thread| thread.remark.clone()));
    Outcome { record, openings, threads, series, duration, backend: backend.name, fallback, interrupted }
}
