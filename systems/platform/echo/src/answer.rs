//! What the server answers, whatever it stands on.

/// The line that `GET /` gives.
pub const HELP: &str = "POST a body to /echo or to /echo/reversed\n";

/// The status and the body of the answer to a request.
pub fn answer(method: &str, path: &str, body: Vec<u8>) -> (u16, Vec<u8>) {
    match (method, path) {
        ("GET", "/") => (200, HELP.as_bytes().to_vec()),
        ("POST", "/echo") => (200, body),
        ("POST", "/echo/reversed") => (200, body.into_iter().rev().collect()),
        _ => (404, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn echoes() {
        assert_eq!(answer("POST", "/echo", b"abc".to_vec()), (200, b"abc".to_vec()));
        assert_eq!(answer("POST", "/echo/reversed", b"abc".to_vec()), (200, b"cba".to_vec()));
        assert_eq!(answer("GET", "/", Vec::new()).0, 200);
        assert_eq!(answer("GET", "/echo", Vec::new()).0, 404);
    }
}
