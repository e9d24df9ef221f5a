//! actix-web, as it comes: a single-threaded worker for each CPU.

use std::io;
use std::time::Duration;

use actix_web::web::Path;
use actix_web::{App, HttpResponse, HttpServer, get, rt};
use webserver_parser::endpoints::{self, HELLO, MAX_FIBONACCI, MAX_SLEEP, parse_number};
use webserver_parser::serving::{Listen, address_from_arguments, marker};

#[actix_web::main]
async fn main() -> io::Result<()> {
    marker("startup");
    let listener = Listen::default().on(address_from_arguments())?;
    let server = HttpServer::new(|| App::new().service(hello).service(sleep).service(fibonacci))
        // Idle connections are closed after this time; actix's 5 s are too few to keep 10,000 of them.
        .keep_alive(Duration::from_secs(75))
        // SIGTERM ends the process at once, as in the other servers; actix would wait for open connections.
        .disable_signals()
        .listen(listener)?
        .run();
    marker("ready");
    server.await
}

/// The static text.
#[get("/hello")]
async fn hello() -> &'static str {
    HELLO
}

/// An empty answer after so many milliseconds.
#[get("/sleep/{ms}")]
async fn sleep(ms: Path<String>) -> HttpResponse {
    let Some(ms) = parse_number(&ms, MAX_SLEEP) else {
        return HttpResponse::BadRequest().finish();
    };
    rt::time::sleep(Duration::from_millis(ms)).await;
    HttpResponse::Ok().finish()
}

/// A Fibonacci number, computed in the worker.
#[get("/fibonacci/{i}")]
async fn fibonacci(i: Path<String>) -> HttpResponse {
    match parse_number(&i, MAX_FIBONACCI) {
        Some(i) => HttpResponse::Ok().body(endpoints::fibonacci(i).to_string()),
        None => HttpResponse::BadRequest().finish(),
    }
}
