package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// Purge implements [store.ExecutionStore]. The rows of the execution are looked for
// first, in the queues that all share; then one script removes it with them, if it is
// byte for byte what it was before.
func (e *executions) Purge(ctx context.Context, id string, version int64) (bool, error) {
	return write(ctx, e.db, func(ctx context.Context) (bool, error) {
		for range commitTries {
			how, blob := "b", ""
			blob, err := e.db.client.Get(ctx, e.keys.exe(id)).Result()
			switch {
			case err == goredis.Nil: //nolint:errorlint // the library returns it as it is
				how = "absent"
			case err != nil:
				return false, err
			default:
				found, err := store.VersionOfBlob(blob)
				if err != nil {
					return false, &store.RowError{Table: "executions", Key: id, Err: err, Raw: []byte(blob)}
				}
				if found != version {
					return false, nil
				}
			}
			args, err := e.rowsOf(ctx, id)
			if err != nil {
				return false, err
			}
			k := e.keys
			n, err := purgeScript.Run(ctx, e.db.client,
				[]string{k.exe(id), k.processed(id), k.trace(id), k.traceSeq(id), k.timers, k.outbox, k.spawns},
				append([]any{how, blob}, args...)...).Int64()
			if err != nil {
				return false, err
			}
			if n == 1 {
				return how == "b", nil
			}
		}
		return false, errors.Join(store.ErrBusy, &store.ConflictError{ID: id, Expected: version})
	})
}

// rowsOf finds the timers of an execution, the entries to it and the spawns by it, and
// returns them as the script takes them.
func (e *executions) rowsOf(ctx context.Context, id string) ([]any, error) {
	var timers, outbox, spawns []any
	err := e.scanAll(ctx, func(ctx context.Context, cursor uint64) *goredis.ScanCmd {
		return e.db.client.ZScan(ctx, e.keys.timers, cursor, glob(id)+"\x00*", scanCount)
	}, func(member, _ string) {
		if strings.HasPrefix(member, id+"\x00") {
			timers = append(timers, member)
		}
	})
	if err != nil {
		return nil, err
	}
	err = e.scanAll(ctx, func(ctx context.Context, cursor uint64) *goredis.ScanCmd {
		return e.db.client.HScan(ctx, e.keys.outbox, cursor, "", scanCount)
	}, func(field, value string) {
		if e.outbox().of(outboxEntry(field, value), id) {
			outbox = append(outbox, field)
		}
	})
	if err != nil {
		return nil, err
	}
	err = e.scanAll(ctx, func(ctx context.Context, cursor uint64) *goredis.ScanCmd {
		return e.db.client.HScan(ctx, e.keys.spawns, cursor, "", scanCount)
	}, func(field, value string) {
		if e.spawns().of(spawnEntry(field, value), id) {
			spawns = append(spawns, field)
		}
	})
	if err != nil {
		return nil, err
	}
	args := []any{strconv.Itoa(len(timers)), strconv.Itoa(len(outbox)), strconv.Itoa(len(spawns))}
	return append(append(append(args, timers...), outbox...), spawns...), nil
}

// scanAll visits the pairs of a hash or sorted set. A pair may come twice.
func (e *executions) scanAll(ctx context.Context, scan func(context.Context, uint64) *goredis.ScanCmd, visit func(name, value string)) error {
	for cursor := uint64(0); ; {
		pairs, next, err := scan(ctx, cursor).Result()
		if err != nil {
			return err
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			visit(pairs[i], pairs[i+1])
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
