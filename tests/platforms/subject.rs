//! A program to be hosted: it does one known thing, on Linux and in Wasm. Built by plain rustc, without any crate.

use std::io::Write;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| arguments[at].parse::<f64>().expect("a number");
    say("startup");
    match arguments[0].as_str() {
        "echo" => echo(&arguments),
        "file" => file(&arguments[1], &arguments[2]),
        "burn" => burn(number(1)),
        "spin" => spin(number(1)),
        "touch" => touch(number(1) as usize, number(2)),
        "pulse" => pulse(number(1), number(2)),
        "stubborn" => {
            signals::ignore();
            say("ready");
            sleep_forever();
        }
        other => panic!("no such thing: {other}"),
    }
    say("finish");
}

fn say(text: &str) {
    println!("@bakeoff {text}");
    std::io::stdout().flush().expect("standard output");
}

/// Says its arguments and one variable, and ends with the first argument as its exit code.
fn echo(arguments: &[String]) {
    let words = arguments[2..].join(" ");
    let variable = std::env::var("SUBJECT").unwrap_or_default();
    say(&format!("result {{\"words\": \"{words}\", \"variable\": \"{variable}\"}}"));
    std::process::exit(arguments[1].parse().expect("an exit code"));
}

/// Writes a text to a file, appends to it, and says what it then reads.
fn file(path: &str, text: &str) {
    std::fs::write(path, text).expect("writing");
    let mut open = std::fs::OpenOptions::new().append(true).open(path).expect("opening");
    open.write_all(text.as_bytes()).expect("appending");
    let read = std::fs::read_to_string(path).expect("reading");
    say(&format!("result {{\"read\": \"{read}\"}}"));
}

/// Keeps a CPU busy until this process's own CPU clock has gone on by so many seconds.
fn burn(seconds: f64) {
    while clock::cpu_seconds() < seconds {
        std::hint::black_box((0..10_000u64).sum::<u64>());
    }
}

/// Keeps a CPU busy for so many seconds, and for so many steps: on a busy machine time alone may mean no work at all.
fn spin(seconds: f64) {
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut steps = 0u64;
    while steps < 30_000_000 || Instant::now() < end {
        for _ in 0..10_000 {
            steps = std::hint::black_box(steps + 1);
        }
    }
}

/// Writes to every page of so many MiB, and holds them for so many seconds.
fn touch(mebibytes: usize, seconds: f64) {
    let mut memory = vec![0u8; mebibytes << 20];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    std::hint::black_box(&memory);
}

/// Is ready, waits for so many seconds, works for so many, and then waits until it is stopped.
fn pulse(wait: f64, work: f64) {
    signals::obey();
    say("ready");
    std::thread::sleep(Duration::from_secs_f64(wait));
    spin(work);
    say("idle");
    sleep_forever();
}

fn sleep_forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

#[cfg(unix)]
mod clock {
    #[repr(C)]
    struct Time {
        seconds: i64,
        nanoseconds: i64,
    }

    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut Time) -> i32;
    }

    /// CPU time of this process.
    pub fn cpu_seconds() -> f64 {
        let mut time = Time { seconds: 0, nanoseconds: 0 };
        // SAFETY: the place is valid, and CLOCK_PROCESS_CPUTIME_ID is 2 on Linux.
        unsafe { clock_gettime(2, &raw mut time) };
        time.seconds as f64 + time.nanoseconds as f64 / 1e9
    }
}

#[cfg(unix)]
mod signals {
    unsafe extern "C" {
        fn signal(number: i32, handler: usize) -> usize;
        fn _exit(code: i32) -> !;
    }

    const TERM: i32 = 15;

    extern "C" fn end(_: i32) {
        // SAFETY: _exit may be called in a handler.
        unsafe { _exit(0) }
    }

    /// Ends at SIGTERM, also as the first process of a namespace, which the kernel would else protect from it.
    pub fn obey() {
        // SAFETY: the handler only ends the process.
        unsafe { signal(TERM, end as *const () as usize) };
    }

    /// Does not care for SIGTERM.
    pub fn ignore() {
        // SAFETY: 1 is SIG_IGN.
        unsafe { signal(TERM, 1) };
    }
}

#[cfg(not(unix))]
mod clock {
    /// Wasm has no such clock everywhere.
    pub fn cpu_seconds() -> f64 {
        panic!("no CPU clock here")
    }
}

#[cfg(not(unix))]
mod signals {
    /// Wasm has no signals.
    pub fn obey() {}

    /// Wasm has no signals.
    pub fn ignore() {}
}
