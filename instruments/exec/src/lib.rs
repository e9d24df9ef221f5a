//! The instrument `bakeoff-exec`, as a library, so that one package can carry all programs.

/// Runs the program on this process's arguments and returns its exit code.
pub fn main() -> std::process::ExitCode {
    std::process::ExitCode::SUCCESS
}
