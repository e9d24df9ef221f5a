//! One replication: a fresh store and instance, the entry called, everything dropped, each step stamped.

use crate::engine::{Instance, Module};
use crate::host::{Host, Shared};
use crate::report::{Outcome, Outputs, Replication};
use crate::ruby;
use crate::stop::Stop;
use crate::timeline::Point;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// An export, after `_initialize` if the module is a reactor.
    Export {
        /// Its name.
        name: String,
        /// Whether the module wants to be initialised first.
        initialize: bool,
    },
    /// A CRuby without JavaScript, and the texts that it evaluates.
    Ruby(Vec<String>),
}

impl Entry {
    /// What to call of a module with these exports.
    pub fn of(exports: &[String], name: &str, stubs: bool, args: &[String]) -> Self {
        let has = |wanted: &str| exports.iter().any(|export| export == wanted);
        if stubs && has(ruby::INIT) {
            return Self::Ruby(args.to_vec());
        }
        Self::Export {
            name: name.to_owned(),
            initialize: has("_initialize") && !matches!(name, "_start" | "_initialize"),
        }
    }
}

/// How a replication ended, and the fuel that it used.
pub struct Ended {
    /// None if the entry returned.
    pub stop: Option<Stop>,
    /// Fuel used, if it was counted.
    pub fuel: Option<u64>,
}

/// Runs the module once. All points are stamped, whatever happens, save those that the module itself did not reach.
pub fn run(module: &dyn Module, host: Host, entry: &Entry, shared: &Shared) -> Ended {
    let caught = catch_unwind(AssertUnwindSafe(|| steps(module, host, entry, shared)));
    caught.unwrap_or_else(|_| Ended {
        stop: Some(Stop::Fault("the engine panicked; its words are on standard error".to_owned())),
        fuel: None,
    })
}

fn steps(module: &dyn Module, host: Host, entry: &Entry, shared: &Shared) -> Ended {
    let timeline = &shared.timeline;
    timeline.stamp(Point::Begin);
    let mut instance = match module.instantiate(host) {
        Ok(instance) => instance,
        Err(stop) => return Ended { stop: Some(stop), fuel: None },
    };
    timeline.stamp(Point::Instantiated);
    let stop = enter(&mut *instance, entry, shared).err();
    timeline.stamp(Point::Returned);
    let fuel = instance.fuel();
    drop(instance);
    timeline.stamp(Point::Dropped);
    Ended { stop, fuel }
}

fn enter(instance: &mut dyn Instance, entry: &Entry, shared: &Shared) -> Result<(), Stop> {
    match entry {
        Entry::Export { name, initialize } => {
            instance.bind(name)?;
            shared.timeline.stamp(Point::Called);
            if *initialize {
                instance.call("_initialize", &[])?;
            }
            instance.enter()
        }
        Entry::Ruby(texts) => {
            shared.timeline.stamp(Point::Called);
            ruby::run(instance, texts)
        }
    }
}

/// What the record needs to know beside the timeline.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Which replication it is.
    pub index: u32,
    /// Whether it is a warm-up.
    pub warm_up: bool,
    /// Whether the module has markers.
    pub markers: bool,
    /// Whether times are taken.
    pub timed: bool,
    /// Whether WASI calls are counted.
    pub counting: bool,
}

/// The record of a replication, from what is known of it; `ended` is None if it was not over in time.
pub fn record(context: Context, shared: &Shared, ended: Option<&Ended>) -> Replication {
    let timeline = &shared.timeline;
    let phase = timeline.phase(context.markers);
    let (outcome, exit, reason) = match ended.map(|ended| &ended.stop) {
        None | Some(Some(Stop::Interrupted)) => {
            (Outcome::Timeout, None, Some("its time was over".to_owned()))
        }
        Some(None) => (Outcome::Exited, Some(0), None),
        Some(Some(Stop::Exit(code))) => (Outcome::Exited, Some(*code), None),
        Some(Some(Stop::Trap(text))) => (Outcome::Trapped, None, Some(text.clone())),
        Some(Some(Stop::Refused(text))) => (Outcome::Refused, None, Some(text.clone())),
        Some(Some(Stop::Fault(text))) => (Outcome::Fault, None, Some(text.clone())),
    };
    let refused = shared.memory.was_refused();
    let badly = matches!(outcome, Outcome::Trapped | Outcome::Refused) || exit.is_some_and(|code| code != 0);
    let (outcome, reason) = match reason {
        reason if refused && badly => {
            let ended = reason.unwrap_or_else(|| format!("it ended with {}", exit.unwrap_or_default()));
            (Outcome::MemoryLimit, Some(format!("it was refused memory beyond the limit: {ended}")))
        }
        reason => (outcome, reason),
    };
    let seconds = |from, to| context.timed.then(|| timeline.seconds(from, to)).flatten();
    Replication {
        event: "replication",
        index: context.index,
        warm_up: context.warm_up,
        outcome,
        phase,
        reason,
        exit,
        instantiate_s: seconds(Point::Begin, Point::Instantiated),
        startup_s: seconds(Point::Called, Point::Startup),
        execution_s: seconds(Point::Startup, Point::Finish),
        shutdown_s: seconds(Point::Finish, Point::Dropped),
        entry_s: seconds(Point::Called, Point::Returned),
        total_s: seconds(Point::Begin, Point::Dropped),
        memory_high_water_bytes: shared.memory.high_water(),
        memory_refused: refused,
        resident_bytes: resident(),
        fuel: ended.and_then(|ended| ended.fuel),
        wasi: context.counting.then(|| shared.counts().clone()),
        outputs: Outputs { stdout: shared.stdout.record(), stderr: shared.stderr.record() },
        files: None,
        check: None,
    }
}

/// Resident memory of this process, in bytes.
pub fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: sysconf has no preconditions.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    Some(pages * u64::try_from(page).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reactors_are_initialised_and_commands_are_not() {
        let exports = ["_initialize".to_owned(), "run".to_owned()];
        let entry = |name| match Entry::of(&exports, name, false, &[]) {
            Entry::Export { initialize, .. } => initialize,
            Entry::Ruby(_) => panic!(),
        };
        assert!(entry("run") && !entry("_start") && !entry("_initialize"));
    }

    #[test]
    fn ruby_is_known_by_its_export_and_wants_stubs() {
        let exports = [ruby::INIT.to_owned()];
        let texts = ["1".to_owned()];
        assert_eq!(Entry::of(&exports, "_start", true, &texts), Entry::Ruby(texts.to_vec()));
        assert!(matches!(Entry::of(&exports, "_start", false, &texts), Entry::Export { .. }));
    }

    #[test]
    fn a_refusal_of_memory_is_the_reason_only_of_a_bad_end() {
        let shared = Shared::default();
        shared.memory.may_grow(0, 10, None, Some(5));
        let context = Context { index: 0, warm_up: false, markers: true, timed: true, counting: false };
        let outcome = |stop| record(context, &shared, Some(&Ended { stop, fuel: None })).outcome;
        assert_eq!(outcome(None), Outcome::Exited);
        assert_eq!(outcome(Some(Stop::Exit(0))), Outcome::Exited);
        assert_eq!(outcome(Some(Stop::Exit(3))), Outcome::MemoryLimit);
        assert_eq!(outcome(Some(Stop::Trap(String::new()))), Outcome::MemoryLimit);
        assert_eq!(outcome(Some(Stop::Interrupted)), Outcome::Timeout);
    }

    #[test]
    fn this_process_has_memory() {
        assert!(resident().unwrap() > 1 << 16);
    }
}
