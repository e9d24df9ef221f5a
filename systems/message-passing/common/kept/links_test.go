package kept

import (
	"errors"
	"net"
	"testing"

	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/protocol"
)

func TestMessagesShareOneConnection(t *testing.T) {
	folder := t.TempDir()
	listener, err := dial.Listen(folder, "a")
	if err != nil {
		t.Fatal(err)
	}
	counted := &counter{Listener: listener}
	messages := make(chan protocol.Message)
	go accept(counted, func(m protocol.Message) { messages <- m }, func(err error) {
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	links := NewLinks(dial.InFolder(folder))
	for range 10 {
		if err := links.Send("a", protocol.New(protocol.Ping, "b")); err != nil {
			t.Fatal(err)
		}
		if m := <-messages; m.Op != protocol.Ping || string(m.Content) != `"b"` {
			t.Errorf("got %s %s", m.Op, m.Content)
		}
	}
	if counted.accepted != 1 {
		t.Errorf("%d connections for 10 messages", counted.accepted)
	}
	listener.Close()
}

func TestMalformedMessagesFail(t *testing.T) {
	folder := t.TempDir()
	listener, err := dial.Listen(folder, "a")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	failed := make(chan error, 2)
	go accept(listener, func(protocol.Message) {}, func(err error) { failed <- err })
	connection, err := dial.InFolder(folder).Dial("a")
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := connection.Write([]byte("{{")); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("no error")
	}
}

// A counter counts the connections of a listener.
type counter struct {
	net.Listener
	accepted int
}

func (c *counter) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err == nil {
		c.accepted++
	}
	return connection, err
}
