package fleet

import (
	"os"
	"strings"
	"testing"
	"time"
)

// The test program is its own worker: its role is in the environment.
func TestMain(m *testing.M) {
	switch os.Getenv("FLEET_ROLE") {
	case "good":
		EndWithCore()
		select {}
	case "failing":
		Fail(3, os.ErrInvalid)
	case "stubborn":
		time.Sleep(time.Minute)
	default:
		os.Exit(m.Run())
	}
}

func start(t *testing.T, role string, count int) *Fleet {
	t.Helper()
	t.Setenv("FLEET_ROLE", role)
	f, err := New(os.Args[0], count)
	if err != nil {
		t.Fatal(err)
	}
	for n := range count {
		if err := f.Start(n); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestWorkersEndWhenTold(t *testing.T) {
	f := start(t, "good", 5)
	if err := f.End(10 * time.Second); err != nil {
		t.Error(err)
	}
}

func TestADeathIsToldWithTheComplaint(t *testing.T) {
	f := start(t, "failing", 1)
	<-f.Died()
	err := f.End(time.Second)
	if err == nil || !strings.Contains(err.Error(), "code 1; first complaint: worker 3: invalid argument") {
		t.Errorf("got %v", err)
	}
}

func TestAKilledWorkerIsSeen(t *testing.T) {
	f := start(t, "good", 3)
	f.mu.Lock()
	for _, worker := range f.running {
		_ = worker.process.Kill()
		break
	}
	f.mu.Unlock()
	<-f.Died()
	if err := f.End(10 * time.Second); err == nil || !strings.Contains(err.Error(), "died: killed") {
		t.Errorf("got %v", err)
	}
}

func TestStubbornWorkersAreKilled(t *testing.T) {
	f := start(t, "stubborn", 2)
	if err := f.End(50 * time.Millisecond); err == nil || !strings.Contains(err.Error(), "2 workers did not end") {
		t.Errorf("got %v", err)
	}
}
