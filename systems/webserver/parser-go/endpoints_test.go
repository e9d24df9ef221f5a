package webserver

import (
	"testing"
	"time"
)

func TestRoutes(t *testing.T) {
	for path, status := range map[string]int{
		"/hello": 200, "/": 404, "/hello/": 404, "/Hello": 404, "/sleep": 404, "/sleep/": 404, "/sleep/1/2": 404,
		"/fibonacci": 404, "/fibonacci/": 404, "/sleep/x": 400, "/sleep/-1": 400, "/sleep/+1": 400, "/sleep/60001": 400,
		"/sleep/99999999999999999999": 400, "/sleep/1.5": 400, "/fibonacci/x": 400, "/fibonacci/51": 400, "/fibonacci/%31": 400,
	} {
		if action := routePath([]byte(path)); action.Kind != Answer || action.Response.Status != status {
			t.Errorf("%s: %+v", path, action)
		}
	}
	if action := routePath([]byte("/sleep/20")); action != (Action{Kind: Sleep, Time: 20 * time.Millisecond}) {
		t.Errorf("%+v", action)
	}
	if action := routePath([]byte("/fibonacci/037")); action != (Action{Kind: ComputeFibonacci, Number: 37}) {
		t.Errorf("%+v", action)
	}
}

func TestFibonacci(t *testing.T) {
	for i, number := range []uint64{0, 1, 1, 2, 3, 5, 8, 13, 21, 34} {
		if Fibonacci(uint64(i)) != number {
			t.Errorf("%d: %d", i, Fibonacci(uint64(i)))
		}
	}
}

func TestSerialise(t *testing.T) {
	for expected, seen := range map[string][]byte{
		"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHello, world!": Response{Status: 200, Body: Hello}.Serialise(false, nil),
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n":                              Response{Status: 404}.Serialise(true, nil),
		"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nAllow: GET\r\n\r\n":                            Response{Status: 405}.Serialise(false, nil),
	} {
		if string(seen) != expected {
			t.Errorf("%q instead of %q", seen, expected)
		}
	}
}
