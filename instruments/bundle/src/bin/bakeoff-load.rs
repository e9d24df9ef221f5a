//! The program `bakeoff-load`; everything it does is in the library crate of the same name.

fn main() -> std::process::ExitCode {
    bakeoff_load::main()
}
