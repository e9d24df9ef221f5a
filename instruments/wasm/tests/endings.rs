//! How modules that do not do as they should end: each with a clear result, within its time.

mod common;

use common::{Module, WASM, engines, eventually};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn a_malformed_module_is_refused_when_it_is_compiled() {
    for bytes in [&b""[..], b"\0asm", b"\0asm\x01\0\0\0\x01\x7f", b"no module at all", &[0xff; 4096]] {
        let module = Module::of(bytes);
        for engine in engines() {
            let told = module.run(&["--engine", &engine]);
            let (outcome, phase, reason) = told.ending();
            assert_eq!((outcome, phase), ("refused", "compile"), "{engine}");
            assert!(!reason.is_empty() && told.end["complete"] == false, "{engine}");
        }
    }
}

#[test]
fn an_import_that_nobody_gives_is_named() {
    let text = r#"(module (import "env" "magic" (func)) (func (export "_start")))"#;
    let module = Module::of(&wat::parse_str(text).unwrap());
    for engine in engines() {
        let told = module.run(&["--engine", &engine]);
        let (outcome, phase, reason) = told.ending();
        assert_eq!(outcome, "refused", "{engine}");
        assert!(phase == "link" || phase == "instantiate", "{engine}: {phase}");
        assert!(reason.contains("magic"), "{engine}: {reason}");
    }
}

