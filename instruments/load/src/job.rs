//! A job: what is asked for, as a JSON document or as flags. Both become this one structure.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::arrivals::Spacing;

/// What is asked for. Fields left out take the defaults of the flags of the same names.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Job {
    /// Where the load goes: `http://host:port/path` or `https://…`.
    pub url: String,
    /// Connections; a list makes a step of each.
    pub connections: OneOrMore<u64>,
    /// The open loop: most connections when those of `connections` are all busy. Default: 1000, or `connections` if
    /// that is more.
    pub max_connections: Option<u64>,
    /// The open loop: requests a second over all threads; a list makes a step of each. Without it the loop is closed.
    pub rate: Option<OneOrMore<f64>>,
    /// How the open loop's arrivals are spaced: `constant` or `poisson`.
    pub spacing: Spacing,
    /// How long each step measures, as `10`, `10s` or `500ms`. Default 10s; with `requests`, 10m at most.
    pub duration: Option<Span>,
    /// How many requests each step makes, if they are done before `duration` is over.
    pub requests: Option<u64>,
    /// Load before each step that is not recorded.
    pub warm_up: Span,
    /// How long a response is waited for.
    pub timeout: Span,
    /// Threads; default: as many as there are CPUs to run on, and no more than connections.
    pub threads: Option<usize>,
    /// Bind each thread to a CPU of its own.
    pub pin: bool,
    /// `false`: a connection for each request.
    pub keepalive: bool,
    /// Without keep-alive: close with a reset (SO_LINGER 0), which leaves no TIME_WAIT behind.
    pub reset_close: bool,
    /// Local addresses to connect from, taken in turns; each has its own ports.
    pub source: Vec<std::net::IpAddr>,
    /// Connect to this Unix socket; the URL gives the path and the Host field.
    pub unix: Option<PathBuf>,
    /// `auto`, `epoll` or `uring`.
    pub backend: BackendChoice,
    /// `1.1` or `2` (over TLS by ALPN, else with prior knowledge, h2c).
    pub http: Protocol,
    /// HTTP/2: most requests in flight on a connection; default 1 in the closed loop, 100 in the open loop.
    pub streams: Option<u64>,
    /// Options of TLS.
    pub tls: Tls,
    /// The request, where there is only one kind.
    pub request: Request,
    /// Several kinds of requests; instead of `request`.
    pub templates: Vec<Request>,
    /// Seed of everything random.
    pub seed: u64,
    /// Send lag whose 99th percentile makes a flag.
    pub lag_bound: Span,
    /// Spin for arrivals nearer than this instead of sleeping: less send lag for more CPU.
    pub spin: Span,
    /// Which moment counts as the last byte of a response.
    pub receipt: Receipt,
    /// Go before other processes on the CPU (real time, or nice -20 where that is refused).
    pub urgent: bool,
    /// Length of the intervals of progress and series.
    pub interval: Span,
    /// Keep each interval's histogram in the result.
    pub intervals: bool,
    /// Keep the step's histograms in the result.
    pub histograms: bool,
    /// Allow addresses that are not of this machine (network namespace).
    pub allow_remote: bool,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            url: String::new(),
            connections: OneOrMore(vec![10]),
            max_connections: None,
            rate: None,
            spacing: Spacing::Constant,
            duration: None,
            requests: None,
            warm_up: Span(0),
            timeout: Span(5_000_000_000),
            threads: None,
            pin: false,
            keepalive: true,
            reset_close: false,
            source: vec![],
            unix: None,
            backend: BackendChoice::Auto,
            http: Protocol::Http1,
            streams: None,
            tls: Tls::default(),
            request: Request::default(),
            templates: vec![],
            seed: 1,
            lag_bound: Span(1_000_000),
            spin: Span(0),
            receipt: Receipt::Auto,
            urgent: false,
            interval: Span(1_000_000_000),
            intervals: false,
            histograms: false,
            allow_remote: false,
        }
    }
}

/// One kind of request and what its response must be.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// A name for people.
    pub name: String,
    /// How often it is chosen, against the others.
    pub weight: f64,
    /// The method.
    pub method: String,
    /// Path and query; default: those of the URL. May hold fields, see [`crate::template`].
    pub path: Option<String>,
    /// Header fields, `[name, value]`. Values may hold fields.
    pub headers: Vec<(String, String)>,
    /// The body. May hold fields.
    pub body: Option<String>,
    /// A file with the body.
    pub body_file: Option<PathBuf>,
    /// What the response must be.
    pub check: Check,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            name: String::new(),
            weight: 1.0,
            method: "GET".into(),
            path: None,
            headers: vec![],
            body: None,
            body_file: None,
            check: Check::default(),
        }
    }
}

