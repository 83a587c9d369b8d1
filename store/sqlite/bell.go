package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// bell tells those who wait for a change that something happens to the file. It says
// nothing of what, and may be wrong; where it is silent the file is looked at anyway.
//
// While nobody listens it reads no events: the system keeps them, many writes to one
// file as one event.
type bell struct {
	mu     sync.Mutex
	heard  sync.Cond // somebody listens, or it is over
	ears   map[chan struct{}]struct{}
	events *fileEvents // nil: never asked for, or there are none
	why    string      // there are none
	wanted []string    // folders
	base   [2]string   // of the database, and of the path to it
	closed bool
}

func newBell() *bell {
	b := &bell{ears: map[chan struct{}]struct{}{}}
	b.heard.L = &b.mu
	return b
}

// listen returns a channel that gets a token when something happened since the last
// one was taken.
func (b *bell) listen() chan struct{} {
	ear := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ears[ear] = struct{}{}
	b.heard.Signal()
	if b.closed {
		ear <- struct{}{}
	}
	return ear
}

func (b *bell) leave(ear chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ears, ear)
}

// ring is called with the lock held.
func (b *bell) ring() {
	for ear := range b.ears {
		select {
		case ear <- struct{}{}:
		default:
		}
	}
}

// watch has the bell ring for the database in these folders, and says why it cannot.
// It is cheap where it does already.
func (b *bell) watch(folders []string, base [2]string) (why string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.events == nil && b.why != "" {
		return b.why
	}
	if b.events == nil {
		events, why := openEvents()
		if why != "" {
			b.why = why
			return why
		}
		b.events = events
		go b.carry(events)
	}
	b.base = base
	if slices.Equal(b.wanted, folders) && b.why == "" && b.events.covers(folders) {
		return ""
	}
	b.events.forget(b.wanted)
	b.why, b.wanted = "", folders
	for _, folder := range folders {
		if why := b.events.add(folder); why != "" {
			b.why = why
		}
	}
	return b.why
}

// carry rings for the events until they end.
func (b *bell) carry(events *fileEvents) {
	for {
		name, more := events.next()
		if !more {
			return
		}
		b.mu.Lock()
		for len(b.ears) == 0 && !b.closed {
			b.heard.Wait()
		}
		if name == "" || b.concerns(filepath.Base(name)) {
			b.ring()
		}
		b.mu.Unlock()
	}
}

// concerns reports whether a name in one of the folders is the database's, that of a
// file beside it, or leads to it.
func (b *bell) concerns(name string) bool {
	return name == b.base[1] || strings.HasPrefix(name, b.base[0])
}

// close ends the events and wakes who listens.
func (b *bell) close() {
	b.mu.Lock()
	b.closed = true
	events := b.events
	b.events, b.why = nil, "it is closed"
	b.ring()
	b.heard.Broadcast()
	b.mu.Unlock()
	if events != nil {
		events.close()
	}
}
