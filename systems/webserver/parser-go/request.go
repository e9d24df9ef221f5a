package webserver

import "bytes"

// Version is one of the versions that we speak.
type Version uint8

// The versions.
const (
	// HTTP11: the connection is kept unless the client says otherwise.
	HTTP11 Version = iota
	// HTTP10: the connection is closed after the answer.
	HTTP10
)

// A span of bytes, counted from the first byte of its request.
type span struct{ from, to int }

// Where a header lies.
type headerSpan struct {
	nameFrom, nameTo, valueFrom, valueTo uint16
}

// Request is a whole request. Its parts are views into the parser's buffer: nothing is copied, and they are good
// until the next bytes are appended.
type Request struct {
	// Method is such as GET.
	Method []byte
	// Path is the path as it was sent, without the query. * stays *.
	Path []byte
	// Query is what follows the question mark; empty without one.
	Query []byte
	// Version is the version.
	Version Version
	// KeepAlive says whether the client wants to keep the connection.
	KeepAlive bool
	// Body is as many bytes as Content-Length says.
	Body []byte

	head  []byte
	spans []headerSpan
}

// Headers is how many headers there are.
func (r *Request) Headers() int { return len(r.spans) }

// HeaderAt gives the header at this place in the order they were sent, the value without the white space around it.
func (r *Request) HeaderAt(i int) (name, value []byte) {
	s := r.spans[i]
	return r.head[s.nameFrom:s.nameTo], r.head[s.valueFrom:s.valueTo]
}

// Header gives the value of the first header of this name; names have no case.
func (r *Request) Header(name string) ([]byte, bool) {
	for i := range r.spans {
		if own, value := r.HeaderAt(i); bytes.EqualFold(own, []byte(name)) {
			return value, true
		}
	}
	return nil, false
}
