//! Hostile servers: each is classified, in bounded memory, in time, on both wires.

mod support;

use std::time::Instant;

use serde_json::json;
use support::{Server, measure};

/// The most memory this process (server and load together) may ever have had.
const MEMORY: u64 = 512 << 20;

fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Four requests to `path` end in `class`, within `seconds`.
fn check(path: &str, class: &str, timeout: f64, seconds: f64) {
    let server = Server::start();
    for backend in ["epoll", "uring"] {
        let began = Instant::now();
        let job = json!({
            "url": server.url(path), "connections": 2, "requests": 4, "duration": 5, "timeout": timeout,
            "threads": 1, "backend": backend, "request": {"check": {"max_body": 16 << 20}},
        });
        let result = &measure(job)[0];
        let errors = &result["errors"];
        assert_eq!(result["ok"], 0, "{path} on {backend}: {result}");
        assert_eq!(errors[class], result["errors_total"], "{path} on {backend}: {errors}");
        assert!(errors[class].as_u64().unwrap() >= 4, "{path} on {backend}: {errors}");
        let took = began.elapsed().as_secs_f64();
        assert!(took < seconds, "{path} on {backend} took {took} s");
    }
    assert!(peak_memory() < MEMORY, "{} bytes", peak_memory());
}

#[test]
fn garbage() {
    check("/garbage", "malformed", 2.0, 5.0);
}

#[test]
fn an_endless_head() {
    check("/endless", "malformed", 2.0, 5.0);
}

#[test]
fn one_byte_a_second() {
    check("/drip", "timeout", 1.5, 10.0);
}

#[test]
fn no_answer() {
    check("/silent", "timeout", 0.5, 5.0);
}

#[test]
fn a_reset_in_the_middle() {
    check("/reset", "reset", 2.0, 5.0);
}

#[test]
fn a_length_too_long() {
    check("/short", "closed_early", 2.0, 5.0);
}

#[test]
fn a_length_too_short() {
    check("/long", "malformed", 2.0, 5.0);
}

#[test]
fn an_early_close() {
    check("/early", "closed_early", 2.0, 5.0);
}

#[test]
fn a_body_without_end() {
    check("/huge", "wrong_body", 5.0, 15.0);
}

#[test]
fn a_second_response_that_nobody_asked_for() {
    check("/pipelined", "malformed", 2.0, 5.0);
}

#[test]
fn a_wrong_status() {
    check("/status/500", "wrong_status", 2.0, 5.0);
}
