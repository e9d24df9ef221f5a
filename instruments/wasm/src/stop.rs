//! What ends a module before, or instead of, its entry's return.

use std::fmt;
use wasmtime_wasi::I32Exit;

/// The reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It called `proc_exit`.
    Exit(i32),
    /// A trap, with the engine's words.
    Trap(String),
    /// The engine does not take the module: it is malformed, uses what the engine lacks, or wants what nobody gives.
    Refused(String),
    /// Its time was over, and the engine stopped it.
    Interrupted,
    /// A fault of the engine or of this program, not of the module.
    Fault(String),
}

impl Stop {
    /// What the host's own WASI says when a call cannot go on.
    pub fn from_host(error: wasmtime::Error) -> Self {
        match error.downcast_ref::<I32Exit>() {
            Some(exit) => Self::Exit(exit.0),
            None => Self::Trap(format!("{error:#}")),
        }
    }

    /// The engine's refusal, in its words.
    pub fn refused(error: impl fmt::Display) -> Self {
        Self::Refused(one_line(&format!("{error:#}")))
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "it ended itself with {code}"),
            Self::Trap(text) | Self::Refused(text) | Self::Fault(text) => f.write_str(text),
            Self::Interrupted => f.write_str("its time was over"),
        }
    }
}

impl std::error::Error for Stop {}

/// A message of several lines as one, and not a long one.
pub fn one_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined,
    }
}

/// Characters of a message that are kept.
const MOST: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_short_line() {
        assert_eq!(one_line("a\n  b\t c"), "a b c");
        assert_eq!(one_line(&"é".repeat(600)).chars().count(), MOST + 1);
    }
}
