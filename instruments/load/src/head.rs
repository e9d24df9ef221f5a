//! The head of a response: status line and header fields (RFC 9112, sections 4 to 6).

use memchr::{memchr, memmem};

/// Most bytes a head may have before it counts as malformed: a server must not fill our memory.
pub const HEAD_LIMIT: usize = 64 * 1024;

/// How the end of a body is found (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks, each with its own length.
    Chunked,
    /// All bytes until the server closes.
    UntilClose,
}

/// What a head says that matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The status code, 100 to 599 (or what three digits the server chose).
    pub status: u16,
    /// How the end of the body is found.
    pub framing: Framing,
    /// The connection may carry another request.
    pub keep: bool,
}

impl Head {
    /// An interim response (1xx): another head follows. 101 would change the protocol and is final.
    pub fn is_interim(&self) -> bool {
        (100..200).contains(&self.status) && self.status != 101
    }
}

/// The bytes are not a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAHead;

/// The length of the head at the start of `bytes`, with its empty line; `from` bytes are known to hold no end.
pub fn find_end(bytes: &[u8], from: usize) -> Option<usize> {
    let from = from.saturating_sub(3);
    memmem::find(&bytes[from..], b"\r\n\r\n").map(|at| from + at + 4)
}

/// Whether the first bytes can still become a head; so that garbage without an end is seen at once.
pub fn may_start(bytes: &[u8]) -> bool {
    const START: &[u8] = b"HTTP/1.";
    let shared = bytes.len().min(START.len());
    bytes[..shared] == START[..shared]
}

/// Reads a whole head. `bodiless` says that the request was HEAD, whose response has no body.
pub fn parse(bytes: &[u8], bodiless: bool) -> Result<Head, NotAHead> {
    let mut lines = Lines { rest: bytes };
    let (version, status) = status_line(lines.next().ok_or(NotAHead)?)?;
    let mut fields = Fields::default();
    loop {
        let line = lines.next().ok_or(NotAHead)?;
        if line.is_empty() {
            break;
        }
        fields.add(line)?;
    }
    if !lines.rest.is_empty() {
        return Err(NotAHead);
    }
    fields.conclude(version, status, bodiless)
}

/// Lines that end in CR LF.
struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr(b'\n', self.rest)?;
        let line = self.rest[..end].strip_suffix(b"\r")?;
        self.rest = &self.rest[end + 1..];
        Some(line)
    }
}

/// `HTTP/1.x SP status [SP reason]` → the minor version and the status.
fn status_line(line: &[u8]) -> Result<(u8, u16), NotAHead> {
    let rest = line.strip_prefix(b"HTTP/1.").ok_or(NotAHead)?;
    let [minor @ b'0'..=b'1', b' ', a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', reason @ ..] = rest
    else {
        return Err(NotAHead);
    };
    if !matches!(reason.first(), None | Some(b' ')) || reason.contains(&b'\r') {
        return Err(NotAHead);
    }
    let digit = |byte: &u8| u16::from(byte - b'0');
    Ok((minor - b'0', digit(a) * 100 + digit(b) * 10 + digit(c)))
}

/// What the header fields said so far.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    chunked: bool,
    other_coding: bool,
    close: bool,
    keep_alive: bool,
}

impl Fields {
    fn add(&mut self, line: &[u8]) -> Result<(), NotAHead> {
        let colon = memchr(b':', line).ok_or(NotAHead)?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.is_empty()
            || !name.iter().all(|&byte| is_token(byte))
            || value.iter().any(|&b| b == b'\r' || b == 0)
        {
            return Err(NotAHead);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            self.add_length(value)?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            for coding in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                self.other_coding |= self.chunked || !coding.eq_ignore_ascii_case(b"chunked");
                self.chunked |= coding.eq_ignore_ascii_case(b"chunked");
            }
        } else if name.eq_ignore_ascii_case(b"connection") {
            for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                self.close |= option.eq_ignore_ascii_case(b"close");
                self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
            }
        }
        Ok(())
    }

    /// A length is digits only; two lengths must be equal (RFC 9112, section 6.3, rule 5).
    fn add_length(&mut self, value: &[u8]) -> Result<(), NotAHead> {
        let length = decimal(value).ok_or(NotAHead)?;
        if self.length.is_some_and(|earlier| earlier != length) {
            return Err(NotAHead);
        }
        self.length = Some(length);
        Ok(())
    }

    fn conclude(self, version: u8, status: u16, bodiless: bool) -> Result<Head, NotAHead> {
        if self.other_coding || (self.chunked && self.length.is_some()) {
            return Err(NotAHead);
        }
        let mut keep = !self.close && (version == 1 || self.keep_alive);
        let framing = if bodiless || status == 204 || status == 304 || (100..200).contains(&status) {
            Framing::Length(0)
        } else if self.chunked {
            Framing::Chunked
        } else if let Some(length) = self.length {
            Framing::Length(length)
        } else {
            keep = false;
            Framing::UntilClose
        };
        Ok(Head { status, framing, keep })
    }
}

/// A token's characters (RFC 9110, section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Digits only, at most 18 of them.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Head, NotAHead> {
        parse(text.as_bytes(), false)
    }

    #[test]
    fn plain_heads() {
        let expected = Head { status: 200, framing: Framing::Length(5), keep: true };
        assert_eq!(head("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), Ok(expected));
        assert_eq!(head("HTTP/1.1 200\r\ncontent-length:5\r\ncontent-length: 5\r\n\r\n"), Ok(expected));
        let closing =
            head("HTTP/1.1 404 \r\nConnection: Keep-Alive, Close\r\nContent-Length: 0\r\n\r\n").unwrap();
        assert_eq!((closing.status, closing.keep), (404, false));
    }

    #[test]
    fn framings() {
        let framing = |text: &str| head(text).unwrap().framing;
        assert_eq!(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), Framing::Chunked);
        assert_eq!(framing("HTTP/1.0 200 OK\r\n\r\n"), Framing::UntilClose);
        assert_eq!(framing("HTTP/1.1 204 No\r\n\r\n"), Framing::Length(0));
        assert_eq!(framing("HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n"), Framing::Length(0));
        assert_eq!(framing("HTTP/1.1 100 Continue\r\n\r\n"), Framing::Length(0));
        assert_eq!(
            parse(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true).unwrap().framing,
            Framing::Length(0)
        );
    }

    #[test]
    fn old_servers_keep_only_when_they_say_so() {
        assert!(!head("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n").unwrap().keep);
        assert!(head("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n").unwrap().keep);
    }

    #[test]
    fn malformed_heads() {
        for wrong in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "HTTP/1.1 200 OK\n\n",
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 20 OK\r\n\r\n",
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 099 OK\r\n\r\n",
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\n: empty\r\n\r\n",
            "HTTP/1.1 200 OK\r\nspace : x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            "HTTP/1.1 200 OK\r\nA: b\r\n\r\nmore",
        ] {
            assert_eq!(head(wrong), Err(NotAHead), "{wrong:?}");
        }
    }

    #[test]
    fn garbage_is_seen_at_its_first_bytes() {
        assert!(may_start(b"") && may_start(b"HT") && may_start(b"HTTP/1.1 2"));
        assert!(!may_start(b"SSH-2.0") && !may_start(b"\x15\x03"));
    }
}
