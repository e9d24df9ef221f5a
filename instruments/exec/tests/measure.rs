//! Figures of programs whose true figures are known.

mod common;

use common::{SUBJECT, cgroup_modes, exec, number, result};
use serde_json::Value;

fn within(value: f64, wanted: f64, part: f64, context: &Value) {
    assert!((value - wanted).abs() <= wanted * part, "{value} is not {wanted} within {part}: {context}");
}

#[test]
fn a_second_of_cpu_time_is_a_second() {
    for mode in cgroup_modes() {
        let result = result(&["--cgroup", mode], &[SUBJECT, "burn", "1.0"]);
        within(number(&result, "cpu_s"), 1.0, 0.02, &result);
        within(
            number(&result, "user_s") + number(&result, "system_s"),
            number(&result, "cpu_s"),
            1e-6,
            &result,
        );
        assert!(number(&result, "wall_s") >= 1.0);
        assert_eq!(result["accounting"]["cgroup"], mode);
    }
}

#[test]
fn all_threads_and_processes_count() {
    for mode in cgroup_modes() {
        let script = format!("{SUBJECT} threads 3 0.1 & {SUBJECT} burn 0.2; wait");
        let result = result(&["--cgroup", mode, "--sample", "10ms"], &["sh", "-c", &script]);
        within(number(&result, "cpu_s"), 0.5, 0.06, &result);
        assert!(number(&result, "peak_processes") >= 2.0, "{result}");
    }
}

#[test]
fn what_nobody_waits_for_counts_where_there_is_a_group() {
    for mode in cgroup_modes().into_iter().filter(|mode| *mode != "none") {
        let script = format!("trap '' CHLD; {SUBJECT} burn 0.3 & wait");
        let python = format!(
            "import signal, subprocess\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n\
             subprocess.Popen(['{SUBJECT}', 'burn', '0.3']).wait()"
        );
        let shell = result(&["--cgroup", mode], &["sh", "-c", &script]);
        assert!(number(&shell, "cpu_s") >= 0.3, "{shell}");
        let result = result(&["--cgroup", mode], &["python3", "-c", &python]);
        assert!(number(&result, "cpu_s") >= 0.3, "{result}");
    }
}

#[test]
fn touched_memory_is_seen() {
    for mode in cgroup_modes() {
        for hold in ["0", "0.35"] {
            let result = result(&["--cgroup", mode], &[SUBJECT, "touch", "200", hold]);
            within(number(&result, "peak_memory_bytes"), (200 << 20) as f64, 0.02, &result);
            assert!(number(&result, "minor_page_faults") > 0.0);
        }
    }
}

#[test]
fn page_cache_is_not_memory_of_the_tree() {
    let folder = std::env::temp_dir().join(format!("bakeoff-cache-{}", std::process::id()));
    let script = format!("dd if=/dev/zero of={}/big bs=1M count=64 2>/dev/null", folder.display());
    let result = result(&["--scratch", folder.to_str().unwrap()], &["sh", "-c", &script]);
    assert!(number(&result, "peak_memory_bytes") < (16 << 20) as f64, "{result}");
    assert!(!folder.exists());
}

#[test]
fn the_series_grows() {
    for mode in cgroup_modes() {
        let result = result(&["--cgroup", mode, "--sample", "20ms"], &[SUBJECT, "burn", "0.4"]);
        let cpu = result["series"]["cpu_s"].as_array().unwrap();
        assert!(cpu.len() >= 5, "{result}");
        assert!(cpu.windows(2).all(|pair| pair[0].as_f64() <= pair[1].as_f64()));
        for column in ["t_s", "memory_bytes", "processes"] {
            assert_eq!(result["series"][column].as_array().unwrap().len(), cpu.len());
        }
    }
}

#[test]
fn the_series_keeps_what_has_ended() {
    // First one that nobody waits for, while another lives on; then many that end and are waited for.
    let unwaited = format!("{SUBJECT} burn 0.2 & exec sleep 0.6");
    let many = format!("for _ in $(seq 30); do {SUBJECT} burn 0.01 & done; wait");
    for mode in cgroup_modes() {
        for script in [&unwaited, &many] {
            let result = result(&["--cgroup", mode, "--sample", "5ms"], &["sh", "-c", script]);
            let cpu: Vec<f64> = result["series"]["cpu_s"]
                .as_array()
                .unwrap()
                .iter()
                .map(|value| value.as_f64().unwrap())
                .collect();
            assert!(cpu.is_sorted(), "{mode}: {cpu:?}");
            let last = *cpu.last().unwrap();
            assert!(last > 0.1 && last <= number(&result, "cpu_s") + 0.02, "{mode}: {last} in {result}");
        }
    }
}

#[test]
fn counters_count_or_say_why_not() {
    let result = result(&["--counters"], &[SUBJECT, "burn", "0.2"]);
    match &result["counters"] {
        Value::Null => assert!(result["counters_missing"].is_string()),
        counters => match counters["instructions"].as_f64() {
            Some(count) => assert!(count > 1e6, "{counters}"),
            None => assert!(result["counters_missing"].as_str().unwrap().contains("instructions")),
        },
    }
}

#[test]
fn repetitions_stand_alone() {
    for mode in cgroup_modes() {
        let output =
            exec(&["--json", "--repeat", "3", "--cgroup", mode], &[SUBJECT, "burn", "0.1"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let results: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(results.len(), 3);
        for (index, result) in results.iter().enumerate() {
            assert_eq!(result["repetition"], index);
            within(number(result, "cpu_s"), 0.1, 0.1, result);
        }
    }
}

#[test]
fn much_output_passes_with_little_memory() {
    let folder = std::env::temp_dir().join(format!("bakeoff-output-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("out");
    let options = ["--stdout", file.to_str().unwrap(), "--log-limit", "100KiB"];
    let result = result(&options, &[SUBJECT, "print", "256"]);
    assert!(number(&result["stdout"], "bytes") > (256 << 20) as f64);
    assert_eq!(result["stdout"]["kept_bytes"], 100 << 10);
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept.starts_with("@bakeoff start\nxxx") && kept.contains("bytes dropped"));
    assert!(kept.trim_end().ends_with("@bakeoff finish {\"mebibytes\": 256}"));
    let names: Vec<&str> =
        result["markers"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["start", "finish"]);
    assert_eq!(result["markers"][1]["data"]["mebibytes"], 256);
    std::fs::remove_dir_all(folder).unwrap();
}
