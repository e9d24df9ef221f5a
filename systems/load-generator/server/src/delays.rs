//! The delays that the truth server adds to its answers.

/// Nanoseconds of a millisecond.
pub const MS: u64 = 1_000_000;
/// How often everything stops, and for how long.
pub const STOP: (u64, u64) = (2_000 * MS, 200 * MS);
/// Where in the record the first stop begins, so that a record of any multiple of 2 s has whole stops only.
pub const FIRST_STOP: u64 = 900 * MS;

/// A distribution of delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// 2 ms.
    Constant,
    /// 1 ms, and 50 ms for one at a random place in each hundred: exactly 1%.
    Two,
    /// Log-normal: median 2 ms, sigma 0.5.
    LogNormal,
    /// 1 ms, and every 2 s nothing is answered for 200 ms.
    Stop,
}

impl Kind {
    /// The kind of this name.
    pub fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "constant" => Kind::Constant,
            "two" => Kind::Two,
            "lognormal" => Kind::LogNormal,
            "stop" => Kind::Stop,
            _ => return None,
        })
    }
}

/// Draws delays, always the same ones in the same order.
pub struct Delays {
    kind: Kind,
    state: u64,
    drawn: u64,
    slow: u64,
}

impl Delays {
    /// The delays of a kind.
    pub fn new(kind: Kind) -> Delays {
        Delays { kind, state: 42, drawn: 0, slow: 0 }
    }

    /// The next delay in nanoseconds.
    pub fn draw(&mut self) -> u64 {
        match self.kind {
            Kind::Constant => 2 * MS,
            Kind::Stop => MS,
            Kind::Two => {
                let place = self.drawn % 100;
                if place == 0 {
                    self.slow = (self.unit() * 100.0) as u64;
                }
                self.drawn += 1;
                if place == self.slow { 50 * MS } else { MS }
            }
            Kind::LogNormal => {
                // Box and Muller 1958.
                let (a, b) = (1.0 - self.unit(), self.unit());
                let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
                (2.0 * MS as f64 * (0.5 * normal).exp()) as u64
            }
        }
    }

    /// A number from 0 to below 1 (splitmix64).
    fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_has_exactly_one_slow_in_each_hundred() {
        let mut delays = Delays::new(Kind::Two);
        for _ in 0..50 {
            assert_eq!((0..100).filter(|_| delays.draw() == 50 * MS).count(), 1);
        }
    }

    #[test]
    fn log_normal_has_its_median_and_tail() {
        let mut delays = Delays::new(Kind::LogNormal);
        let mut drawn: Vec<u64> = (0..100_000).map(|_| delays.draw()).collect();
        drawn.sort_unstable();
        for (share, wanted) in [(0.5, 2.0), (0.9, 3.796), (0.99, 6.399)] {
            let found = drawn[(share * 100_000.0) as usize] as f64 / MS as f64;
            assert!((found / wanted - 1.0).abs() < 0.02, "{share}: {found} instead of {wanted}");
        }
    }
}
