//! The parser: bytes in by [`Parser::append`], requests out by [`Parser::next_request`].
//!
//! Whatever the pieces are that the bytes come in, the requests and the error are the same. Each line is read once,
//! when it is whole; only the method is looked at before, so that what is no HTTP at all fails at once.
//! Several requests may be in the buffer (pipelining): each call gives the next.

use std::io::BufRead;
use std::ops::Range;

use crate::error::Error;
use crate::request::{HeaderSpan, Request, Version};

/// The longest method.
pub const MAX_METHOD: usize = 32;
/// The longest request line, without its line ending.
pub const MAX_REQUEST_LINE: usize = 8 * 1024;
/// The longest head: request line and headers with all line endings.
pub const MAX_HEAD: usize = 16 * 1024;
/// The most headers.
pub const MAX_HEADERS: usize = 64;
/// The longest body.
pub const MAX_BODY: usize = 1024 * 1024;

/// An empty buffer that has grown beyond this is given back.
const KEPT_CAPACITY: usize = 32 * 1024;

// Header spans are 16 bits wide.
const _: () = assert!(MAX_HEAD <= u16::MAX as usize);

/// Which bytes a token may consist of (RFC 9110, 5.6.2).
const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8,
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+'
            | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

/// Which bytes a header's value may not have.
const CONTROL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte < 0x20 && byte != b'\t' as usize || byte == 0x7f;
        byte += 1;
    }
    table
};

/// What is read next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    RequestLine,
    Headers,
    Body,
}

/// What is known of the request being read. Ranges are counted from its first byte.
#[derive(Debug, Default)]
struct Head {
    method: Range<usize>,
    path: Range<usize>,
    query: Range<usize>,
    version: Version,
    content_length: Option<usize>,
    transfer_encoding: bool,
    host: bool,
    close: bool,
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub struct Parser {
    buffer: Vec<u8>,
    /// Where the request being read begins in the buffer.
    start: usize,
    /// Where the line being read begins, counted from `start`.
    line: usize,
    /// How far the line's end has been looked for, counted from `start`.
    scanned: usize,
    stage: Stage,
    head: Head,
    spans: Vec<HeaderSpan>,
    /// The request before this one had a Content-Length.
    after_body: bool,
    failed: Option<Error>,
}

impl Parser {
    /// A parser for a new connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the connection, as many as there are.
    pub fn append(&mut self, bytes: &[u8]) {
        if self.start == self.buffer.len() {
            self.buffer.clear();
            if self.buffer.capacity() > KEPT_CAPACITY {
                self.buffer = Vec::new();
            }
        } else if self.start > 0 {
            self.buffer.drain(..self.start);
        }
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next request if it is whole, None if bytes are missing. After an error there is nothing but that error.
    pub fn next_request(&mut self) -> Result<Option<Request<'_>>, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        match self.advance() {
            Ok(true) => Ok(Some(self.take())),
            Ok(false) => Ok(None),
            Err(error) => {
                self.failed = Some(error);
                Err(error)
            }
        }
    }

    /// The connection has ended: was that between two requests? Ask after [`next_request`](Self::next_request) gave None.
    pub fn finish(&self) -> Result<(), Error> {
        match (self.failed, self.stage) {
            (Some(error), _) => Err(error),
            (None, Stage::RequestLine) if self.start == self.buffer.len() => Ok(()),
            (None, Stage::RequestLine | Stage::Headers) => Err(Error::TruncatedHead),
            (None, Stage::Body) => Err(Error::BodyShorterThanContentLength),
        }
    }

    /// Reads on. True when the request is whole.
    fn advance(&mut self) -> Result<bool, Error> {
        loop {
            if self.stage == Stage::Body {
                let whole = self.line + self.head.content_length.unwrap_or(0);
                return Ok(self.buffer.len() - self.start >= whole);
            }
            let pending = &self.buffer[self.start..];
            let Some(length) = line_length(&pending[self.scanned..]) else {
                self.scanned = pending.len();
                self.check_unfinished_line()?;
                return Ok(false);
            };
            let line = self.line..self.scanned + length;
            self.line = line.end;
            self.scanned = line.end;
            match self.stage {
                Stage::RequestLine if pending[line.clone()] == *b"\r\n" => {
                    // Empty lines before a request are passed over (RFC 9112, 2.2).
                    self.start += 2;
                    self.line = 0;
                    self.scanned = 0;
                }
                Stage::RequestLine => {
                    self.request_line(line).map_err(|error| self.after_body_error(error))?
                }
                _ => self.header_line(line)?,
            }
        }
    }

