// Package protocol is what the workers and the core say to each other over sockets: JSON objects
// {"op": …, "content": …}.
package protocol

import (
	"encoding/json"
	"fmt"

	"bakeoff.example/message-passing/common/big"
)

// The operations.
const (
	Register      = "register"      // worker → core; content: the worker's address
	Neighbourhood = "neighbourhood" // core → worker; content: a Plan
	Ping          = "ping"          // worker → worker; content: the sender's address
	Pong          = "pong"          // worker → worker; content: the sender's address; from the core: begin
	Finish        = "finish"        // worker → core; content: a big.Report
)

// Core is the core's address.
const Core = "core"

// A Message is one message.
type Message struct {
	Op      string          `json:"op"`
	Content json.RawMessage `json:"content"`
}

// A Plan is the content of a neighbourhood message.
type Plan struct {
	PingLimit int      `json:"pingLimit"`
	Members   []string `json:"members"`
}

// A Sender brings a message to an address.
type Sender interface {
	Send(to string, m Message) error
	// Retries says how many connects had to be tried again so far.
	Retries() int
}

// New makes a message. The content must be one of those named at the operations.
func New(op string, content any) Message {
	raw, err := json.Marshal(content)
	if err != nil {
		panic(err) // strings and plain structs always have a JSON form
	}
	return Message{op, raw}
}

// read reads the content of a message.
func (m Message) read(content any) error {
	if err := json.Unmarshal(m.Content, content); err != nil {
		return m.malformed(err)
	}
	return nil
}

func (m Message) malformed(err error) error {
	return fmt.Errorf("malformed message {op: %q, content: %.100q}: %w", m.Op, m.Content, err)
}

// finish makes the finish message of a worker.
func finish(w *big.Worker, retries int) Message {
	report := w.Report()
	report.Retries = retries
	return New(Finish, report)
}
