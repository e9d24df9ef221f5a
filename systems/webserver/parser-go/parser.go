// Package webserver is what the Go web servers of the study share, so that only the concurrency model differs: an
// HTTP/1.1 request parser, the endpoints, and what a server needs to be started.
//
// The Rust library beside this one has the same structure, the same limits and the same error names; parser-vectors
// holds the test vectors for both.
package webserver

import (
	"bytes"
	"math"
)

const (
	// MaxMethod is the longest method.
	MaxMethod = 32
	// MaxRequestLine is the longest request line, without its line ending.
	MaxRequestLine = 8 * 1024
	// MaxHead is the longest head: request line and headers with all line endings.
	MaxHead = 16 * 1024
	// MaxHeaders is the most headers.
	MaxHeaders = 64
	// MaxBody is the longest body.
	MaxBody = 1024 * 1024

	// An empty buffer that has grown beyond this is given back.
	keptCapacity = 32 * 1024
)

// Header spans are 16 bits wide.
const _ = uint(math.MaxUint16 - MaxHead)

// What is read next.
type stage uint8

const (
	requestLine stage = iota
	headers
	body
)

// What is known of the request being read. Spans are counted from its first byte.
type head struct {
	method, path, query span
	version             Version
	hasContentLength    bool
	contentLength       int
	transferEncoding    bool
	host                bool
	close               bool
}

// Parser is the parser of one connection: bytes in by Append, requests out by NextRequest. The zero value is ready.
//
// Whatever the pieces are that the bytes come in, the requests and the error are the same. Each line is read once,
// when it is whole; only the method is looked at before, so that what is no HTTP at all fails at once.
// Several requests may be in the buffer (pipelining): each call gives the next.
type Parser struct {
	buffer []byte
	// Where the request being read begins in the buffer.
	start int
	// Where the line being read begins, counted from start.
	line int
	// How far the line's end has been looked for, counted from start.
	scanned int
	stage   stage
	head    head
	spans   []headerSpan
	// The request before this one had a Content-Length.
	afterBody bool
	failed    error
	request   Request
}

// Append takes the next bytes of the connection, as many as there are.
func (p *Parser) Append(data []byte) {
	if p.start == len(p.buffer) {
		p.buffer = p.buffer[:0]
		if cap(p.buffer) > keptCapacity {
			p.buffer = nil
		}
	} else if p.start > 0 {
		p.buffer = p.buffer[:copy(p.buffer, p.buffer[p.start:])]
	}
	p.start = 0
	p.buffer = append(p.buffer, data...)
}

// NextRequest gives the next request if it is whole, nil if bytes are missing. After an error there is nothing but
// that error.
func (p *Parser) NextRequest() (*Request, error) {
	if p.failed != nil {
		return nil, p.failed
	}
	whole, err := p.advance()
	if err != nil {
		p.failed = err
		return nil, err
	}
	if !whole {
		return nil, nil
	}
	return p.take(), nil
}

// Finish says that the connection has ended: was that between two requests? Ask after NextRequest gave nil.
func (p *Parser) Finish() error {
	switch {
	case p.failed != nil:
		return p.failed
	case p.stage == requestLine && p.start == len(p.buffer):
		return nil
	case p.stage == body:
		return ErrBodyShorterThanContentLength
	default:
		return ErrTruncatedHead
	}
}

// advance reads on. True when the request is whole.
func (p *Parser) advance() (bool, error) {
	for {
		if p.stage == body {
			return len(p.buffer)-p.start >= p.line+p.head.contentLength, nil
		}
		pending := p.buffer[p.start:]
		length := bytes.IndexByte(pending[p.scanned:], '\n') + 1
		if length == 0 {
			p.scanned = len(pending)
			return false, p.checkUnfinishedLine(pending)
		}
		begin, end := p.line, p.scanned+length
		p.line, p.scanned = end, end
		switch {
		case p.stage == headers:
			if err := p.headerLine(pending, begin, end); err != nil {
				return false, err
			}
		case end == 2 && pending[0] == '\r':
			// Empty lines before a request are passed over (RFC 9112, 2.2).
			p.start += 2
			p.line, p.scanned = 0, 0
		default:
			if err := p.requestLine(pending[:end]); err != nil {
				return false, p.afterBodyError(err)
			}
		}
	}
}

// checkUnfinishedLine looks at bytes without a line ending: have they gone wrong already?
func (p *Parser) checkUnfinishedLine(pending []byte) error {
	if p.stage == headers {
		if len(pending) > MaxHead {
			return ErrHeadTooLarge
		}
		return nil
	}
	// A CR at the end may belong to a line ending of which the LF is still to come.
	known := bytes.TrimSuffix(pending, []byte("\r"))
	if len(known) > 0 {
		if _, err := method(known); err != nil {
			return p.afterBodyError(err)
		}
	}
	if len(known) > MaxRequestLine {
		return ErrRequestLineTooLong
	}
	return nil
}

// What follows a body and is no request at all is taken for more of that body.
func (p *Parser) afterBodyError(err error) error {
	if p.afterBody && (err == ErrBadMethod || err == ErrMalformedRequestLine) {
		return ErrBodyLongerThanContentLength
	}
	return err
}