    /// Bytes without a line ending: have they gone wrong already?
    fn check_unfinished_line(&self) -> Result<(), Error> {
        let pending = &self.buffer[self.start..];
        if self.stage == Stage::Headers {
            return if pending.len() > MAX_HEAD { Err(Error::HeadTooLarge) } else { Ok(()) };
        }
        // A CR at the end may belong to a line ending of which the LF is still to come.
        let known = pending.strip_suffix(b"\r").unwrap_or(pending);
        if !known.is_empty() {
            method(known).map_err(|error| self.after_body_error(error))?;
        }
        if known.len() > MAX_REQUEST_LINE { Err(Error::RequestLineTooLong) } else { Ok(()) }
    }

    /// What follows a body and is no request at all is taken for more of that body.
    fn after_body_error(&self, error: Error) -> Error {
        match error {
            Error::BadMethod | Error::MalformedRequestLine if self.after_body => {
                Error::BodyLongerThanContentLength
            }
            _ => error,
        }
    }

    fn request_line(&mut self, line: Range<usize>) -> Result<(), Error> {
        // The line before a request is passed over, so that this one begins at 0.
        let raw = &self.buffer[self.start..][line];
        let text = raw.strip_suffix(b"\n").unwrap_or(raw);
        let (text, ended) = match text.strip_suffix(b"\r") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let method = method(text)?;
        if text.len() > MAX_REQUEST_LINE {
            return Err(Error::RequestLineTooLong);
        }
        if !ended {
            return Err(Error::BadLineEnding);
        }
        let target_start = method + 1;
        let rest = text.get(target_start..).ok_or(Error::MalformedRequestLine)?;
        let space = find(rest, b' ').ok_or(Error::MalformedRequestLine)?;
        let (target, version) = (&rest[..space], &rest[space + 1..]);
        if target.is_empty() || version.contains(&b' ') {
            return Err(Error::MalformedRequestLine);
        }
        if !target.iter().all(u8::is_ascii_graphic) {
            return Err(Error::BadTarget);
        }
        let path = path(target, &text[..method]).ok_or(Error::BadTarget)?;
        let query = find(&target[path.clone()], b'?').map_or(path.end, |at| path.start + at);
        self.head = Head {
            method: 0..method,
            path: target_start + path.start..target_start + query,
            query: target_start + (query + 1).min(path.end)..target_start + path.end,
            version: match version {
                b"HTTP/1.1" => Version::Http11,
                b"HTTP/1.0" => Version::Http10,
                [b'H', b'T', b'T', b'P', b'/', major, b'.', minor]
                    if major.is_ascii_digit() && minor.is_ascii_digit() =>
                {
                    return Err(Error::UnsupportedVersion);
                }
                _ => return Err(Error::BadVersion),
            },
            ..Head::default()
        };
        self.spans.clear();
        self.stage = Stage::Headers;
        Ok(())
    }

    fn header_line(&mut self, line: Range<usize>) -> Result<(), Error> {
        if line.end > MAX_HEAD {
            return Err(Error::HeadTooLarge);
        }
        let raw = &self.buffer[self.start..][line.clone()];
        let text = raw.strip_suffix(b"\r\n").ok_or(Error::BadLineEnding)?;
        let Some(first) = text.first() else {
            return self.end_of_head();
        };
        if matches!(first, b' ' | b'\t') {
            return Err(Error::FoldedHeader);
        }
        if self.spans.len() == MAX_HEADERS {
            return Err(Error::TooManyHeaders);
        }
        let colon = token_length(text);
        if colon == 0 || text.get(colon) != Some(&b':') {
            return Err(if text.contains(&b':') { Error::BadHeaderName } else { Error::HeaderWithoutColon });
        }
        let name = &text[..colon];
        let untrimmed = &text[colon + 1..];
        // Without a branch for each byte: nearly all values are good.
        if untrimmed.iter().fold(false, |bad, &byte| bad | CONTROL[usize::from(byte)]) {
            return Err(Error::BadHeaderValue);
        }
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let lead = untrimmed.iter().take_while(|byte| blank(byte)).count();
        let trail = untrimmed[lead..].iter().rev().take_while(|byte| blank(byte)).count();
        let value = &untrimmed[lead..untrimmed.len() - trail];
        self.head.known_header(name, value)?;
        let value_start = line.start + colon + 1 + lead;
        self.spans.push(HeaderSpan {
            name: (line.start as u16, (line.start + colon) as u16),
            value: (value_start as u16, (value_start + value.len()) as u16),
        });
        Ok(())
    }

