//! axum on hyper and tokio, as it comes.

use std::io;
use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::routing::get;
use webserver_parser::endpoints::{self, HELLO, MAX_FIBONACCI, MAX_SLEEP};
use webserver_parser::serving::{Listen, address_from_arguments, marker};

#[tokio::main]
async fn main() -> io::Result<()> {
    marker("startup");
    let app = Router::new()
        .route("/hello", get(async || HELLO))
        .route("/sleep/{ms}", get(sleep))
        .route("/fibonacci/{i}", get(fibonacci));
    let listener = Listen { nonblocking: true, shared: false }.on(address_from_arguments())?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    marker("ready");
    axum::serve(listener, app).await
}

async fn sleep(Path(ms): Path<u64>) -> StatusCode {
    if ms > MAX_SLEEP {
        return StatusCode::BAD_REQUEST;
    }
    tokio::time::sleep(Duration::from_millis(ms)).await;
    StatusCode::OK
}

async fn fibonacci(Path(i): Path<u64>) -> Result<String, StatusCode> {
    if i > MAX_FIBONACCI {
        return Err(StatusCode::BAD_REQUEST);
    }
    Ok(endpoints::fibonacci(i).to_string())
}
