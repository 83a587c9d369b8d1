package redis

import (
	"context"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// executions is the [store.ExecutionStore] on one set of keys.
type executions struct {
	db       *DB
	keys     keys
	traceMax int
	scope    string // of cursors
	counts   counted
}

var _ store.ExecutionStore = (*executions)(nil)

// Close closes the connection, trees included. It may be called more than once.
func (e *executions) Close() error { return e.db.Close() }

// Load implements [store.ExecutionStore].
func (e *executions) Load(ctx context.Context, id string) (*store.Execution, error) {
	return read(ctx, e.db, func(ctx context.Context) (*store.Execution, error) {
		blob, err := e.db.client.Get(ctx, e.keys.exe(id)).Result()
		return execution(id, blob, err)
	})
}

// execution decodes what was read of a key.
func execution(id, blob string, err error) (*store.Execution, error) {
	switch {
	case err == goredis.Nil: //nolint:errorlint // the library returns it as it is
		return nil, &store.NotFoundError{What: "execution", ID: id}
	case err != nil && strings.HasPrefix(redisAnswer(err), "WRONGTYPE"):
		return nil, anotherType(id, "list, a hash or another collection")
	case err != nil:
		return nil, err
	}
	exe, err := store.DecodeExecutionBlob(id, blob)
	if err == nil {
		return exe, nil
	}
	s := store.SummaryOfBlob(id, blob)
	if s.Bad == nil {
		s.Bad = &store.RowError{Table: "executions", Key: id, Err: err, Raw: []byte(blob)}
	}
	s.Bad.Summary = &s
	return nil, s.Bad
}

// loaded is the answer of LoadForEvent.
type loaded struct {
	exe       *store.Execution
	processed bool
}

// LoadForEvent implements [store.ExecutionStore].
func (e *executions) LoadForEvent(ctx context.Context, id, eventID string) (*store.Execution, bool, error) {
	got, err := read(ctx, e.db, func(ctx context.Context) (loaded, error) {
		var blob *goredis.StringCmd
		var mark *goredis.BoolCmd
		ask := func(p goredis.Pipeliner) error {
			blob, mark = p.Get(ctx, e.keys.exe(id)), p.SIsMember(ctx, e.keys.processed(id), eventID)
			return nil
		}
		_, err := e.db.client.TxPipelined(ctx, ask)
		if strings.HasPrefix(redisAnswer(err), "OOM") || strings.HasPrefix(redisAnswer(err), "EXECABORT") {
			// With its memory full a server refuses transactions, even to read. In this order a
			// commit between the two can only make an event seem processed that is.
			_, err = e.db.client.Pipelined(ctx, ask)
		}
		if err != nil && redisAnswer(err) == "" && err != goredis.Nil { //nolint:errorlint // the library returns it as it is
			return loaded{}, err
		}
		exe, err := execution(id, blob.Val(), blob.Err())
		if err != nil {
			return loaded{}, err
		}
		processed, err := mark.Result()
		return loaded{exe, processed}, err
	})
	if err != nil {
		return nil, false, err
	}
	return got.exe, got.processed, nil
}

// IsProcessed implements [store.ExecutionStore].
func (e *executions) IsProcessed(ctx context.Context, id, eventID string) (bool, error) {
	return read(ctx, e.db, func(ctx context.Context) (bool, error) {
		return e.db.client.SIsMember(ctx, e.keys.processed(id), eventID).Result()
	})
}

// ReadTrace implements [store.ExecutionStore]. The index is part of the stored step;
// where it is not, as in steps of a foreign hand, it is counted from the ring's end.
func (e *executions) ReadTrace(ctx context.Context, id string) ([]store.TraceEntry, error) {
	return read(ctx, e.db, func(ctx context.Context) ([]store.TraceEntry, error) {
		var list *goredis.StringSliceCmd
		var next *goredis.StringCmd
		_, err := e.db.client.Pipelined(ctx, func(p goredis.Pipeliner) error {
			list, next = p.LRange(ctx, e.keys.trace(id), 0, -1), p.Get(ctx, e.keys.traceSeq(id))
			return nil
		})
		if err != nil && redisAnswer(err) == "" && err != goredis.Nil { //nolint:errorlint // the library returns it as it is
			return nil, err
		}
		texts, err := list.Result()
		if strings.HasPrefix(redisAnswer(err), "WRONGTYPE") {
			return nil, nil // the counter of another execution: there are no steps
		}
		if err != nil {
			return nil, err
		}
		end, err := next.Int64()
		if err != nil {
			end = int64(len(texts))
		}
		steps := make([]store.TraceEntry, len(texts))
		for i, text := range texts {
			steps[i] = step(id, end-int64(len(texts)-i), text)
		}
		return steps, nil
	})
}

// step reads one entry of a ring; counted is its index where it names none.
func step(id string, counted int64, text string) store.TraceEntry {
	entry, err := store.ParseJSON(text)
	if err == nil && entry.Kind() != store.Object {
		err = store.ErrNotObject
	}
	if err != nil {
		return store.TraceEntry{Index: counted, Bad: &store.RowError{Table: "trace", Key: id, Err: err, Raw: []byte(text)}}
	}
	if n, ok := store.ExplicitIndex(entry); ok {
		counted = n
	}
	return store.TraceEntry{Index: counted, Entry: entry}
}
