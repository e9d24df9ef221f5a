//! The command line.

use crate::engine::{Kind, Setup};
use bakeoff_share::failure::Failure;
use bakeoff_share::{durations::parse_duration, sizes::parse_size};
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// What ends a module when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Interrupt {
    /// The whole process ends. The module's code is as the engine compiles it by itself.
    Process,
    /// The engine stops the module, for which its code looks at a counter all the time. That makes it slower.
    Engine,
}

/// Imports that are given as stubs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Stubs {
    /// Those of a JavaScript host.
    Js,
}

/// Measures a Wasm module in an embedded engine: compiling, instantiating, start-up, execution and shutdown, each apart.
#[derive(Debug, Clone, Parser)]
#[command(name = "bakeoff-wasm", version, max_term_width = 100)]
pub struct Settings {
    /// The module, in the binary format
    #[arg(value_name = "MODULE", required_unless_present = "engines")]
    pub module: Option<PathBuf>,
    /// Name the engines of this build with their versions, and end
    #[arg(long, conflicts_with = "module")]
    pub engines: bool,
    /// The engine
    #[arg(long, value_enum, value_name = "NAME", default_value = "wasmtime")]
    pub engine: Kind,
    /// The function to call; a module that exports _initialize has that called before
    #[arg(long, value_name = "NAME", default_value = "_start")]
    pub entry: String,
    /// Argument of the module; may be given many times. With --stubs js and a Ruby: text that it evaluates
    #[arg(long = "arg", value_name = "TEXT", allow_hyphen_values = true)]
    pub args: Vec<String>,
    /// Variable of the module's environment, which is empty otherwise; may be given many times
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = parse_variable)]
    pub env: Vec<(String, String)>,
    /// Folder that the module gets, and its name for it; may be given many times
    #[arg(long = "dir", value_name = "HOST:GUEST", value_parser = parse_dir)]
    pub dirs: Vec<(PathBuf, String)>,
    /// Give the module a new folder under this name in each replication
    #[arg(long, value_name = "GUEST")]
    pub fresh_dir: Option<String>,
    /// File that is copied into the fresh folder; may be given many times
    #[arg(long = "copy", value_name = "FILE", requires = "fresh_dir")]
    pub copies: Vec<PathBuf>,
    /// Folder in which the fresh folders are made
    #[arg(long, value_name = "DIR", default_value = "/tmp")]
    pub scratch: PathBuf,
    /// Leave the fresh folders behind, in this folder
    #[arg(long, value_name = "DIR", requires = "fresh_dir", conflicts_with = "scratch")]
    pub keep: Option<PathBuf>,
    /// Command that looks at the files after a replication, started in the fresh folder, whose path {dir} is; 0 means right
    #[arg(long, value_name = "COMMAND", requires = "fresh_dir")]
    pub check: Option<String>,
    /// Keep the compiled module in this folder, and load it from there if it is kept already. Only this program may write there
    #[arg(long, value_name = "DIR")]
    pub compiled: Option<PathBuf>,
    /// Measured replications, each in a fresh store and instance
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub replications: u32,
    /// Replications before them
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warm_up: u32,
    /// Count WASI calls by name, with the bytes read and written; nothing is timed then
    #[arg(long)]
    pub count_calls: bool,
    /// Count the engine's fuel, about one for each instruction; nothing is timed then
    #[arg(long)]
    pub fuel: bool,
    /// Linear memory that the module may have, such as 256MiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory_limit: Option<u64>,
    /// Time that compiling, and each replication, may take
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_duration)]
    pub timeout: Duration,
    /// What ends a module when its time is over
    #[arg(long, value_enum, value_name = "HOW", default_value = "process")]
    pub interrupt: Interrupt,
    /// Give stubs for imports that are no WASI
    #[arg(long, value_enum, value_name = "KIND")]
    pub stubs: Option<Stubs>,
    /// Print JSON lines on standard output
    #[arg(long)]
    pub json: bool,
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !text.contains('\0') => {
            Ok((key.to_owned(), value.to_owned()))
        }
        _ => Err(format!("{text:?} is no variable; write KEY=VALUE")),
    }
}

