//! The program as people and the lab start it: arguments, output, exit codes. This test binary starts itself as the program.

mod support;

use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::Server;

/// Names the arguments, one a line, for the process that is the program.
const ARGUMENTS: &str = "BAKEOFF_LOAD_TEST_ARGUMENTS";

/// Not a test of its own: the program, in the process that [`start`] starts.
#[test]
fn program() {
    if let Ok(arguments) = std::env::var(ARGUMENTS) {
        // The harness has begun a line.
        println!();
        let arguments = std::iter::once("bakeoff-load").chain(arguments.lines()).map(Into::into);
        let code = bakeoff_load::program(arguments.collect::<Vec<_>>().into_iter());
        std::process::exit(i32::from(code));
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["program", "--exact", "--nocapture", "--test-threads=1"])
        .env(ARGUMENTS, arguments.join("\n"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(arguments: &[&str], stdin: &str) -> Output {
    let mut child = command(arguments).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// The JSON objects on standard output; the test harness writes other lines around them.
fn objects(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn json_is_one_object_a_step() {
    let server = Server::start();
    let output = run(&[&server.url("/ok"), "-c", "1,2", "-d", "300ms", "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let steps = objects(&output);
    assert_eq!(steps.len(), 2);
    assert!(steps.iter().all(|step| step["event"] == "step" && step["errors_total"] == 0));
}

#[test]
fn a_summary_for_people() {
    let server = Server::start();
    let output = run(&[&server.url("/status/503"), "-c", "1", "-n", "5"], "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "HTTP errors are measured");
    assert!(text.contains("wrong_status: 5") && text.contains("FLAG"), "{text}");
}

#[test]
fn a_job_gives_events() {
    let server = Server::start();
    let job = format!(r#"{{"url": "{}", "connections": 2, "duration": "1200ms"}}"#, server.url("/ok"));
    let output = run(&["--job", "-", "--json"], &job);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let events = objects(&output);
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let progress = names.iter().filter(|&&name| name == "progress").count();
    assert_eq!(names[..2], ["started", "step_started"]);
    assert!(names[2..2 + progress].iter().all(|&name| name == "progress"), "{names:?}");
    assert_eq!(names[2 + progress..], ["step", "end"]);
    // Answers that come after the step's end have an interval of their own: whether there are any, the machine decides.
    let ends: Vec<f64> = events.iter().filter_map(|event| event["t_s"].as_f64()).collect();
    assert_eq!(ends[..2], [1.0, 1.2]);
    assert!(ends[2..].iter().all(|&end| end > 1.2), "{ends:?}");
}

#[test]
fn bad_usage_is_named() {
    for (arguments, flag) in [
        (&["http://127.0.0.1:1/", "-c", "0"][..], "--connections"),
        (&["http://127.0.0.1:1/", "-r", "1,2", "-c", "1,2"], "--rate"),
        (&["http://192.0.2.1/"], "--allow-remote"),
        (&["https://127.0.0.1:1/"], "--ca"),
        (&["ftp://127.0.0.1/"], "URL"),
        (&["http://127.0.0.1:1/", "--bogus"], "--bogus"),
        (&["http://127.0.0.1:1/", "-b", "${nope}"], "${nope}"),
    ] {
        let output = run(arguments, "");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(message.contains(flag), "{arguments:?}: {message}");
    }
}

#[test]
fn nobody_there_is_not_measured() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for more in [&[][..], &["--no-keepalive"], &["--http", "2"]] {
        let url = format!("http://{free}/");
        let output = run(&[&[url.as_str(), "-c", "2", "--json"], more].concat(), "");
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("nothing could connect"), "{output:?}");
    }
}

#[test]
fn the_lifeline_and_signals_end_it() {
    let server = Server::start();
    let url = server.url("/ok");
    for by_signal in [false, true] {
        let began = Instant::now();
        let mut child = command(&[&url, "-c", "2", "-d", "30", "--json", "--lifeline"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let stdin = child.stdin.take();
        if by_signal {
            // SAFETY: no pointers; the process is our own child and not yet waited for.
            unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
        } else {
            drop(stdin);
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(began.elapsed() < Duration::from_secs(10));
        let step = &objects(&output)[0];
        assert!(step["ok"].as_u64().unwrap() > 0);
        assert!(support::flags(step).contains(&"interrupted".to_owned()));
    }
}

#[test]
fn the_example_of_a_job_is_a_job() {
    let output = run(&["--job-example"], "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let json = &text[text.find("{\n").unwrap()..=text.rfind('}').unwrap()];
    serde_json::from_str::<bakeoff_load::job::Job>(json).unwrap();
}
