//! What the servers answer. How a sleep is slept is the server's own business.

use std::time::Duration;

use crate::{Error, Request, Response};

/// The body of `/hello`.
pub const HELLO: &str = "Hello, world!";
/// The longest sleep in milliseconds.
pub const MAX_SLEEP: u64 = 60_000;
/// The largest Fibonacci number that is computed.
pub const MAX_FIBONACCI: u64 = 50;

/// What is to be done for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Answer this.
    Answer(Response),
    /// Sleep so long, then answer 200 without a body.
    Sleep(Duration),
    /// Compute this Fibonacci number and answer it as a text.
    Fibonacci(u64),
}

/// Finds the endpoint of a request.
pub fn route(request: &Request<'_>) -> Action {
    if request.method == "GET" { route_path(request.path) } else { Action::Answer(Response::empty(405)) }
}

/// Finds the endpoint of a path.
pub fn route_path(path: &str) -> Action {
    if path == "/hello" {
        return Action::Answer(Response::text(HELLO));
    }
    let (number, largest, action): (_, _, fn(u64) -> Action) =
        if let Some(number) = path.strip_prefix("/sleep/") {
            (number, MAX_SLEEP, |ms| Action::Sleep(Duration::from_millis(ms)))
        } else if let Some(number) = path.strip_prefix("/fibonacci/") {
            (number, MAX_FIBONACCI, Action::Fibonacci)
        } else {
            return Action::Answer(Response::empty(404));
        };
    if number.is_empty() || number.contains('/') {
        return Action::Answer(Response::empty(404));
    }
    match parse_number(number, largest) {
        Some(number) => action(number),
        None => Action::Answer(Response::empty(400)),
    }
}

/// Digits only, and not above the largest.
pub fn parse_number(text: &str, largest: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&number| digits && number <= largest)
}

/// The Fibonacci number, by plain recursion: this is the work to be done.
pub fn fibonacci(i: u64) -> u64 {
    if i < 2 { i } else { fibonacci(i - 1) + fibonacci(i - 2) }
}

/// The answer to a malformed request; the connection is closed after it.
pub fn malformed(error: Error) -> Response {
    Response { status: 400, body: error.name().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes() {
        let status = |path| match route_path(path) {
            Action::Answer(response) => response.status,
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(status("/hello"), 200);
        for path in ["/", "/hello/", "/Hello", "/sleep", "/sleep/", "/sleep/1/2", "/fibonacci", "/fibonacci/"]
        {
            assert_eq!(status(path), 404, "{path}");
        }
        for path in [
            "/sleep/x",
            "/sleep/-1",
            "/sleep/+1",
            "/sleep/60001",
            "/sleep/99999999999999999999",
            "/sleep/1.5",
        ] {
            assert_eq!(status(path), 400, "{path}");
        }
        for path in ["/fibonacci/x", "/fibonacci/51", "/fibonacci/%31"] {
            assert_eq!(status(path), 400, "{path}");
        }
        assert_eq!(route_path("/sleep/20"), Action::Sleep(Duration::from_millis(20)));
        assert_eq!(route_path("/fibonacci/037"), Action::Fibonacci(37));
    }

    #[test]
    fn fibonacci_numbers() {
        let numbers: Vec<_> = (0..10).map(fibonacci).collect();
        assert_eq!(numbers, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
    }
}