#[test]
fn a_missing_entry_is_named() {
    let module = Module::new(r#"(func (export "other")) (func (export "wanting") (param i32))"#);
    for engine in engines() {
        let told = module.run(&["--engine", &engine]);
        assert_eq!(told.ending().0, "refused", "{engine}");
        assert!(told.ending().2.contains("_start"), "{engine}");
        let told = module.run(&["--engine", &engine, "--entry", "wanting"]);
        assert!(told.ending().2.contains("wants arguments"), "{engine}");
    }
}

#[test]
fn a_trap_tells_its_phase() {
    let bodies = [
        ("unreachable", "startup"),
        ("(call $startup) unreachable", "execution"),
        ("(call $startup) (call $finish) unreachable", "shutdown"),
        ("(call $startup) (drop (i32.load (i32.const 0x7fffffff)))", "execution"),
        ("(call $startup) (drop (i32.div_s (i32.const 1) (i32.const 0)))", "execution"),
    ];
    for (body, wanted) in bodies {
        let module = Module::start(body);
        for engine in engines() {
            let told = module.run(&["--engine", &engine]);
            let (outcome, phase, reason) = told.ending();
            assert_eq!((outcome, phase), ("trapped", wanted), "{engine}: {body}");
            assert!(!reason.is_empty() && !reason.contains('\n'), "{engine}: {reason}");
        }
    }
}

#[test]
fn endless_recursion_is_a_trap() {
    let module = Module::new(r#"(func $deep (export "_start") (call $startup) (call $deep))"#);
    for engine in engines() {
        let told = module.run(&["--engine", &engine]);
        assert_eq!(told.ending().0, "trapped", "{engine}: {:?}", told.ending());
    }
}

#[test]
fn a_start_function_that_traps_ends_the_instantiation() {
    let module = Module::new(r#"(func $bad unreachable) (start $bad) (func (export "_start"))"#);
    for engine in engines() {
        let told = module.run(&["--engine", &engine]);
        assert_eq!((told.ending().0, told.ending().1), ("trapped", "instantiate"), "{engine}");
    }
}

#[test]
fn an_endless_module_ends_with_its_time() {
    for (body, wanted) in [
        ("(loop (br 0))", "startup"),
        ("(call $startup) (loop (br 0))", "execution"),
        ("(call $startup) (call $finish) (loop (br 0))", "shutdown"),
    ] {
        let module = Module::start(body);
        for engine in engines() {
            let began = Instant::now();
            let told = module.run(&["--engine", &engine, "--timeout", "200ms", "--replications", "3"]);
            assert_eq!((told.ending().0, told.ending().1), ("timeout", wanted), "{engine}");
            assert_eq!(told.end["complete"], false);
            assert!(began.elapsed() < Duration::from_secs(20), "{engine}");
        }
    }
}

#[test]
fn a_module_that_waits_for_ever_ends_with_its_time() {
    // One subscription to the monotonic clock, an hour away.
    let module = Module::new(
        r#"(data (i32.const 0) "\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\01\00\00\00\00\00\00\00\00\a0\b8\30\46\03\00\00")
           (func (export "_start") (call $startup)
               (drop (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128))))"#,
    );
    for engine in engines() {
        let mut options = vec!["--engine", &engine, "--timeout", "200ms"];
        assert_eq!(module.run(&options).ending().1, "execution", "{engine}");
        if engine.starts_with("wasmtime") {
            options.extend(["--interrupt", "engine"]);
            assert_eq!(
                module.run(&options).ending().0,
                "timeout",
                "{engine}: the process must help the engine"
            );
        }
    }
}

#[test]
fn an_engine_that_interrupts_goes_on_with_the_next_replication() {
    let module = Module::start("(call $startup) (loop (br 0))");
    for engine in engines().iter().filter(|engine| engine.starts_with("wasmtime")) {
        let told = module.run(&[
            "--engine",
            engine,
            "--timeout",
            "200ms",
            "--interrupt",
            "engine",
            "--replications",
            "2",
        ]);
        assert_eq!((told.replications.len(), &told.end["complete"]), (2, &true.into()), "{engine}");
        assert!(
            told.replications.iter().all(|one| one["outcome"] == "timeout" && one["phase"] == "execution")
        );
    }
}

#[test]
fn memory_is_limited() {
    let hungry = "(call $startup) (loop (br_if 0 (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) ";
    let falls = Module::start(&format!("{hungry} unreachable"));
    let copes = Module::start(&format!("{hungry} (call $finish)"));
    let large = Module::of(&wat::parse_str(r#"(module (memory 1000) (func (export "_start")))"#).unwrap());
    for engine in engines() {
        let options = ["--engine", &engine, "--memory-limit", "16MiB"];
        let told = falls.run(&options);
        assert_eq!(
            (told.ending().0, told.ending().1),
            ("memory_limit", "execution"),
            "{engine}: {:?}",
            told.ending()
        );
        assert!(told.one()["memory_high_water_bytes"].as_u64().unwrap() <= 16 << 20);
        let told = copes.run(&options);
        assert_eq!((told.ending().0, &told.one()["memory_refused"]), ("exited", &true.into()), "{engine}");
        let told = large.run(&options);
        assert_eq!(
            (told.ending().0, told.ending().1),
            ("memory_limit", "instantiate"),
            "{engine}: {:?}",
            told.ending()
        );
    }
}

#[test]
fn output_without_end_is_counted_and_not_kept() {
    let module = Module::new(
        r#"(data (i32.const 16) "\00\00\00\00\00\00\01\00")
           (func (export "_start") (local i32) (local.set 0 (i32.const 1000)) (call $startup)
               (loop (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8)))
                   (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
               (call $finish))"#,
    );
    let told = module.run(&[]);
    let stdout = &told.one()["outputs"]["stdout"];
    assert_eq!(stdout["bytes"], 1000 * 65_536);
    assert!(stdout["kept_bytes"].as_u64().unwrap() <= 64 << 10);
}

#[test]
fn bad_usage_ends_with_2_and_what_cannot_be_had_with_3() {
    let module = Module::start("");
    let path = module.path.to_str().unwrap();
    for words in [
        &[][..],
        &["--nothing"],
        &[path, "--engine", "no-such"],
        &[path, "--replications", "0"],
        &[path, "--timeout", "0"],
        &[path, "--copy", "x"],
        &[path, "--memory-limit", "1"],
    ] {
        let output = Command::new(WASM).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty());
    }
    for words in [
        &["/nowhere/module.wasm"][..],
        &[path, "--dir", "/nowhere:/x"],
        &[path, "--fresh-dir", ".", "--copy", "/nowhere/x"],
    ] {
        let output = Command::new(WASM).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere"), "{output:?}");
    }
}

#[test]
fn a_signal_ends_it_and_takes_the_fresh_folder_along() {
    let module = Module::start("(call $startup) (loop (br 0))");
    let scratch = module.folder().join("scratch");
    let options = ["--fresh-dir", ".", "--scratch", scratch.to_str().unwrap()];
    let folders = || std::fs::read_dir(&scratch).map_or(0, Iterator::count);
    let mut child = module.command(&options).stdout(Stdio::null()).spawn().unwrap();
    eventually("the fresh folder is there", || folders() == 1);
    // SAFETY: kill has no preconditions.
    unsafe { libc::kill(child.id() as i32, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(folders(), 0);
}

#[test]
fn a_timeout_takes_the_fresh_folder_along() {
    let module = Module::start("(call $startup) (loop (br 0))");
    let scratch = module.folder().join("scratch");
    let told =
        module.run(&["--fresh-dir", ".", "--scratch", scratch.to_str().unwrap(), "--timeout", "100ms"]);
    assert_eq!(told.ending().0, "timeout");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
}
