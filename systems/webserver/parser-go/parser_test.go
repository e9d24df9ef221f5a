package webserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"bakeoff/webserver"
	"bakeoff/webserver/internal/observe"
)

// A vector of the file that all languages share.
type vector struct {
	Name     string            `json:"name"`
	Input    []json.RawMessage `json:"input"`
	Requests json.RawMessage   `json:"requests"`
	Error    *string           `json:"error"`
	End      *string           `json:"end"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	data, err := os.ReadFile("../parser-vectors/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Vectors []vector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	return document.Vectors
}

// input puts the pieces together: texts, or a text and how often it stands there.
func (v *vector) input(t testing.TB) (input []byte) {
	t.Helper()
	for _, piece := range v.Input {
		var text string
		times := 1
		if err := json.Unmarshal(piece, &text); err != nil {
			if err := json.Unmarshal(piece, &[]any{&text, &times}); err != nil {
				t.Fatal(v.Name, err)
			}
		}
		for range times {
			for _, c := range text {
				input = append(input, byte(c))
			}
		}
	}
	return input
}

// check compares; of long requests only the number is expected.
func (v *vector) check(t *testing.T, how string, seen observe.Observation) {
	t.Helper()
	var number int
	if json.Unmarshal(v.Requests, &number) == nil {
		if len(seen.Requests) != number {
			t.Errorf("%s, %s: %d requests instead of %d", v.Name, how, len(seen.Requests), number)
		}
		seen.Requests = nil
	}
	expected := observe.Observation{Error: v.Error, End: v.End}
	if seen.Requests != nil {
		if err := json.Unmarshal(v.Requests, &expected.Requests); err != nil {
			t.Fatal(v.Name, err)
		}
	}
	if !reflect.DeepEqual(seen, expected) {
		t.Errorf("%s, %s: %s instead of %s", v.Name, how, show(seen), show(expected))
	}
}

func show(seen observe.Observation) string {
	data, _ := json.Marshal(seen)
	return string(data)
}

func TestWhole(t *testing.T) {
	malformed := 0
	for _, v := range vectors(t) {
		v.check(t, "whole", observe.Feed(v.input(t)))
		if v.Error != nil {
			malformed++
		}
	}
	if malformed < 40 {
		t.Errorf("only %d malformed requests", malformed)
	}
}

func TestByteByByte(t *testing.T) {
	for _, v := range vectors(t) {
		v.check(t, "byte by byte", observe.Feed(observe.Pieces(v.input(t), 1)...))
	}
}

func TestSplitAtEveryPoint(t *testing.T) {
	for _, v := range vectors(t) {
		input := v.input(t)
		for point := range len(input) + 1 {
			v.check(t, fmt.Sprint("split at ", point), observe.Feed(input[:point], input[point:]))
		}
	}
}

func TestHeaderByName(t *testing.T) {
	var parser webserver.Parser
	parser.Append([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	request, err := parser.NextRequest()
	if err != nil || request == nil {
		t.Fatal(request, err)
	}
	if value, ok := request.Header("hOST"); !ok || string(value) != "a" {
		t.Errorf("%q %v", value, ok)
	}
	if _, ok := request.Header("x"); ok {
		t.Error("a header that is not there")
	}
}

func FuzzPiecesDoNotMatter(f *testing.F) {
	for _, v := range vectors(f) {
		if input := v.input(f); len(input) < 1000 {
			f.Add(input, 7)
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, size int) {
		whole := observe.Feed(input)
		for _, size := range []int{1, max(1, size%(len(input)+1))} {
			if seen := observe.Feed(observe.Pieces(input, size)...); !reflect.DeepEqual(seen, whole) {
				t.Errorf("in pieces of %d: %s instead of %s", size, show(seen), show(whole))
			}
		}
	})
}

func BenchmarkParser(b *testing.B) {
	var parser webserver.Parser
	input := []byte("GET /hello HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: load\r\nAccept: */*\r\n\r\n")
	b.ReportAllocs()
	b.SetBytes(int64(len(input)))
	for b.Loop() {
		parser.Append(input)
		if request, err := parser.NextRequest(); request == nil || err != nil {
			b.Fatal(err)
		}
	}
}
