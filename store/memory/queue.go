package memory

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"sync/atomic"

	"treering/store"
)

// queue is the outbox or the spawns: entries by seq, from 1, never used again.
type queue[T any] struct {
	last    int64 // seq given out last
	entries sorted[*entry[T]]
	chain   func(*record) **chain // where a record keeps its own
	room    []entry[T]            // made ahead, not in use yet
}

// entry is one row of a queue.
type entry[T any] struct {
	seq   int64
	owner *record // whom the mail is to, or who spawned; nil for nobody
	value T
}

// Entries are made roomSize at a time, as one allocation. As long as one of them
// is in the queue they all stay in memory with what they hold, so there are few of
// them, and one with more than alone bytes is made by itself.
const (
	roomSize = 6
	alone    = 1 << 10
)

// bySeq orders the entries of a queue.
func bySeq[T any](a, b *entry[T]) int { return cmp.Compare(a.seq, b.seq) }

func newQueue[T any](chain func(*record) **chain) queue[T] {
	return queue[T]{entries: sorted[*entry[T]]{compare: bySeq[T]}, chain: chain}
}

// entry returns a new entry for a value of about that many bytes.
func (q *queue[T]) entry(size int) *entry[T] {
	if size > alone {
		return new(entry[T])
	}
	if len(q.room) == 0 {
		q.room = make([]entry[T], roomSize)
	}
	e := &q.room[0]
	q.room = q.room[1:]
	return e
}

// seqRoom hands out short slices, which many commits return, of one allocation. They
// share no element.
type seqRoom []int64

// take returns n zeros, nil for none. What it returns is the caller's.
func (r *seqRoom) take(n int) []int64 {
	if n == 0 {
		return nil
	}
	if n > len(*r) {
		*r = make([]int64, max(n, 32))
	}
	seqs := (*r)[:n:n]
	*r = (*r)[n:]
	return seqs
}

// push gives e its seq and adds it.
func (q *queue[T]) push(e *entry[T]) {
	q.last++
	e.seq = q.last
	q.entries.push(e)
	if e.owner != nil {
		c := q.chain(e.owner)
		if *c == nil {
			*c = new(chain)
		}
		(*c).link(e.seq)
	}
}

// entryAt is the entry of that seq, nil where there is none.
func (q *queue[T]) entryAt(seq int64) *entry[T] {
	e, ok := q.entries.find(func(e *entry[T]) bool { return e.seq >= seq })
	if !ok || e.seq != seq {
		return nil
	}
	return e
}

// of yields the entries of an owner behind a seq.
func (q *queue[T]) of(owner *record, after int64) iter.Seq[*entry[T]] {
	return func(yield func(*entry[T]) bool) {
		if owner == nil {
			return
		}
		for seq := range (*q.chain(owner)).from(after) {
			if !yield(q.entryAt(seq)) {
				return
			}
		}
	}
}

// take removes the entry of that seq and returns it, nil where there is none.
func (q *queue[T]) take(seq int64) *entry[T] {
	e := q.entryAt(seq)
	if e == nil {
		return nil
	}
	q.entries.remove(e)
	if e.owner != nil {
		(*q.chain(e.owner)).unlink(seq)
	}
	return e
}

// drop removes all entries of an owner.
func (q *queue[T]) drop(owner *record) {
	for _, seq := range slices.Collect((*q.chain(owner)).from(0)) {
		q.take(seq)
	}
}

// mail is an outbox entry's event. Events are values of immutable strings, so it
// is kept as given; the text that lists show is made when first asked for. Most
// events are no more than an id, a kind and data.
type mail struct {
	id, kind string
	data     store.JSON
	whole    *store.Event // what is more than that
	raw      atomic.Pointer[store.JSON]
}

func (m *mail) set(ev *store.Event) {
	if !ev.Bare() {
		whole := *ev
		spellOut(&whole)
		m.whole = &whole
		return
	}
	m.id, m.kind, m.data = ev.ID, ev.Kind, ev.Data
}

// event is the event as it would come back from a stored text.
func (m *mail) event() store.Event {
	if m.whole != nil {
		return *m.whole
	}
	ev := store.Event{ID: m.id, Kind: m.kind, Data: m.data}
	spellOut(&ev)
	return ev
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
	out := store.OutboxEntry{Seq: e.seq, Event: e.value.event()}
	if e.owner != nil {
		id := e.owner.id
		out.TargetID = &id
	}
	raw := e.value.raw.Load()
	if raw == nil {
		text, err := out.Event.Encode()
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
