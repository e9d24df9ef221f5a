// Package coordinator is the core of the Big benchmark when each worker is a process: it starts the
// workers, waits until all have registered, tells them their neighbourhoods, starts the pings, waits until
// all have finished, and ends the workers. How messages travel is the business of a Wire.
package coordinator

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"bakeoff.example/message-passing/common/big"
	"bakeoff.example/message-passing/common/fleet"
	"bakeoff.example/message-passing/common/marker"
)

const (
	maxStarting   = 16               // workers that have been started and have not yet registered
	maxTelling    = 8                // workers that are being told something at once
	registerLimit = 2 * time.Minute  // from the start of a worker to the next registration
	endGrace      = 10 * time.Second // for the workers to end after a good run
	abortGrace    = time.Second      // and after a bad one
)

// A Wire carries the messages between the core and the workers. A worker is known by its address,
// a name whose meaning only the wire knows.
type Wire interface {
	// WorkerArguments are the command line of worker n, which makes it find the core.
	WorkerArguments(n int) []string
	// Introduce tells a worker its limit of pings and its neighbourhood.
	Introduce(worker string, pings int, members []string) error
	// Begin makes a worker send its first ping. All workers have been introduced.
	Begin(worker string, pings int, members []string) error
}

// An Inbox is where a wire puts what the workers tell the core.
type Inbox struct {
	Registered chan string // addresses
	Finished   chan big.Report
	Failed     chan error // what the core could not understand
}

// NewInbox makes an inbox.
func NewInbox() *Inbox {
	return &Inbox{make(chan string), make(chan big.Report), make(chan error)}
}

// A result is what the run says of its own work.
type result struct {
	Pongs              int     `json:"pongs"`
	WrongNeighbourhood int     `json:"wrong_neighbourhood"`
	Retries            *int    `json:"retries,omitempty"` // null if the wire does not count them
	ElapsedS           float64 `json:"elapsed_s"`
}

// Run carries out one run. All workers have ended when it returns.
func Run(o Options, wire Wire, inbox *Inbox) error {
	if err := o.check(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	workers, err := fleet.New(o.Program, o.Total())
	if err != nil {
		return err
	}
	r := &run{options: o, wire: wire, inbox: inbox, workers: workers, trouble: make(chan error, 1)}
	go r.watch(signals, time.After(o.Timeout))
	if err := r.toTheFinish(); err != nil {
		fromWorkers := workers.End(abortGrace)
		if errors.Is(err, errDied) {
			return fromWorkers // it says who and why
		}
		return err
	}
	return workers.End(endGrace)
}

var errDied = errors.New("a worker died")

// A run is the state of one run.
type run struct {
	options Options
	wire    Wire
	inbox   *Inbox
	workers *fleet.Fleet
	trouble chan error // the first thing that went wrong outside

	addresses []string // of the workers, in the order in which they registered
	began     time.Time
}

func (r *run) toTheFinish() error {
	if r.options.ClockFromSpawn {
		r.startClock()
	}
	if err := r.assemble(); err != nil {
		return err
	}
	marker.Print("registered")
	if err := r.tellAll(r.wire.Introduce); err != nil {
		return err
	}
	if !r.options.ClockFromSpawn {
		r.startClock()
	}
	if err := r.tellAll(r.wire.Begin); err != nil {
		return err
	}
	sum, err := r.collect()
	if err != nil {
		return err
	}
	marker.Print("finish")
	sum.ElapsedS = time.Since(r.began).Seconds()
	return marker.PrintWith("result", sum)
}

// watch waits for the first thing that ends the run early.
func (r *run) watch(signals <-chan os.Signal, timeout <-chan time.Time) {
	select {
	case <-r.workers.Died():
		r.trouble <- errDied
	case signal := <-signals:
		r.trouble <- fmt.Errorf("told to end: %v", signal)
	case <-timeout:
		r.trouble <- fmt.Errorf("not finished within %v", r.options.Timeout)
	case err := <-r.inbox.Failed:
		r.trouble <- err
	}
}

func (r *run) startClock() {
	marker.Print("start")
	r.began = time.Now()
}

// assemble starts the workers, a few at a time, and waits until all have registered.
func (r *run) assemble() error {
	known := make(map[string]bool, r.options.Total())
	for started := 0; len(r.addresses) < r.options.Total(); {
		if started < r.options.Total() && started-len(r.addresses) < maxStarting {
			if err := r.workers.Start(started, r.wire.WorkerArguments(started)...); err != nil {
				return err
			}
			started++
			continue
		}
		select {
		case address := <-r.inbox.Registered:
			if known[address] {
				return fmt.Errorf("worker %s registered twice", address)
			}
			known[address] = true
			r.addresses = append(r.addresses, address)
		case <-time.After(registerLimit):
			return fmt.Errorf("only %d of %d workers registered, none in the last %v",
				len(r.addresses), r.options.Total(), registerLimit)
		case err := <-r.trouble:
			return err
		}
	}
	return nil
}

// tellAll calls tell for each worker with its neighbourhood: in order, and a few at a time.
func (r *run) tellAll(tell func(worker string, pings int, members []string) error) error {
	slots := make(chan struct{}, maxTelling)
	done := make(chan error, len(r.addresses))
	go func() {
		for i, address := range r.addresses {
			first := i - i%r.options.Workers
			members := r.addresses[first : first+r.options.Workers]
			slots <- struct{}{}
			go func() {
				done <- tell(address, r.options.Pings, members)
				<-slots
			}()
		}
	}()
	for range r.addresses {
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case err := <-r.trouble:
			return err
		}
	}
	return nil
}

// collect waits until all workers have finished and adds up their reports.
func (r *run) collect() (sum result, err error) {
	if r.options.CountsRetries {
		sum.Retries = new(int)
	}
	open := make(map[string]bool, len(r.addresses))
	for _, address := range r.addresses {
		open[address] = true
	}
	for len(open) > 0 {
		select {
		case report := <-r.inbox.Finished:
			if !open[report.Worker] {
				return sum, fmt.Errorf("worker %q finished twice, or is none of ours", report.Worker)
			}
			delete(open, report.Worker)
			sum.Pongs += report.Pongs
			sum.WrongNeighbourhood += report.WrongNeighbourhood
			if sum.Retries != nil {
				*sum.Retries += report.Retries
			}
		case err := <-r.trouble:
			return sum, err
		}
	}
	return sum, nil
}
