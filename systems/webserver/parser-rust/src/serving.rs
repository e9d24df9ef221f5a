//! What each server needs besides its concurrency model: arguments, markers, a listening socket, the blocking loop.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::endpoints::{self, Action};
use crate::{Parser, Response};

/// How many connections may wait to be accepted.
pub const BACKLOG: i32 = 4096;
/// How many bytes a connection reads at once.
pub const READ_SIZE: usize = 2048;

/// Prints a marker. Who reads it gets it at once.
pub fn marker(name: &str) {
    let mut output = io::stdout().lock();
    // Nobody may be listening; the server serves all the same.
    let _ = writeln!(output, "@bakeoff {name}").and_then(|()| output.flush());
}

/// The address from `--host HOST --port PORT`; says how to use the program and ends if there is none.
pub fn address_from_arguments() -> SocketAddr {
    let mut host = None;
    let mut port = None;
    let mut arguments = std::env::args().skip(1);
    while let (Some(option), Some(value)) = (arguments.next(), arguments.next()) {
        match option.as_str() {
            "--host" => host = Some(value),
            "--port" => port = value.parse::<u16>().ok(),
            _ => break,
        }
    }
    let address = host.zip(port).and_then(|address| address.to_socket_addrs().ok()?.next());
    address.unwrap_or_else(|| {
        eprintln!("usage: server --host HOST --port PORT");
        std::process::exit(2);
    })
}

/// How a listening socket is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listen {
    /// For an event loop: accepting does not wait.
    pub nonblocking: bool,
    /// Several sockets may listen on the same address; the kernel spreads the connections.
    pub shared: bool,
}

impl Listen {
    /// Listens, and raises the limit of open files as far as it goes.
    pub fn on(self, address: SocketAddr) -> io::Result<TcpListener> {
        raise_file_limit();
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(self.shared)?;
        socket.set_nonblocking(self.nonblocking)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    }
}

/// What to do when accepting fails: a connection that is gone already is nothing, but without free descriptors
/// trying again at once would only burn time. Gives the pause to make before the next attempt.
pub fn pause_after(error: &io::Error) -> Option<Duration> {
    match error.kind() {
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted => {
            None
        }
        _ => {
            eprintln!("accept: {error}");
            Some(Duration::from_millis(10))
        }
    }
}

/// Accepts connections for ever and hands each over.
pub fn accept_blocking(listener: &TcpListener, mut hand_over: impl FnMut(TcpStream)) -> ! {
    loop {
        match listener.accept() {
            Ok((stream, _)) => hand_over(stream),
            Err(error) => {
                if let Some(pause) = pause_after(&error) {
                    thread::sleep(pause);
                }
            }
        }
    }
}

/// Serves one connection to its end, on a thread of its own.
pub fn serve_blocking(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut parser = Parser::new();
    let mut input = [0; READ_SIZE];
    let mut output = Vec::new();
    loop {
        let (response, close) = match parser.next_request() {
            Ok(Some(request)) => {
                let close = !request.keep_alive;
                let response = match endpoints::route(&request) {
                    Action::Answer(response) => response,
                    Action::Sleep(time) => {
                        thread::sleep(time);
                        Response::empty(200)
                    }
                    Action::Fibonacci(i) => Response::text(endpoints::fibonacci(i).to_string()),
                };
                (response, close)
            }
            Ok(None) => {
                let count = stream.read(&mut input)?;
                if count == 0 {
                    return Ok(());
                }
                parser.append(&input[..count]);
                continue;
            }
            Err(error) => (endpoints::malformed(error), true),
        };
        output.clear();
        response.serialise(close, &mut output);
        stream.write_all(&output)?;
        if close {
            return Ok(());
        }
    }
}

fn raise_file_limit() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is valid for the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0 && limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: as above. Should it fail, the lower limit stays, and we find out when it is reached.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
}
