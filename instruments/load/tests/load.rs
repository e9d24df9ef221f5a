//! The load itself, against a real server over real sockets.

mod support;

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use support::{Server, flags, measure, try_measure};

const BACKENDS: [&str; 2] = ["epoll", "uring"];

/// All arrivals of an open loop: a busy machine may keep us from sending the last ones, which are counted too.
fn arrivals(result: &Value) -> u64 {
    result["requests"].as_u64().unwrap() + result["arrivals_unsent"].as_u64().unwrap()
}

fn hello(server: &Server, backend: &str) -> Value {
    json!({
        "url": server.url("/ok"), "connections": 4, "requests": 500, "threads": 2, "backend": backend,
        "request": {"check": {"body": "hello"}},
    })
}

#[test]
fn a_number_of_requests_is_exactly_made() {
    for backend in BACKENDS {
        let server = Server::start();
        let result = &measure(hello(&server, backend))[0];
        assert_eq!((&result["requests"], &result["ok"]), (&json!(500), &json!(500)), "{result}");
        assert_eq!(server.requests.load(Ordering::Relaxed), 500);
        assert_eq!(result["backend"], backend);
        assert_eq!(result["connects"], 4);
        assert_eq!(result["latency_us"]["count"], 500);
        assert_eq!(result["send_lag_us"]["max"], 0);
        assert!(result["cpu_seconds"].as_f64().unwrap() > 0.0);
        for key in ["mean", "p50", "p90", "p95", "p99", "p99.9", "p99.99", "max"] {
            assert!(result["service_us"][key].is_number(), "{key}");
        }
    }
}

#[test]
fn every_framing_is_understood() {
    for backend in BACKENDS {
        for path in ["/ok", "/chunked", "/continue", "/old"] {
            let server = Server::start();
            let mut job = hello(&server, backend);
            job["url"] = json!(server.url(path));
            job["requests"] = json!(50);
            let result = &measure(job)[0];
            assert_eq!(result["ok"], 50, "{path} on {backend}: {result}");
            let connects = result["connects"].as_u64().unwrap();
            assert_eq!(connects >= 50, path == "/old", "{path}: {connects} connections");
        }
    }
}

#[test]
fn a_connection_for_each_request() {
    for backend in BACKENDS {
        let server = Server::start();
        let mut job = hello(&server, backend);
        job["keepalive"] = json!(false);
        job["source"] = json!(["127.0.0.2", "127.0.0.3"]);
        let result = &measure(job)[0];
        assert_eq!(result["ok"], 500, "{backend}: {result}");
        assert!(result["connects"].as_u64().unwrap() >= 500);
    }
}

#[test]
fn the_open_loop_keeps_its_rate() {
    for backend in BACKENDS {
        for spacing in ["constant", "poisson"] {
            let server = Server::start();
            let mut job = hello(&server, backend);
            job["requests"] = Value::Null;
            job["rate"] = json!(400);
            job["duration"] = json!(1.5);
            job["spacing"] = json!(spacing);
            let result = &measure(job)[0];
            assert_eq!(result["errors_total"], 0, "{result}");
            let ok = arrivals(result) as f64;
            let spread = if spacing == "constant" { 2.0 } else { 5.0 * 600f64.sqrt() };
            assert!((ok - 600.0).abs() <= spread, "{spacing} on {backend}: {result}");
            assert_eq!(result["service_us"]["count"], result["ok"]);
        }
    }
}

#[test]
fn response_time_counts_from_the_intended_time() {
    // One connection and 20 ms a request can do 50 a second; 100 are asked for. The service time stays, the response
    // time grows as the queue does.
    for backend in BACKENDS {
        let server = Server::start();
        let job = json!({
            "url": server.url("/delay/20"), "connections": 1, "max_connections": 1, "rate": 100, "duration": 1,
            "threads": 1, "backend": backend,
        });
        let result = &measure(job)[0];
        let at = |spans: &str, key: &str| result[spans][key].as_u64().unwrap();
        assert!(at("service_us", "p50") >= 20_000, "{result}");
        assert!(at("latency_us", "p90") > 2 * at("service_us", "p50"), "{result}");
        assert!(at("latency_us", "max") > 250_000, "{result}");
        assert!(result["arrivals_unsent"].as_u64().unwrap() > 10, "{result}");
        let disturbed = flags(result).contains(&"generator_starved".to_owned());
        assert!(result["limit"] == "server" || disturbed, "{result}");
        for flag in ["rate_not_reached", "send_lag", "arrivals_unsent"] {
            assert!(flags(result).contains(&flag.to_owned()), "{flag}: {result}");
        }
    }
}

