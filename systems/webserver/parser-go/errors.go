package webserver

// Error says why the bytes are not a request that we serve. Its text is its name, the same in all languages.
type Error string

// Error gives the name.
func (e Error) Error() string { return string(e) }

// What may be wrong with a request.
const (
	// ErrBadMethod: the method is empty, too long or not a token.
	ErrBadMethod Error = "bad_method"
	// ErrMalformedRequestLine: the first line is not METHOD SP TARGET SP VERSION.
	ErrMalformedRequestLine Error = "malformed_request_line"
	// ErrRequestLineTooLong: the first line is longer than MaxRequestLine.
	ErrRequestLineTooLong Error = "request_line_too_long"
	// ErrBadTarget: the target is neither a path nor http://… nor, for OPTIONS, *, or it has a byte that is not
	// visible ASCII.
	ErrBadTarget Error = "bad_target"
	// ErrBadVersion: the version is not HTTP/, digit, dot, digit.
	ErrBadVersion Error = "bad_version"
	// ErrUnsupportedVersion: a version other than 1.0 and 1.1.
	ErrUnsupportedVersion Error = "unsupported_version"
	// ErrBadLineEnding: a line that ends with LF alone.
	ErrBadLineEnding Error = "bad_line_ending"
	// ErrFoldedHeader: a header line that begins with white space, the obsolete way to continue a line.
	ErrFoldedHeader Error = "folded_header"
	// ErrHeaderWithoutColon: a header line without a colon.
	ErrHeaderWithoutColon Error = "header_without_colon"
	// ErrBadHeaderName: the name of a header is empty or not a token.
	ErrBadHeaderName Error = "bad_header_name"
	// ErrBadHeaderValue: the value of a header has a control character.
	ErrBadHeaderValue Error = "bad_header_value"
	// ErrHeadTooLarge: the request line and the headers together are longer than MaxHead.
	ErrHeadTooLarge Error = "head_too_large"
	// ErrTooManyHeaders: more than MaxHeaders headers.
	ErrTooManyHeaders Error = "too_many_headers"
	// ErrBadContentLength: Content-Length is not a number.
	ErrBadContentLength Error = "bad_content_length"
	// ErrDuplicateContentLength: more than one Content-Length, be they equal or not.
	ErrDuplicateContentLength Error = "duplicate_content_length"
	// ErrContentLengthWithTransferEncoding: both Content-Length and Transfer-Encoding.
	ErrContentLengthWithTransferEncoding Error = "content_length_with_transfer_encoding"
	// ErrUnsupportedTransferEncoding: a Transfer-Encoding; we know none.
	ErrUnsupportedTransferEncoding Error = "unsupported_transfer_encoding"
	// ErrMissingHost: an HTTP/1.1 request without Host.
	ErrMissingHost Error = "missing_host"
	// ErrDuplicateHost: more than one Host.
	ErrDuplicateHost Error = "duplicate_host"
	// ErrBodyTooLarge: Content-Length is above MaxBody.
	ErrBodyTooLarge Error = "body_too_large"
	// ErrBodyLongerThanContentLength: what follows the body is not a request.
	ErrBodyLongerThanContentLength Error = "body_longer_than_content_length"
	// ErrBodyShorterThanContentLength: the connection ended before the body did.
	ErrBodyShorterThanContentLength Error = "body_shorter_than_content_length"
	// ErrTruncatedHead: the connection ended before the headers did.
	ErrTruncatedHead Error = "truncated_head"
)