/// What a response must be. Framing, status and length are checked for every response.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Check {
    /// Right status codes; default 200 to 299.
    pub status: Vec<u16>,
    /// The exact body.
    pub body: Option<String>,
    /// A file with the exact body.
    pub body_file: Option<PathBuf>,
    /// The exact length of the body in bytes.
    pub length: Option<u64>,
    /// The SHA-256 of the body in hexadecimal.
    pub sha256: Option<String>,
    /// Compare every so-many-th body only (status and length are checked always); 1 is each.
    pub every: u32,
    /// A longer body is wrong, whatever it is; the connection is given up.
    pub max_body: u64,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            status: vec![],
            body: None,
            body_file: None,
            length: None,
            sha256: None,
            every: 1,
            max_body: 256 << 20,
        }
    }
}

/// Options of TLS.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// A PEM file with the authorities to trust.
    pub ca: Option<PathBuf>,
    /// A PEM file with the client's certificate chain.
    pub cert: Option<PathBuf>,
    /// A PEM file with the client's key.
    pub key: Option<PathBuf>,
    /// The name the server's certificate must have; default: the host of the URL.
    pub server_name: Option<String>,
    /// Do not check the server's certificate.
    pub insecure: bool,
}

/// Which engine carries the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    /// The faster one that this kernel allows.
    Auto,
    /// epoll.
    Epoll,
    /// io_uring.
    Uring,
}

/// Which moment counts as the last byte of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Receipt {
    /// The kernel's in the open loop where it can be had, else ours.
    Auto,
    /// When the kernel received it: our own waking is not in the response time.
    Kernel,
    /// When we had read it.
    Program,
}

/// The version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
pub enum Protocol {
    /// HTTP/1.1.
    #[serde(rename = "1.1")]
    #[value(name = "1.1")]
    Http1,
    /// HTTP/2.
    #[serde(rename = "2")]
    #[value(name = "2")]
    Http2,
}

/// A value or a list of values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OneOrMore<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            One(T),
            More(Vec<T>),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::One(value) => Self(vec![value]),
            Either::More(values) => Self(values),
        })
    }
}

/// A span of time in nanoseconds; in JSON a number of seconds or a text such as `500ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub u64);

impl Serialize for Span {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(crate::clock::seconds(self.0))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Seconds(f64),
            Text(String),
        }
        match Either::deserialize(deserializer)? {
            Either::Seconds(seconds) if seconds >= 0.0 => Ok(Self((seconds * 1e9).round() as u64)),
            Either::Seconds(_) => Err(serde::de::Error::custom("a span of time is not negative")),
            Either::Text(text) => crate::clock::parse_span(&text).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

/// A job with everything in it, for `--job-example`.
pub fn example() -> Job {
    let mut request = Request { name: "read".into(), weight: 9.0, ..Request::default() };
    request.path = Some("/item/${random:1-1000}".into());
    request.check.status = vec![200, 404];
    let mut write = Request { name: "write".into(), method: "POST".into(), ..Request::default() };
    write.path = Some("/item".into());
    write.headers = vec![("Content-Type".into(), "application/json".into())];
    write.body = Some("{\"number\": ${counter}, \"key\": \"${hex:16}\"}".into());
    Job {
        url: "http://127.0.0.1:8080/".into(),
        connections: OneOrMore(vec![64]),
        rate: Some(OneOrMore(vec![1000.0, 2000.0])),
        spacing: Spacing::Poisson,
        duration: Some(Span(10_000_000_000)),
        warm_up: Span(2_000_000_000),
        templates: vec![request, write],
        ..Job::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_read_with_defaults() {
        let job: Job = serde_json::from_str(
            r#"{"url": "http://localhost/", "connections": [1, 2], "rate": 100, "duration": "1500ms", "http": "2"}"#,
        )
        .unwrap();
        assert_eq!(job.connections.0, [1, 2]);
        assert_eq!(job.rate.unwrap().0, [100.0]);
        assert_eq!(job.duration, Some(Span(1_500_000_000)));
        assert_eq!(job.http, Protocol::Http2);
        assert!(job.keepalive);
    }

    #[test]
    fn unknown_fields_are_refused() {
        let error = serde_json::from_str::<Job>(r#"{"conections": 5}"#).unwrap_err().to_string();
        assert!(error.contains("conections"), "{error}");
        assert!(serde_json::from_str::<Job>(r#"{"timeout": -1}"#).is_err());
    }

    #[test]
    fn the_example_reads_back() {
        let text = serde_json::to_string(&example()).unwrap();
        let job: Job = serde_json::from_str(&text).unwrap();
        assert_eq!(job.templates.len(), 2);
    }
}
