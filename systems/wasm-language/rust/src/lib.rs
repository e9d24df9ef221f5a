//! What the workloads share.

/// The host functions by which the instrument knows where productive code begins and ends.
mod host {
    #[link(wasm_import_module = "bakeoff")]
    unsafe extern "C" {
        pub safe fn startup();
        pub safe fn finish();
    }
}

pub use host::{finish, startup};

/// The number that is the command's last word.
pub fn argument() -> u64 {
    std::env::args().next_back().and_then(|text| text.parse().ok()).expect("usage: fib-rec N, fib-it N")
}

/// Says the result as a marker.
pub fn result(value: u64) {
    println!("@bakeoff result {{\"value\": {value}}}");
}
