//! A test server, kind and hostile by path, and the way to run the load in this process.

#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bakeoff_load::job::Job;
use bakeoff_load::output::{Form, Output};
use bakeoff_load::plan::Plan;
use bakeoff_load::result::StepResult;
use serde_json::Value;

/// A server on a free port of loopback; it lives as long as the process.
pub struct Server {
    pub address: SocketAddr,
    pub requests: Arc<AtomicU64>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        // SAFETY: no pointers; listening again only sets the backlog.
        unsafe { libc::listen(listener.as_raw_fd(), 4096) };
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let counter = requests.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counter = counter.clone();
                thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    let reset = |stream: &TcpStream| reset(stream);
                    converse(stream, &counter, reset)
                });
            }
        });
        Self { address, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// Makes the close of a connection a reset.
fn reset(stream: &TcpStream) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of::<libc::linger>() as libc::socklen_t;
    // SAFETY: the pointer is to our own value of the size given.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size,
        )
    };
}

/// Reads requests and answers them, until the connection is to end.
pub fn converse<S: Read + Write>(mut stream: S, counter: &AtomicU64, reset: impl Fn(&S)) {
    let mut pending = Vec::new();
    loop {
        let Some(request) = read_request(&mut stream, &mut pending) else { return };
        counter.fetch_add(1, Ordering::Relaxed);
        let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
        let closing = request.contains("Connection: close");
        match answer(&mut stream, &path, &request) {
            Ok(true) if !closing => {}
            Ok(_) => {
                if path == "/reset" {
                    thread::sleep(Duration::from_millis(5));
                    reset(&stream);
                }
                return;
            }
            Err(_) => return,
        }
    }
}

/// The next request with its body, or nothing at the end.
fn read_request<S: Read>(stream: &mut S, pending: &mut Vec<u8>) -> Option<String> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).into_owned();
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ").map(|n| n.parse().unwrap())
                })
                .unwrap_or(0usize);
            if pending.len() >= end + 4 + length {
                let request = String::from_utf8_lossy(&pending[..end + 4 + length]).into_owned();
                pending.drain(..end + 4 + length);
                return Some(request);
            }
        }
        match stream.read(&mut buffer) {
            Ok(count @ 1..) => pending.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}

/// Answers by path; `false` when the connection is to be closed.
fn answer<S: Write>(stream: &mut S, path: &str, request: &str) -> std::io::Result<bool> {
    let fixed = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut parts = path.split('/').skip(1);
    match (parts.next().unwrap_or(""), parts.next()) {
        ("ok", _) => stream.write_all(fixed("hello").as_bytes())?,
        ("echo", _) => {
            let body = request.split("\r\n\r\n").nth(1).unwrap_or("");
            stream.write_all(fixed(body).as_bytes())?;
        }
        ("delay", Some(milliseconds)) => {
            thread::sleep(Duration::from_millis(milliseconds.parse().unwrap()));
            stream.write_all(fixed("hello").as_bytes())?;
        }
        ("status", Some(status)) => {
            stream.write_all(format!("HTTP/1.1 {status} Status\r\nContent-Length: 0\r\n\r\n").as_bytes())?;
        }
        ("continue", _) => {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
            stream.write_all(fixed("hello").as_bytes())?;
        }
        ("chunked", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n")?;
            stream.write_all(b"3;a=b\r\nllo\r\n0\r\n\r\n")?;
        }
        ("old", _) => {
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhello")?;
            return Ok(false);
        }
        ("garbage", _) => stream.write_all(b"\x16\x03\x01 this is no HTTP at all \r\n\r\n")?,
        ("endless", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
            (0..100_000)
                .try_for_each(|n| stream.write_all(format!("X-Field-{n}: {n:0100}\r\n").as_bytes()))?;
        }
        ("drip", _) => {
            for byte in fixed("hello").bytes() {
                stream.write_all(&[byte])?;
                thread::sleep(Duration::from_secs(1));
            }
        }
        ("reset", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")?;
            return Ok(false);
        }
        ("short", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")?;
            return Ok(false);
        }
        ("long", _) => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhello")?,
        ("early", _) => return Ok(false),
        ("silent", _) => thread::sleep(Duration::from_secs(30)),
        ("pipelined", _) => stream.write_all(format!("{}{}", fixed("hello"), fixed("more")).as_bytes())?,
        ("huge", _) => {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")?;
            let piece = vec![b'x'; 65536];
            (0..16384).try_for_each(|_| stream.write_all(&piece))?;
        }
        _ => stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")?,
    }
    Ok(true)
}

/// Runs a job given as JSON and returns its steps as they would be printed.
pub fn measure(job: Value) -> Vec<Value> {
    try_measure(job).unwrap()
}

/// As [`measure`], with the reason where it cannot be measured.
pub fn try_measure(job: Value) -> Result<Vec<Value>, String> {
    let job: Job = serde_json::from_value(job).map_err(|error| error.to_string())?;
    let plan = Arc::new(Plan::new(job)?);
    let output = Output { form: Form::Steps };
    let mut results = Vec::new();
    for step in &plan.steps {
        let outcome = bakeoff_load::run::run_step(&plan, step, output)?;
        results.push(serde_json::to_value(StepResult::new(&plan, step, outcome)).unwrap());
    }
    Ok(results)
}

/// The names of a result's flags.
pub fn flags(result: &Value) -> Vec<String> {
    result["flags"].as_array().unwrap().iter().map(|flag| flag["name"].as_str().unwrap().to_owned()).collect()
}
