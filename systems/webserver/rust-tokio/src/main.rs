//! A task of tokio for each connection, on its multi-threaded runtime: one thread per CPU.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use webserver_parser::endpoints::{self, Action};
use webserver_parser::serving::{Listen, READ_SIZE, address_from_arguments, marker, pause_after};
use webserver_parser::{Parser, Response};

#[tokio::main]
async fn main() -> io::Result<()> {
    marker("startup");
    let listener = Listen { nonblocking: true, shared: false }.on(address_from_arguments())?;
    let listener = TcpListener::from_std(listener)?;
    marker("ready");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream))),
            Err(error) => {
                if let Some(pause) = pause_after(&error) {
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

/// Serves one connection to its end.
async fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut parser = Parser::new();
    let mut input = [0; READ_SIZE];
    let mut output = Vec::new();
    loop {
        let (action, close) = match parser.next_request() {
            Ok(Some(request)) => (endpoints::route(&request), !request.keep_alive),
            Ok(None) => {
                let count = stream.read(&mut input).await?;
                if count == 0 {
                    return Ok(());
                }
                parser.append(&input[..count]);
                continue;
            }
            Err(error) => (Action::Answer(endpoints::malformed(error)), true),
        };
        let response = match action {
            Action::Answer(response) => response,
            Action::Sleep(time) => {
                tokio::time::sleep(time).await;
                Response::empty(200)
            }
            Action::Fibonacci(i) => Response::text(endpoints::fibonacci(i).to_string()),
        };
        output.clear();
        response.serialise(close, &mut output);
        stream.write_all(&output).await?;
        if close {
            return Ok(());
        }
    }
}
