package coordinator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bakeoff.example/message-passing/common/big"
)

// A fake is a wire without workers: the processes are cat, which also ends when its standard input does.
type fake struct {
	inbox  *Inbox
	name   func(n int) string
	begin  func(worker string, members []string) error
	failed error
}

func (f fake) WorkerArguments(n int) []string {
	go func() {
		if f.failed != nil {
			f.inbox.Failed <- f.failed
			return
		}
		f.inbox.Registered <- f.name(n)
	}()
	return nil
}

func (f fake) Introduce(string, int, []string) error { return nil }

func (f fake) Begin(worker string, pings int, members []string) error {
	if f.begin != nil {
		return f.begin(worker, members)
	}
	go func() { f.inbox.Finished <- big.Report{Worker: worker, Pongs: pings} }()
	return nil
}

func run4(f fake) error {
	f.inbox = NewInbox()
	if f.name == nil {
		f.name = func(n int) string { return fmt.Sprint("w", n) }
	}
	return Run(Options{Neighbourhoods: 2, Workers: 2, Pings: 3, Program: "cat", Timeout: time.Second}, f, f.inbox)
}

func TestAGoodRun(t *testing.T) {
	if err := run4(fake{}); err != nil {
		t.Error(err)
	}
}

func TestRunsThatGoWrong(t *testing.T) {
	silent := func(string, []string) error { return nil }
	for want, f := range map[string]fake{
		"worker same registered twice": {name: func(int) string { return "same" }},
		"no such worker":               {begin: func(string, []string) error { return errors.New("no such worker") }},
		"not finished within 1s":       {begin: silent},
		"malformed":                    {failed: errors.New("malformed")},
	} {
		if err := run4(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestReportsFromStrangers(t *testing.T) {
	r := &run{inbox: NewInbox(), trouble: make(chan error), addresses: []string{"a", "b"}}
	go func() {
		r.inbox.Finished <- big.Report{Worker: "a"}
		r.inbox.Finished <- big.Report{Worker: "a"}
	}()
	if _, err := r.collect(); err == nil || !strings.Contains(err.Error(), `worker "a" finished twice`) {
		t.Errorf("got %v", err)
	}
}
