//! Fibonacci numbers, for a platform that is to be judged by pure computing: one source for Linux and for WASI.
//!
//! `fib iterative N` adds up in a loop, in 64 bits that wrap around; `fib recursive N` calls itself twice.

use std::hint::black_box;
use std::io::Write;

fn main() {
    say("startup");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [method, n] = arguments.as_slice() else { panic!("fib iterative|recursive N") };
    let n: u64 = black_box(n.parse().expect("N is a whole number"));
    let value = match method.as_str() {
        "iterative" => iterative(n),
        "recursive" => recursive(n),
        other => panic!("{other} is no method; use iterative or recursive"),
    };
    say("finish");
    say(&format!("result {{\"value\": {value}}}"));
}

fn say(text: &str) {
    println!("@bakeoff {text}");
    std::io::stdout().flush().expect("standard output takes what is written");
}

/// The number at `n`, modulo two to the power of 64.
fn iterative(n: u64) -> u64 {
    let (mut this, mut next) = (0u64, 1u64);
    for _ in 0..n {
        (this, next) = (next, this.wrapping_add(next));
    }
    this
}

/// The number at `n`, by as many calls as it takes; never made a loop.
fn recursive(n: u64) -> u64 {
    if n < 2 { n } else { recursive(black_box(n - 1)) + recursive(black_box(n - 2)) }
}
