//! A plan: a job checked, with every default filled in and everything loaded.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use crate::arrivals::Spacing;
use crate::check::Expectation;
use crate::clock::SECOND;
use crate::job::{BackendChoice, Check, Job, Protocol, Receipt, Request};
use crate::target::{Address, Url, is_local};
use crate::template::{Source, Template};

/// The longest step that is bounded by requests alone.
const LONGEST: u64 = 600 * SECOND;

/// What is common to all steps.
#[derive(Debug)]
pub struct Plan {
    /// The job it was made from.
    pub job: Job,
    /// Where connections go.
    pub address: Address,
    /// TLS, if the scheme asks for it.
    pub tls: Option<crate::tls::Client>,
    /// The kinds of requests.
    pub templates: Vec<Template>,
    /// How many threads.
    pub threads: usize,
    /// A connection carries many requests.
    pub keepalive: bool,
    /// Nanoseconds a response is waited for.
    pub timeout: u64,
    /// Nanoseconds of load before each step that is not recorded.
    pub warm_up: u64,
    /// How arrivals are spaced.
    pub spacing: Spacing,
    /// Seed of everything random.
    pub seed: u64,
    /// Nanoseconds of send lag that are too many.
    pub lag_bound: u64,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step: one level of load.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its index, from 0.
    pub index: usize,
    /// Connections at its start.
    pub connections: u64,
    /// Most connections.
    pub max_connections: u64,
    /// Requests a second of the open loop.
    pub rate: Option<f64>,
    /// Nanoseconds it measures at most.
    pub duration: u64,
    /// Requests it makes at most.
    pub requests: Option<u64>,
}

impl Step {
    /// The share of thread `thread` of `threads`; the rate stays that of all threads.
    pub fn share(&self, thread: usize, threads: usize) -> Self {
        let share = |total: u64| total / threads as u64 + u64::from((thread as u64) < total % threads as u64);
        Self {
            connections: share(self.connections),
            max_connections: share(self.max_connections),
            requests: self.requests.map(share),
            ..self.clone()
        }
    }
}

impl Plan {
    /// Checks a job. An error names what is wrong and how to mend it.
    pub fn new(job: Job) -> Result<Self, String> {
        let url = Url::parse(&job.url)?;
        let address = match &job.unix {
            Some(path) => Address::Unix(path.clone()),
            None => Address::Tcp(url.resolve()?),
        };
        if let Address::Tcp(tcp) = &address
            && !job.allow_remote
            && !is_local(tcp.ip())
        {
            return Err(format!(
                "{} is not an address of this machine, and load goes only there; give --allow-remote if the host is yours",
                tcp.ip()
            ));
        }
        check_numbers(&job)?;
        let steps = steps(&job)?;
        let most = steps.iter().map(|step| step.connections.min(step.max_connections)).min().unwrap_or(1);
        let threads = threads(&job, most)?;
        let templates = templates(&job, &url)?;
        let tls = if url.tls { Some(crate::tls::Client::new(&job, &url.host)?) } else { None };
        Ok(Self {
            address,
            tls,
            templates,
            threads,
            keepalive: job.keepalive,
            timeout: job.timeout.0,
            warm_up: job.warm_up.0,
            spacing: job.spacing,
            seed: job.seed,
            lag_bound: job.lag_bound.0,
            steps,
            job,
        })
    }
}

impl Plan {
    /// Whether epoll takes the kernel's word for when the last byte came. By default in the open loop, whose requests go out
    /// by the clock; in the closed loop the next request goes out when we have read, so that this is the moment that counts.
    pub fn takes_kernel_receipt(&self) -> bool {
        let tcp = matches!(self.address, Address::Tcp(_));
        match self.job.receipt {
            Receipt::Auto => tcp && self.job.rate.is_some(),
            Receipt::Kernel => true,
            Receipt::Program => false,
        }
    }
}

fn check_numbers(job: &Job) -> Result<(), String> {
    let refuse = |wrong: bool, message: &str| if wrong { Err(message.to_owned()) } else { Ok(()) };
    let rates = job.rate.as_ref().map(|rates| rates.0.as_slice()).unwrap_or_default();
    refuse(job.connections.0.is_empty() || job.connections.0.contains(&0), "--connections: give at least 1")?;
    refuse(job.rate.is_some() && rates.is_empty(), "--rate: give at least one rate")?;
    refuse(
        rates.iter().any(|rate| !(*rate > 0.0 && *rate <= 1e7)),
        "--rate: a rate is above 0 and at most 10000000",
    )?;
    refuse(job.timeout.0 < 1_000_000 || job.timeout.0 > 3600 * SECOND, "--timeout: give 1ms to 1h")?;
    refuse(job.duration.is_some_and(|span| span.0 == 0), "--duration: give more than 0")?;
    refuse(job.interval.0 < 10_000_000, "--interval: give at least 10ms")?;
    refuse(job.streams == Some(0), "--streams: give at least 1")?;
    refuse(job.requests == Some(0), "--requests: give at least 1")?;
    refuse(job.duration.is_some_and(|span| span.0 > 24 * 3600 * SECOND), "--duration: give at most 24h")?;
    refuse(job.warm_up.0 > 3600 * SECOND, "--warm-up: give at most 1h")?;
    let mixed = job.source.iter().any(IpAddr::is_ipv6) && job.source.iter().any(IpAddr::is_ipv4);
    refuse(mixed, "--source: addresses of one kind only, IPv4 or IPv6")?;
    refuse(
        job.unix.is_some() && !job.source.is_empty(),
        "--source has no meaning with --unix: leave one of them out",
    )?;
    refuse(
        job.http == Protocol::Http2 && job.backend == BackendChoice::Uring,
        "--backend uring has no HTTP/2: leave --backend out",
    )?;
    let stampless = job.http == Protocol::Http2 || job.backend == BackendChoice::Uring || job.unix.is_some();
    refuse(
        job.receipt == Receipt::Kernel && stampless,
        "--receipt kernel is for HTTP/1.1 over TCP on epoll: leave --receipt out",
    )?;
    refuse(
        job.http == Protocol::Http2 && !job.keepalive,
        "--no-keepalive is not for HTTP/2, whose connections carry many requests: leave one of them out",
    )
}

