//! A small fast HTTP/1.1 server to measure load generators against: one thread, epoll, one fixed response.
//!
//!     fast_server [PORT [SECONDS]]     prints "listening PORT"; ends by itself after SECONDS (default 600)

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const RESPONSE: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: fast\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!";
const CLOSING: &[u8] =
    b"HTTP/1.1 200 OK\r\nServer: fast\r\nConnection: close\r\nContent-Length: 13\r\n\r\nHello, world!";

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().expect("a number"));
    let port = arguments.next().unwrap_or(0) as u16;
    let end = Instant::now() + Duration::from_secs(arguments.next().unwrap_or(600));
    let listener = listen(port)?;
    println!("listening {}", listener.local_addr()?.port());
    // SAFETY: no pointers.
    let epoll = unsafe { libc::epoll_create1(0) };
    add(epoll, listener.as_raw_fd(), libc::EPOLLIN);
    let mut connections: HashMap<i32, TcpStream> = HashMap::new();
    let mut buffer = vec![0; 65536];
    while Instant::now() < end {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 256];
        // SAFETY: the pointer is to our own array of 256 events.
        let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), 256, 500) };
        for event in &events[..count.max(0) as usize] {
            let fd = event.u64 as i32;
            if fd == listener.as_raw_fd() {
                accept(&listener, epoll, &mut connections);
            } else if !serve(&connections[&fd], &mut buffer) {
                connections.remove(&fd);
            }
        }
    }
    Ok(())
}

/// A listener with the longest backlog the kernel allows.
fn listen(port: u16) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    listener.set_nonblocking(true)?;
    // SAFETY: no pointers; listening again only sets the backlog.
    unsafe { libc::listen(listener.as_raw_fd(), 65535) };
    Ok(listener)
}

fn add(epoll: i32, fd: i32, events: i32) {
    let mut event = libc::epoll_event { events: events as u32, u64: fd as u64 };
    // SAFETY: the pointer is to our own event.
    unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &mut event) };
}

fn accept(listener: &TcpListener, epoll: i32, connections: &mut HashMap<i32, TcpStream>) {
    while let Ok((stream, _)) = listener.accept() {
        let _ = (stream.set_nonblocking(true), stream.set_nodelay(true));
        add(epoll, stream.as_raw_fd(), libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET);
        connections.insert(stream.as_raw_fd(), stream);
    }
}

/// Answers the requests that are there; `false` when the connection is over. Requests must come whole.
fn serve(mut stream: &TcpStream, buffer: &mut [u8]) -> bool {
    loop {
        match stream.read(buffer) {
            Ok(0) => return false,
            Ok(count) => {
                let request = &buffer[..count];
                if memchr::memmem::find(request, b"Connection: close").is_some() {
                    let _ = stream.write_all(CLOSING);
                    return false;
                }
                for _ in 0..memchr::memmem::find_iter(request, b"\r\n\r\n").count() {
                    if stream.write_all(RESPONSE).is_err() {
                        return false;
                    }
                }
                if count < buffer.len() {
                    return true;
                }
            }
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}
