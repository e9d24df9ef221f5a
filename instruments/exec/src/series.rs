//! The tree over time.

use serde::Serialize;

/// Most points that are kept. Beyond it every second point is dropped and the interval doubles.
const MOST_POINTS: usize = 36_000;

/// Samples of the tree, one column each.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    /// Seconds since just before exec.
    pub t_s: Vec<f64>,
    /// CPU time so far, in seconds.
    pub cpu_s: Vec<f64>,
    /// Memory that the processes hold, in bytes.
    pub memory_bytes: Vec<u64>,
    /// Living processes.
    pub processes: Vec<usize>,
}

impl Series {
    /// Adds a point. True if the series had to be thinned: the caller then samples half as often.
    pub fn add(&mut self, t_s: f64, cpu_s: f64, memory_bytes: u64, processes: usize) -> bool {
        self.t_s.push(t_s);
        self.cpu_s.push(cpu_s);
        self.memory_bytes.push(memory_bytes);
        self.processes.push(processes);
        let full = self.t_s.len() >= MOST_POINTS;
        if full {
            thin(&mut self.t_s);
            thin(&mut self.cpu_s);
            thin(&mut self.memory_bytes);
            thin(&mut self.processes);
        }
        full
    }
}

fn thin<T>(column: &mut Vec<T>) {
    let mut index = 0;
    column.retain(|_| {
        index += 1;
        index % 2 == 0
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_is_thinned() {
        let mut series = Series::default();
        let thinned = (0..MOST_POINTS).filter(|&n| series.add(n as f64, 0.0, 0, 1)).count();
        assert_eq!(thinned, 1);
        assert_eq!(series.t_s.len(), MOST_POINTS / 2);
        assert_eq!(series.t_s[1], 3.0);
        assert_eq!(series.processes.len(), series.t_s.len());
    }
}
