//! A program to be measured: it does one known thing. `subject burn 1.0`, `subject touch 200`, …

use std::io::Write;
use std::time::{Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments[at].parse::<f64>().expect("a number");
    match arguments[1].as_str() {
        "burn" => burn(number(2)),
        "touch" => touch(number(2) as usize, number(3)),
        "print" => print(number(2) as usize),
        "daemon" => daemon(),
        "hydra" => hydra(),
        "headless" => headless(),
        "stubborn" => {
            ignore_signals();
            println!("@bakeoff startup");
            sleep_forever();
        }
        "threads" => threads(number(2) as usize, number(3)),
        other => panic!("no such thing: {other}"),
    }
}

/// Keeps a CPU busy until this process's own CPU clock has gone on by so many seconds.
fn burn(seconds: f64) {
    while cpu_seconds(libc::CLOCK_PROCESS_CPUTIME_ID) < seconds {
        std::hint::black_box((0..10_000u64).sum::<u64>());
    }
}

fn cpu_seconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid and the clock exists.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Writes to every page of so many MiB, and holds them for so many seconds.
fn touch(mebibytes: usize, seconds: f64) {
    let mut memory = vec![0u8; mebibytes << 20];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::thread::sleep(Duration::from_secs_f64(seconds));
    std::hint::black_box(&memory);
}

/// Prints so many MiB in lines, with a marker before and after.
fn print(mebibytes: usize) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "@bakeoff start").unwrap();
    let lines = [[b'x'; 63].as_slice(), b"\n"].concat().repeat(1 << 14);
    for _ in 0..mebibytes {
        out.write_all(&lines).unwrap();
    }
    writeln!(out, "@bakeoff finish {{\"mebibytes\": {mebibytes}}}").unwrap();
}

fn ignore_signals() {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: ignoring a signal has no preconditions.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

fn sleep_forever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(1000));
    }
}

/// Becomes a daemon that nothing but SIGKILL ends, and leaves it behind.
fn daemon() {
    // SAFETY: this process has one thread, and both children only sleep.
    unsafe {
        if libc::fork() == 0 {
            libc::setsid();
            if libc::fork() == 0 {
                ignore_signals();
                sleep_forever();
            }
            libc::_exit(0);
        }
        libc::wait(std::ptr::null_mut());
    }
}

/// Never lives long under one process id: it forks and ends, and so does its child, and so on, for a minute at most.
fn hydra() {
    ignore_signals();
    let end = Instant::now() + Duration::from_secs(60);
    // SAFETY: this process has one thread.
    unsafe {
        if libc::fork() == 0 {
            while Instant::now() < end {
                if libc::fork() > 0 {
                    libc::_exit(0);
                }
            }
            libc::_exit(0);
        }
    }
    std::thread::sleep(Duration::from_millis(50));
}

/// Leaves a child behind whose first thread has ended and whose second one sleeps: it looks like a zombie, and is none.
fn headless() {
    // SAFETY: this process has one thread.
    if unsafe { libc::fork() } == 0 {
        std::thread::spawn(|| std::thread::sleep(Duration::from_secs(60)));
        // SAFETY: it ends this thread, which holds nothing that the other one needs.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    }
    std::thread::sleep(Duration::from_millis(50));
}

/// So many threads that burn so many seconds of CPU time each.
fn threads(count: usize, seconds: f64) {
    let work = || {
        while cpu_seconds(libc::CLOCK_THREAD_CPUTIME_ID) < seconds {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
    };
    std::thread::scope(|scope| (0..count).for_each(|_| drop(scope.spawn(work))));
}
