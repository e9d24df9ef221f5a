//! Compiled modules that are kept in a folder, so that a later process loads them instead of compiling them again.

use crate::engine::{Kind, Setup};
use crate::stop::Stop;
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the compiled form of a module is kept: named by the module's content, the engine with its version, and its setup.
pub fn place(folder: &Path, wasm: &[u8], engine: Kind, setup: Setup) -> PathBuf {
    let mut digest = Sha256::new();
    digest.update(wasm);
    digest.update(format!("|{}|{}|{setup:?}", engine.name(), engine.version()));
    folder.join(format!("{:x}.compiled", digest.finalize()))
}

/// Writes the file at once: another process sees it whole or not at all.
///
/// # Errors
/// [`Stop::Fault`] names the file and what hindered.
pub fn write(file: &Path, bytes: &[u8]) -> Result<(), Stop> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut temporary| {
        temporary.write_all(bytes)?;
        temporary.persist(file).map_err(|error| error.error)
    });
    written.map(drop).map_err(|error| {
        Stop::Fault(format!("{}: {error}; give --compiled a folder that can be written", file.display()))
    })
}

/// What is told when a kept module cannot be loaded: it is no fault of the measured module.
pub fn damaged(file: &Path, stop: &Stop) -> Stop {
    Stop::Fault(format!("the kept module {} cannot be loaded ({stop}); remove it", file.display()))
}

#[cfg(all(test, feature = "cranelift", feature = "wasmi"))]
mod tests {
    use super::*;

    #[test]
    fn each_difference_has_a_place_of_its_own() {
        let folder = Path::new("/x");
        let plain = Setup::default();
        let first = place(folder, b"one", Kind::Wasmtime, plain);
        assert_eq!(first, place(folder, b"one", Kind::Wasmtime, plain));
        assert!(first.starts_with(folder));
        let fuelled = Setup { fuel: true, ..plain };
        for other in [
            place(folder, b"two", Kind::Wasmtime, plain),
            place(folder, b"one", Kind::Wasmi, plain),
            place(folder, b"one", Kind::Wasmtime, fuelled),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let stop = write(Path::new("/no/such/folder/x.compiled"), b"x").unwrap_err();
        assert!(stop.to_string().contains("/no/such/folder") && stop.to_string().contains("--compiled"));
    }
}
