package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"treering/store"
)

// Bounds of what one page looks at: a selective filter makes a short page with a
// cursor rather than a long read.
const (
	maxLooked = 10_000   // rows
	maxBytes  = 16 << 20 // of stored text
	chunkRows = 500      // in one request
)

// queue is the outbox or the spawns: a hash of entries by their number.
type queue[T any] struct {
	e     *executions
	noun  string
	key   string
	entry func(field, value string) T
	// of says whether an entry is of that execution; a row that cannot be read is of
	// none.
	of func(entry T, id string) bool
}

// place is where an entry stands: by its number, and what has none by its field.
type place struct {
	seq   int64
	field string
}

func placeOf(field string) place {
	n, err := strconv.ParseInt(field, 10, 64)
	if err != nil {
		return place{0, field}
	}
	return place{n, field}
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.seq, o.seq), cmp.Compare(p.field, o.field))
}

func (e *executions) outbox() queue[store.OutboxEntry] {
	return queue[store.OutboxEntry]{e: e, noun: "outbox", key: e.keys.outbox, entry: outboxEntry,
		of: func(entry store.OutboxEntry, id string) bool { return entry.TargetID != nil && *entry.TargetID == id }}
}

func (e *executions) spawns() queue[store.SpawnEntry] {
	return queue[store.SpawnEntry]{e: e, noun: "spawns", key: e.keys.spawns, entry: spawnEntry,
		of: func(entry store.SpawnEntry, id string) bool { return entry.Bad == nil && entry.ParentID == id }}
}

// outboxEntry reads {"t": target, "e": "an event as text"}.
func outboxEntry(field, value string) store.OutboxEntry {
	entry := store.OutboxEntry{Seq: placeOf(field).seq}
	row, err := rowObject(field, value)
	if err == nil {
		switch target := row.Get("t"); {
		case target.IsNull():
		default:
			name, ok := target.Text()
			if !ok {
				err = fmt.Errorf("its target is no text but %s", target.Kind())
			}
			entry.TargetID = &name
		}
	}
	if err == nil {
		event := row.Get("e")
		text, ok := event.Text()
		switch {
		case ok:
			entry.Event, err = store.DecodeEvent(text)
			entry.Raw = store.JSON(text)
		default:
			err = fmt.Errorf("its event is no text but %s", event.Kind())
		}
	}
	if err != nil {
		entry.Event, entry.Raw = store.Event{}, ""
		entry.Bad = &store.RowError{Table: "outbox", Key: field, Err: err, Raw: []byte(value)}
	}
	return entry
}

// spawnEntry reads {"p": parent, "c": child, "r": root path, "x": context}.
func spawnEntry(field, value string) store.SpawnEntry {
	entry := store.SpawnEntry{Seq: placeOf(field).seq, Context: store.EmptyObject}
	row, err := rowObject(field, value)
	for key, into := range map[string]*string{"p": &entry.ParentID, "c": &entry.ChildID, "r": &entry.RootPath} {
		if err != nil {
			break
		}
		var ok bool
		if *into, ok = row.Get(key).Text(); !ok && !row.Get(key).IsNull() {
			err = fmt.Errorf("%q is no text but %s", key, row.Get(key).Kind())
		}
	}
	if err == nil {
		if context := row.Get("x"); !context.IsNull() {
			if entry.Context = context; context.Kind() != store.Object {
				err = fmt.Errorf("its context: %w but %s", store.ErrNotObject, context.Kind())
			}
		}
	}
	if err != nil {
		entry.Bad = &store.RowError{Table: "spawns", Key: field, Err: err, Raw: []byte(value)}
	}
	return entry
}

// rowObject reads the value of a hash whose fields are numbers.
func rowObject(field, value string) (store.JSON, error) {
	row, err := store.ParseJSON(value)
	if err == nil && row.Kind() != store.Object {
		err = fmt.Errorf("%w but %s", store.ErrNotObject, row.Kind())
	}
	if _, ferr := strconv.ParseInt(field, 10, 64); ferr != nil && err == nil {
		err = errors.New("its field is no number")
	}
	return row, err
}

