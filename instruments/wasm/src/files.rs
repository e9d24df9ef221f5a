//! The fresh folder of a replication, and the check of what the module has left in it.

use crate::report::Checked;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of a check's words that are kept.
const KEPT: usize = 64 << 10;

/// A folder of one replication. It is removed when this is dropped, unless it was made to stay.
#[derive(Debug)]
pub struct Fresh {
    path: PathBuf,
    stays: bool,
}

impl Fresh {
    /// Makes the folder in `parent` and copies the files into it. With `stays` it is called after the replication.
    ///
    /// # Errors
    /// What cannot be made or copied, and why.
    pub fn make(parent: &Path, copies: &[PathBuf], stays: Option<u32>) -> Result<Self, String> {
        let say = |path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| format!("{path}: {error}")
        };
        fs::create_dir_all(parent).map_err(say(parent))?;
        let path = match stays {
            Some(index) => {
                let path = parent.join(format!("replication-{index}"));
                fs::create_dir(&path).map_err(say(&path))?;
                path
            }
            None => {
                let prefix = format!("bakeoff-wasm-{}-", std::process::id());
                tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).map_err(say(parent))?.keep()
            }
        };
        let fresh = Self { path, stays: stays.is_some() };
        for file in copies {
            let name = file.file_name().unwrap_or_default();
            fs::copy(file, fresh.path.join(name)).map_err(say(file))?;
        }
        Ok(fresh)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it stays, if it does.
    pub fn kept(&self) -> Option<String> {
        self.stays.then(|| self.path.display().to_string())
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        if !self.stays {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Runs the check in a folder: it is the working directory, and `{dir}` in its words is its path.
pub fn check(command: &str, folder: &Path) -> Checked {
    let path = folder.display().to_string();
    let words: Vec<String> =
        shlex::split(command).unwrap_or_default().iter().map(|word| word.replace("{dir}", &path)).collect();
    let Some((program, arguments)) = words.split_first() else {
        return Checked { exit: None, text: "the check is empty".to_owned() };
    };
    match Command::new(program).args(arguments).current_dir(folder).stdin(Stdio::null()).output() {
        Ok(output) => {
            let mut said = output.stdout;
            said.extend_from_slice(&output.stderr);
            said.truncate(KEPT);
            Checked { exit: output.status.code(), text: String::from_utf8_lossy(&said).into_owned() }
        }
        Err(error) => Checked { exit: None, text: format!("{program}: {error}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_folder_has_the_copies_and_goes() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("in.txt");
        fs::write(&file, "abc").unwrap();
        let fresh = Fresh::make(parent.path(), &[file], None).unwrap();
        let path = fresh.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("in.txt")).unwrap(), "abc");
        let checked = check("grep -c abc '{dir}/in.txt'", &path);
        assert_eq!((checked.exit, checked.text.as_str()), (Some(0), "1\n"));
        drop(fresh);
        assert!(!path.exists());
    }

    #[test]
    fn a_kept_folder_stays() {
        let parent = tempfile::tempdir().unwrap();
        let fresh = Fresh::make(parent.path(), &[], Some(3)).unwrap();
        let path = PathBuf::from(fresh.kept().unwrap());
        drop(fresh);
        assert!(path.ends_with("replication-3") && path.is_dir());
        assert!(Fresh::make(parent.path(), &[], Some(3)).unwrap_err().contains("replication-3"));
    }

    #[test]
    fn a_check_that_cannot_start_says_so() {
        assert_eq!(check("/nowhere/x", Path::new("/tmp")).exit, None);
    }
}
