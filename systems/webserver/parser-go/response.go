package webserver

import "strconv"

// Response is a response. Its headers are the same in all our servers: Content-Length, Content-Type with a body,
// Connection: close when the connection ends, and Allow with 405.
type Response struct {
	// Status is such as 200.
	Status int
	// Body is a text, perhaps empty.
	Body string
}

// Serialise appends the response to output; close says that the connection ends after it.
func (r Response) Serialise(close bool, output []byte) []byte {
	output = append(output, statusLine(r.Status)...)
	output = append(output, "Content-Length: "...)
	output = strconv.AppendInt(output, int64(len(r.Body)), 10)
	output = append(output, "\r\n"...)
	if r.Body != "" {
		output = append(output, "Content-Type: text/plain; charset=utf-8\r\n"...)
	}
	if r.Status == 405 {
		output = append(output, "Allow: GET\r\n"...)
	}
	if close {
		output = append(output, "Connection: close\r\n"...)
	}
	output = append(output, "\r\n"...)
	return append(output, r.Body...)
}

func statusLine(status int) string {
	switch status {
	case 200:
		return "HTTP/1.1 200 OK\r\n"
	case 400:
		return "HTTP/1.1 400 Bad Request\r\n"
	case 404:
		return "HTTP/1.1 404 Not Found\r\n"
	case 405:
		return "HTTP/1.1 405 Method Not Allowed\r\n"
	default:
		return "HTTP/1.1 500 Internal Server Error\r\n"
	}
}
