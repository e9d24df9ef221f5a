//! The command line, which becomes a job.

use std::path::PathBuf;

use clap::Parser;

use crate::arrivals::Spacing;
use crate::clock::parse_span;
use crate::job::{BackendChoice, Check, Job, OneOrMore, Protocol, Receipt, Request, Span, Tls};

/// Puts an HTTP server under load and measures it, and says when its own figures are not to be trusted.
///
/// Exit codes: 0 measured (also with HTTP errors), 2 bad usage, 3 cannot run here (nothing could connect), 130 told to end.
#[derive(Debug, Parser)]
#[command(name = "bakeoff-load", version)]
pub struct Args {
    /// http://host:port/path or https://…; an address of this machine.
    url: Option<String>,
    /// Connections; a list (50,100,200) makes a step of each.
    #[arg(short, long, value_delimiter = ',', value_name = "LIST")]
    connections: Vec<u64>,
    /// Time that each step measures (10, 10s, 500ms); default 10s, with -n at most 10m.
    #[arg(short, long, value_parser = span, value_name = "TIME")]
    duration: Option<Span>,
    /// Requests that each step makes.
    #[arg(short = 'n', long, value_name = "NUMBER")]
    requests: Option<u64>,
    /// Open loop: requests a second over all threads; a list makes a step of each.
    #[arg(short, long, value_delimiter = ',', value_name = "LIST")]
    rate: Vec<f64>,
    /// Open loop: arrivals as a Poisson process instead of evenly spaced.
    #[arg(long)]
    poisson: bool,
    /// Open loop: most connections; default 1000, or --connections if that is more.
    #[arg(long, value_name = "NUMBER")]
    max_connections: Option<u64>,
    /// Threads; default: one for each CPU it may run on.
    #[arg(short, long, value_name = "NUMBER")]
    threads: Option<usize>,
    /// Bind each thread to a CPU of its own.
    #[arg(long)]
    pin: bool,
    /// Load before each step that is not recorded.
    #[arg(short, long, value_parser = span, value_name = "TIME")]
    warm_up: Option<Span>,
    /// How long a response is waited for; default 5s.
    #[arg(long, value_parser = span, value_name = "TIME")]
    timeout: Option<Span>,
    /// A connection for each request.
    #[arg(long)]
    no_keepalive: bool,
    /// Without keep-alive: close with a reset, which leaves no TIME_WAIT behind.
    #[arg(long)]
    reset_close: bool,
    /// Local addresses to connect from, in turns; each has its own 28,000 ports (127.0.0.2,127.0.0.3).
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    source: Vec<std::net::IpAddr>,
    /// Connect to this Unix socket; the URL gives path and Host.
    #[arg(long, value_name = "PATH")]
    unix: Option<PathBuf>,
    /// The engine.
    #[arg(long, value_enum)]
    backend: Option<BackendChoice>,
    /// The version of HTTP: 1.1 or 2 (over TLS by ALPN, else with prior knowledge).
    #[arg(long, value_enum, value_name = "VERSION")]
    http: Option<Protocol>,
    /// HTTP/2: most requests in flight on a connection; default 1, in the open loop 100.
    #[arg(long, value_name = "NUMBER")]
    streams: Option<u64>,
    /// The method.
    #[arg(short = 'X', long, value_name = "NAME")]
    method: Option<String>,
    /// A header field, "Name: value"; may be repeated.
    #[arg(short = 'H', long, value_name = "FIELD")]
    header: Vec<String>,
    /// The body. Path, fields and body may hold ${counter}, ${thread}, ${random:1-100}, ${hex:16}.
    #[arg(short, long, value_name = "TEXT")]
    body: Option<String>,
    /// A file with the body.
    #[arg(long, value_name = "FILE")]
    body_file: Option<PathBuf>,
    /// Right status codes; default 200 to 299.
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    expect_status: Vec<u16>,
    /// The exact body of every response.
    #[arg(long, value_name = "TEXT")]
    expect_body: Option<String>,
    /// A file with the exact body of every response.
    #[arg(long, value_name = "FILE")]
    expect_body_file: Option<PathBuf>,
    /// The exact length of every body.
    #[arg(long, value_name = "BYTES")]
    expect_length: Option<u64>,
    /// The SHA-256 of every body.
    #[arg(long, value_name = "HEX")]
    expect_sha256: Option<String>,
    /// Compare only every so-many-th body; status and length are always checked.
    #[arg(long, value_name = "NUMBER")]
    check_every: Option<u32>,
    /// A longer body is wrong, and the connection is given up; default 256 MiB.
    #[arg(long, value_name = "BYTES")]
    max_body: Option<u64>,
    /// TLS: a PEM file with the authorities to trust.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// TLS: a PEM file with the client's certificate.
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// TLS: a PEM file with the client's key.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// TLS: the name the server's certificate must have.
    #[arg(long, value_name = "NAME")]
    server_name: Option<String>,
    /// TLS: do not check the server's certificate.
    #[arg(long)]
    insecure: bool,
    /// Seed of everything random.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Send lag whose 99th percentile makes a flag; default 1ms.
    #[arg(long, value_parser = span, value_name = "TIME")]
    lag_bound: Option<Span>,
    /// Open loop: spin for arrivals nearer than this instead of sleeping.
    #[arg(long, value_parser = span, value_name = "TIME")]
    spin: Option<Span>,
    /// Which moment counts as the last byte: its receipt by the kernel, or our reading of it. Default: the kernel's in the open
    /// loop, where it can be had (epoll, TCP), else ours.
    #[arg(long, value_enum)]
    receipt: Option<Receipt>,
    /// Go before other processes on the CPU (real time, else nice -20), so that none delays a sending. Not for a CPU that the server shares.
    #[arg(long)]
    urgent: bool,
    /// Length of the intervals of progress and series; default 1s.
    #[arg(long, value_parser = span, value_name = "TIME")]
    interval: Option<Span>,
    /// Put each interval's histogram into the result.
    #[arg(long)]
    intervals: bool,
    /// Put the step's histograms into the result.
    #[arg(long)]
    histograms: bool,
    /// Allow an address that is not of this machine.
    #[arg(long)]
    allow_remote: bool,
    /// Read the job from a JSON file instead (- is standard input); implies --events.
    #[arg(long, value_name = "FILE")]
    pub job: Option<PathBuf>,
    /// Print an example of a job and end.
    #[arg(long)]
    pub job_example: bool,
    /// One JSON object a step.
    #[arg(long)]
    pub json: bool,
    /// JSON lines also while it runs: started, step_started, progress, step, end.
    #[arg(long)]
    pub events: bool,
    /// Stop when standard input ends.
    #[arg(long)]
    pub lifeline: bool,
}

