//! Reads inputs from standard input, each after its length (four bytes, the lowest first), and prints what the parser
//! makes of each, one JSON object a line. `parser-vectors/compare.py` sets the languages' programs against each other.
//! An argument N feeds the inputs in pieces of N bytes.

use std::io::{self, BufWriter, Read, Write};

#[path = "../tests/common/mod.rs"]
mod common;

fn main() -> io::Result<()> {
    let size = std::env::args().nth(1).and_then(|size| size.parse().ok()).unwrap_or(usize::MAX).max(1);
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    let mut output = BufWriter::new(io::stdout().lock());
    let mut rest = &bytes[..];
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (input, after) = after.split_at(u32::from_le_bytes(*length) as usize);
        rest = after;
        writeln!(output, "{}", common::observe(input.chunks(size)))?;
    }
    output.flush()
}
