// Package observe writes down what a parser makes of some bytes: the same words as the other languages' programs
// print. Bytes are written as the characters of the same number, so that any byte fits into a JSON string.
package observe

import "bakeoff/webserver"

// Request is a request, written down.
type Request struct {
	Method    string      `json:"method"`
	Path      string      `json:"path"`
	Query     string      `json:"query"`
	Version   string      `json:"version"`
	KeepAlive bool        `json:"keep_alive"`
	Headers   [][2]string `json:"headers"`
	Body      string      `json:"body"`
}

// Observation is what was seen.
type Observation struct {
	Requests []Request `json:"requests"`
	Error    *string   `json:"error"`
	End      *string   `json:"end"`
}

// Feed feeds the pieces one after the other, taking requests after each, and then ends the connection.
func Feed(pieces ...[]byte) Observation {
	var parser webserver.Parser
	seen := Observation{Requests: []Request{}}
	for _, piece := range pieces {
		parser.Append(piece)
		for {
			request, err := parser.NextRequest()
			if err != nil {
				seen.Error = name(err)
				return seen
			}
			if request == nil {
				break
			}
			seen.Requests = append(seen.Requests, describe(request))
		}
	}
	if err := parser.Finish(); err != nil {
		seen.End = name(err)
	}
	return seen
}

// Pieces cuts an input into pieces of this size.
func Pieces(input []byte, size int) (pieces [][]byte) {
	for len(input) > size {
		pieces, input = append(pieces, input[:size]), input[size:]
	}
	return append(pieces, input)
}

func describe(request *webserver.Request) Request {
	seen := Request{
		Method:    text(request.Method),
		Path:      text(request.Path),
		Query:     text(request.Query),
		Version:   "1.1",
		KeepAlive: request.KeepAlive,
		Headers:   [][2]string{},
		Body:      text(request.Body),
	}
	if request.Version == webserver.HTTP10 {
		seen.Version = "1.0"
	}
	for i := range request.Headers() {
		name, value := request.HeaderAt(i)
		seen.Headers = append(seen.Headers, [2]string{text(name), text(value)})
	}
	return seen
}

func text(data []byte) string {
	runes := make([]rune, len(data))
	for i, c := range data {
		runes[i] = rune(c)
	}
	return string(runes)
}

func name(err error) *string {
	name := err.Error()
	return &name
}
