//! The inner group: what a client puts there is the system, and the client itself is not counted.

mod common;

use common::{SUBJECT, cgroup_modes, exec, groups_of, last_line, number, result};
use serde_json::Value;

/// A shell command that moves itself into the inner group and becomes the subject.
fn inside(subject: &str) -> String {
    format!(
        "(for folder in /sys/fs/cgroup$BAKEOFF_GROUP /sys/fs/cgroup/*$BAKEOFF_GROUP; do \
         if [ -d $folder ]; then sh -c 'echo $PPID' > $folder/cgroup.procs; fi; done; exec {SUBJECT} {subject})"
    )
}

fn modes() -> Vec<&'static str> {
    cgroup_modes().into_iter().filter(|mode| *mode != "none").collect()
}

fn run(mode: &str, script: &str) -> Value {
    result(&["--inner-group", "--cgroup", mode, "--sample", "20ms"], &["sh", "-c", script])
}

#[test]
fn only_what_is_inside_counts() {
    for mode in modes() {
        let result = run(mode, &format!("{SUBJECT} burn 0.5; {}", inside("burn 0.4")));
        let cpu = number(&result, "cpu_s");
        assert!((0.39..0.44).contains(&cpu), "{cpu}: {result}");
        let both = number(&result, "user_s") + number(&result, "system_s");
        assert!((both - cpu).abs() < 1e-6, "{result}");
        assert_eq!(result["accounting"]["cgroup"], mode);
        assert!(result["accounting"]["inner_group"].is_string(), "{result}");
    }
}

#[test]
fn only_memory_that_is_inside_counts() {
    for mode in modes() {
        let result = run(mode, &format!("{SUBJECT} touch 200 0; {}", inside("touch 60 0.2")));
        let peak = number(&result, "peak_memory_bytes") / f64::from(1 << 20);
        assert!((59.0..64.0).contains(&peak), "{peak}: {result}");
        assert!(number(&result, "minor_page_faults") > 0.0, "{result}");
    }
}

#[test]
fn limits_hold_what_is_inside() {
    let limits = |mode: &&str| {
        exec(&["--json", "--cgroup", mode, "--memory", "64MiB"], &["true"]).output().unwrap().status.success()
    };
    for mode in modes().into_iter().filter(limits) {
        let options = ["--inner-group", "--cgroup", mode, "--memory", "64MiB", "--sample", "10ms"];
        let free = result(&options, &["sh", "-c", &format!("{SUBJECT} touch 200 0")]);
        assert_eq!((free["outcome"].as_str(), free["exit"].as_i64()), (Some("exited"), Some(0)), "{free}");
        let held = result(&options, &["sh", "-c", &inside("touch 200 0")]);
        assert_eq!(held["outcome"], "memory_limit", "{held}");
    }
}

#[test]
fn groups_that_others_make_are_removed() {
    for mode in modes() {
        let made = "mkdir -p /sys/fs/cgroup/pids$BAKEOFF_GROUP/below 2>/dev/null; true";
        let child = exec(&["--inner-group", "--cgroup", mode, "--json"], &["sh", "-c", made])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = child.id();
        let result = last_line(&child.wait_with_output().unwrap());
        assert_eq!(result["leftover"].as_array().unwrap().len(), 0, "{result}");
        assert!(groups_of(pid).is_empty(), "{:?}", groups_of(pid));
    }
}

#[test]
fn without_a_group_there_is_no_inner_one() {
    let output = exec(&["--inner-group", "--cgroup", "none"], &["true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--inner-group"));
}
