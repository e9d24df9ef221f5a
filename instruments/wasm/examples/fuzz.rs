//! Runs the instrument on modules that are wrong in all ways, for a bounded time: it must neither crash nor hang, and always
//! say how the module ended.
//!
//!     cargo run --release --example fuzz -- --seconds 600
//!
//! Modules come from `wasm-smith` (valid, arbitrary, with the host's imports), from small seeds, and from both with bytes
//! changed. Each is run by the real program in a process of its own. What goes wrong is kept in `fuzz-findings/`.

use anyhow::{Context, Result, bail};
use arbitrary::Unstructured;
use clap::Parser;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Time that one module may take in the instrument; its own time limit is a second.
const HANG: Duration = Duration::from_secs(20);

const IMPORTS: &str = r#"(module
    (import "bakeoff" "startup" (func)) (import "bakeoff" "finish" (func))
    (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_close" (func (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_readdir" (func (param i32 i32 i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open" (func (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))))"#;
const EXPORTS: &str = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;
const SEEDS: [&str; 3] = [
    r#"(module (import "bakeoff" "startup" (func $s)) (import "bakeoff" "finish" (func $f)) (memory (export "memory") 1)
        (func (export "_start") (local i32) (call $s) (loop (br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0)
        (i32.const 1))) (i32.const 1000)))) (call $f)))"#,
    r#"(module (import "wasi_snapshot_preview1" "fd_write" (func $w (param i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 2) (table 4 funcref) (elem (i32.const 0) $x) (data (i32.const 16) " \00\00\00\06\00\00\00")
        (func $x (drop (call $w (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 8))))
        (func (export "_start") (call_indirect (i32.const 0)) (drop (memory.grow (i32.const 1)))))"#,
    r#"(module (memory (export "memory") 1) (global (mut i64) (i64.const 7)) (func $deep (export "_start")
        (global.set 0 (i64.add (global.get 0) (i64.const 1))) (call $deep)))"#,
];

/// The options.
#[derive(Parser)]
struct Options {
    /// How long to go on
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Where chance begins; the same seed gives the same modules
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The instrument; the one of this build if not given
    #[arg(long)]
    program: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let options = Options::parse();
    let beside =
        std::env::current_exe()?.parent().and_then(Path::parent).context("no folder")?.join("bakeoff-wasm");
    let program = options.program.unwrap_or(beside);
    let told: Value = serde_json::from_slice(&Command::new(&program).arg("--engines").output()?.stdout)?;
    let engines: Vec<String> = told["engines"].as_object().context("engines")?.keys().cloned().collect();
    let folder = tempfile::tempdir()?;
    let (mut chance, mut ends, mut findings) = (Chance(options.seed), BTreeMap::new(), 0);
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut count = 0u64;
    while Instant::now() < end {
        let wasm = module(&mut chance)?;
        let engine = &engines[(count % engines.len() as u64) as usize];
        count += 1;
        match try_one(&program, engine, &wasm, folder.path()) {
            Ok(ending) => *ends.entry(format!("{engine}: {ending}")).or_insert(0u64) += 1,
            Err(error) => {
                findings += 1;
                std::fs::create_dir_all("fuzz-findings")?;
                let file = format!("fuzz-findings/{}-{count}.wasm", options.seed);
                std::fs::write(&file, &wasm)?;
                eprintln!("{file}: {engine}: {error:#}");
            }
        }
    }
    for (ending, number) in &ends {
        println!("{number:>8}  {ending}");
    }
    println!("{count} modules, {findings} findings");
    Ok(if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the instrument once; gives how the module ended, or what is wrong with the instrument.
fn try_one(program: &Path, engine: &str, wasm: &[u8], folder: &Path) -> Result<String> {
    let file = folder.join("module.wasm");
    std::fs::write(&file, wasm)?;
    let mut child = Command::new(program)
        .arg(&file)
        .args([
            "--json",
            "--engine",
            engine,
            "--timeout",
            "1s",
            "--memory-limit",
            "64MiB",
            "--fresh-dir",
            ".",
        ])
        .arg("--scratch")
        .arg(folder.join("scratch"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut output = child.stdout.take().context("a pipe")?;
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let end = Instant::now() + HANG;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill()?;
                child.wait()?;
                bail!("it hangs");
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    let text = reader.join().map_err(|_| anyhow::anyhow!("the reader panicked"))??;
    if status.code() != Some(0) {
        bail!("it ended with {status}");
    }
    let lines: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    if events != ["module", "replication", "end"] {
        bail!("it told {events:?}");
    }
    let one = &lines[1];
    let (outcome, phase) =
        (one["outcome"].as_str().context("outcome")?, one["phase"].as_str().context("phase")?);
    if outcome == "fault" {
        bail!("{}", one["reason"]);
    }
    if outcome != "exited" && one["reason"].as_str().is_none_or(str::is_empty) {
        bail!("{outcome} without a reason");
    }
    if std::fs::read_dir(folder.join("scratch")).is_ok_and(|left| left.count() > 0) {
        bail!("a fresh folder was left behind");
    }
    Ok(format!("{outcome} in {phase}"))
}

/// A module: arbitrary and valid, or a seed; in two of three cases with a few bytes changed.
fn module(chance: &mut Chance) -> Result<Vec<u8>> {
    let mut wasm =
        if chance.below(2) == 0 { smith(chance)? } else { wat::parse_str(SEEDS[chance.below(SEEDS.len())])? };
    if chance.below(3) > 0 {
        for _ in 0..=chance.below(8) {
            let at = chance.below(wasm.len());
            match chance.below(4) {
                0 => wasm[at] = chance.next() as u8,
                1 => wasm[at] ^= 1 << chance.below(8),
                2 => wasm.insert(at, chance.next() as u8),
                _ => drop(wasm.drain(at..(at + 1 + chance.below(8)).min(wasm.len()))),
            }
            if wasm.is_empty() {
                break;
            }
        }
    }
    Ok(wasm)
}

fn smith(chance: &mut Chance) -> Result<Vec<u8>> {
    let bytes: Vec<u8> = (0..4096).map(|_| chance.next() as u8).collect();
    let config = wasm_smith::Config {
        available_imports: Some(wat::parse_str(IMPORTS)?),
        exports: Some(wat::parse_str(EXPORTS)?),
        min_memories: 1,
        max_memories: 1,
        memory64_enabled: false,
        shared_everything_threads_enabled: false,
        threads_enabled: false,
        gc_enabled: false,
        ..wasm_smith::Config::default()
    };
    match wasm_smith::Module::new(config, &mut Unstructured::new(&bytes)) {
        Ok(module) => Ok(module.to_bytes()),
        Err(_) => Ok(wat::parse_str(SEEDS[0])?),
    }
}

/// Pseudo-random numbers (splitmix64, Steele et al., OOPSLA 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}
