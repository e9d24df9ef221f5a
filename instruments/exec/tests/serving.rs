//! Serving mode: orders, phases, events.

mod common;

use common::{SUBJECT, cgroup_modes, exec, lives, number};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Stdio};

/// A served tree under test. It is told to end when the test ends, however that is.
struct Served {
    child: Child,
    events: Lines<BufReader<ChildStdout>>,
}

impl Served {
    fn start(options: &[&str], command: &[&str]) -> Self {
        let options = [&["--serve", "--grace", "200ms"], options].concat();
        let mut command = exec(&options, command);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let events = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, events }
    }

    fn order(&mut self, order: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{order}").unwrap();
    }

    /// The next event of this name; others in between are passed over.
    fn await_event(&mut self, name: &str) -> Value {
        for line in self.events.by_ref() {
            let event: Value = serde_json::from_str(&line.unwrap()).unwrap();
            assert!(event["t_s"].is_number(), "{event}");
            if event["event"] == name {
                return event;
            }
        }
        panic!("no event {name}");
    }

    fn exit_code(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
fn phases_are_cut_where_they_are_ordered() {
    for mode in cgroup_modes() {
        // A worker that burns CPU time when it is told to, and holds what it allocates.
        let worker = "import sys, time\nprint('@bakeoff startup {\"ready\": true}', flush=True)\nheld = []\n\
             while True:\n  t = time.process_time()\n  time.sleep(0.02)\n  \
             import os\n  if os.path.exists(sys.argv[1]):\n    os.remove(sys.argv[1])\n    held.append(bytearray(b'x') * (64 << 20))\n    \
             t = time.process_time()\n    while time.process_time() < t + 0.5: pass\n    print('@bakeoff worked', flush=True)\n";
        let flag = std::env::temp_dir().join(format!("bakeoff-serve-{mode}-{}", std::process::id()));
        let flag = flag.to_str().unwrap();
        let mut served =
            Served::start(&["--cgroup", mode, "--sample", "50ms"], &["python3", "-c", worker, flag]);
        let pid = served.await_event("started")["pid"].as_i64().unwrap();
        assert_eq!(served.await_event("marker")["data"], json!({"ready": true}));
        served.order(&json!({"order": "phase", "name": "work"}));
        let start = served.await_event("phase");
        assert_eq!((&start["name"], number(&start, "start_s")), (&"start".into(), 0.0));
        std::fs::write(flag, "").unwrap();
        assert_eq!(served.await_event("marker")["name"], "worked");
        served.order(&json!({"order": "phase", "name": "idle"}));
        let work = served.await_event("phase");
        assert_eq!(work["name"], "work");
        assert_eq!(work["start_s"], start["end_s"]);
        assert!((0.45..0.7).contains(&number(&work, "cpu_s")), "{work}");
        let grown = number(&work, "memory_peak_bytes") - number(&start, "memory_now_bytes");
        assert!((grown / f64::from(1 << 20) - 64.0).abs() < 6.0 || mode == "v2", "{grown} in {work}");
        served.order(&json!({"order": "snapshot"}));
        let snapshot = served.await_event("snapshot");
        assert!(number(&snapshot, "cpu_s") >= number(&work, "cpu_s"), "{snapshot}");
        assert_eq!(number(&snapshot, "start_s"), 0.0);
        served.order(&json!({"order": "dance"}));
        assert!(served.await_event("error")["message"].is_string());
        served.order(&json!({"order": "stop"}));
        let end = served.await_event("end");
        assert_eq!((&end["outcome"], &end["signal"]), (&"stopped".into(), &libc::SIGTERM.into()), "{end}");
        assert!(end["stop_s"].is_number());
        let names: Vec<&str> =
            end["phases"].as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["start", "work", "idle"]);
        let sum: f64 = end["phases"].as_array().unwrap().iter().map(|phase| number(phase, "cpu_s")).sum();
        assert!((sum - number(&end, "cpu_s")).abs() < 0.05, "{end}");
        assert!(end["killed"].as_array().unwrap().is_empty());
        assert!(!lives(pid));
        assert_eq!(served.exit_code(), Some(0));
    }
}

impl Served {
    /// Closes our end of its standard input.
    fn hang_up(&mut self) {
        drop(self.child.stdin.take());
    }
}

#[test]
fn the_end_of_input_is_a_stop() {
    let mut served = Served::start(&[], &[SUBJECT, "stubborn"]);
    served.await_event("marker");
    served.hang_up();
    let end = served.await_event("end");
    assert_eq!(end["outcome"], "stopped");
    assert_eq!(end["killed"][0]["signal"], "KILL");
    assert!(number(&end, "stop_s") >= 0.2);
    assert_eq!(served.exit_code(), Some(0));
}

#[test]
fn a_root_that_ends_by_itself_is_told() {
    let mut served = Served::start(&[], &["sh", "-c", "exit 4"]);
    assert_eq!(served.await_event("exited")["exit"], 4);
    let end = served.await_event("end");
    assert_eq!((&end["outcome"], &end["exit"]), (&"exited".into(), &4.into()));
    assert_eq!(end["phases"].as_array().unwrap().len(), 1);
}

#[test]
fn a_cut_costs_little() {
    let mut served = Served::start(&["--sample", "0"], &[SUBJECT, "stubborn"]);
    served.await_event("marker");
    let mut widths = Vec::new();
    for index in 0..50 {
        let before = std::time::Instant::now();
        served.order(&json!({"order": "phase", "name": index.to_string()}));
        served.await_event("phase");
        widths.push(before.elapsed());
    }
    widths.sort();
    // There and back again; the bound is far above what a quiet machine needs.
    assert!(widths[25].as_millis() < 20, "{:?}", widths[25]);
    eprintln!("a cut, there and back: {:?} in the median", widths[25]);
}
