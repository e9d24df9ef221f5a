//! What may be wrong with a request.

use std::fmt;

/// Why the bytes are not a request that we serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The method is empty, too long or not a token.
    BadMethod,
    /// The first line is not METHOD SP TARGET SP VERSION.
    MalformedRequestLine,
    /// The first line is longer than [`MAX_REQUEST_LINE`](crate::parser::MAX_REQUEST_LINE).
    RequestLineTooLong,
    /// The target is neither a path nor `http://…` nor, for OPTIONS, `*`, or it has a byte that is not visible ASCII.
    BadTarget,
    /// The version is not `HTTP/`, digit, dot, digit.
    BadVersion,
    /// A version other than 1.0 and 1.1.
    UnsupportedVersion,
    /// A line that ends with LF alone.
    BadLineEnding,
    /// A header line that begins with white space: the obsolete way to continue a line.
    FoldedHeader,
    /// A header line without a colon.
    HeaderWithoutColon,
    /// The name of a header is empty or not a token.
    BadHeaderName,
    /// The value of a header has a control character.
    BadHeaderValue,
    /// The request line and the headers together are longer than [`MAX_HEAD`](crate::parser::MAX_HEAD).
    HeadTooLarge,
    /// More than [`MAX_HEADERS`](crate::parser::MAX_HEADERS) headers.
    TooManyHeaders,
    /// Content-Length is not a number.
    BadContentLength,
    /// More than one Content-Length, be they equal or not.
    DuplicateContentLength,
    /// Both Content-Length and Transfer-Encoding.
    ContentLengthWithTransferEncoding,
    /// A Transfer-Encoding: we know none.
    UnsupportedTransferEncoding,
    /// An HTTP/1.1 request without Host.
    MissingHost,
    /// More than one Host.
    DuplicateHost,
    /// Content-Length is above [`MAX_BODY`](crate::parser::MAX_BODY).
    BodyTooLarge,
    /// What follows the body is not a request.
    BodyLongerThanContentLength,
    /// The connection ended before the body did.
    BodyShorterThanContentLength,
    /// The connection ended before the headers did.
    TruncatedHead,
}

impl Error {
    /// The name, the same in all languages.
    pub const fn name(self) -> &'static str {
        match self {
            Error::BadMethod => "bad_method",
            Error::MalformedRequestLine => "malformed_request_line",
            Error::RequestLineTooLong => "request_line_too_long",
            Error::BadTarget => "bad_target",
            Error::BadVersion => "bad_version",
            Error::UnsupportedVersion => "unsupported_version",
            Error::BadLineEnding => "bad_line_ending",
            Error::FoldedHeader => "folded_header",
            Error::HeaderWithoutColon => "header_without_colon",
            Error::BadHeaderName => "bad_header_name",
            Error::BadHeaderValue => "bad_header_value",
            Error::HeadTooLarge => "head_too_large",
            Error::TooManyHeaders => "too_many_headers",
            Error::BadContentLength => "bad_content_length",
            Error::DuplicateContentLength => "duplicate_content_length",
            Error::ContentLengthWithTransferEncoding => "content_length_with_transfer_encoding",
            Error::UnsupportedTransferEncoding => "unsupported_transfer_encoding",
            Error::MissingHost => "missing_host",
            Error::DuplicateHost => "duplicate_host",
            Error::BodyTooLarge => "body_too_large",
            Error::BodyLongerThanContentLength => "body_longer_than_content_length",
            Error::BodyShorterThanContentLength => "body_shorter_than_content_length",
            Error::TruncatedHead => "truncated_head",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl std::error::Error for Error {}