/// A span of time, as an argument.
fn span(text: &str) -> Result<Span, String> {
    parse_span(text).map(Span)
}

impl Args {
    /// The job that is asked for.
    pub fn into_job(self) -> Result<Job, String> {
        if let Some(file) = &self.job {
            if self.url.is_some() {
                return Err("--job: the URL is in the job; leave it out of the command".into());
            }
            return read_job(file);
        }
        let url = self.url.clone().ok_or("give a URL, or --job FILE; --help shows all")?;
        let defaults = Job::default();
        let request = self.request()?;
        Ok(Job {
            url,
            connections: if self.connections.is_empty() {
                defaults.connections
            } else {
                OneOrMore(self.connections)
            },
            max_connections: self.max_connections,
            rate: (!self.rate.is_empty()).then_some(OneOrMore(self.rate)),
            spacing: if self.poisson { Spacing::Poisson } else { Spacing::Constant },
            duration: self.duration,
            requests: self.requests,
            warm_up: self.warm_up.unwrap_or(defaults.warm_up),
            timeout: self.timeout.unwrap_or(defaults.timeout),
            threads: self.threads,
            pin: self.pin,
            keepalive: !self.no_keepalive,
            reset_close: self.reset_close,
            source: self.source,
            unix: self.unix,
            backend: self.backend.unwrap_or(defaults.backend),
            http: self.http.unwrap_or(defaults.http),
            streams: self.streams,
            tls: Tls {
                ca: self.ca,
                cert: self.cert,
                key: self.key,
                server_name: self.server_name,
                insecure: self.insecure,
            },
            request,
            templates: vec![],
            seed: self.seed.unwrap_or(defaults.seed),
            lag_bound: self.lag_bound.unwrap_or(defaults.lag_bound),
            spin: self.spin.unwrap_or(defaults.spin),
            receipt: self.receipt.unwrap_or(defaults.receipt),
            urgent: self.urgent,
            interval: self.interval.unwrap_or(defaults.interval),
            intervals: self.intervals,
            histograms: self.histograms,
            allow_remote: self.allow_remote,
        })
    }

    fn request(&self) -> Result<Request, String> {
        let field = |text: &String| {
            let (name, value) = text
                .split_once(':')
                .ok_or_else(|| format!("--header {text:?} has no colon: write \"Name: value\""))?;
            Ok((name.to_owned(), value.trim().to_owned()))
        };
        let defaults = Check::default();
        let has_body = self.body.is_some() || self.body_file.is_some();
        Ok(Request {
            method: self.method.clone().unwrap_or_else(|| if has_body { "POST" } else { "GET" }.into()),
            headers: self.header.iter().map(field).collect::<Result<_, String>>()?,
            body: self.body.clone(),
            body_file: self.body_file.clone(),
            check: Check {
                status: self.expect_status.clone(),
                body: self.expect_body.clone(),
                body_file: self.expect_body_file.clone(),
                length: self.expect_length,
                sha256: self.expect_sha256.clone(),
                every: self.check_every.unwrap_or(defaults.every),
                max_body: self.max_body.unwrap_or(defaults.max_body),
            },
            ..Request::default()
        })
    }
}

/// Reads one JSON document; from standard input only that, since what follows may be a lifeline.
fn read_job(file: &PathBuf) -> Result<Job, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("--job {}: {error}", file.display());
    if file.as_os_str() == "-" {
        let mut reader = serde_json::Deserializer::from_reader(std::io::stdin().lock());
        return serde::Deserialize::deserialize(&mut reader)
            .map_err(|error: serde_json::Error| wrong(&error));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(arguments: &[&str]) -> Result<Job, String> {
        Args::try_parse_from(["bakeoff-load"].iter().chain(arguments))
            .map_err(|error| error.to_string())?
            .into_job()
    }

    #[test]
    fn flags_become_a_job() {
        let job =
            job(&["http://127.0.0.1:1/", "-c", "50,100", "-d", "500ms", "--no-keepalive", "-H", "A: b"])
                .unwrap();
        assert_eq!(job.connections.0, [50, 100]);
        assert_eq!(job.duration, Some(Span(500_000_000)));
        assert!(!job.keepalive);
        assert_eq!(job.request.headers, [("A".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn mistakes_name_the_flag() {
        for (arguments, flag) in [
            (&["http://127.0.0.1/", "-H", "nothing"][..], "--header"),
            (&[], "--job"),
            (&["http://127.0.0.1/", "--job", "x"], "--job"),
            (&["http://127.0.0.1/", "-d", "soon"], "--duration"),
        ] {
            let error = job(arguments).unwrap_err();
            assert!(error.contains(flag), "{error}");
        }
    }
}