    fn end_of_head(&mut self) -> Result<(), Error> {
        if self.head.transfer_encoding {
            return Err(match self.head.content_length {
                Some(_) => Error::ContentLengthWithTransferEncoding,
                None => Error::UnsupportedTransferEncoding,
            });
        }
        if self.head.version == Version::Http11 && !self.head.host {
            return Err(Error::MissingHost);
        }
        self.stage = Stage::Body;
        Ok(())
    }

    /// Gives the whole request away and makes ready for the next.
    fn take(&mut self) -> Request<'_> {
        let head_end = self.line;
        let whole = head_end + self.head.content_length.unwrap_or(0);
        let from = self.start;
        self.start += whole;
        self.line = 0;
        self.scanned = 0;
        self.stage = Stage::RequestLine;
        self.after_body = self.head.content_length.is_some();
        let (head, body) = self.buffer[from..from + whole].split_at(head_end);
        let text = |range: &Range<usize>| str::from_utf8(&head[range.clone()]).expect("checked to be ASCII");
        Request {
            method: text(&self.head.method),
            path: if self.head.path.is_empty() { "/" } else { text(&self.head.path) },
            query: text(&self.head.query),
            version: self.head.version,
            keep_alive: self.head.version == Version::Http11 && !self.head.close,
            body,
            head,
            spans: &self.spans,
        }
    }
}

impl Head {
    /// Notes the headers that matter for where a request ends and what happens after it.
    fn known_header(&mut self, name: &[u8], value: &[u8]) -> Result<(), Error> {
        // The length tells nearly all names apart before they are compared.
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                if self.host {
                    return Err(Error::DuplicateHost);
                }
                self.host = true;
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                self.close |= value
                    .split(|&byte| byte == b',')
                    .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"));
            }
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                if self.content_length.is_some() {
                    return Err(Error::DuplicateContentLength);
                }
                if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
                    return Err(Error::BadContentLength);
                }
                let length = value.iter().fold(0, |sum: usize, digit| {
                    sum.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
                });
                if length > MAX_BODY {
                    return Err(Error::BodyTooLarge);
                }
                self.content_length = Some(length);
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => self.transfer_encoding = true,
            _ => {}
        }
        Ok(())
    }
}

/// How long the first line is with its LF; None if there is no LF.
fn line_length(bytes: &[u8]) -> Option<usize> {
    // The standard library's fast byte search is behind this.
    let mut rest = bytes;
    let length = rest.skip_until(b'\n').expect("a slice can be read");
    (bytes[..length].last() == Some(&b'\n')).then_some(length)
}

fn find(bytes: &[u8], byte: u8) -> Option<usize> {
    bytes.iter().position(|&other| other == byte)
}

/// How many bytes at the beginning may be in a token.
fn token_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| !TOKEN[usize::from(byte)]).unwrap_or(bytes.len())
}

/// The length of the method at the beginning of a line, of which the end may be missing.
fn method(line: &[u8]) -> Result<usize, Error> {
    let length = token_length(&line[..line.len().min(MAX_METHOD + 1)]);
    let ended = line.get(length).is_none_or(|&byte| byte == b' ');
    if (1..=MAX_METHOD).contains(&length) && ended { Ok(length) } else { Err(Error::BadMethod) }
}

/// Where path and query lie in the target (RFC 9112, 3.2). Empty if only the path `/` is meant.
fn path(target: &[u8], method: &[u8]) -> Option<Range<usize>> {
    const SCHEME: &[u8] = b"http://";
    match target {
        [b'/', ..] => Some(0..target.len()),
        b"*" if method == b"OPTIONS" => Some(0..1),
        _ => {
            if !target.get(..SCHEME.len())?.eq_ignore_ascii_case(SCHEME) {
                return None;
            }
            let authority = &target[SCHEME.len()..];
            let length =
                authority.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(authority.len());
            (length > 0).then_some(SCHEME.len() + length..target.len())
        }
    }
}
