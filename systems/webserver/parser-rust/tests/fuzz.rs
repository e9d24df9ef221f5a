//! Fuzzing without a nightly compiler: the vectors' inputs are mutated by a seeded generator.
//! `FUZZ_ITERATIONS` and `FUZZ_SEED` change how long and what.

mod common;

use common::observe;
use serde_json::Value;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

fn from_environment(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

fn seeds() -> Vec<Vec<u8>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../parser-vectors/vectors.json");
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let short = |vector: &Value| -> Option<Vec<u8>> {
        let texts =
            vector["input"].as_array()?.iter().map(|piece| piece.as_str()).collect::<Option<String>>()?;
        texts.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect()
    };
    document["vectors"].as_array().unwrap().iter().filter_map(short).collect()
}

fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    const FRAGMENTS: [&[u8]; 12] = [
        b"\r\n",
        b"\n",
        b"\r",
        b" ",
        b"\t",
        b":",
        b"\r\n\r\n",
        b"\0",
        b"\xff",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"GET /hello HTTP/1.1\r\nHost: a\r\n\r\n",
    ];
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let to = at + random.below((input.len() - at).min(16) + 1);
        match random.below(5) {
            0 => drop(input.drain(at..to)),
            1 => drop(input.splice(at..at, FRAGMENTS[random.below(FRAGMENTS.len())].iter().copied())),
            2 => input[at..to].iter_mut().for_each(|byte| *byte = random.next() as u8),
            3 => input.truncate(at),
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len() + 1);
                drop(input.splice(at..to, other[from..].iter().copied()));
            }
        }
    }
    input
}

#[test]
fn pieces_do_not_matter() {
    let mut random = Random(from_environment("FUZZ_SEED", 1));
    let seeds = seeds();
    for _ in 0..from_environment("FUZZ_ITERATIONS", 20_000) {
        let input = mutate(&mut random, &seeds);
        let whole = observe([&input[..]]);
        assert_eq!(whole, observe(input.chunks(1)), "byte by byte: {:?}", input.escape_ascii().to_string());
        let size = 1 + random.below(input.len() + 1);
        assert_eq!(
            whole,
            observe(input.chunks(size)),
            "pieces of {size}: {:?}",
            input.escape_ascii().to_string()
        );
        let bodies: usize = whole["requests"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["body"].as_str().unwrap().chars().count())
            .sum();
        assert!(bodies <= input.len());
    }
}
