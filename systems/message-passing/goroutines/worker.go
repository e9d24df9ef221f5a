package main

import "math/rand/v2"

// A message is a ping or a pong; the channel it comes by says which.
type message struct {
	from *worker
}

// A worker sends pings, one at a time, and answers pings at any time.
//
// No send can block: a worker has at most one unanswered ping, so at most one ping of each
// other worker waits in pingBox, and at most one pong in pongBox. Their capacities are just that.
type worker struct {
	neighbourhood int
	others        []*worker // the rest of the neighbourhood
	pingBox       chan message
	pongBox       chan message
	left          int // pings still to send
	random        *rand.Rand

	pongs int // received
	wrong int // received from another neighbourhood
}

// newWorker makes worker number n, whose choices follow from its number alone.
func newWorker(n, neighbourhood int, s size) *worker {
	return &worker{
		neighbourhood: neighbourhood,
		pingBox:       make(chan message, s.workers-1),
		pongBox:       make(chan message, 1),
		left:          s.pings,
		random:        rand.New(rand.NewPCG(1, uint64(n))),
	}
}

// work sends all pings, calls finished after the last pong, and answers pings until end is closed.
func (w *worker) work(finished func(), end <-chan struct{}) {
	w.next(finished)
	for {
		select {
		case pong := <-w.pongBox: // pongs before pings
			w.receive(pong, finished)
			continue
		default:
		}
		select {
		case ping := <-w.pingBox:
			ping.from.pongBox <- message{from: w}
		case pong := <-w.pongBox:
			w.receive(pong, finished)
		case <-end:
			return
		}
	}
}

// receive counts a pong and goes on.
func (w *worker) receive(pong message, finished func()) {
	w.pongs++
	if pong.from.neighbourhood != w.neighbourhood {
		w.wrong++
	}
	w.next(finished)
}

// next sends a ping to a random other worker, or says that there is none left to send.
func (w *worker) next(finished func()) {
	if w.left == 0 {
		finished()
		return
	}
	w.left--
	w.others[w.random.IntN(len(w.others))].pingBox <- message{from: w}
}
