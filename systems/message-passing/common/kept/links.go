// Package kept sends and receives messages over connections that are kept: one for each sender and receiver
// that have something to say, made when the first message is sent, and used in that direction only.
package kept

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/protocol"
)

// Links are the connections by which one process sends. Many goroutines may use them.
type Links struct {
	*dial.Dialer
	mu       sync.Mutex
	encoders map[string]*json.Encoder // by address
}

// NewLinks makes links that connect by a dialer.
func NewLinks(dialer *dial.Dialer) *Links {
	return &Links{Dialer: dialer, encoders: make(map[string]*json.Encoder)}
}

// Send implements protocol.Sender.
func (l *Links) Send(to string, m protocol.Message) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	encoder := l.encoders[to]
	if encoder == nil {
		connection, err := l.Dial(to)
		if err != nil {
			return err
		}
		encoder = json.NewEncoder(connection)
		l.encoders[to] = encoder
	}
	if err := encoder.Encode(m); err != nil {
		return fmt.Errorf("cannot send a %s to %s: %w", m.Op, to, err)
	}
	return nil
}

// accept calls take with the messages of all connections, from a goroutine for each connection,
// and fail with what goes wrong.
func accept(listener net.Listener, take func(protocol.Message), fail func(error)) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			fail(err)
			return
		}
		go func() {
			defer connection.Close()
			if err := read(connection, take); err != nil {
				fail(err)
			}
		}()
	}
}

// read reads messages until the sender closes the connection.
func read(connection net.Conn, take func(protocol.Message)) error {
	decoder := json.NewDecoder(connection)
	for {
		var m protocol.Message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("malformed message: %w", err)
		}
		take(m)
	}
}
