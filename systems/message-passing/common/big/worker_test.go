package big

import (
	"slices"
	"testing"
	"time"
)

func TestNextIsAnotherMemberUntilTheLimit(t *testing.T) {
	w := NewWorker("b", 7)
	if err := w.Join(300, []string{"a", "b", "c", "d"}); err != nil {
		t.Fatal(err)
	}
	chosen := map[string]int{}
	for {
		to, more := w.Next()
		if !more {
			break
		}
		chosen[to]++
	}
	if chosen["b"] != 0 || chosen["a"]+chosen["c"]+chosen["d"] != 300 {
		t.Errorf("chosen: %v", chosen)
	}
	for _, other := range []string{"a", "c", "d"} {
		if chosen[other] < 60 || chosen[other] > 140 {
			t.Errorf("%s was chosen %d times of 300 among three", other, chosen[other])
		}
	}
}

func TestChoicesFollowFromTheNumber(t *testing.T) {
	choices := func(n uint64) (all []string) {
		w := NewWorker("a", n)
		if err := w.Join(50, []string{"a", "b", "c"}); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			to, _ := w.Next()
			all = append(all, to)
		}
		return all
	}
	if !slices.Equal(choices(3), choices(3)) {
		t.Error("the same number chose differently")
	}
	if slices.Equal(choices(3), choices(4)) {
		t.Error("two numbers chose alike")
	}
}

func TestReportCountsStrangers(t *testing.T) {
	w := NewWorker("a", 0)
	if err := w.Join(2, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	w.Pong("b")
	w.Pong("z")
	if got, want := w.Report(), (Report{Worker: "a", Pongs: 2, WrongNeighbourhood: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNeighbourhoodsThatMakeNoSense(t *testing.T) {
	for name, members := range map[string][]string{
		"nobody": {}, "alone": {"a"}, "a stranger's": {"b", "c"}, "a double": {"a", "b", "b"},
	} {
		if NewWorker("a", 0).Join(1, members) == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	w := NewWorker("a", 0)
	if w.Join(0, []string{"a", "b"}) == nil {
		t.Error("no pings: accepted")
	}
	if w.Join(1, []string{"a", "b"}) == nil {
		t.Error("a second neighbourhood: accepted")
	}
}

func TestWatch(t *testing.T) {
	w := NewWorker("a", 0)
	if err := w.Watch(time.Millisecond, nil); err == nil {
		t.Error("silence was not seen")
	}
	stop := make(chan struct{})
	close(stop)
	if err := w.Watch(time.Hour, stop); err != nil {
		t.Error(err)
	}
}
