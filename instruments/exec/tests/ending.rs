//! How trees end, and that nothing of them is left.

mod common;

use common::{
    EXEC, Json, SUBJECT, cgroup_modes, eventually, exec, groups_of, last_line, lives, marked, number, result,
};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

/// An instrument that is told to end if a test fails before it has.
struct Running(Option<Child>);

impl Running {
    fn id(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    fn output(mut self) -> Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    fn kill(mut self) {
        let mut child = self.0.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            send(child.id(), libc::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// Starts the instrument on a stubborn subject and waits until the subject is up. The tag marks its processes.
fn start_stubborn(options: &[&str], tag: &str) -> (Running, i64) {
    let tagged = format!("BAKEOFF_TAG={tag}");
    let options = [&["--env", &tagged, "--grace", "100ms"], options].concat();
    let mut command = exec(&options, &[SUBJECT, "stubborn"]).with_json();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = Running(Some(command.spawn().unwrap()));
    eventually("the subject is up", || marked("BAKEOFF_TAG", tag).len() == 1);
    // It must have got as far as ignoring signals.
    let pid = marked("BAKEOFF_TAG", tag)[0];
    eventually("signals are ignored", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("SigIgn:") && line.ends_with("5007"))
    });
    (child, pid)
}

fn send(pid: u32, signal: i32) {
    // SAFETY: kill has no preconditions.
    unsafe { libc::kill(pid as i32, signal) };
}

#[test]
fn exit_codes_and_signals_are_told() {
    let result_of = |script: &str| result(&[], &["sh", "-c", script]);
    let exited = result_of("exit 7");
    assert_eq!((&exited["outcome"], &exited["exit"]), (&"exited".into(), &7.into()));
    assert!(exited["signal"].is_null());
    let signalled = result_of("kill -SEGV $$");
    assert_eq!((&signalled["outcome"], &signalled["signal"]), (&"signalled".into(), &11.into()));
    assert!(signalled["exit"].is_null());
}

#[test]
fn a_daemon_is_killed_when_the_root_ends() {
    for mode in cgroup_modes() {
        let result = result(&["--cgroup", mode, "--env", "BAKEOFF_TAG=daemon"], &[SUBJECT, "daemon"]);
        assert_eq!(result["outcome"], "exited");
        assert_eq!(result["killed"][0]["signal"], "KILL", "{result}");
        assert!(!lives(result["killed"][0]["pid"].as_i64().unwrap()));
        assert!(result["leftover"].as_array().unwrap().is_empty());
        assert!(marked("BAKEOFF_TAG", "daemon").is_empty());
    }
}

#[test]
fn what_forks_without_end_is_killed() {
    for mode in cgroup_modes().into_iter().filter(|mode| *mode != "none") {
        let result = result(&["--cgroup", mode, "--env", "BAKEOFF_TAG=hydra"], &[SUBJECT, "hydra"]);
        assert!(result["leftover"].as_array().unwrap().is_empty(), "{result}");
        assert!(marked("BAKEOFF_TAG", "hydra").is_empty());
    }
}

#[test]
fn a_process_without_its_first_thread_is_killed() {
    for mode in cgroup_modes() {
        let result = result(&["--cgroup", mode, "--env", "BAKEOFF_TAG=headless"], &[SUBJECT, "headless"]);
        assert_eq!(result["killed"][0]["signal"], "KILL", "{result}");
        assert!(result["leftover"].as_array().unwrap().is_empty(), "{result}");
    }
}

#[test]
fn a_timeout_ends_what_ignores_signals() {
    for mode in cgroup_modes() {
        let options = ["--cgroup", mode, "--timeout", "300ms", "--grace", "100ms"];
        let result = result(&options, &[SUBJECT, "stubborn"]);
        assert_eq!(result["outcome"], "timeout");
        assert_eq!(result["signal"], libc::SIGKILL);
        assert_eq!(result["killed"][0]["signal"], "KILL");
        let wall = number(&result, "wall_s");
        assert!((0.4..5.0).contains(&wall), "{wall}");
    }
}

#[test]
fn a_timeout_asks_first() {
    let result = result(&["--timeout", "200ms", "--grace", "20s"], &["sleep", "100"]);
    assert_eq!((&result["outcome"], &result["signal"]), (&"timeout".into(), &libc::SIGTERM.into()));
    assert_eq!(result["killed"][0]["signal"], "TERM");
    assert!(number(&result, "wall_s") < 10.0);
}

#[test]
fn a_memory_limit_is_an_outcome() {
    for mode in cgroup_modes().into_iter().filter(|mode| *mode != "none") {
        let output = exec(&["--cgroup", mode, "--memory", "64MiB"], &[SUBJECT, "touch", "200", "0"])
            .with_json()
            .output();
        let output = output.unwrap();
        if output.status.code() == Some(3) {
            continue; // This version cannot limit memory on this machine, and said so.
        }
        let result = last_line(&output);
        assert_eq!(result["outcome"], "memory_limit", "{result}");
        assert!(number(&result, "peak_memory_bytes") <= (64 << 20) as f64);
        assert_eq!(result["limits"]["memory_bytes"]["value"], 64 << 20);
    }
}

#[test]
fn a_signal_to_the_instrument_stops_the_tree() {
    for mode in cgroup_modes() {
        let tag = format!("term-{mode}");
        let (child, _) = start_stubborn(&["--cgroup", mode], &tag);
        let id = child.id();
        send(id, libc::SIGTERM);
        let output = child.output();
        assert_eq!(output.status.code(), Some(130));
        assert_eq!(last_line(&output)["outcome"], "stopped");
        assert!(marked("BAKEOFF_TAG", &tag).is_empty());
        assert!(groups_of(id).is_empty());
    }
}

#[test]
fn the_lifeline_stops_the_tree_and_the_scratch_goes() {
    let scratch = std::env::temp_dir().join(format!("bakeoff-lifeline-{}", std::process::id()));
    let (mut child, _) = start_stubborn(&["--lifeline", "--scratch", scratch.to_str().unwrap()], "lifeline");
    assert!(scratch.is_dir());
    drop(child.0.as_mut().unwrap().stdin.take());
    let output = child.output();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(last_line(&output)["outcome"], "stopped");
    assert!(marked("BAKEOFF_TAG", "lifeline").is_empty());
    assert!(!scratch.exists());
}

#[test]
fn a_killed_instrument_is_swept_up() {
    for mode in cgroup_modes() {
        let tag = format!("sweep-{mode}");
        let tagged = format!("BAKEOFF_TAG={tag}");
        let script = format!("{SUBJECT} daemon; sleep 100");
        let mut command = exec(&["--cgroup", mode, "--env", &tagged], &["sh", "-c", &script]);
        let child = Running(Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()));
        let id = child.id();
        let daemons = || {
            marked("BAKEOFF_TAG", &tag)
                .into_iter()
                .filter(|pid| {
                    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                    line.contains("daemon\0")
                })
                .count()
        };
        eventually("daemon and root are up", || marked("BAKEOFF_TAG", &tag).len() == 3 && daemons() == 1);
        // A sweep leaves alone what has a living owner.
        sweep();
        assert_eq!(marked("BAKEOFF_TAG", &tag).len(), 3);
        child.kill();
        // Another test's sweep may have done this one's work already.
        eventually("all is swept", || {
            sweep();
            marked("BAKEOFF_TAG", &tag).is_empty() && groups_of(id).is_empty()
        });
    }
}

fn sweep() -> serde_json::Value {
    let output = Command::new(EXEC).arg("--sweep").output().unwrap();
    assert!(output.status.success());
    last_line(&output)
}

#[test]
fn a_killed_instrument_takes_its_root_along() {
    let (child, pid) = start_stubborn(&["--cgroup", "none"], "pdeath");
    child.kill();
    eventually("the root is gone", || !lives(pid));
}

#[test]
fn what_cannot_run_says_so() {
    let code_and_text = |options: &[&str], command: &[&str]| {
        let output = exec(options, command).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = code_and_text(&[], &["no-such-program-here"]);
    assert!(code == 3 && text.contains("no-such-program-here"), "{text}");
    let (code, text) = code_and_text(&[], &["/dev/null"]);
    assert!(code == 3 && text.contains("/dev/null"), "{text}");
    let (code, text) = code_and_text(&["--cwd", "/nowhere"], &["true"]);
    assert!(code == 3 && text.contains("working directory"), "{text}");
    let (code, text) = code_and_text(&["--cgroup", "none", "--memory", "1GiB"], &["true"]);
    assert!(code == 3 && text.contains("--memory needs a control group"), "{text}");
    let (code, text) = code_and_text(&["--timeout", "5"], &["true"]);
    assert!(code == 2 && text.contains("--timeout") && text.contains("30s"), "{text}");
    let (code, text) = code_and_text(&["--cpus", "1000"], &["true"]);
    assert!(code == 3 && text.contains("--cpus"), "{text}");
}

#[test]
fn the_cpu_set_holds() {
    for mode in cgroup_modes() {
        let mut command =
            exec(&["--cgroup", mode, "--cpus", "0"], &["grep", "Cpus_allowed_list", "/proc/self/status"]);
        let output = command.output().unwrap();
        if output.status.code() == Some(3) {
            continue; // This version has no CPU sets on this machine, and said so.
        }
        assert!(String::from_utf8_lossy(&output.stderr).contains("Cpus_allowed_list:\t0\n"), "{output:?}");
    }
}

#[test]
fn hidden_groups_are_done_without() {
    let hide = "mount -t tmpfs none /sys/fs/cgroup && exec \"$@\"";
    let run = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-c", hide, "sh", EXEC, "--json"])
            .args(options)
            .args(["--", SUBJECT, "burn", "0.1"]);
        command.output().unwrap()
    };
    let output = run(&[]);
    if String::from_utf8_lossy(&output.stderr).contains("unshare") {
        return; // Not allowed here.
    }
    let result = last_line(&output);
    assert_eq!(result["accounting"]["cgroup"], "none");
    assert!(result["accounting"]["cgroup_missing"].is_string());
    assert!((number(&result, "cpu_s") - 0.1).abs() < 0.02, "{result}");
    let refused = run(&["--memory", "1GiB"]);
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--memory"));
}

#[test]
fn people_get_a_summary() {
    let mut child =
        exec(&[], &["echo", "hello"]).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: Vec<String> =
        BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok).collect();
    assert!(child.wait().unwrap().success());
    assert!(lines.contains(&"hello".to_owned()));
    assert!(lines.iter().any(|line| line.contains("wall") && line.ends_with(" s")), "{lines:?}");
}