// all reads every entry at one moment.
func (q queue[T]) all(ctx context.Context) ([]T, error) {
	return read(ctx, q.e.db, func(ctx context.Context) ([]T, error) {
		rows, err := q.e.db.client.HGetAll(ctx, q.key).Result()
		if err != nil {
			return nil, err
		}
		places := make([]place, 0, len(rows))
		for field := range rows {
			places = append(places, placeOf(field))
		}
		slices.SortFunc(places, place.compare)
		out := make([]T, len(places))
		for i, p := range places {
			out[i] = q.entry(p.field, rows[p.field])
		}
		return out, nil
	})
}

// ack removes one entry.
func (q queue[T]) ack(ctx context.Context, seq int64) (bool, error) {
	return write(ctx, q.e.db, func(ctx context.Context) (bool, error) {
		n, err := q.e.db.client.HDel(ctx, q.key, strconv.FormatInt(seq, 10)).Result()
		return n > 0, err
	})
}

// page reads one page: the numbers of all entries, which are short, and of those that
// come next their values.
func (q queue[T]) page(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[T], error) {
	limit, err := req.Size()
	if err != nil {
		return store.Page[T]{}, err
	}
	scope := q.e.scopeOf(q.noun, f.Scope())
	after := place{seq: -1 << 63}
	if req.Cursor != "" {
		key, err := store.DecodeCursor(scope, req.Cursor)
		if err != nil {
			return store.Page[T]{}, err
		}
		if len(key) != 1 {
			return store.Page[T]{}, store.ErrBadCursor
		}
		after = placeOf(key[0])
	}
	return read(ctx, q.e.db, func(ctx context.Context) (store.Page[T], error) {
		fields, err := q.e.db.client.HKeys(ctx, q.key).Result()
		if err != nil {
			return store.Page[T]{}, err
		}
		places := make([]place, 0, len(fields))
		for _, field := range fields {
			if p := placeOf(field); req.Cursor == "" || p.compare(after) > 0 {
				places = append(places, p)
			}
		}
		slices.SortFunc(places, place.compare)
		var page store.Page[T]
		looked, bytes := 0, 0
		for len(places) > 0 {
			n := min(len(places), chunkRows, max(1, limit-len(page.Items)))
			wanted := make([]string, n)
			for i := range wanted {
				wanted[i] = places[i].field
			}
			values, err := q.e.db.client.HMGet(ctx, q.key, wanted...).Result()
			if err != nil {
				return store.Page[T]{}, err
			}
			for i, v := range values {
				value, there := v.(string)
				if !there {
					continue // acknowledged meanwhile
				}
				bytes += len(value)
				if entry := q.entry(wanted[i], value); f.ExecutionID == nil || q.of(entry, *f.ExecutionID) {
					page.Items = append(page.Items, entry)
				}
			}
			places = places[n:]
			looked += n
			if len(places) > 0 && (len(page.Items) >= limit || looked >= maxLooked || bytes >= maxBytes) {
				page.Next = store.EncodeCursor(scope, wanted[n-1])
				return page, nil
			}
		}
		return page, nil
	})
}

// scopeOf is the cursor scope of a list.
func (e *executions) scopeOf(noun, selection string) string {
	return fmt.Sprintf("%q %s %s", e.scope, noun, selection)
}

// PendingOutbox implements [store.ExecutionStore].
func (e *executions) PendingOutbox(ctx context.Context) ([]store.OutboxEntry, error) {
	return e.outbox().all(ctx)
}

// AckOutbox implements [store.ExecutionStore].
func (e *executions) AckOutbox(ctx context.Context, seq int64) (removed bool, err error) {
	return e.outbox().ack(ctx, seq)
}

// PendingSpawns implements [store.ExecutionStore].
func (e *executions) PendingSpawns(ctx context.Context) ([]store.SpawnEntry, error) {
	return e.spawns().all(ctx)
}

// AckSpawn implements [store.ExecutionStore].
func (e *executions) AckSpawn(ctx context.Context, seq int64) (removed bool, err error) {
	return e.spawns().ack(ctx, seq)
}

// ListOutbox implements [store.ExecutionStore].
func (e *executions) ListOutbox(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.OutboxEntry], error) {
	return e.outbox().page(ctx, f, req)
}

// ListSpawns implements [store.ExecutionStore].
func (e *executions) ListSpawns(ctx context.Context, f store.QueueFilter, req store.PageRequest) (store.Page[store.SpawnEntry], error) {
	return e.spawns().page(ctx, f, req)
}
