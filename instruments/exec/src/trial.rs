//! One trial: the command from its start until nothing of it is left.

use crate::args::Settings;
use crate::cgroup::Group;
use crate::counters::Counters;
use crate::kernel::{self, Signals};
use crate::limits::Limits;
use crate::marker::Marker;
use crate::memory;
use crate::meter::Meter;
use crate::output::Output;
use crate::result::{Accounting, Outcome, Record};
use crate::scratch::Scratch;
use crate::serve::{self, Input, Order, Request};
use crate::spawn::{Launch, Streams};
use crate::tree::{Killed, RootEnd, Tree};
use bakeoff_share::clock;
use bakeoff_share::failure::Failure;
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::Duration;

/// What all trials of a session share.
pub struct Session<'a> {
    /// The command line.
    pub settings: &'a Settings,
    /// The limits in force.
    pub limits: &'a Limits,
    /// How the command is started.
    pub launch: &'a Launch,
    /// The group of the tree.
    pub group: &'a mut dyn Group,
    /// Why there is no control group.
    pub cgroup_missing: Option<String>,
    /// The open counters.
    pub counters: Option<Counters>,
    /// Signals to us.
    pub signals: Signals,
    /// Our standard input, where it matters.
    pub input: Option<Input>,
    /// Children that we had before.
    pub foreign: Vec<i32>,
    /// Whether a signal or the lifeline told us to end.
    pub told_to_end: bool,
}

/// The stop of a tree.
struct Stop {
    outcome: Outcome,
    asked_ns: u64,
    kill_at_ns: u64,
}

struct Trial<'a> {
    settings: &'a Settings,
    signals: &'a mut Signals,
    input: &'a mut Option<Input>,
    told_to_end: &'a mut bool,
    tree: Tree<'a>,
    meter: Meter<'a>,
    stdout: Output,
    stderr: Output,
    markers: Vec<Marker>,
    markers_dropped: u64,
    start_ns: u64,
    timeout_ns: u64,
    stop: Option<Stop>,
    killed: Vec<Killed>,
}