#[test]
fn the_open_loop_adds_connections() {
    for backend in BACKENDS {
        let server = Server::start();
        let job = json!({
            "url": server.url("/delay/100"), "connections": 1, "rate": 100, "duration": 1, "threads": 1,
            "backend": backend,
        });
        let result = &measure(job)[0];
        assert_eq!((arrivals(result), &result["errors_total"]), (100, &json!(0)), "{result}");
        assert!(result["connections"].as_u64().unwrap() >= 8, "{result}");
        assert!(result["arrivals_waited"].as_u64().unwrap() >= 5, "{result}");
    }
}

#[test]
fn timeouts_count_with_their_value() {
    let server = Server::start();
    let job = json!({
        "url": server.url("/silent"), "connections": 2, "duration": 0.5, "timeout": 0.2, "threads": 1,
    });
    let result = &measure(job)[0];
    let errors = result["errors"]["timeout"].as_u64().unwrap();
    assert!(errors >= 4, "{result}");
    assert_eq!(result["latency_us"]["count"], errors);
    assert!(result["latency_us"]["p50"].as_u64().unwrap().abs_diff(200_000) <= 200, "{result}");
    assert!(flags(result).contains(&"errors".to_owned()));
}

#[test]
fn steps_come_one_after_the_other() {
    let server = Server::start();
    let job = json!({
        "url": server.url("/ok"), "connections": [1, 3], "duration": 0.3, "warm_up": 0.1, "histograms": true,
        "intervals": true,
    });
    let results = measure(job);
    assert_eq!(results.len(), 2);
    assert_eq!((&results[0]["connections"], &results[1]["connections"]), (&json!(1), &json!(3)));
    assert!(results[1]["histograms"]["latency_us"].as_str().unwrap().len() > 20);
    let points = |name: &str| results[1]["series"][name].as_array().unwrap().len();
    assert_eq!(points("histogram"), points("t_s"));
    assert!(results.iter().all(|result| result["ok"].as_u64().unwrap() > 10));
}

#[test]
fn rates_are_answers_over_the_length_of_their_interval_also_after_the_step() {
    let server = Server::start();
    let job = json!({
        "url": server.url("/delay/150"), "connections": 2, "duration": 0.25, "interval": 0.1, "threads": 1,
    });
    let result = &measure(job)[0];
    let numbers = |name: &str| -> Vec<f64> {
        result["series"][name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    assert_eq!(numbers("t_s"), [0.1, 0.2, 0.25, 0.35], "{result}");
    assert_eq!(numbers("rate"), [0.0, 20.0, 0.0, 20.0], "{result}");
    assert_eq!(result["ok"], 4);
}

#[test]
fn templates_are_mixed_and_filled_in() {
    let server = Server::start();
    let job = json!({
        "url": server.url("/"), "connections": 2, "requests": 400,
        "templates": [
            {"path": "/ok", "weight": 3, "check": {"body": "hello"}},
            {"method": "POST", "path": "/echo/${counter}", "body": "${hex:6}", "check": {"length": 6}},
            {"path": "/nothing", "check": {"status": [404], "length": 0}},
        ],
    });
    assert_eq!(measure(job)[0]["ok"], 400);
}

#[test]
fn wrong_bodies_are_seen() {
    let server = Server::start();
    let digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    for (check, right) in [
        (json!({"sha256": digest}), true),
        (json!({"sha256": digest.replace('2', "3")}), false),
        (json!({"body": "hallo"}), false),
        (json!({"length": 4}), false),
    ] {
        let mut job = hello(&server, "auto");
        job["request"]["check"] = check.clone();
        let result = &measure(job)[0];
        let key = if right { &result["ok"] } else { &result["errors"]["wrong_body"] };
        assert_eq!(key, 500, "{check}: {result}");
    }
}

#[test]
fn requests_larger_than_the_socket_are_written_in_pieces() {
    let server = Server::start();
    let body = "0123456789".repeat(1 << 20);
    for backend in BACKENDS {
        let job = json!({
            "url": server.url("/echo"), "connections": 1, "requests": 2, "backend": backend, "timeout": 20,
            "request": {"method": "POST", "body": body, "check": {"body": body}},
        });
        let result = &measure(job)[0];
        assert_eq!(result["ok"], 2, "{backend}: {result}");
    }
}

#[test]
fn nobody_there() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let result = &measure(json!({"url": format!("http://{free}/"), "connections": 2, "duration": 1}))[0];
    assert_eq!((&result["connects"], &result["ok"]), (&json!(0), &json!(0)));
    assert!(result["connect_failures"]["refused"].as_u64().unwrap() > 0);
}

#[test]
fn load_goes_only_to_this_machine() {
    let error = try_measure(json!({"url": "http://192.0.2.1/"})).unwrap_err();
    assert!(error.contains("--allow-remote"), "{error}");
}
