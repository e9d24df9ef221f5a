//! The engines, behind one seam.

#[cfg(feature = "wasmer")]
mod wasmer;
#[cfg(feature = "wasmer")]
mod wasmer_limits;
#[cfg(feature = "wasmi")]
mod wasmi;
mod wasmtime;

use crate::host::Host;
use crate::stop::Stop;
use clap::ValueEnum;
use serde::Serialize;
use std::path::Path;

/// An engine and its compiler, as `--engine` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Wasmtime with Cranelift, its optimising compiler.
    #[cfg(feature = "cranelift")]
    Wasmtime,
    /// Wasmtime with Winch, its one-pass compiler.
    #[cfg(feature = "winch")]
    WasmtimeWinch,
    /// Wasmtime with Pulley, its interpreter.
    #[cfg(feature = "pulley")]
    WasmtimePulley,
    /// Wasmer with Cranelift.
    #[cfg(feature = "wasmer")]
    WasmerCranelift,
    /// Wasmer with Singlepass, its one-pass compiler.
    #[cfg(feature = "wasmer")]
    WasmerSinglepass,
    /// Wasmi, an interpreter.
    #[cfg(feature = "wasmi")]
    Wasmi,
}

/// How an engine is to be set up. Both switches make the module's code slower, so they are off in timed runs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Setup {
    /// The engine can stop a module that runs.
    pub interruptible: bool,
    /// The engine counts fuel: about one for each instruction.
    pub fuel: bool,
    /// The imports of a JavaScript host are stubs.
    pub stubs: bool,
    /// Bytes of linear memory that a module may have.
    pub memory_limit: Option<u64>,
}

/// An import of a module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Import {
    /// The module that it is imported from.
    pub module: String,
    /// Its name.
    pub name: String,
}

/// An engine.
pub trait Engine {
    /// Compiles a module from its bytes.
    ///
    /// # Errors
    /// [`Stop::Refused`] if the module is malformed or uses what the engine lacks.
    fn compile(&self, wasm: &[u8]) -> Result<Box<dyn Module>, Stop>;

    /// Loads a compiled module from the bytes that [`Module::compiled`] gave for an engine of the same setup and version.
    ///
    /// # Errors
    /// Why the bytes do not fit.
    ///
    /// # Safety
    /// The file's bytes are run as machine code: nobody but this program may have written them.
    unsafe fn load(&self, file: &Path) -> Result<Box<dyn Module>, Stop> {
        Err(Stop::Fault(format!("this engine loads nothing compiled, and so not {}", file.display())))
    }

    /// What stops the module that runs, from another thread; None if the engine was not set up for that.
    fn interrupter(&self) -> Option<Box<dyn Fn() + Send>> {
        None
    }
}

/// A compiled module.
pub trait Module {
    /// What it imports.
    fn imports(&self) -> Vec<Import>;

    /// The names of what it exports.
    fn exports(&self) -> Vec<String>;

    /// Its compiled form; None if the engine has none that can be kept.
    fn compiled(&self) -> Option<Vec<u8>> {
        None
    }

    /// Resolves the imports once for all instances, where the engine can.
    ///
    /// # Errors
    /// [`Stop::Refused`] names the import that nobody gives.
    fn link(&mut self) -> Result<(), Stop>;

    /// A fresh store with a fresh instance. The module's start function runs in here.
    ///
    /// # Errors
    /// What the start function ended in, or why there can be no instance.
    fn instantiate(&self, host: Host) -> Result<Box<dyn Instance>, Stop>;
}

/// An instance with its store; dropping it frees both.
pub trait Instance {
    /// Looks up the entry, so that [`Instance::enter`] only calls it.
    ///
    /// # Errors
    /// [`Stop::Refused`] if there is no such function, or it wants arguments.
    fn bind(&mut self, entry: &str) -> Result<(), Stop>;

    /// Calls the entry.
    ///
    /// # Errors
    /// What ended it.
    fn enter(&mut self) -> Result<(), Stop>;

    /// Calls an export with 32-bit integers; gives its result, if that is one.
    ///
    /// # Errors
    /// What ended it, or [`Stop::Refused`] if there is no such function.
    fn call(&mut self, export: &str, arguments: &[i32]) -> Result<Option<i32>, Stop>;

    /// The exported memory; empty if there is none.
    fn memory(&mut self) -> &mut [u8];

    /// The fuel used so far, if it is counted.
    fn fuel(&mut self) -> Option<u64> {
        None
    }
}

/// Fuel that a module gets: as good as endless.
pub const FUEL: u64 = u64::MAX / 2;

impl Kind {
    /// Its name for `--engine`.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// The version of its library.
    pub fn version(self) -> &'static str {
        match self {
            #[cfg(feature = "wasmer")]
            Self::WasmerCranelift | Self::WasmerSinglepass => env!("VERSION_OF_WASMER"),
            #[cfg(feature = "wasmi")]
            Self::Wasmi => env!("VERSION_OF_WASMI"),
            #[allow(unreachable_patterns)]
            _ => env!("VERSION_OF_WASMTIME"),
        }
    }

    /// Why an engine cannot do what a setup asks for; the mend is in the words.
    pub fn cannot(self, setup: Setup) -> Option<String> {
        let wanted = match setup {
            Setup { fuel: true, .. } if !self.counts_fuel() => "--fuel",
            Setup { interruptible: true, .. } if !self.interrupts() => "--interrupt engine",
            _ => return None,
        };
        Some(format!(
            "{} cannot do what {wanted} asks; leave it out, or take the engine wasmtime",
            self.name()
        ))
    }

    fn counts_fuel(self) -> bool {
        !self.name().starts_with("wasmer")
    }

    fn interrupts(self) -> bool {
        self.name().starts_with("wasmtime")
    }

    /// The engine.
    ///
    /// # Errors
    /// Why it cannot work on this machine.
    pub fn make(self, setup: Setup) -> Result<Box<dyn Engine>, String> {
        match self {
            #[cfg(feature = "wasmer")]
            Self::WasmerCranelift | Self::WasmerSinglepass => Ok(Box::new(wasmer::Wasmer::new(self, setup))),
            #[cfg(feature = "wasmi")]
            Self::Wasmi => Ok(Box::new(wasmi::Wasmi::new(setup))),
            #[allow(unreachable_patterns)]
            _ => Ok(Box::new(wasmtime::Wasmtime::new(self, setup)?)),
        }
    }
}
