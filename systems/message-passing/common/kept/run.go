package kept

import (
	"net"
	"runtime"

	"bakeoff.example/message-passing/common/big"
	"bakeoff.example/message-passing/common/coordinator"
	"bakeoff.example/message-passing/common/dial"
	"bakeoff.example/message-passing/common/protocol"
)

// RunCore carries out one run. Arguments are the command line of worker n.
func RunCore(options coordinator.Options, listener net.Listener, dialer *dial.Dialer, arguments func(n int) []string) error {
	inbox := coordinator.NewInbox()
	go accept(listener,
		func(m protocol.Message) { protocol.Deliver(m, inbox) },
		func(err error) { inbox.Failed <- err })
	defer listener.Close()
	wire := protocol.Wire{Sender: NewLinks(dialer), Arguments: arguments}
	return coordinator.Run(options, wire, inbox)
}

// RunWorker is worker number n, which others reach at its listener by the address self. It returns when something
// goes wrong, and calls fail when that happens elsewhere.
//
// The worker uses one CPU at a time, and one goroutine does all its work; the others only read a connection each.
// A send never waits for its receiver: no more than a ping and a pong can be on their way from
// one worker to another, and they fit into the socket's buffer.
func RunWorker(listener net.Listener, dialer *dial.Dialer, self string, n uint64, fail func(error)) error {
	runtime.GOMAXPROCS(1)
	messages := make(chan protocol.Message)
	go accept(listener, func(m protocol.Message) { messages <- m }, fail)
	player := protocol.NewPlayer(big.NewWorker(self, n), NewLinks(dialer), fail)
	if err := player.Register(); err != nil {
		return err
	}
	for m := range messages {
		if err := player.Take(m); err != nil {
			return err
		}
	}
	return nil
}
