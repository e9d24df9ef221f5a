//! Tells the program the versions of the engines, as the lock file has them.

use std::fs;

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock lies beside Cargo.toml");
    for engine in ["wasmtime", "wasmi", "wasmer"] {
        let version = lock
            .split("[[package]]")
            .find(|package| package.lines().any(|line| line == format!("name = \"{engine}\"")))
            .and_then(|package| package.lines().find_map(|line| line.strip_prefix("version = \"")))
            .map_or("?", |rest| rest.trim_end_matches('"'));
        println!("cargo::rustc-env=VERSION_OF_{}={version}", engine.to_uppercase());
    }
}
