package memory

import (
	"cmp"
	"strconv"
	"sync/atomic"

	"treering/store"
)

// queue is the outbox or the spawns: entries by seq, from 1, never used again.
type queue[T any] struct {
	last    int64 // seq given out last
	entries sorted[*entry[T]]
}

// entry is one row of a queue, linked with the others of the same owner so that
// what belongs to one execution is found without a look at the rest.
type entry[T any] struct {
	seq        int64
	owner      *record // whom the mail is to, or who spawned; nil for nobody
	chain      *chain[T]
	prev, next *entry[T]
	value      T
}

// bySeq orders the entries of a queue.
func bySeq[T any](a, b *entry[T]) int { return cmp.Compare(a.seq, b.seq) }

func newQueue[T any]() queue[T] { return queue[T]{entries: sorted[*entry[T]]{compare: bySeq[T]}} }

// push gives e its seq and adds it, to c too where that is not nil.
func (q *queue[T]) push(e *entry[T], c *chain[T]) {
	q.last++
	e.seq, e.chain = q.last, c
	q.entries.push(e)
	if c != nil {
		c.link(e)
	}
}

// take removes the entry of that seq and returns it, nil where there is none.
func (q *queue[T]) take(seq int64) *entry[T] {
	e, ok := q.entries.find(func(e *entry[T]) bool { return e.seq >= seq })
	if !ok || e.seq != seq {
		return nil
	}
	q.entries.remove(e)
	if e.chain != nil {
		e.chain.unlink(e)
	}
	return e
}

// mail is an outbox entry's event. Events are values of immutable strings, so it
// is kept as given; the text that lists show is made when first asked for.
type mail struct {
	event store.Event
	raw   atomic.Pointer[store.JSON]
}

// spellOut writes what an event leaves absent as it would come back from a stored
// text.
func spellOut(ev *store.Event) {
	if ev.Data.IsNull() {
		ev.Data = store.EmptyObject
	}
	if ev.CreatedTime == "" {
		ev.CreatedTime = store.Null
	}
	if ev.ReceivedTime == "" {
		ev.ReceivedTime = store.Null
	}
}

func outboxEntry(e *entry[mail]) store.OutboxEntry {
	out := store.OutboxEntry{Seq: e.seq, Event: e.value.event}
	if e.owner != nil {
		id := e.owner.id
		out.TargetID = &id
	}
	raw := e.value.raw.Load()
	if raw == nil {
		text, err := e.value.event.Encode()
		if err != nil { // its commit was validated
			out.Bad = &store.RowError{Table: "outbox", Key: strconv.FormatInt(e.seq, 10), Err: err}
			return out
		}
		raw = &text
		e.value.raw.Store(raw)
	}
	out.Raw = *raw
	return out
}

// birth is a spawn, without its parent.
type birth struct{ store.Spawn }

func spawnEntry(e *entry[birth]) store.SpawnEntry {
	b := e.value
	return store.SpawnEntry{Seq: e.seq, ParentID: e.owner.id, ChildID: b.ChildID, RootPath: b.RootPath, Context: b.Context}
}
