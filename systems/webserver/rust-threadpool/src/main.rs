//! Ten thousand threads, started beforehand. Accepted connections come to them through a channel.

use std::io;
use std::thread;

use webserver_parser::serving::{Listen, accept_blocking, address_from_arguments, marker, serve_blocking};

/// How many connections are served at once; more have to wait.
const THREADS: usize = 10_000;
/// The stack of a thread in bytes. A connection needs little, and there are many.
const STACK: usize = 64 * 1024;

fn main() -> io::Result<()> {
    marker("startup");
    let address = address_from_arguments();
    let (sender, receiver) = crossbeam_channel::unbounded();
    for _ in 0..THREADS {
        let receiver = receiver.clone();
        thread::Builder::new().stack_size(STACK).spawn(move || {
            for stream in receiver {
                // A connection that fails is over; the thread takes the next.
                let _ = serve_blocking(stream);
            }
        })?;
    }
    let listener = Listen::default().on(address)?;
    marker("ready");
    accept_blocking(&listener, |stream| sender.send(stream).expect("the threads live as long as the process"))
}
