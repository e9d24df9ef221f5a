//! The program `bakeoff-exec`; everything it does is in the library crate of the same name.

fn main() -> std::process::ExitCode {
    bakeoff_exec::main()
}