fn steps(job: &Job) -> Result<Vec<Step>, String> {
    let rates: Vec<Option<f64>> = match &job.rate {
        Some(rates) => rates.0.iter().map(|&rate| Some(rate)).collect(),
        None => vec![None],
    };
    let connections = &job.connections.0;
    if rates.len() > 1 && connections.len() > 1 {
        return Err("--rate and --connections are both lists: give one of them a single value".into());
    }
    let duration = match (job.duration, job.requests) {
        (Some(duration), _) => duration.0,
        (None, Some(_)) => LONGEST,
        (None, None) => 10 * SECOND,
    };
    let step = |(index, (&connections, &rate)): (usize, (&u64, &Option<f64>))| {
        let most = if rate.is_some() { job.max_connections.unwrap_or(1000) } else { connections };
        Step {
            index,
            connections,
            max_connections: most.max(connections),
            rate,
            duration,
            requests: job.requests,
        }
    };
    let pairs = connections.iter().flat_map(|count| rates.iter().map(move |rate| (count, rate)));
    Ok(pairs.enumerate().map(step).collect())
}

fn threads(job: &Job, connections: u64) -> Result<usize, String> {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = job.threads.unwrap_or(cpus).min(connections.max(1) as usize);
    let threads = threads.min(job.requests.unwrap_or(u64::MAX) as usize);
    if threads == 0 || threads > 256 {
        return Err("--threads: give 1 to 256".into());
    }
    Ok(threads)
}

fn templates(job: &Job, url: &Url) -> Result<Vec<Template>, String> {
    let requests = if job.templates.is_empty() { std::slice::from_ref(&job.request) } else { &job.templates };
    if requests.iter().any(|request| !(request.weight >= 0.0 && request.weight.is_finite()))
        || requests.iter().map(|request| request.weight).sum::<f64>() <= 0.0
    {
        return Err("templates: weights are not negative, and one is above 0".into());
    }
    requests.iter().map(|request| template(job, request, url)).collect()
}

fn template(job: &Job, request: &Request, url: &Url) -> Result<Template, String> {
    let body = match (&request.body, &request.body_file) {
        (Some(_), Some(_)) => return Err("--body and --body-file: give one of them".into()),
        (Some(body), None) => Some(body.clone().into_bytes()),
        (None, Some(file)) => Some(read(file)?),
        (None, None) => None,
    };
    let clean = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte > b' ' && byte != 0x7f);
    if !clean(&request.method) {
        return Err(format!("--method {:?} is not a method", request.method));
    }
    for (name, value) in &request.headers {
        if !clean(name) || name.contains(':') || value.contains(['\r', '\n', '\0']) {
            return Err(format!("--header \"{name}: {value}\" is not a header field: write \"Name: value\""));
        }
    }
    let path = request.path.clone().unwrap_or_else(|| url.path.clone());
    if !path.starts_with('/') || !clean(&path) {
        return Err(format!("the path {path:?} must start with / and have no blanks"));
    }
    let source = Source {
        name: request.name.clone(),
        method: request.method.clone(),
        path,
        host: url.authority.clone(),
        headers: request.headers.clone(),
        body,
        close: !job.keepalive,
    };
    Template::new(source, expectation(&request.check)?, request.weight)
}

fn expectation(check: &Check) -> Result<Expectation, String> {
    let body = match (&check.body, &check.body_file) {
        (Some(_), Some(_)) => return Err("--expect-body and --expect-body-file: give one of them".into()),
        (Some(body), None) => Some(body.clone().into_bytes()),
        (None, Some(file)) => Some(read(file)?),
        (None, None) => None,
    };
    if check.every == 0 {
        return Err("--check-every: give at least 1, which is each".into());
    }
    let sha256 = check.sha256.as_deref().map(digest).transpose()?;
    let (statuses, length, every, max_body) =
        (check.status.clone(), check.length, check.every, check.max_body);
    Ok(Expectation { statuses, length, body: body.map(Arc::from), sha256, every, max_body })
}

fn digest(text: &str) -> Result<[u8; 32], String> {
    let wrong = || format!("--expect-sha256 {text:?} is not 64 hexadecimal digits");
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    let mut digest = [0; 32];
    for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
        *byte = u8::from_str_radix(digits, 16).map_err(|_| wrong())?;
    }
    Ok(digest)
}

/// Reads a file, with its name in the error.
pub fn read(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}
