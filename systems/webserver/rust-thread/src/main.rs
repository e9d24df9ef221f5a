//! A thread for each connection, started when the connection is accepted.

use std::io;
use std::thread;

use webserver_parser::serving::{Listen, accept_blocking, address_from_arguments, marker, serve_blocking};

fn main() -> io::Result<()> {
    marker("startup");
    let listener = Listen::default().on(address_from_arguments())?;
    marker("ready");
    accept_blocking(&listener, |stream| {
        // Without a thread there is no service: the connection is closed when it is dropped with the closure.
        if let Err(error) = thread::Builder::new().spawn(move || serve_blocking(stream)) {
            eprintln!("no thread for a connection: {error}");
        }
    })
}
