package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// schema is the version of the layout of our own keys, which the mark holds.
const schema = 1

// manyKeys is from where on opening does not look at every key to find out which
// prefixes there are.
const manyKeys = 1_000_000

// detect chooses the prefix, and makes the store where it is to be made.
func (d *DB) detect(ctx context.Context) (prefix string, err error) {
	prefix = DefaultPrefix
	if d.opts.Prefix != nil {
		prefix = *d.opts.Prefix
	}
	d.treeKeys = treeKeysOf(treeBase(prefix))
	mark, err := read(ctx, d, func(ctx context.Context) (string, error) {
		text, err := d.client.Get(ctx, d.treeKeys.mark).Result()
		if err == goredis.Nil { //nolint:errorlint // the library returns it as it is
			err = nil
		}
		return text, err
	})
	if err != nil {
		return "", err
	}
	if mark != "" {
		if d.ours, err = true, checkMark(mark); err != nil {
			return "", err
		}
	}
	there, err := read(ctx, d, func(ctx context.Context) (int64, error) { return d.client.Exists(ctx, d.treeKeys.ids).Result() })
	if err != nil {
		return "", err
	}
	d.hasTrees = there > 0
	if d.opts.Prefix == nil {
		if prefix, err = d.findPrefix(ctx, store.JSON(mark)); err != nil {
			return "", err
		}
	} else {
		d.sets = []Set{{prefix, -1}}
		marked, _ := store.JSON(mark).Get("prefix").Text()
		d.ours = d.ours && marked == prefix
	}
	if d.ours || d.opts.Prefix != nil && !d.opts.Create {
		return prefix, nil
	}
	if d.opts.Create && d.opts.ReadWrite {
		return prefix, d.make(ctx, prefix)
	}
	if len(d.sets) == 0 && !d.hasTrees {
		err = &ServerError{Addr: d.addr, Reason: "there are neither executions nor session trees in it; --rw --create makes a store there, and --prefix opens a set of execution keys that has none yet", Kind: store.ErrNotAStore, Err: store.ErrNotAStore}
	}
	return prefix, err
}

// checkMark refuses a store of a newer version.
func checkMark(mark string) error {
	version, ok := store.JSON(mark).Get("schema").Int64()
	switch {
	case !ok:
		return fmt.Errorf("%w: the mark of treering there cannot be read", store.ErrNotAStore)
	case version > schema:
		return fmt.Errorf("%w: it was made by a newer treering (schema %d, this version knows %d)", store.ErrNotAStore, version, schema)
	}
	return nil
}

// make marks the store as ours, unless there are executions already: what somebody
// else has made stays theirs, and session trees need nothing to be made for them.
func (d *DB) make(ctx context.Context, prefix string) error {
	if d.opts.Prefix == nil && len(d.sets) > 0 {
		return nil
	}
	if d.opts.Prefix != nil {
		if there, err := d.anyOf(ctx, prefix); err != nil || there {
			return err
		}
	}
	mark := string(store.ObjectOf(store.Member{Key: "schema", Value: store.JSON(strconv.Itoa(schema))}, store.Member{Key: "prefix", Value: store.Quote(prefix)}))
	_, err := write(ctx, d, func(ctx context.Context) (bool, error) { return d.client.SetNX(ctx, d.treeKeys.mark, mark, 0).Result() })
	if err == nil {
		d.ours, d.sets = true, []Set{{prefix, 0}}
	}
	return err
}

// anyOf reports whether there is an execution under the prefix.
func (d *DB) anyOf(ctx context.Context, prefix string) (bool, error) {
	return read(ctx, d, func(ctx context.Context) (bool, error) {
		node, err := d.node(ctx)
		if err != nil {
			return false, err
		}
		for cursor := uint64(0); ; {
			var names []string
			if names, cursor, err = node.Scan(ctx, cursor, glob(prefix)+":exe:*", scanCount).Result(); err != nil {
				return false, err
			}
			if len(names) > 0 || cursor == 0 {
				return len(names) > 0, nil
			}
		}
	})
}

// findPrefix looks for executions and chooses among what it found.
func (d *DB) findPrefix(ctx context.Context, mark store.JSON) (string, error) {
	marked, _ := mark.Get("prefix").Text()
	if size, err := d.size(ctx); err != nil {
		return "", err
	} else if size > manyKeys {
		if sets, err := d.companions(ctx, marked); err != nil || len(sets) == 1 {
			d.sets = sets
			if err != nil {
				return "", err
			}
			return sets[0].Prefix, nil
		}
	}
	found, err := d.survey(ctx)
	if err != nil {
		return "", err
	}
	for prefix, ids := range found {
		d.sets = append(d.sets, Set{prefix, int64(len(ids))})
	}
	if _, there := found[marked]; marked != "" && !there {
		d.sets = append(d.sets, Set{marked, 0})
	}
	slices.SortFunc(d.sets, func(a, b Set) int { return strings.Compare(a.Prefix, b.Prefix) })
	switch {
	case marked != "":
		return marked, nil
	case len(d.sets) == 0:
		sets, err := d.companions(ctx, "")
		if err != nil || len(sets) == 0 {
			return DefaultPrefix, err
		}
		d.sets = sets
		return sets[0].Prefix, nil
	case len(d.sets) > 1:
		return "", &AmbiguousSetError{d.sets}
	}
	return d.sets[0].Prefix, nil
}

func (d *DB) size(ctx context.Context) (int64, error) {
	return read(ctx, d, func(ctx context.Context) (int64, error) {
		node, err := d.node(ctx)
		if err != nil {
			return 0, err
		}
		return node.DBSize(ctx).Result()
	})
}

// companions are those of the two usual sets, and the one of our mark, that have other
// keys than executions.
func (d *DB) companions(ctx context.Context, marked string) ([]Set, error) {
	names := []string{DefaultPrefix, LegacyPrefix}
	if marked != "" && !slices.Contains(names, marked) {
		names = append(names, marked)
	}
	return read(ctx, d, func(ctx context.Context) ([]Set, error) {
		var sets []Set
		for _, name := range names {
			k := keysOf(name)
			n, err := d.client.Exists(ctx, k.outbox, k.outboxSeq, k.spawns, k.spawnsSeq, k.timers, k.born).Result()
			if err != nil {
				return nil, err
			}
			if n > 0 {
				sets = append(sets, Set{name, -1})
			}
		}
		return sets, nil
	})
}

// survey looks at every key once and returns the prefixes under which there are
// executions, with their ids.
func (d *DB) survey(ctx context.Context) (map[string][]string, error) {
	return read(ctx, d, func(ctx context.Context) (map[string][]string, error) {
		node, err := d.node(ctx)
		if err != nil {
			return nil, err
		}
		found := map[string][]string{}
		for cursor := uint64(0); ; {
			var names []string
			if names, cursor, err = node.Scan(ctx, cursor, "*:exe:*", scanCount).Result(); err != nil {
				return nil, err
			}
			for _, name := range names {
				if prefix, id, _ := strings.Cut(name, ":exe:"); findable.MatchString(prefix) {
					found[prefix] = append(found[prefix], id)
				}
			}
			if cursor == 0 {
				break
			}
		}
		for prefix, ids := range found {
			slices.Sort(ids)
			found[prefix] = slices.Compact(ids)
		}
		return found, nil
	})
}
