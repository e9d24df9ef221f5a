// Package post sends and receives messages with a new connection for each.
package post

import (
	"encoding/json"
	"fmt"
	"net"

	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/protocol"
)

// A Sender sends messages to the Unix sockets of a folder. Many goroutines may use it.
type Sender struct{ *dial.Dialer }

// NewSender makes a sender for the sockets of a folder.
func NewSender(folder string) Sender { return Sender{dial.InFolder(folder)} }

// Send connects, writes the message, and closes the connection.
func (s Sender) Send(to string, m protocol.Message) error {
	connection, err := s.Dial(to)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := json.NewEncoder(connection).Encode(m); err != nil {
		return fmt.Errorf("cannot send a %s to %s: %w", m.Op, to, err)
	}
	return nil
}

// Receive reads the message of a connection and closes it.
func Receive(connection net.Conn) (m protocol.Message, err error) {
	defer connection.Close()
	if err := json.NewDecoder(connection).Decode(&m); err != nil {
		return m, fmt.Errorf("malformed message: %w", err)
	}
	return m, nil
}
