//! A response and how it is put into bytes.

use std::borrow::Cow;

/// A response. Its headers are the same in all our servers: Content-Length, Content-Type with a body,
/// `Connection: close` when the connection ends, and Allow with 405.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Such as 200.
    pub status: u16,
    /// A text, perhaps empty.
    pub body: Cow<'static, str>,
}

impl Response {
    /// A response without a body.
    pub const fn empty(status: u16) -> Self {
        Response { status, body: Cow::Borrowed("") }
    }

    /// 200 with a text.
    pub fn text(body: impl Into<Cow<'static, str>>) -> Self {
        Response { status: 200, body: body.into() }
    }

    /// Appends the response to `output`; `close` says that the connection ends after it.
    pub fn serialise(&self, close: bool, output: &mut Vec<u8>) {
        output.extend_from_slice(status_line(self.status).as_bytes());
        output.extend_from_slice(b"Content-Length: ");
        push_number(output, self.body.len());
        output.extend_from_slice(b"\r\n");
        if !self.body.is_empty() {
            output.extend_from_slice(b"Content-Type: text/plain; charset=utf-8\r\n");
        }
        if self.status == 405 {
            output.extend_from_slice(b"Allow: GET\r\n");
        }
        if close {
            output.extend_from_slice(b"Connection: close\r\n");
        }
        output.extend_from_slice(b"\r\n");
        output.extend_from_slice(self.body.as_bytes());
    }
}

fn status_line(status: u16) -> &'static str {
    match status {
        200 => "HTTP/1.1 200 OK\r\n",
        400 => "HTTP/1.1 400 Bad Request\r\n",
        404 => "HTTP/1.1 404 Not Found\r\n",
        405 => "HTTP/1.1 405 Method Not Allowed\r\n",
        _ => "HTTP/1.1 500 Internal Server Error\r\n",
    }
}

fn push_number(output: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    output.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(response: Response, close: bool) -> String {
        let mut output = Vec::new();
        response.serialise(close, &mut output);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_text() {
        assert_eq!(
            text(Response::text("Hello, world!"), false),
            "HTTP/1.1 200 OK\r\nContent-Length: 13\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello, world!"
        );
    }

    #[test]
    fn empty_and_closing() {
        assert_eq!(
            text(Response::empty(404), true),
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(
            text(Response::empty(405), false),
            "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: GET\r\n\r\n"
        );
    }
}
