// Package big is the part of the Big benchmark that does not depend on how messages travel:
// whom a worker pings, what it counts, and when it has finished.
package big

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A Report is what a worker tells the core when it has finished.
type Report struct {
	Worker             string `json:"worker"` // its address
	Pongs              int    `json:"pongs"`
	WrongNeighbourhood int    `json:"wrongNeighbourhood"`
	Retries            int    `json:"retries,omitempty"` // connects that had to be tried again, if they are counted
}

// A Worker is the state of one worker. One goroutine may use it, and another may watch it.
type Worker struct {
	self    string
	others  []string // the rest of the neighbourhood
	members map[string]bool
	random  *rand.Rand

	limit int // pings to send
	sent  int
	wrong int
	pongs atomic.Int64 // also read by Watch
}

// NewWorker makes worker number n, known by the address self. Its choices follow from n alone.
func NewWorker(self string, n uint64) *Worker {
	return &Worker{self: self, random: rand.New(rand.NewPCG(1, n))}
}

// Self is the worker's own address.
func (w *Worker) Self() string { return w.self }

// Join tells the worker how many pings to send and who lives in its neighbourhood, itself among them.
func (w *Worker) Join(limit int, members []string) error {
	if w.members != nil {
		return fmt.Errorf("it was told its neighbourhood twice")
	}
	w.limit = limit
	w.members = make(map[string]bool, len(members))
	for _, member := range members {
		w.members[member] = true
		if member != w.self {
			w.others = append(w.others, member)
		}
	}
	if limit < 1 || len(w.others) < 1 || len(w.others) != len(members)-1 || len(w.members) != len(members) {
		return fmt.Errorf("its neighbourhood makes no sense: ping limit %d, members %q", limit, members)
	}
	return nil
}

// Next says whom to ping next, and whether there is a ping left to send at all.
func (w *Worker) Next() (to string, more bool) {
	if w.sent == w.limit {
		return "", false
	}
	w.sent++
	return w.others[w.random.IntN(len(w.others))], true
}

// Pong counts a pong.
func (w *Worker) Pong(from string) {
	w.pongs.Add(1)
	if !w.members[from] {
		w.wrong++
	}
}

// Report tells what the worker counted.
func (w *Worker) Report() Report {
	return Report{Worker: w.self, Pongs: int(w.pongs.Load()), WrongNeighbourhood: w.wrong}
}

// Watch returns an error when the worker, which has a ping on its way, gets no pong for patience
// or a little longer, and nil when stop is closed.
func (w *Worker) Watch(patience time.Duration, stop <-chan struct{}) error {
	ticks := time.NewTicker(patience)
	defer ticks.Stop()
	before := w.pongs.Load()
	for {
		select {
		case <-stop:
			return nil
		case <-ticks.C:
		}
		now := w.pongs.Load()
		if now == before {
			return fmt.Errorf("no pong for %v after %d pongs", patience, now)
		}
		before = now
	}
}
