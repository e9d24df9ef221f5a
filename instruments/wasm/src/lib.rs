//! The instrument `bakeoff-wasm`.
//!
//! It runs a Wasm module in an embedded engine and times each phase: compiling, instantiating, start-up (until the module
//! calls the host function `startup`), execution (until it calls `finish`) and shutdown. [`session`] is the course of a run,
//! [`replicate`] that of one replication; [`engine`] is the seam behind which the engines are; [`wasi`] is the one host that
//! all of them give to the module.

pub mod args;
pub mod calibrate;
pub mod counts;
pub mod engine;
pub mod files;
pub mod host;
pub mod human;
pub mod kept;
pub mod output;
pub mod replicate;
pub mod report;
pub mod ruby;
pub mod session;
pub mod stop;
pub mod stubs;
pub mod teller;
pub mod timeline;
pub mod wasi;
pub mod watchdog;

use args::Settings;
use bakeoff_share::failure::Failure;
use clap::{Parser, ValueEnum};
use std::process::ExitCode;
use std::sync::Arc;
use teller::Teller;

/// The exit code when a signal told us to end.
const TOLD_TO_END: i32 = 130;

/// Runs the program on this process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    let settings = Settings::parse();
    let done =
        if settings.engines { tell_engines() } else { settings.check().and_then(|()| measure(&settings)) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("bakeoff-wasm: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

fn measure(settings: &Settings) -> Result<(), Failure> {
    let current = session::Current::default();
    let theirs = Arc::clone(&current);
    let told = move || {
        session::remove(&theirs);
        // SAFETY: _exit has no preconditions. Nothing is unwound: the module may be running on another thread.
        unsafe { libc::_exit(TOLD_TO_END) };
    };
    ctrlc::set_handler(told).map_err(Failure::cannot("cannot take over signals"))?;
    // Entering the runtime that WASI waits in starts its threads: once, before anything is timed.
    wasmtime_wasi::runtime::with_ambient_tokio_runtime(|| {
        session::measure(settings, &Teller::new(settings.json), &current)
    })
}

/// One JSON object: the engines of this build with their versions.
fn tell_engines() -> Result<(), Failure> {
    let engines: serde_json::Map<_, _> =
        engine::Kind::value_variants().iter().map(|kind| (kind.name(), kind.version().into())).collect();
    let record = serde_json::json!({
        "instrument": "bakeoff-wasm", "version": env!("CARGO_PKG_VERSION"), "engines": engines,
    });
    bakeoff_share::jsonl::write_line(&mut std::io::stdout().lock(), &record)
        .map_err(Failure::cannot("cannot write the result"))
}
