//! Why the instrument itself gives up, and with which exit code.

use std::fmt;

/// A reason to end without a measurement.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong: exit code 2. The text names the flag and the mend.
    Usage(String),
    /// It cannot be done on this machine: exit code 3. The text names the mend where there is one.
    CannotRun(String),
}

impl Failure {
    /// The exit code of the instrument.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::CannotRun(_) => 3,
        }
    }

    /// For `map_err`: `what` could not be done, for the reason that the system gives.
    pub fn cannot<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |why| Self::CannotRun(format!("{what}: {why}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::CannotRun(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}
