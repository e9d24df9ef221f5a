//! What a parser makes of some bytes, as JSON: the same words as the other languages' programs print.
//! Bytes are written as the characters of the same number, so that any byte fits into a JSON string.

use serde_json::{Value, json};
use webserver_parser::{Parser, Request, Version};

/// Feeds the pieces one after the other, taking requests after each, and then ends the connection.
pub fn observe<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Value {
    let mut parser = Parser::new();
    let mut requests = Vec::new();
    let mut error = None;
    'pieces: for piece in pieces {
        parser.append(piece);
        loop {
            match parser.next_request() {
                Ok(Some(request)) => requests.push(describe(&request)),
                Ok(None) => break,
                Err(other) => {
                    error = Some(other.name());
                    break 'pieces;
                }
            }
        }
    }
    let end = parser.finish().err().map(|error| error.name());
    json!({ "requests": requests, "error": error, "end": if error.is_some() { None } else { end } })
}

fn describe(request: &Request<'_>) -> Value {
    let headers: Vec<_> = request.headers().map(|(name, value)| json!([text(name), text(value)])).collect();
    json!({
        "method": request.method,
        "path": request.path,
        "query": request.query,
        "version": match request.version { Version::Http10 => "1.0", Version::Http11 => "1.1" },
        "keep_alive": request.keep_alive,
        "headers": headers,
        "body": text(request.body),
    })
}

fn text(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| char::from(byte)).collect()
}
