//! The instrument as a program.

fn main() -> std::process::ExitCode {
    bakeoff_wasm::main()
}
