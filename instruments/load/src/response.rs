//! A response, parsed as its bytes come, in any pieces, without keeping its body.

use memchr::memchr;

use crate::check::{Expectation, Inspection};
use crate::errors::ErrorClass;
use crate::head::{self, Framing, Head};

/// Most bytes of a chunk's size line or of a trailer line.
const LINE_LIMIT: usize = 4096;

/// The last head of a template, byte for byte. A head that is equal means the same, so it is not parsed again;
/// servers send equal heads until the Date changes.
#[derive(Debug, Default)]
pub struct KnownHead {
    bytes: Vec<u8>,
    head: Option<Head>,
}

impl KnownHead {
    /// The head's meaning and length, if `bytes` starts with it.
    #[inline]
    fn recognise(&self, bytes: &[u8]) -> Option<(Head, usize)> {
        match self.head {
            Some(head) if bytes.starts_with(&self.bytes) => Some((head, self.bytes.len())),
            _ => None,
        }
    }

    fn learn(&mut self, bytes: &[u8], head: Head) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.head = Some(head);
    }
}

/// Where the parser stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Stage {
    /// Before the end of the head.
    #[default]
    Head,
    /// In a body with so many bytes to come.
    Length(u64),
    /// In the line with a chunk's size.
    ChunkSize,
    /// In a chunk with so many bytes to come.
    Chunk(u64),
    /// In the line end after a chunk.
    ChunkEnd,
    /// In the lines after the last chunk.
    Trailer,
    /// In a body that the server ends by closing.
    UntilClose,
}

/// What feeding bytes came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// All bytes were used; the response goes on.
    More,
    /// The response is whole; so many bytes were used.
    Whole(usize),
}

/// The context of one response: what its request was and what is expected.
pub struct Context<'a> {
    /// The request was HEAD.
    pub bodiless: bool,
    /// What is expected.
    pub expected: &'a Expectation,
    /// The last head of this template.
    pub known: &'a mut KnownHead,
}

/// One response being received.
#[derive(Debug, Default)]
pub struct Response {
    stage: Stage,
    head: Option<Head>,
    /// The unfinished head or line; empty where a response comes in one read.
    partial: Vec<u8>,
    inspection: Inspection,
    started: bool,
}

impl Response {
    /// Starts over, for the response number `number` of its thread.
    #[inline]
    pub fn begin(&mut self, expected: &Expectation, number: u64) {
        self.stage = Stage::Head;
        self.head = None;
        self.partial.clear();
        self.started = false;
        self.inspection.begin(expected, number);
    }

    /// Takes the next bytes. An error is final: the connection is of no more use.
    #[inline]
    pub fn feed(&mut self, bytes: &[u8], context: &mut Context) -> Result<Fed, ErrorClass> {
        if !self.started
            && let Some((head, length)) = context.known.recognise(bytes)
            && let Framing::Length(body) = head.framing
            && bytes.len() as u64 >= length as u64 + body
        {
            let end = length + body as usize;
            self.head = Some(head);
            self.started = true;
            self.inspection.piece(context.expected, &bytes[length..end])?;
            return Ok(Fed::Whole(end));
        }
        self.started |= !bytes.is_empty();
        self.feed_piecewise(bytes, context)
    }

