//! The instrument `bakeoff-exec`, as a library, so that one package can carry all programs.
//!
//! It measures a tree of processes from just before the command's exec until nothing of the tree is left. [`trial`] is the
//! course of one measurement; [`tree`] knows who belongs to it, [`cgroup`] keeps the accounts and limits, [`meter`] adds up.

pub mod args;
pub mod cgroup;
pub mod counters;
pub mod human;
pub mod kernel;
pub mod launch;
pub mod limits;
pub mod log;
pub mod marker;
pub mod memory;
pub mod meter;
pub mod name;
pub mod output;
pub mod process;
pub mod result;
pub mod scratch;
pub mod series;
pub mod serve;
pub mod spawn;
pub mod sweep;
pub mod tally;
pub mod tree;
pub mod trial;

use args::Settings;
use bakeoff_share::failure::Failure;
use bakeoff_share::{clock, jsonl};
use clap::Parser;
use std::io;
use std::process::ExitCode;

/// The exit code when a signal or the lifeline told us to end.
const TOLD_TO_END: u8 = 130;

/// Runs the program on this process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    let settings = Settings::parse();
    let told_to_end =
        if settings.sweep { sweep() } else { settings.check().and_then(|()| measure(&settings)) };
    match told_to_end {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(TOLD_TO_END),
        Err(failure) => {
            eprintln!("bakeoff-exec: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn sweep() -> Result<bool, Failure> {
    let swept = sweep::sweep();
    jsonl::write_line(&mut io::stdout().lock(), &swept)
        .map_err(Failure::cannot("cannot write the result"))?;
    Ok(false)
}

/// Measures; tells whether we were told to end.
fn measure(settings: &Settings) -> Result<bool, Failure> {
    let mut signals = kernel::Signals::take_over().map_err(Failure::cannot("cannot take over signals"))?;
    kernel::become_subreaper();
    let foreign = match kernel::wait_any() {
        kernel::Waited::Childless => Vec::new(),
        _ => process::children_of(std::process::id() as i32),
    };
    signals.read();
    let limits = limits::Limits::from_settings(settings)?;
    let name = name::TreeName::own(0);
    let cgroup::Opened { group, missing } =
        cgroup::open(settings.cgroup, &limits, &name, settings.inner_group)?;
    let mut group = Guarded(group);
    let launch = launch::prepare(settings, &name, &*group.0)?;
    let mut session = trial::Session {
        settings,
        limits: &limits,
        launch: &launch,
        group: &mut *group.0,
        cgroup_missing: missing,
        counters: settings.counters.then(counters::Counters::open),
        signals,
        input: (settings.serve || settings.lifeline).then(|| serve::Input::new(settings.serve)),
        foreign,
        told_to_end: false,
    };
    for repetition in 0..settings.repeat {
        let mut record = session.trial((settings.repeat > 1).then_some(repetition))?;
        let is_last = repetition + 1 == settings.repeat || session.told_to_end || !record.leftover.is_empty();
        if is_last {
            record.leftover.extend(session.group.remove());
        }
        report(settings, &record).map_err(Failure::cannot("cannot write the result"))?;
        if is_last {
            break;
        }
    }
    Ok(session.told_to_end)
}

/// A group that is removed even if the measurement fails.
struct Guarded(Box<dyn cgroup::Group>);

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.remove();
    }
}

fn report(settings: &Settings, record: &result::Record) -> io::Result<()> {
    if settings.serve {
        serve::tell("end", clock::seconds_between(record.start_ns, clock::now_ns()), record)
    } else if settings.json {
        jsonl::write_line(&mut io::stdout().lock(), record)
    } else {
        eprint!("{}", human::summary(record));
        Ok(())
    }
}
