package main

import (
	"fmt"
	"time"

	"bakeoff.example/message-passing/common/big"
	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/http-services/api"
)

// patience is how long a worker waits for a pong before it gives up.
const patience = time.Minute

// A pinger is the sending half of a worker. Its worker knows other workers by their ports.
type pinger struct {
	worker *big.Worker
	number uint64
	core   string // URL
}

func newPinger(port string, number uint64, core string) *pinger {
	return &pinger{big.NewWorker(port, number), number, core}
}

// work sends all pings, one after the other, and tells the core.
func (p *pinger) work() error {
	finished := make(chan struct{})
	go func() {
		if err := p.worker.Watch(patience, finished); err != nil {
			fleet.Fail(p.number, err)
		}
	}()
	for {
		to, more := p.worker.Next()
		if !more {
			break
		}
		from, err := api.Ping(to)
		if err != nil {
			return fmt.Errorf("cannot ping: %w", err)
		}
		p.worker.Pong(from)
	}
	close(finished)
	if err := api.Post(p.core+"/finish", p.worker.Report()); err != nil {
		return fmt.Errorf("cannot finish: %w", err)
	}
	return nil
}
