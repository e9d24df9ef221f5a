use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};

use wasm_language::{finish, result, startup};

fn main() -> Result<(), Box<dyn Error>> {
    startup();
    let mut lines = 0;
    for line in BufReader::new(File::open("/data/numbers.txt")?).lines() {
        let number: u32 = line?.parse()?;
        let path = format!("/data/{}.txt", number % 10);
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        writeln!(file, "{number}")?;
        lines += 1;
    }
    result(lines);
    finish();
    Ok(())
}
