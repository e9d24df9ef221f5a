package webserver

import (
	"bytes"
	"time"
)

const (
	// Hello is the body of /hello.
	Hello = "Hello, world!"
	// MaxSleep is the longest sleep in milliseconds.
	MaxSleep = 60_000
	// MaxFibonacci is the largest Fibonacci number that is computed.
	MaxFibonacci = 50
)

// Kind tells the actions apart.
type Kind uint8

const (
	// Answer: answer the response.
	Answer Kind = iota
	// Sleep: sleep so long, then answer 200 without a body.
	Sleep
	// ComputeFibonacci: compute this Fibonacci number and answer it as a text.
	ComputeFibonacci
)

// Action is what is to be done for a request. How a sleep is slept is the server's own business.
type Action struct {
	Kind     Kind
	Response Response
	Time     time.Duration
	Number   uint64
}

var (
	sleepPrefix     = []byte("/sleep/")
	fibonacciPrefix = []byte("/fibonacci/")
)

// Route finds the endpoint of a request.
func Route(request *Request) Action {
	if string(request.Method) != "GET" {
		return answer(Response{Status: 405})
	}
	return routePath(request.Path)
}

func routePath(path []byte) Action {
	if string(path) == "/hello" {
		return answer(Response{Status: 200, Body: Hello})
	}
	largest := uint64(MaxSleep)
	text, sleep := bytes.CutPrefix(path, sleepPrefix)
	if !sleep {
		fibonacci := false
		if text, fibonacci = bytes.CutPrefix(path, fibonacciPrefix); !fibonacci {
			return answer(Response{Status: 404})
		}
		largest = MaxFibonacci
	}
	if len(text) == 0 || bytes.IndexByte(text, '/') >= 0 {
		return answer(Response{Status: 404})
	}
	number, ok := ParseNumber(string(text), largest)
	switch {
	case !ok:
		return answer(Response{Status: 400})
	case sleep:
		return Action{Kind: Sleep, Time: time.Duration(number) * time.Millisecond}
	default:
		return Action{Kind: ComputeFibonacci, Number: number}
	}
}

func answer(response Response) Action { return Action{Response: response} }

// ParseNumber takes digits only, and not above the largest.
func ParseNumber(text string, largest uint64) (number uint64, ok bool) {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return 0, false
		}
		if number = number*10 + uint64(text[i]-'0'); number > largest {
			return 0, false
		}
	}
	return number, len(text) > 0
}

// Fibonacci gives the Fibonacci number, by plain recursion: this is the work to be done.
func Fibonacci(i uint64) uint64 {
	if i < 2 {
		return i
	}
	return Fibonacci(i-1) + Fibonacci(i-2)
}

// Malformed is the answer to a malformed request; the connection is closed after it.
func Malformed(err error) Response { return Response{Status: 400, Body: err.Error()} }