    fn feed_piecewise(&mut self, bytes: &[u8], context: &mut Context) -> Result<Fed, ErrorClass> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = match self.stage {
                Stage::Head => self.take_head(rest, context)?,
                Stage::Length(left) | Stage::Chunk(left) => self.take_body(rest, left, context)?,
                Stage::UntilClose => self.take_body(rest, u64::MAX, context)?,
                Stage::ChunkSize | Stage::ChunkEnd | Stage::Trailer => self.take_line(rest)?,
            };
            rest = &rest[used..];
            if self.stage == Stage::Length(0) {
                return Ok(Fed::Whole(bytes.len() - rest.len()));
            }
        }
        Ok(Fed::More)
    }

    /// Takes bytes of the head; the stage changes when it is whole.
    fn take_head(&mut self, bytes: &[u8], context: &mut Context) -> Result<usize, ErrorClass> {
        let before = self.partial.len();
        let (head, used) = if before == 0 {
            match head::find_end(bytes, 0) {
                Some(end) => (self.read_head(&bytes[..end], context)?, end),
                None => return self.keep_partial(bytes),
            }
        } else {
            self.keep_partial(bytes)?;
            let Some(end) = head::find_end(&self.partial, before) else { return Ok(bytes.len()) };
            let whole = std::mem::take(&mut self.partial);
            let head = self.read_head(&whole[..end], context)?;
            self.partial = whole;
            self.partial.clear();
            (head, end - before)
        };
        if !head.is_interim() {
            self.head = Some(head);
            self.stage = match head.framing {
                Framing::Length(length) => Stage::Length(length),
                Framing::Chunked => Stage::ChunkSize,
                Framing::UntilClose => Stage::UntilClose,
            };
        }
        Ok(used)
    }

    fn read_head(&self, bytes: &[u8], context: &mut Context) -> Result<Head, ErrorClass> {
        if bytes.len() > head::HEAD_LIMIT {
            return Err(ErrorClass::Malformed);
        }
        if let Some((head, length)) = context.known.recognise(bytes)
            && length == bytes.len()
        {
            return Ok(head);
        }
        let head = head::parse(bytes, context.bodiless).map_err(|_| ErrorClass::Malformed)?;
        // An interim head is not the response, so it must never pass for a whole one.
        if !head.is_interim() {
            context.known.learn(bytes, head);
        }
        Ok(head)
    }

    fn keep_partial(&mut self, bytes: &[u8]) -> Result<usize, ErrorClass> {
        if self.partial.len() + bytes.len() > head::HEAD_LIMIT + 64 * 1024 {
            return Err(ErrorClass::Malformed);
        }
        self.partial.extend_from_slice(bytes);
        let ended = head::find_end(&self.partial, self.partial.len() - bytes.len()).is_some();
        if !head::may_start(&self.partial) || (!ended && self.partial.len() > head::HEAD_LIMIT) {
            return Err(ErrorClass::Malformed);
        }
        Ok(bytes.len())
    }

    fn take_body(&mut self, bytes: &[u8], left: u64, context: &Context) -> Result<usize, ErrorClass> {
        let used = left.min(bytes.len() as u64) as usize;
        self.inspection.piece(context.expected, &bytes[..used])?;
        let left = left - used as u64;
        self.stage = match self.stage {
            Stage::Length(_) => Stage::Length(left),
            Stage::Chunk(_) if left == 0 => Stage::ChunkEnd,
            Stage::Chunk(_) => Stage::Chunk(left),
            other => other,
        };
        Ok(used)
    }

    /// Takes bytes up to the next line end and acts on a whole line.
    fn take_line(&mut self, bytes: &[u8]) -> Result<usize, ErrorClass> {
        let end = memchr(b'\n', bytes).map(|at| at + 1);
        let used = end.unwrap_or(bytes.len());
        if self.partial.len() + used > LINE_LIMIT {
            return Err(ErrorClass::Malformed);
        }
        self.partial.extend_from_slice(&bytes[..used]);
        if end.is_some() {
            let line = self.partial.strip_suffix(b"\r\n").ok_or(ErrorClass::Malformed)?;
            self.stage = after_line(self.stage, line).ok_or(ErrorClass::Malformed)?;
            self.partial.clear();
        }
        Ok(used)
    }

    /// The status, where another parser has found it.
    pub fn set_status(&mut self, status: u16) {
        self.head = Some(Head { status, framing: Framing::UntilClose, keep: true });
    }

    /// A piece of the body, where another parser has found it.
    pub fn piece(&mut self, expected: &Expectation, piece: &[u8]) -> Result<(), ErrorClass> {
        self.inspection.piece(expected, piece)
    }

    /// The server has closed: the response is whole only if that was to be its end.
    pub fn close(&self) -> Result<(), ErrorClass> {
        if self.stage == Stage::UntilClose { Ok(()) } else { Err(ErrorClass::ClosedEarly) }
    }

    /// Judges the whole response; on success says whether the connection may be used again.
    #[inline]
    pub fn conclude(&mut self, expected: &Expectation) -> Result<(), ErrorClass> {
        let status = self.head.map_or(0, |head| head.status);
        self.inspection.conclude(expected, status)
    }

    /// Whether the connection may carry another request.
    #[inline]
    pub fn keeps(&self) -> bool {
        self.head.is_some_and(|head| head.keep)
    }

    /// Bytes that this response holds in memory now.
    pub fn held(&self) -> usize {
        self.partial.capacity()
    }
}

/// The stage after a whole line of the chunked coding (RFC 9112, section 7.1).
fn after_line(stage: Stage, line: &[u8]) -> Option<Stage> {
    match stage {
        Stage::ChunkSize => match chunk_size(line)? {
            0 => Some(Stage::Trailer),
            size => Some(Stage::Chunk(size)),
        },
        Stage::ChunkEnd => line.is_empty().then_some(Stage::ChunkSize),
        // The empty line after the trailer is the end: a body with nothing to come.
        _ if line.is_empty() => Some(Stage::Length(0)),
        _ => line.contains(&b':').then_some(Stage::Trailer),
    }
}

/// A chunk's size in hexadecimal digits, with extensions ignored.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let digits = line.split(|&byte| byte == b';').next()?.trim_ascii_end();
    if digits.is_empty() || digits.len() > 15 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
