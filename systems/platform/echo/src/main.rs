//! An HTTP server on hyper and a single-threaded tokio: one source for Linux, WASI and WasmEdge.
//!
//! `echo HOST:PORT`. Where the platform opens the socket (WASI preview 1), the address is that of file descriptor 3.

mod answer;
mod io;

use answer::answer;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use io::Io;
use std::io::Write;
#[cfg(not(feature = "wasmedge"))]
use tokio::{net::TcpListener, runtime, task};
#[cfg(feature = "wasmedge")]
use wasmedge_tokio::{net::TcpListener, runtime, task};

fn main() {
    println!("@bakeoff startup");
    std::io::stdout().flush().expect("standard output takes what is written");
    let address = std::env::args().nth(1).expect("echo HOST:PORT");
    let runtime = runtime::Builder::new_current_thread().enable_io().build().expect("a runtime");
    runtime.block_on(until_told(serve(&address)));
}

/// Serves for ever, each connection in a task of its own.
async fn serve(address: &str) {
    let listener = listen(address).await;
    println!("@bakeoff ready");
    std::io::stdout().flush().expect("standard output takes what is written");
    loop {
        // A connection that has gone before it was taken is no reason to end.
        let Ok((stream, _)) = listener.accept().await else { continue };
        task::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(Io(stream), service_fn(respond));
            // The client may break off; that is its own affair.
            let _ = connection.await;
        });
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let (status, body) = answer(head.method.as_str(), head.uri.path(), body.into());
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = hyper::StatusCode::from_u16(status).expect("a status");
    Ok(response)
}

#[cfg(not(all(target_os = "wasi", target_env = "p1", not(feature = "wasmedge"))))]
async fn listen(address: &str) -> TcpListener {
    let address: std::net::SocketAddr = address.parse().expect("an address such as 127.0.0.1:80");
    TcpListener::bind(address).await.expect("listening")
}

/// In preview 1 a program cannot open a socket; the platform gives it one as the first free descriptor.
#[cfg(all(target_os = "wasi", target_env = "p1", not(feature = "wasmedge")))]
async fn listen(_: &str) -> TcpListener {
    use std::os::fd::FromRawFd;
    // SAFETY: descriptor 3 is open and nobody else has it.
    let listener = unsafe { std::net::TcpListener::from_raw_fd(3) };
    listener.set_nonblocking(true).expect("a socket that does not block");
    TcpListener::from_std(listener).expect("listening")
}

/// Ends at SIGTERM, which the first process of a container would otherwise never see.
#[cfg(unix)]
async fn until_told(serving: impl Future<Output = ()>) {
    use tokio::signal::unix::{SignalKind, signal};
    let mut told = signal(SignalKind::terminate()).expect("a handler");
    tokio::select! {
        () = serving => {}
        _ = told.recv() => {}
    }
}

#[cfg(not(unix))]
async fn until_told(serving: impl Future<Output = ()>) {
    serving.await;
}
