//! The instrument as a program, for the tests of this package.

fn main() -> std::process::ExitCode {
    bakeoff_exec::main()
}
