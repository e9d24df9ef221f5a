package coordinator

import (
	"errors"
	"flag"
	"time"
)

// Options are the size of a run and how to carry it out.
type Options struct {
	Neighbourhoods int
	Workers        int // in each neighbourhood
	Pings          int // that each worker sends
	Program        string
	Timeout        time.Duration

	// ClockFromSpawn makes the study's clock start before the first worker process is started,
	// instead of before the first worker is told to begin.
	ClockFromSpawn bool
	// CountsRetries says that the workers report how many connects had to be tried again.
	CountsRetries bool
}

// Flags declares the options on the command line.
func (o *Options) Flags(set *flag.FlagSet) {
	set.IntVar(&o.Neighbourhoods, "neighbourhoods", 10, "number of neighbourhoods")
	set.IntVar(&o.Workers, "workers", 10, "workers in a neighbourhood")
	set.IntVar(&o.Pings, "pings", 50_000, "pings a worker sends")
	set.StringVar(&o.Program, "worker", "", "the worker program")
	set.DurationVar(&o.Timeout, "timeout", 12*time.Hour, "longest time of the run")
}

// Total is the number of workers.
func (o *Options) Total() int { return o.Neighbourhoods * o.Workers }

func (o *Options) check() error {
	switch {
	case o.Neighbourhoods < 1:
		return errors.New("--neighbourhoods must be at least 1")
	case o.Workers < 2:
		return errors.New("--workers must be at least 2: a worker pings another one")
	case o.Pings < 1:
		return errors.New("--pings must be at least 1")
	case o.Program == "":
		return errors.New("--worker must name the worker program")
	}
	return nil
}
