package main

import (
	"slices"
	"testing"
)

func TestPongsAreExact(t *testing.T) {
	for _, s := range []size{{1, 2, 1}, {1, 3, 100}, {4, 5, 50}, {10, 10, 200}} {
		town := newTown(s)
		town.run()
		got := town.tally()
		town.end()
		if want := s.neighbourhoods * s.workers * s.pings; got.Pongs != want {
			t.Errorf("%+v: %d pongs, want %d", s, got.Pongs, want)
		}
		if got.WrongNeighbourhood != 0 {
			t.Errorf("%+v: %d pongs from another neighbourhood", s, got.WrongNeighbourhood)
		}
		for i, w := range town.workers {
			if w.pongs != s.pings {
				t.Errorf("%+v: worker %d got %d pongs, want %d", s, i, w.pongs, s.pings)
			}
		}
	}
}

func TestOthersAreTheRestOfTheNeighbourhood(t *testing.T) {
	town := newTown(size{3, 4, 1})
	for i, w := range town.workers {
		if len(w.others) != 3 || slices.Contains(w.others, w) {
			t.Errorf("worker %d has %d others, itself among them: %t", i, len(w.others), slices.Contains(w.others, w))
		}
		for _, other := range w.others {
			if other.neighbourhood != i/4 {
				t.Errorf("worker %d knows a worker of neighbourhood %d", i, other.neighbourhood)
			}
		}
	}
}

func TestAPongFromElsewhereIsSeen(t *testing.T) {
	town := newTown(size{2, 2, 1})
	here, elsewhere := town.workers[0], town.workers[2]
	here.left = 0
	here.receive(message{from: elsewhere}, func() {})
	if got := town.tally(); got.WrongNeighbourhood != 1 {
		t.Errorf("%d pongs from another neighbourhood, want 1", got.WrongNeighbourhood)
	}
}

func TestSizesThatCannotWork(t *testing.T) {
	for _, s := range []size{{0, 2, 1}, {1, 1, 1}, {1, 2, 0}} {
		if s.check() == nil {
			t.Errorf("%+v was accepted", s)
		}
	}
}
