package store_test

import (
	"errors"
	"testing"

	"treering/store"
)

func TestTransportState(t *testing.T) {
	at := func(s float64) *float64 { return &s }
	bad := &store.TransportMessage{Bad: &store.RowError{}}
	for _, tt := range []struct {
		name  string
		queue store.TransportQueue
		want  store.TransportState
		stuck bool
	}{
		{"nothing in it", store.TransportQueue{LockedUntil: at(200)}, store.TransportEmpty, false},
		{"never claimed", store.TransportQueue{Depth: 2}, store.TransportReady, false},
		{"with a worker", store.TransportQueue{Depth: 2, LockedBy: "w", LockedUntil: at(101)}, store.TransportLeased, false},
		{"its worker is gone", store.TransportQueue{Depth: 2, LockedBy: "w", LockedUntil: at(100)}, store.TransportExpired, true},
		{"put aside", store.TransportQueue{Depth: 1, Parked: true, LockedUntil: at(105)}, store.TransportParked, false},
		{"put aside until a moment ago", store.TransportQueue{Depth: 1, Parked: true, LockedUntil: at(99)}, store.TransportReady, false},
		{"no record of it", store.TransportQueue{Depth: 1, Hidden: true}, store.TransportHidden, true},
		{"no event at its head", store.TransportQueue{Depth: 1, Head: bad, LockedUntil: at(101)}, store.TransportPoison, true},
	} {
		if got := tt.queue.State(100); got != tt.want || got.Stuck() != tt.stuck {
			t.Errorf("%s: %s, stuck %t; want %s, %t", tt.name, got, got.Stuck(), tt.want, tt.stuck)
		}
	}
}

func TestCheckPublish(t *testing.T) {
	for _, tt := range []struct {
		name, queue string
		event       store.Event
		is          error
	}{
		{"no queue", "", store.Event{ID: "e", Kind: "Go"}, store.ErrEmptyID},
		{"no id", "x", store.Event{Kind: "Go"}, store.ErrEmptyID},
		{"no kind", "x", store.Event{ID: "e"}, store.ErrEmptyID},
		{"a NUL", "x\x00", store.Event{ID: "e", Kind: "Go"}, store.ErrNotText},
		{"data that is no object", "x", store.Event{ID: "e", Kind: "Go", Data: "[]"}, store.ErrNotObject},
	} {
		if _, err := store.CheckPublish(tt.queue, tt.event); !errors.Is(err, tt.is) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.is)
		}
	}
	got, err := store.CheckPublish("x", store.Event{ID: "e", Kind: "Go"})
	if want := store.JSON(`{"id":"e","kind":"Go","created_time":null,"received_time":null,"data":{}}`); err != nil || got != want {
		t.Errorf("encoded %s, %v; want %s", got, err, want)
	}
	for p, want := range map[int64]int64{-1: 0, 0: 0, 3: 3, 4: 4, 9: 4} {
		if got := store.ClampTransportPriority(p); got != want {
			t.Errorf("priority %d is cut to %d, want %d", p, got, want)
		}
	}
}
