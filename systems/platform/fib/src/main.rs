//! Fibonacci numbers, for a platform that is to be judged by pure computing: one source for Linux and for WASI.
//!
//! `fib METHOD LOOPS DEPTH`: `iterative` adds up in so many loops, in 64 bits that wrap around; `recursive` calls itself twice,
//! down from the depth.

use std::hint::black_box;
use std::io::Write;

fn main() {
    say("startup");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [method, loops, depth] = arguments.as_slice() else { panic!("fib iterative|recursive LOOPS DEPTH") };
    let number = |text: &str| black_box(text.parse::<u64>().expect("a whole number"));
    let value = match method.as_str() {
        "iterative" => iterative(number(loops)),
        "recursive" => recursive(number(depth)),
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
