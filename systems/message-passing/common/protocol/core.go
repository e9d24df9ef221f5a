package protocol

import (
	"errors"

	"bakeoff.example/message-passing/common/big"
	"bakeoff.example/message-passing/common/coordinator"
)

// Deliver puts a message to the core into its inbox.
func Deliver(m Message, inbox *coordinator.Inbox) {
	var err error
	switch m.Op {
	case Register:
		var address string
		if err = m.read(&address); err == nil {
			inbox.Registered <- address
			return
		}
	case Finish:
		var report big.Report
		if err = m.read(&report); err == nil {
			inbox.Finished <- report
			return
		}
	default:
		err = m.malformed(errors.New("the core has no such operation"))
	}
	inbox.Failed <- err
}

// Wire is the core's side of the messages to the workers.
type Wire struct {
	Sender Sender
	// Arguments are the command line of worker n.
	Arguments func(n int) []string
}

// WorkerArguments implements coordinator.Wire.
func (w Wire) WorkerArguments(n int) []string { return w.Arguments(n) }

// Introduce implements coordinator.Wire.
func (w Wire) Introduce(worker string, pings int, members []string) error {
	return w.Sender.Send(worker, New(Neighbourhood, Plan{pings, members}))
}

// Begin implements coordinator.Wire: a pong makes a worker send its first ping.
func (w Wire) Begin(worker string, _ int, _ []string) error {
	return w.Sender.Send(worker, New(Pong, Core))
}
