//! The meter of a tree: samples it, cuts its phases, and adds everything up.

use crate::counters::{Counters, Counts, Reading};
use crate::memory::Peak;
use crate::process;
use crate::result::{Usage, Window};
use crate::series::Series;
use crate::tally::Tally;
use crate::tree::Tree;
use bakeoff_share::clock;
use std::time::Duration;

/// The beginning of a span.
struct Mark {
    at_ns: u64,
    tally: Tally,
    counters: Reading,
}

/// Measures one tree.
pub struct Meter<'a> {
    counters: Option<&'a mut Counters>,
    /// Just before exec.
    start_ns: u64,
    start: Mark,
    phase: Mark,
    phase_name: String,
    /// Memory in the present phase.
    phase_peak: Peak,
    /// Memory in all phases before.
    earlier_peak_bytes: u64,
    earlier: Peak,
    /// The samples.
    pub series: Series,
    /// Most processes seen at once.
    pub peak_processes: usize,
    /// The windows of the phases that have ended.
    pub windows: Vec<Window>,
    interval_ns: u64,
    next_sample_ns: u64,
}

impl<'a> Meter<'a> {
    /// A meter for a tree that is about to start; `interval` zero means no samples.
    pub fn new(mut counters: Option<&'a mut Counters>, interval: Duration) -> Self {
        let reading = counters.as_mut().map(|counters| counters.read()).unwrap_or_default();
        let mark = || Mark { at_ns: 0, tally: Tally::default(), counters: reading.clone() };
        Self {
            start_ns: 0,
            start: mark(),
            phase: mark(),
            phase_name: "start".to_owned(),
            phase_peak: Peak::default(),
            earlier_peak_bytes: 0,
            earlier: Peak::default(),
            series: Series::default(),
            peak_processes: 1,
            windows: Vec::new(),
            interval_ns: interval.as_nanos() as u64,
            next_sample_ns: u64::MAX,
            counters,
        }
    }

    /// Tells the meter when the command started.
    pub fn started(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
        self.start.at_ns = start_ns;
        self.phase.at_ns = start_ns;
        if self.interval_ns > 0 {
            self.next_sample_ns = start_ns + self.interval_ns;
        }
    }

    /// When the next sample is due: CLOCK_MONOTONIC in nanoseconds.
    pub fn next_sample_ns(&self) -> u64 {
        self.next_sample_ns
    }

    /// Takes a sample.
    pub fn sample(&mut self, tree: &mut Tree) {
        let now_ns = clock::now_ns();
        // Without a group the CPU time is a sum over processes, and reading many takes a while: the point lies in its middle.
        let cpu_s = clock::seconds(tree.cpu_ns());
        let at_ns = now_ns.midpoint(clock::now_ns());
        tree.look_inside();
        let (memory, processes) = self.look(tree);
        if self.series.add(clock::seconds_between(self.start_ns, at_ns), cpu_s, memory, processes) {
            self.interval_ns *= 2;
        }
        // Samples keep to their grid; those that were missed are left out.
        let missed = now_ns.saturating_sub(self.next_sample_ns) / self.interval_ns.max(1);
        self.next_sample_ns = self.next_sample_ns.saturating_add((missed + 1) * self.interval_ns);
    }

    /// Looks at memory and processes; returns both.
    fn look(&mut self, tree: &Tree) -> (u64, usize) {
        let (held, processes) = match tree.group.memory() {
            Some(reading) => {
                self.phase_peak.see(reading);
                (reading.held, tree.count())
            }
            None => {
                let alive = tree.counted();
                let held = alive.iter().filter_map(|&pid| process::memory_of(pid)).sum();
                self.phase_peak.sampled = self.phase_peak.sampled.max(held);
                (held, alive.len())
            }
        };
        self.peak_processes = self.peak_processes.max(processes);
        (held, processes)
    }

    /// Ends the present phase and begins the next.
    pub fn cut(&mut self, tree: &mut Tree, next: &str) -> Window {
        let (window, mark) = self.window(tree, true);
        self.phase = mark;
        self.phase_name = next.to_owned();
        self.windows.push(window.clone());
        window
    }

    /// The totals so far, as a window from the start.
    pub fn snapshot(&mut self, tree: &mut Tree) -> Window {
        let (window, mark) = self.window(tree, false);
        Window {
            start_s: 0.0,
            usage: mark.tally.into(),
            memory_peak_bytes: self.peak_bytes(),
            counters: self.counts(&self.start.counters, &mark.counters),
            ..window
        }
    }

    /// Reads everything, the quick and exact sources first.
    fn window(&mut self, tree: &mut Tree, ends: bool) -> (Window, Mark) {
        let at_ns = clock::now_ns();
        let counters = self.counters.as_mut().map(|counters| counters.read()).unwrap_or_default();
        let tally = tree.tally();
        let (memory_now_bytes, processes) = self.look(tree);
        self.phase_peak.see_high_water(tree.group);
        self.phase_peak.one_process = self.phase_peak.one_process.max(tree.largest_process);
        let window = Window {
            name: self.phase_name.clone(),
            start_s: clock::seconds_between(self.start_ns, self.phase.at_ns),
            end_s: clock::seconds_between(self.start_ns, at_ns),
            usage: Usage::from(tally.since(&self.phase.tally)),
            memory_now_bytes,
            memory_peak_bytes: self.phase_peak.bytes(),
            processes,
            counters: self.counts(&self.phase.counters, &counters),
        };
        if ends {
            self.close_peak(tree);
        }
        (window, Mark { at_ns, tally, counters })
    }

    /// Begins a new span of memory. Where the kernel cannot reset its mark, the old mark says nothing of the new span, and
    /// only samples count there.
    fn close_peak(&mut self, tree: &mut Tree) {
        self.earlier_peak_bytes = self.peak_bytes();
        self.earlier = self.all_peaks();
        self.phase_peak = Peak::default();
        tree.largest_process = 0;
        if !tree.group.reset_high_water() {
            self.phase_peak.high_water = None;
        }
    }

    fn all_peaks(&self) -> Peak {
        Peak {
            sampled: self.earlier.sampled.max(self.phase_peak.sampled),
            page_cache: self.earlier.page_cache.max(self.phase_peak.page_cache),
            high_water: self.earlier.high_water.max(self.phase_peak.high_water),
            one_process: self.earlier.one_process.max(self.phase_peak.one_process),
        }
    }

    /// Highest memory of all phases so far, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.earlier_peak_bytes.max(self.phase_peak.bytes())
    }

    /// The most charged, and the most page cache of it, in bytes.
    pub fn charges(&self) -> (Option<u64>, Option<u64>) {
        let all = self.all_peaks();
        (all.high_water, all.high_water.map(|_| all.page_cache))
    }

    fn counts(&self, earlier: &Reading, later: &Reading) -> Option<Counts> {
        self.counters.as_ref().and_then(|counters| counters.between(earlier, later))
    }

    /// Why counters are missing.
    pub fn counters_missing(&self) -> Option<String> {
        match &self.counters {
            Some(counters) => counters.missing(),
            None => Some("not asked for (--counters)".to_owned()),
        }
    }
}
