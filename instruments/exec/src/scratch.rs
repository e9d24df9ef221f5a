//! The scratch folder: there before the command starts, gone when all is over.

use bakeoff_share::failure::Failure;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that is removed when it goes out of scope.
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes the folder, and those above it that are missing.
    ///
    /// # Errors
    /// When it is there already: we remove only what we made.
    pub fn make(path: &Path) -> Result<Self, Failure> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Failure::cannot(format!("--scratch {}", path.display())))?;
        }
        fs::create_dir(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let shown = path.display();
                Failure::Usage(format!(
                    "--scratch {shown} is there already; name a folder that is not, for it is removed after"
                ))
            }
            _ => Failure::CannotRun(format!("--scratch {}: {error}", path.display())),
        })?;
        // An absolute path still names it if the working directory changes.
        Ok(Self { path: fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()) })
    }

    /// Removes the folder; returns why it could not be removed.
    pub fn remove(&self) -> Option<String> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Some(format!("{}: {error}", self.path.display()))
            }
            _ => None,
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_and_goes() {
        let path = std::env::temp_dir().join(format!("bakeoff-scratch-{}/deep", std::process::id()));
        let scratch = Scratch::make(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        assert!(matches!(Scratch::make(&path), Err(Failure::Usage(_))));
        assert_eq!(scratch.remove(), None);
        assert!(!path.exists());
        fs::remove_dir(path.parent().unwrap()).unwrap();
    }
}
