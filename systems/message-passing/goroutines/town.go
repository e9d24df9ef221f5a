package main

import (
	"errors"
	"sync"
)

// A size is the size of one benchmark.
type size struct {
	neighbourhoods int
	workers        int // in each neighbourhood
	pings          int // that each worker sends
}

func (s size) check() error {
	switch {
	case s.neighbourhoods < 1:
		return errors.New("--neighbourhoods must be at least 1")
	case s.workers < 2:
		return errors.New("--workers must be at least 2: a worker pings another one")
	case s.pings < 1:
		return errors.New("--pings must be at least 1")
	}
	return nil
}

// A result is what the run says of its own work.
type result struct {
	Pongs              int     `json:"pongs"`
	WrongNeighbourhood int     `json:"wrong_neighbourhood"`
	ElapsedS           float64 `json:"elapsed_s"`
}

// A town is all workers of a run, and their coordinator.
type town struct {
	workers  []*worker
	finished sync.WaitGroup // counts the workers that still wait for pongs
	ended    sync.WaitGroup // counts the workers that still answer pings
	close    chan struct{}  // closed when the workers shall end
}

func newTown(s size) *town {
	t := &town{close: make(chan struct{})}
	for neighbourhood := range s.neighbourhoods {
		members := make([]*worker, s.workers)
		for i := range members {
			members[i] = newWorker(len(t.workers)+i, neighbourhood, s)
		}
		for i, w := range members {
			w.others = append(append(w.others, members[:i]...), members[i+1:]...)
		}
		t.workers = append(t.workers, members...)
	}
	return t
}

// run starts the workers and waits until the last one has all its pongs.
func (t *town) run() {
	t.finished.Add(len(t.workers))
	for _, w := range t.workers {
		t.ended.Go(func() { w.work(t.finished.Done, t.close) })
	}
	t.finished.Wait()
}

// tally adds up what the workers counted. It may be called after run.
func (t *town) tally() result {
	var sum result
	for _, w := range t.workers {
		sum.Pongs += w.pongs
		sum.WrongNeighbourhood += w.wrong
	}
	return sum
}

// end makes the workers end and waits for them.
func (t *town) end() {
	close(t.close)
	t.ended.Wait()
}
