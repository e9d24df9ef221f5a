//! What is measured when a module does as it should, in every engine.

mod common;

use common::{Module, engines, number};

/// Opens `name` (in memory at 16, so long) in the first preopened folder and puts the descriptor at 8.
fn open(length: usize, flags: i32) -> String {
    format!(
        "(drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 16) (i32.const {length}) (i32.const {flags})
            (i64.const 0x42) (i64.const 0) (i32.const 0) (i32.const 8)))"
    )
}

#[test]
fn each_phase_has_its_own_time() {
    for engine in engines() {
        // The three loops differ tenfold, so that times in the wrong place would show.
        let spin = |rounds: u32| {
            format!(
                "(local.set 0 (i32.const {rounds}))
                 (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))"
            )
        };
        let body = format!(
            "(local i32) {} (call $startup) {} (call $finish) {}",
            spin(400_000),
            spin(4_000_000),
            spin(40_000)
        );
        let told = Module::start(&body).run(&["--engine", &engine, "--replications", "3", "--warm-up", "1"]);
        assert_eq!(told.module["engine"], engine.as_str());
        assert!(number(&told.module, "compile_s") > 0.0 && number(&told.module, "link_s") > 0.0);
        assert_eq!(told.replications.len(), 4);
        for (index, one) in told.replications.iter().enumerate() {
            assert_eq!((&one["index"], &one["warm_up"]), (&index.into(), &(index == 0).into()));
            assert_eq!(
                (&one["outcome"], &one["exit"], &one["phase"]),
                (&"exited".into(), &0.into(), &"shutdown".into())
            );
            let [startup, execution, shutdown] =
                ["startup_s", "execution_s", "shutdown_s"].map(|key| number(one, key));
            assert!(execution > 2.0 * startup, "{engine}: {one}");
            let sum = number(one, "instantiate_s") + startup + execution + shutdown;
            assert!(
                sum <= number(one, "total_s") && number(one, "entry_s") < number(one, "total_s"),
                "{engine}: {one}"
            );
            assert_eq!(one["memory_high_water_bytes"], 65_536);
            assert!(one["resident_bytes"].as_u64().unwrap() > 1 << 20);
        }
        let own = &told.end["calibration"];
        assert!(number(own, "startup_s") > 0.0 && number(own, "first_startup_s") > 0.0, "{own}");
        assert_eq!(own["within_bound"], number(own, "startup_s") <= number(own, "startup_bound_s"));
    }
}

#[test]
fn a_module_without_markers_has_the_time_of_its_entry() {
    let module = Module::of(&wat::parse_str(r#"(module (func (export "_start")))"#).unwrap());
    for engine in engines() {
        let told = module.run(&["--engine", &engine]);
        let one = told.one();
        assert_eq!((&told.module["markers"], &one["outcome"]), (&false.into(), &"exited".into()), "{engine}");
        assert!(one["startup_s"].is_null() && one["execution_s"].is_null() && one["shutdown_s"].is_null());
        assert!(number(one, "entry_s") > 0.0);
    }
}

#[test]
fn it_writes_and_the_output_is_kept_apart() {
    let module = Module::new(
        r#"(data (i32.const 32) "hello\n") (data (i32.const 16) " \00\00\00\06\00\00\00")
           (func (export "_start") (call $startup)
               (drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8)))
               (drop (call $fd_write (i32.const 2) (i32.const 16) (i32.const 1) (i32.const 8)))
               (call $finish) (call $exit (i32.const 7)))"#,
    );
    for engine in engines() {
        let told = module.run(&["--engine", &engine]);
        let one = told.one();
        assert_eq!((&one["outcome"], &one["exit"]), (&"exited".into(), &7.into()), "{engine}: {one}");
        for stream in ["stdout", "stderr"] {
            assert_eq!(one["outputs"][stream]["text"], "hello\n");
            assert_eq!(one["outputs"][stream]["bytes"], 6);
        }
        assert!(one["wasi"].is_null(), "a timed run counts nothing");
    }
}

#[test]
fn calls_are_counted_in_a_run_without_times() {
    let write = "(drop (call $fd_write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8)))";
    let wrong = "(drop (call $fd_write (i32.const 99) (i32.const 16) (i32.const 1) (i32.const 8)))";
    let module = Module::new(&format!(
        r#"(data (i32.const 32) "hello\n") (data (i32.const 16) " \00\00\00\06\00\00\00")
           (func (export "_start") (call $startup) {write} {write} {wrong} (call $finish) (call $exit (i32.const 0)))"#
    ));
    for engine in engines() {
        let told = module.run(&["--engine", &engine, "--count-calls"]);
        let one = told.one();
        let wasi = &one["wasi"];
        assert_eq!(wasi["calls"], serde_json::json!({"fd_write": 3, "proc_exit": 1}), "{engine}");
        assert_eq!(wasi["errors"], serde_json::json!({"fd_write": 1}));
        assert_eq!((&wasi["bytes_written"], &wasi["bytes_read"]), (&12.into(), &0.into()));
        for key in ["instantiate_s", "startup_s", "execution_s", "shutdown_s", "entry_s", "total_s"] {
            assert!(one[key].is_null(), "{key}");
        }
        assert!(told.module["compile_s"].is_null() && told.end["calibration"].is_null());
        assert_eq!(told.module["timed"], false);
    }
}

