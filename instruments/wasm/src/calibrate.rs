//! What the evaluator itself costs: an empty module that calls `startup` and `finish` at once, in the same engine.

use crate::engine::{Engine, Module};
use crate::host::{Gift, Host};
use crate::replicate::{self, Entry};
use crate::report::Calibration;
use crate::timeline::Point;

/// Most that the evaluator may add to a start-up, in seconds.
pub const BOUND_S: f64 = 0.5e-6;
/// Replications of the empty module that count.
const REPLICATIONS: usize = 201;
/// Replications before the measured module: they bring the evaluator's own code into memory, and no part of the module.
const TOUCHES: usize = 5;

/// `(module (import "bakeoff" "startup" (func)) (import "bakeoff" "finish" (func)) (memory (export "memory") 1)
/// (func (export "_start") call 0 call 1))`
const EMPTY: &[u8] = b"\0asm\x01\0\0\0\
    \x01\x04\x01\x60\0\0\
    \x02\x24\x02\x07bakeoff\x07startup\0\0\x07bakeoff\x06finish\0\0\
    \x03\x02\x01\0\
    \x05\x03\x01\0\x01\
    \x07\x13\x02\x06memory\x02\0\x06_start\0\x02\
    \x0a\x08\x01\x06\0\x10\0\x10\x01\x0b";

/// The empty module, and what its first replication brought.
pub struct Empty {
    module: Box<dyn Module>,
    first_startup_s: Option<f64>,
}

impl Empty {
    /// Compiles the empty module and runs it a few times. None if the engine does not take it, which the measured module
    /// will show.
    pub fn touch(engine: &dyn Engine) -> Option<Self> {
        let mut module = engine.compile(EMPTY).ok()?;
        module.link().ok()?;
        let mut empty = Self { module, first_startup_s: None };
        for _ in 0..TOUCHES {
            let [_, startup_s, ..] = empty.once()?;
            empty.first_startup_s.get_or_insert(startup_s);
        }
        Some(empty)
    }

    /// Measures the evaluator.
    pub fn measure(&self) -> Option<Calibration> {
        let samples: Option<Vec<[f64; 4]>> = (0..REPLICATIONS).map(|_| self.once()).collect();
        let samples = samples?;
        let rank = |phase: usize, share: f64| {
            let mut values: Vec<f64> = samples.iter().map(|sample| sample[phase]).collect();
            values.sort_by(f64::total_cmp);
            values[((values.len() - 1) as f64 * share).round() as usize]
        };
        let startup_s = rank(1, 0.5);
        Some(Calibration {
            replications: REPLICATIONS,
            instantiate_s: rank(0, 0.5),
            startup_s,
            execution_s: rank(2, 0.5),
            shutdown_s: rank(3, 0.5),
            first_startup_s: self.first_startup_s?,
            startup_p90_s: rank(1, 0.9),
            startup_bound_s: BOUND_S,
            within_bound: startup_s <= BOUND_S,
        })
    }

    /// Seconds of instantiate, startup, execution and shutdown of one replication.
    fn once(&self) -> Option<[f64; 4]> {
        let host = Host::new(&Gift::default()).ok()?;
        let shared = host.shared.clone();
        let entry = Entry::Export { name: "_start".to_owned(), initialize: false };
        replicate::run(&*self.module, host, &entry, &shared);
        let seconds = |from, to| shared.timeline.seconds(from, to);
        Some([
            seconds(Point::Begin, Point::Instantiated)?,
            seconds(Point::Called, Point::Startup)?,
            seconds(Point::Startup, Point::Finish)?,
            seconds(Point::Finish, Point::Dropped)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_module_is_what_its_text_says() {
        let text = r#"(module (import "bakeoff" "startup" (func)) (import "bakeoff" "finish" (func))
            (memory (export "memory") 1) (func (export "_start") call 0 call 1))"#;
        assert_eq!(wat::parse_str(text).unwrap(), EMPTY);
    }
}