impl Session<'_> {
    /// Runs the command once.
    ///
    /// # Errors
    /// When the command cannot be started.
    pub fn trial(&mut self, repetition: Option<u32>) -> Result<Record, Failure> {
        let settings = self.settings;
        let scratch = settings.scratch.as_deref().map(Scratch::make).transpose()?;
        let stdin_path = settings.stdin.as_deref().unwrap_or(Path::new("/dev/null"));
        let stdin = File::open(stdin_path)
            .map_err(|error| Failure::CannotRun(format!("--stdin {}: {error}", stdin_path.display())))?;
        let alone = !settings.json && !settings.serve;
        let open = |flag: &str, log: Option<&Path>, markers: bool| {
            Output::open(log, settings.log_limit, markers, alone).map_err(Failure::cannot(flag))
        };
        let (stdout, stdout_writer) = open("--stdout", settings.stdout.as_deref(), true)?;
        let (stderr, stderr_writer) = open("--stderr", settings.stderr.as_deref(), false)?;
        if repetition.is_some_and(|number| number > 0) {
            self.group.reset_high_water();
        }
        let entry = self.group.entry();
        let streams = Streams {
            stdin: stdin.as_raw_fd(),
            stdout: stdout_writer.as_raw_fd(),
            stderr: stderr_writer.as_raw_fd(),
        };
        let mut tree = Tree::new(&mut *self.group, &self.foreign);
        let mut meter = Meter::new(self.counters.as_mut(), settings.sample);
        let started =
            self.launch.start(&entry, streams).map_err(|error| Failure::CannotRun(error.to_string()))?;
        drop((stdin, stdout_writer, stderr_writer));
        tree.started(started.pid);
        meter.started(started.at_ns);
        let trial = Trial {
            settings,
            signals: &mut self.signals,
            input: &mut self.input,
            told_to_end: &mut self.told_to_end,
            tree,
            meter,
            stdout,
            stderr,
            markers: Vec::new(),
            markers_dropped: 0,
            start_ns: started.at_ns,
            timeout_ns: settings.timeout.map_or(u64::MAX, |time| started.at_ns.saturating_add(ns(time))),
            stop: None,
            killed: Vec::new(),
        };
        let mut record = trial.run(started.pid, self.limits, self.cgroup_missing.clone());
        record.repetition = repetition;
        record.leftover.extend(scratch.and_then(|scratch| scratch.remove()));
        Ok(record)
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Trial<'_> {
    fn run(mut self, pid: i32, limits: &Limits, cgroup_missing: Option<String>) -> Record {
        self.tell("started", &json!({"pid": pid}));
        while !self.is_over() {
            self.turn();
        }
        if let (None, Some(end)) = (&self.stop, self.tree.root_end) {
            self.tell("exited", &json!({"exit": exit_code(end), "signal": signal_number(end)}));
        }
        let leftover = self.tree.kill(self.signals, &mut self.killed, self.told_to_end);
        let gone_ns = clock::now_ns();
        let found = self.stdout.drain(self.start_ns);
        self.take_markers(found);
        self.stderr.drain(self.start_ns);
        self.record(leftover, gone_ns, limits, cgroup_missing)
    }

    /// Whether waiting is over: the root has ended by itself, or the tree has ended within the grace, or the grace has.
    fn is_over(&self) -> bool {
        match &self.stop {
            None => self.tree.root_end.is_some(),
            Some(stop) => self.tree.is_gone() || clock::now_ns() >= stop.kill_at_ns,
        }
    }

    /// Waits for the next thing to happen, and does what is due.
    fn turn(&mut self) {
        let kill_at_ns = self.stop.as_ref().map_or(self.timeout_ns, |stop| stop.kill_at_ns);
        let next_ns = self.meter.next_sample_ns().min(kill_at_ns);
        let wait =
            (next_ns != u64::MAX).then(|| Duration::from_nanos(next_ns.saturating_sub(clock::now_ns())));
        let input = self.input.as_ref().map_or(-1, Input::fd);
        let fds = [self.signals.as_raw_fd(), self.stdout.fd(), self.stderr.fd(), input];
        let [signal, stdout, stderr, input] = kernel::wait_for(fds, wait);
        // Signals first: the end of the root is stamped here.
        if signal {
            self.take_signals();
        }
        if stdout {
            let found = self.stdout.read(self.start_ns);
            self.take_markers(found);
        }
        if stderr {
            self.stderr.read(self.start_ns);
        }
        if input {
            let requests = self.input.as_mut().map(Input::read).unwrap_or_default();
            requests.into_iter().for_each(|request| self.take_request(request));
        }
        let now_ns = clock::now_ns();
        if now_ns >= self.meter.next_sample_ns() {
            self.meter.sample(&mut self.tree);
            if self.stop.is_none() && self.tree.hit_memory_limit() {
                self.begin_stop(Outcome::MemoryLimit, Duration::ZERO);
            }
        }
        if self.stop.is_none() && self.tree.root_end.is_none() && now_ns >= self.timeout_ns {
            self.begin_stop(Outcome::Timeout, self.settings.grace);
        }
    }

    fn take_signals(&mut self) {
        for signal in self.signals.read() {
            if signal == libc::SIGCHLD {
                self.tree.reap();
            } else if let (true, Some(stop)) = (*self.told_to_end, &mut self.stop) {
                // Whoever asks twice does not want to wait for the grace.
                stop.kill_at_ns = 0;
            } else {
                *self.told_to_end = true;
                self.begin_stop(Outcome::Stopped, self.settings.grace);
            }
        }
    }

    fn take_request(&mut self, request: Request) {
        match request {
            Request::Order(Order::Phase { name }) => {
                let window = self.meter.cut(&mut self.tree, &name);
                self.tell("phase", &window);
            }
            Request::Order(Order::Snapshot) => {
                let window = self.meter.snapshot(&mut self.tree);
                self.tell("snapshot", &window);
            }
            Request::Order(Order::Stop) => self.begin_stop(Outcome::Stopped, self.settings.grace),
            Request::Nonsense(message) => self.tell("error", &json!({"message": message})),
            Request::End => {
                *self.told_to_end |= self.settings.lifeline;
                self.begin_stop(Outcome::Stopped, self.settings.grace);
            }
        }
    }

    fn take_markers(&mut self, found: Vec<Marker>) {
        for marker in found {
            if self.markers.len() >= self.settings.marker_limit {
                self.markers_dropped += 1;
                continue;
            }
            if self.settings.serve {
                let body = json!({"name": marker.name, "data": marker.data, "error": marker.error});
                self.tell_at("marker", marker.t_s, &body);
            }
            self.markers.push(marker);
        }
    }

    /// Asks the tree to end, and sets the time at which it is made to.
    fn begin_stop(&mut self, outcome: Outcome, grace: Duration) {
        if self.stop.is_some() {
            return;
        }
        let asked_ns = clock::now_ns();
        self.stop = Some(Stop { outcome, asked_ns, kill_at_ns: asked_ns.saturating_add(ns(grace)) });
        if outcome == Outcome::MemoryLimit {
            return;
        }
        let asked = self.tree.signal(self.settings.stop_signal);
        if outcome == Outcome::Timeout {
            // A stopped tree may use its grace; one whose time is over should have ended already.
            self.killed = asked;
        }
    }

    fn tell<T: Serialize>(&mut self, event: &str, body: &T) {
        let t_s = clock::seconds_between(self.start_ns, clock::now_ns());
        self.tell_at(event, t_s, body);
    }

    fn tell_at<T: Serialize>(&mut self, event: &str, t_s: f64, body: &T) {
        if self.settings.serve && serve::tell(event, t_s, body).is_err() {
            // Nobody listens any more; that is the same as being told to end.
            *self.told_to_end = true;
            self.begin_stop(Outcome::Stopped, self.settings.grace);
        }
    }

    fn record(
        mut self,
        leftover: Vec<String>,
        gone_ns: u64,
        limits: &Limits,
        cgroup_missing: Option<String>,
    ) -> Record {
        let total = self.meter.snapshot(&mut self.tree);
        let phases = self.settings.serve.then(|| {
            self.meter.cut(&mut self.tree, "");
            std::mem::take(&mut self.meter.windows)
        });
        // Without an end there is a leftover that says why.
        let end = self.tree.root_end.unwrap_or(RootEnd { status: 0, at_ns: gone_ns });
        let outcome = match &self.stop {
            _ if self.tree.hit_memory_limit() => Outcome::MemoryLimit,
            Some(stop) => stop.outcome,
            None if signal_number(end).is_some() => Outcome::Signalled,
            None => Outcome::Exited,
        };
        let (memory_high_water_bytes, page_cache_bytes) = self.meter.charges();
        let t_s = |at_ns: u64| clock::seconds_between(self.start_ns, at_ns);
        Record {
            instrument: "bakeoff-exec",
            version: env!("CARGO_PKG_VERSION"),
            command: self.settings.command.clone(),
            start_ns: self.start_ns,
            repetition: None,
            outcome,
            exit: exit_code(end),
            signal: signal_number(end),
            wall_s: t_s(end.at_ns),
            usage: total.usage,
            peak_memory_bytes: self.meter.peak_bytes(),
            memory_high_water_bytes,
            page_cache_bytes,
            peak_processes: self.meter.peak_processes,
            counters: total.counters,
            counters_missing: self.meter.counters_missing(),
            markers: self.markers,
            markers_dropped: self.markers_dropped,
            accounting: accounting(self.tree.group, cgroup_missing),
            limits: limits.describe(self.tree.group.version()),
            series: self.meter.series,
            stdout: self.stdout.finish(),
            stderr: self.stderr.finish(),
            killed: self.killed,
            leftover,
            stop_s: self.stop.as_ref().map(|stop| clock::seconds_between(stop.asked_ns, gone_ns)),
            phases,
        }
    }
}