#[test]
fn files_are_read_and_written_in_a_fresh_folder_each_time() {
    // Reads 4 bytes of in.txt and writes them to out.txt; a file from an earlier replication would make it trap.
    let module = Module::new(&format!(
        r#"(data (i32.const 16) "in.txt") (data (i32.const 64) "\80\00\00\00\04\00\00\00")
           (func (export "_start") (call $startup)
               {} (drop (call $fd_read (i32.load (i32.const 8)) (i32.const 64) (i32.const 1) (i32.const 12)))
               (i64.store (i32.const 16) (i64.const 0x7478742e74756f)) ;; out.txt
               (if (call $path_open (i32.const 3) (i32.const 0) (i32.const 16) (i32.const 7) (i32.const 5)
                   (i64.const 0x42) (i64.const 0) (i32.const 0) (i32.const 8)) (then unreachable))
               (drop (call $fd_write (i32.load (i32.const 8)) (i32.const 64) (i32.const 1) (i32.const 12)))
               (call $finish))"#,
        open(6, 0)
    ));
    let input = module.folder().join("in.txt");
    std::fs::write(&input, "abcdef").unwrap();
    let scratch = module.folder().join("scratch");
    let (input, place) = (input.to_str().unwrap(), scratch.to_str().unwrap());
    for engine in engines() {
        let options = ["--engine", &engine, "--fresh-dir", ".", "--copy", input, "--replications", "2"];
        let told =
            module.run(&[&options[..], &["--scratch", place, "--check", "grep -x abcd out.txt"]].concat());
        for one in &told.replications {
            assert_eq!((&one["exit"], &one["check"]["exit"]), (&0.into(), &0.into()), "{engine}: {one}");
        }
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0, "fresh folders go");
        let told = module.run(
            &[&options[..], &["--scratch", place, "--check", "cmp {dir}/in.txt {dir}/out.txt"]].concat(),
        );
        assert_eq!(told.replications[0]["check"]["exit"], 1);
        let counted = module.run(&[&options[..6], &["--count-calls"]].concat());
        let wasi = &counted.one()["wasi"];
        assert_eq!(
            (&wasi["bytes_read"], &wasi["bytes_written"], &wasi["calls"]["path_open"]),
            (&4.into(), &4.into(), &2.into())
        );
        let kept = module.folder().join(&engine);
        let told = module.run(&[&options[..], &["--keep", kept.to_str().unwrap()]].concat());
        assert_eq!(told.replications[1]["files"], kept.join("replication-1").to_str().unwrap());
        assert_eq!(std::fs::read_to_string(kept.join("replication-1/out.txt")).unwrap(), "abcd");
    }
}

#[test]
fn arguments_and_environment_are_given() {
    let module = Module::start(
        "(drop (call $args_sizes (i32.const 0) (i32.const 4))) (drop (call $environ_sizes (i32.const 8) (i32.const 12)))
         (call $exit (i32.add (i32.mul (i32.load (i32.const 0)) (i32.const 10)) (i32.load (i32.const 8))))",
    );
    for engine in engines() {
        let told = module.run(&["--engine", &engine, "--arg", "-x", "--arg", "y", "--env", "A=1"]);
        assert_eq!(told.one()["exit"], 31, "{engine}");
    }
}

#[test]
fn a_reactor_is_initialised_before_its_entry() {
    let module = Module::new(
        r#"(global $n (mut i32) (i32.const 0))
           (func (export "_initialize") (global.set $n (i32.const 42)))
           (func (export "run") (result i64) (call $startup) (call $finish) (call $exit (global.get $n)) (i64.const 1))"#,
    );
    for engine in engines() {
        let told = module.run(&["--engine", &engine, "--entry", "run"]);
        assert_eq!(told.one()["exit"], 42, "{engine}");
        assert!(number(told.one(), "startup_s") > 0.0);
    }
}

#[test]
fn stubs_stand_in_for_javascript() {
    let module = Module::of(
        &wat::parse_str(
            r#"(module (import "canonical_abi" "resource_new_x" (func $new (param i32) (result i32)))
               (import "rb-js-abi-host" "global-this: func() -> handle<js-abi-value>" (func $this (result i32)))
               (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
               (memory (export "memory") 1)
               (func (export "_start") (call $exit (i32.add (call $new (i32.const 5)) (call $this)))))"#,
        )
        .unwrap(),
    );
    for engine in engines() {
        assert_eq!(module.run(&["--engine", &engine, "--stubs", "js"]).one()["exit"], 5, "{engine}");
        assert_eq!(module.run(&["--engine", &engine]).ending().0, "refused", "{engine}");
    }
}

#[test]
fn fuel_is_the_same_each_time_where_it_is_counted() {
    let module = Module::start("(call $startup) (drop (i32.add (i32.const 1) (i32.const 2))) (call $finish)");
    for engine in engines().iter().filter(|engine| !engine.starts_with("wasmer")) {
        let told = module.run(&["--engine", engine, "--fuel", "--replications", "2"]);
        let fuel: Vec<u64> = told.replications.iter().map(|one| one["fuel"].as_u64().unwrap()).collect();
        assert!(fuel[0] > 0 && fuel[0] == fuel[1], "{engine}: {fuel:?}");
    }
}

#[test]
fn memory_is_seen_at_its_most() {
    let module = Module::start("(drop (memory.grow (i32.const 9))) (call $startup) (call $finish)");
    for engine in engines() {
        assert_eq!(
            module.run(&["--engine", &engine]).one()["memory_high_water_bytes"],
            10 * 65_536,
            "{engine}"
        );
    }
}
