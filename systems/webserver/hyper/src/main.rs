//! hyper's HTTP/1 server on tokio: a task for each connection.

use std::convert::Infallible;
use std::io;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use webserver_parser::endpoints::{self, Action};
use webserver_parser::serving::{Listen, address_from_arguments, marker, pause_after};

#[tokio::main]
async fn main() -> io::Result<()> {
    marker("startup");
    let listener = Listen { nonblocking: true, shared: false }.on(address_from_arguments())?;
    let listener = TcpListener::from_std(listener)?;
    marker("ready");
    loop {
        match listener.accept().await {
            // A connection that fails is over, and there is nobody to tell.
            Ok((stream, _)) => drop(tokio::spawn(
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer)),
            )),
            Err(error) => {
                if let Some(pause) = pause_after(&error) {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::GET {
        let mut response = status(405);
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return Ok(response);
    }
    Ok(match endpoints::route_path(request.uri().path()) {
        Action::Answer(response) if response.status == 200 => Response::new(Full::from(endpoints::HELLO)),
        Action::Answer(response) => status(response.status),
        Action::Sleep(time) => {
            tokio::time::sleep(time).await;
            status(200)
        }
        Action::Fibonacci(i) => Response::new(Full::from(endpoints::fibonacci(i).to_string())),
    })
}

fn status(code: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::from_u16(code).expect("one of ours");
    response
}
