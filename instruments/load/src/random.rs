//! Random numbers that are the same for the same seed, one stream per thread.
//!
//! The generator is xoshiro256++ seeded by SplitMix64 (Blackman and Vigna, "Scrambled linear pseudorandom number
//! generators", 2021): fast, with no state shared between threads.

/// One stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The stream number `stream` of `seed`; equal pairs give equal streams.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixer = seed ^ stream.wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let state = [0; 4].map(|_: u64| split_mix(&mut mixer));
        Self { state }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c1, d1) = (c ^ a, d ^ b);
        self.state = [a ^ d1, b ^ c1, c1 ^ (b << 17), d1.rotate_left(45)];
        result
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number in `low..=high`, by multiplication (Lemire 2019, without the rejection: the bias is
    /// below the range divided by 2^64).
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let range = u128::from(high - low) + 1;
        low + ((u128::from(self.bits()) * range) >> 64) as u64
    }

    /// An exponentially distributed number with the given mean: the gaps of a Poisson process.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// One step of SplitMix64, which spreads a seed over the state.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_gives_the_reference_numbers() {
        // The first outputs of xoshiro256++ from the state 1, 2, 3, 4, worked out by hand from its definition.
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(random.bits(), 41_943_041);
        assert_eq!(random.bits(), 58_720_359);
    }

    #[test]
    fn streams_repeat_and_differ() {
        let take = |seed, stream| {
            let mut random = Random::new(seed, stream);
            (0..8).map(|_| random.bits()).collect::<Vec<_>>()
        };
        assert_eq!(take(7, 0), take(7, 0));
        assert_ne!(take(7, 0), take(7, 1));
        assert_ne!(take(7, 0), take(8, 0));
    }

    #[test]
    fn ranges_and_means_hold() {
        let mut random = Random::new(1, 0);
        let mut seen = [0u32; 5];
        let mut sum = 0.0;
        for _ in 0..50_000 {
            seen[random.between(3, 7) as usize - 3] += 1;
            sum += random.exponential(2.0);
        }
        assert!(seen.iter().all(|&n| (9_400..10_600).contains(&n)), "{seen:?}");
        assert!((sum / 50_000.0 - 2.0).abs() < 0.05);
        assert_eq!(random.between(5, 5), 5);
    }
}
