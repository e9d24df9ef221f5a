//! Compiled modules that are kept: the first process compiles, the later ones load, and all measure the same.

mod common;

use common::{Module, engines, number};
use std::fs;

#[test]
fn a_second_process_loads_what_the_first_has_compiled() {
    for engine in engines() {
        let kept = tempfile::tempdir().unwrap();
        let module = Module::start("(call $startup) (call $finish) (call $exit (i32.const 7))");
        let folder = kept.path().to_str().unwrap();
        let options = ["--engine", &engine, "--compiled", folder];
        let first = module.run(&options);
        assert!(number(&first.module, "compile_s") > 0.0, "{engine}");
        let files = fs::read_dir(kept.path()).unwrap().count();
        assert_eq!(files, usize::from(engine != "wasmi"), "{engine}: an interpreter keeps nothing");
        let second = module.run(&options);
        for told in [&first, &second] {
            assert_eq!((told.ending().0, &told.replications[0]["exit"]), ("exited", &7.into()), "{engine}");
            assert_eq!(told.module["load_s"].is_number(), engine != "wasmi", "{engine}");
        }
        assert_eq!(second.module["compile_s"].is_null(), engine != "wasmi", "{engine}");
        assert_eq!(fs::read_dir(kept.path()).unwrap().count(), files, "{engine}");
    }
}

#[test]
fn a_damaged_file_is_named_and_is_no_fault_of_the_module() {
    let kept = tempfile::tempdir().unwrap();
    let module = Module::start("(call $startup) (call $finish)");
    let options = ["--compiled", kept.path().to_str().unwrap()];
    module.run(&options);
    let file = fs::read_dir(kept.path()).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, b"no compiled module").unwrap();
    let told = module.run(&options);
    let (outcome, phase, reason) = told.ending();
    assert_eq!((outcome, phase), ("fault", "load"));
    assert!(reason.contains(file.to_str().unwrap()) && reason.contains("remove it"), "{reason}");
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let told = Module::start("(call $startup)").run(&["--compiled", "/no/such/folder"]);
    assert_eq!(told.ending().0, "fault");
    assert!(told.ending().2.contains("/no/such/folder"), "{:?}", told.ending());
}