func (p *Parser) requestLine(line []byte) error {
	text := line[:len(line)-1]
	ended := len(text) > 0 && text[len(text)-1] == '\r'
	if ended {
		text = text[:len(text)-1]
	}
	methodLength, err := method(text)
	if err != nil {
		return err
	}
	if len(text) > MaxRequestLine {
		return ErrRequestLineTooLong
	}
	if !ended {
		return ErrBadLineEnding
	}
	targetStart := methodLength + 1
	if targetStart > len(text) {
		return ErrMalformedRequestLine
	}
	target, version, found := bytes.Cut(text[targetStart:], []byte(" "))
	if !found || len(target) == 0 || bytes.IndexByte(version, ' ') >= 0 {
		return ErrMalformedRequestLine
	}
	for _, c := range target {
		if c <= ' ' || c >= 0x7f {
			return ErrBadTarget
		}
	}
	path, ok := pathOf(target, text[:methodLength])
	if !ok {
		return ErrBadTarget
	}
	query := path.to
	if at := bytes.IndexByte(target[path.from:path.to], '?'); at >= 0 {
		query = path.from + at
	}
	p.head = head{
		method: span{0, methodLength},
		path:   span{targetStart + path.from, targetStart + query},
		query:  span{targetStart + min(query+1, path.to), targetStart + path.to},
	}
	switch {
	case string(version) == "HTTP/1.1":
		p.head.version = HTTP11
	case string(version) == "HTTP/1.0":
		p.head.version = HTTP10
	case len(version) == 8 && string(version[:5]) == "HTTP/" && isDigit(version[5]) && version[6] == '.' && isDigit(version[7]):
		return ErrUnsupportedVersion
	default:
		return ErrBadVersion
	}
	p.spans = p.spans[:0]
	p.stage = headers
	return nil
}

func (p *Parser) headerLine(pending []byte, begin, end int) error {
	if end > MaxHead {
		return ErrHeadTooLarge
	}
	raw := pending[begin:end]
	if len(raw) < 2 || raw[len(raw)-2] != '\r' {
		return ErrBadLineEnding
	}
	text := raw[:len(raw)-2]
	if len(text) == 0 {
		return p.endOfHead()
	}
	if isBlank(text[0]) {
		return ErrFoldedHeader
	}
	if len(p.spans) == MaxHeaders {
		return ErrTooManyHeaders
	}
	colon := tokenLength(text)
	if colon == 0 || colon == len(text) || text[colon] != ':' {
		if bytes.IndexByte(text, ':') < 0 {
			return ErrHeaderWithoutColon
		}
		return ErrBadHeaderName
	}
	name := text[:colon]
	from, to := colon+1, len(text)
	for _, c := range text[from:] {
		if controlBytes[c] {
			return ErrBadHeaderValue
		}
	}
	for from < to && isBlank(text[from]) {
		from++
	}
	for from < to && isBlank(text[to-1]) {
		to--
	}
	if err := p.head.knownHeader(name, text[from:to]); err != nil {
		return err
	}
	p.spans = append(p.spans, headerSpan{
		nameFrom: uint16(begin), nameTo: uint16(begin + colon),
		valueFrom: uint16(begin + from), valueTo: uint16(begin + to),
	})
	return nil
}

func (p *Parser) endOfHead() error {
	if p.head.transferEncoding {
		if p.head.hasContentLength {
			return ErrContentLengthWithTransferEncoding
		}
		return ErrUnsupportedTransferEncoding
	}
	if p.head.version == HTTP11 && !p.head.host {
		return ErrMissingHost
	}
	p.stage = body
	return nil
}

// take gives the whole request away and makes ready for the next.
func (p *Parser) take() *Request {
	headEnd := p.line
	whole := headEnd + p.head.contentLength
	all := p.buffer[p.start : p.start+whole]
	p.start += whole
	p.line, p.scanned = 0, 0
	p.stage = requestLine
	p.afterBody = p.head.hasContentLength
	cut := func(s span) []byte { return all[s.from:s.to] }
	p.request = Request{
		Method:    cut(p.head.method),
		Path:      cut(p.head.path),
		Query:     cut(p.head.query),
		Version:   p.head.version,
		KeepAlive: p.head.version == HTTP11 && !p.head.close,
		Body:      all[headEnd:],
		head:      all[:headEnd],
		spans:     p.spans,
	}
	if len(p.request.Path) == 0 {
		p.request.Path = rootPath
	}
	return &p.request
}

var rootPath = []byte("/")

// knownHeader notes the headers that matter for where a request ends and what happens after it.
func (h *head) knownHeader(name, value []byte) error {
	// The length tells nearly all names apart before they are compared.
	switch len(name) {
	case 4:
		if equalFold(name, "host") {
			if h.host {
				return ErrDuplicateHost
			}
			h.host = true
		}
	case 10:
		if equalFold(name, "connection") {
			for option := range bytes.SplitSeq(value, []byte(",")) {
				h.close = h.close || equalFold(bytes.Trim(option, " \t"), "close")
			}
		}
	case 14:
		if equalFold(name, "content-length") {
			if h.hasContentLength {
				return ErrDuplicateContentLength
			}
			if len(value) == 0 {
				return ErrBadContentLength
			}
			for _, c := range value {
				if !isDigit(c) {
					return ErrBadContentLength
				}
			}
			for _, c := range value {
				if h.contentLength = h.contentLength*10 + int(c-'0'); h.contentLength > MaxBody {
					return ErrBodyTooLarge
				}
			}
			h.hasContentLength = true
		}
	case 17:
		if equalFold(name, "transfer-encoding") {
			h.transferEncoding = true
		}
	}
	return nil
}
