//! The instrument `bakeoff-load`: puts an HTTP server under load and measures it.
//!
//! A [`job::Job`] (flags or JSON) becomes a checked [`plan::Plan`] of steps. Each step runs on threads that share nothing
//! while it lasts: each has its own connections, arrivals, random numbers and histograms. What to send, what is right and
//! what to record is decided by a [`worker::Worker`], which does no input or output; an engine carries it out. Each second
//! a thread hands its record over, and [`run`] merges them. [`doubt`] says why a result may not mean what it says.
//!
//! Three clocks a request: *intended* (when it was due), *sent* (the write; the connect, where the request has a connection
//! of its own), *last byte*. Response time is from intended to last byte, service time from sent to last byte, send lag
//! from intended to sent.
//!
//! The engine runs over a wire: [`wire_epoll`] or [`wire_uring`]; HTTP/2 has an engine of its own, [`engine_h2`]. Memory
//! does not grow with the length of a run or of a body: a connection costs about 0.3 KB on epoll and up to 2 KB on io_uring
//! (its share of the provided buffers), and at most 128 KB while a head comes in pieces.
//!
//! A connection for each request is closed by us as soon as its response is whole. If the server has not closed before,
//! the port rests in TIME_WAIT for 60 s, but on loopback the kernel uses it again after 1 s (tcp_tw_reuse of tcp(7) is 2
//! by default). Where 28,000 ports are too few, `--source` multiplies them and `--reset-close` frees each at once; running out
//! is an error class and a flag.

pub mod args;
pub mod arrivals;
pub mod backend;
pub mod buffers;
pub mod check;
pub mod clock;
pub mod connection;
pub mod doubt;
pub mod engine;
pub mod engine_h2;
mod engine_load;
pub mod errors;
pub mod exchange;
pub mod h2_connection;
pub mod head;
pub mod intervals;
pub mod job;
pub mod lane;
pub mod limits;
pub mod output;
pub mod plan;
pub mod random;
pub mod recorder;
pub mod reports;
pub mod response;
pub mod result;
pub mod run;
pub mod socket;
pub mod stamp;
pub mod stop;
pub mod target;
pub mod template;
pub mod tls;
pub mod usage;
pub mod wire_epoll;
pub mod wire_uring;
pub mod worker;

use std::process::ExitCode;

use clap::Parser;

use crate::output::{Form, Output};
use crate::run::Ending;

/// Runs the program on this process's arguments and returns its exit code.
pub fn main() -> ExitCode {
    ExitCode::from(program(std::env::args_os()))
}

/// Runs the program on the arguments given, of which the first is its own name, and returns its exit code.
pub fn program(arguments: impl Iterator<Item = std::ffi::OsString>) -> u8 {
    let args = match args::Args::try_parse_from(arguments) {
        Ok(args) => args,
        Err(error) => {
            // If standard output is closed there is nobody to tell.
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    if args.job_example {
        println!("{}", serde_json::to_string_pretty(&job::example()).unwrap_or_default());
        return 0;
    }
    let form = match (args.events || args.job.is_some(), args.json) {
        (true, _) => Form::Events,
        (false, true) => Form::Steps,
        (false, false) => Form::Text,
    };
    let lifeline = args.lifeline;
    match args.into_job().and_then(plan::Plan::new) {
        Ok(plan) => {
            stop::watch(lifeline);
            carry_out(plan, Output { form })
        }
        Err(message) => {
            eprintln!("bakeoff-load: {message}");
            2
        }
    }
}

fn carry_out(plan: plan::Plan, output: Output) -> u8 {
    match run::run(plan, output) {
        Ending::Measured => {
            output.end("measured");
            0
        }
        Ending::Stopped => {
            output.end("stopped");
            130
        }
        Ending::Impossible(reason) => {
            eprintln!("bakeoff-load: {reason}");
            output.end("impossible");
            3
        }
    }
}
