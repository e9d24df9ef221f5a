//! epoll without a runtime: an event loop for each CPU, each with its own listening socket (SO_REUSEPORT), its own
//! connections and timers. `/fibonacci` would stop a loop, so a small pool computes it.

use std::{io, thread};

use webserver_parser::serving::{Listen, address_from_arguments, marker};

mod connection;
mod epoll;
mod event_loop;
mod pool;

use event_loop::EventLoop;

fn main() -> io::Result<()> {
    marker("startup");
    let address = address_from_arguments();
    let cpus = thread::available_parallelism()?.get();
    let pool = pool::start(cpus);
    // All sockets listen before anyone is served, so that the kernel spreads the connections from the first on.
    let loops = (0..cpus)
        .map(|_| EventLoop::new(Listen { nonblocking: true, shared: true }.on(address)?, pool.clone()))
        .collect::<io::Result<Vec<_>>>()?;
    let threads: Vec<_> = loops.into_iter().map(|event_loop| thread::spawn(|| event_loop.run())).collect();
    marker("ready");
    for thread in threads {
        thread.join().map_err(|_| io::Error::other("an event loop has panicked"))??;
    }
    Ok(())
}