fn parse_dir(text: &str) -> Result<(PathBuf, String), String> {
    match text.rsplit_once(':') {
        Some((host, guest)) if !host.is_empty() && !guest.is_empty() => {
            Ok((PathBuf::from(host), guest.to_owned()))
        }
        _ => Err(format!("{text:?} is no folder for the module; write HOST:GUEST, such as ./data:/data")),
    }
}

impl Settings {
    /// How the engine is to be set up.
    pub fn setup(&self) -> Setup {
        Setup {
            interruptible: self.interrupt == Interrupt::Engine,
            fuel: self.fuel,
            stubs: self.stubs.is_some(),
            memory_limit: self.memory_limit,
        }
    }

    /// Whether the times of this run may be used: counting makes the module slower.
    pub fn timed(&self) -> bool {
        !self.count_calls && !self.fuel
    }

    /// Checks what clap cannot.
    ///
    /// # Errors
    /// A usage failure that names the flag and the mend.
    pub fn check(&self) -> Result<(), Failure> {
        let usage = |text: String| Err(Failure::Usage(text));
        if self.timeout.is_zero() {
            return usage("--timeout is 0, in which nothing runs; give a time, such as 30s".to_owned());
        }
        if self.memory_limit.is_some_and(|bytes| bytes < 1 << 16) {
            return usage(
                "--memory-limit is less than one page; give 64KiB or more, such as 256MiB".to_owned(),
            );
        }
        let doubles = |names: &[&str]| (1..names.len()).find(|&at| names[..at].contains(&names[at]));
        let guests: Vec<&str> =
            self.dirs.iter().map(|(_, guest)| guest.as_str()).chain(self.fresh_dir.as_deref()).collect();
        if let Some(at) = doubles(&guests) {
            return usage(format!("two folders are called {:?}; give the module two names", guests[at]));
        }
        let copies: Vec<_> =
            self.copies.iter().map(|file| file.file_name().and_then(|name| name.to_str())).collect();
        if let Some(at) = copies.iter().position(Option::is_none) {
            return usage(format!("--copy {} names no file; give a path to one", self.copies[at].display()));
        }
        let copies: Vec<&str> = copies.into_iter().flatten().collect();
        if let Some(at) = doubles(&copies) {
            return usage(format!("--copy gives two files called {:?}; rename one of them", copies[at]));
        }
        if let Some(command) = &self.check
            && shlex::split(command).is_none_or(|words| words.is_empty())
        {
            return usage(format!(
                "--check {command:?} is no command; write it as in a shell, quotes closed"
            ));
        }
        match self.engine.cannot(self.setup()) {
            Some(reason) => usage(reason),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(words: &[&str]) -> String {
        let settings = Settings::parse_from([&["bakeoff-wasm", "x.wasm"], words].concat());
        settings.check().err().map(|failure| failure.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_command_line_is_sound() {
        use clap::CommandFactory;
        Settings::command().debug_assert();
    }

    #[test]
    fn reads_folders_and_variables() {
        assert_eq!(parse_dir("a:b:/c"), Ok((PathBuf::from("a:b"), "/c".to_owned())));
        assert_eq!(parse_variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        for text in ["", "a", ":/c", "a:"] {
            assert!(parse_dir(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refuses_what_cannot_be_meant() {
        assert_eq!(complaint(&["--memory-limit", "64KiB"]), "");
        assert!(complaint(&["--timeout", "0"]).contains("--timeout"));
        assert!(complaint(&["--memory-limit", "1"]).contains("--memory-limit"));
        assert!(complaint(&["--dir", "/tmp:/d", "--fresh-dir", "/d"]).contains("\"/d\""));
        assert!(complaint(&["--fresh-dir", ".", "--copy", "a/x", "--copy", "b/x"]).contains("\"x\""));
        assert!(complaint(&["--fresh-dir", ".", "--copy", "/"]).contains("names no file"));
        assert!(complaint(&["--fresh-dir", ".", "--check", "'open"]).contains("--check"));
    }
}
