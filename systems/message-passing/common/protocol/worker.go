package protocol

import (
	"errors"
	"fmt"
	"time"

	"bakeoff.example/message-passing/common/big"
)

// A Player plays one worker: it takes a message and sends what follows from it.
// Only one goroutine may use it.
type Player struct {
	// Patience is how long the worker waits for a pong before it gives up.
	Patience time.Duration
	// Fail is called, from another goroutine, when the patience is at an end.
	Fail func(error)

	worker   *big.Worker
	sender   Sender
	finished chan struct{}
}

// NewPlayer makes a player that sends by sender.
func NewPlayer(worker *big.Worker, sender Sender, fail func(error)) *Player {
	return &Player{
		Patience: time.Minute, Fail: fail,
		worker: worker, sender: sender, finished: make(chan struct{}),
	}
}

// Register tells the core that the worker is ready for messages.
func (p *Player) Register() error {
	return p.sender.Send(Core, New(Register, p.worker.Self()))
}

// Take does what a message asks for.
func (p *Player) Take(m Message) error {
	switch m.Op {
	case Ping:
		var from string
		if err := m.read(&from); err != nil {
			return err
		}
		return p.sender.Send(from, New(Pong, p.worker.Self()))
	case Pong:
		var from string
		if err := m.read(&from); err != nil {
			return err
		}
		if from == Core {
			go p.watch()
		} else {
			p.worker.Pong(from)
		}
		return p.next()
	case Neighbourhood:
		var plan Plan
		if err := m.read(&plan); err != nil {
			return err
		}
		if err := p.worker.Join(plan.PingLimit, plan.Members); err != nil {
			return m.malformed(err)
		}
		return nil
	default:
		return m.malformed(errors.New("a worker has no such operation"))
	}
}

// next sends the next ping, or tells the core that there is none left.
func (p *Player) next() error {
	to, more := p.worker.Next()
	if more {
		return p.sender.Send(to, New(Ping, p.worker.Self()))
	}
	close(p.finished)
	return p.sender.Send(Core, finish(p.worker, p.sender.Retries()))
}

func (p *Player) watch() {
	if err := p.worker.Watch(p.Patience, p.finished); err != nil {
		p.Fail(fmt.Errorf("waiting for a pong: %w", err))
	}
}