fn exit_code(end: RootEnd) -> Option<i32> {
    libc::WIFEXITED(end.status).then(|| libc::WEXITSTATUS(end.status))
}

fn signal_number(end: RootEnd) -> Option<i32> {
    libc::WIFSIGNALED(end.status).then(|| libc::WTERMSIG(end.status))
}

fn accounting(group: &dyn Group, cgroup_missing: Option<String>) -> Accounting {
    let by_wait = "proportion in wait4's rusage of what has ended and /proc of what lives";
    let (cpu, cpu_split) = match group.version() {
        "v2" => ("cgroup cpu.stat", "cgroup cpu.stat"),
        "v1" if group.inner().is_some() => {
            ("cgroup cpuacct.usage", "cgroup cpuacct.usage_user and usage_sys")
        }
        "v1" => ("cgroup cpuacct.usage", by_wait),
        _ => ("wait4's rusage of what has ended and was waited for, CPU clocks of what lives", by_wait),
    };
    Accounting {
        cgroup: group.version(),
        cgroup_missing,
        cpu,
        cpu_split,
        memory: memory::accounting(group),
        switches_and_faults: match group.inner() {
            None => "wait4's rusage of what has ended and was waited for, /proc of what lives",
            Some(_) => "/proc, at the last look at each process of the inner group",
        },
        inner_group: group.inner().map(str::to_owned),
    }
}
