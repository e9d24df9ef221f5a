//! A request, as views into the parser's buffer: nothing is copied.

/// The versions that we speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: the connection is closed after the answer.
    Http10,
    /// HTTP/1.1: the connection is kept unless the client says otherwise.
    #[default]
    Http11,
}

/// Where a header lies, counted from the first byte of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeaderSpan {
    pub name: (u16, u16),
    pub value: (u16, u16),
}

/// A whole request. It borrows from the parser, so it is gone before the next bytes are appended.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// The path as it was sent, without the query. `*` stays `*`.
    pub path: &'a str,
    /// What follows the question mark; empty without one.
    pub query: &'a str,
    /// The version.
    pub version: Version,
    /// Does the client want to keep the connection?
    pub keep_alive: bool,
    /// As many bytes as Content-Length says.
    pub body: &'a [u8],
    pub(crate) head: &'a [u8],
    pub(crate) spans: &'a [HeaderSpan],
}

impl<'a> Request<'a> {
    /// Names and values in the order they were sent, values without the white space around them.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let head = self.head;
        self.spans.iter().map(move |span| (cut(head, span.name), cut(head, span.value)))
    }

    /// The value of the first header of this name; names have no case.
    pub fn header(&self, name: &str) -> Option<&'a [u8]> {
        self.headers().find(|(own, _)| own.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }
}

fn cut(head: &[u8], (from, to): (u16, u16)) -> &[u8] {
    &head[usize::from(from)..usize::from(to)]
}
