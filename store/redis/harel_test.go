package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"treering/store"
)

// harel commits as harel does: with nothing to enqueue by a script that compares the
// decoded version, else by numbers first and then WATCH, GET, MULTI, EXEC.
type harel struct {
	client *goredis.Client
	prefix string
}

var errLost = errors.New("somebody else was faster")

var harelFast = goredis.NewScript(`
local cur = redis.call('GET', KEYS[1])
local found = -1
if cur then found = cjson.decode(cur)['version'] end
if (found == -1 and tonumber(ARGV[1]) ~= 0) or (found ~= -1 and found ~= tonumber(ARGV[1])) then
  return redis.error_reply('HAREL_CONFLICT:' .. tostring(found))
end
redis.call('SET', KEYS[1], ARGV[2])
if ARGV[3] ~= '' then redis.call('SADD', KEYS[2], ARGV[3]) end
return 1
`)

func (h harel) key(tail string) string { return h.prefix + ":" + tail }

func (h harel) fast(ctx context.Context, id, blob string, expected int64, event string) error {
	err := harelFast.Run(ctx, h.client, []string{h.key("exe:" + id), h.key("processed:" + id)}, expected, blob, event).Err()
	if err != nil && strings.Contains(err.Error(), "HAREL_CONFLICT") {
		return errLost
	}
	return err
}

func (h harel) slow(ctx context.Context, c store.Checked) error {
	seq, err := h.client.Incr(ctx, h.key("outbox:seq")).Result()
	if err != nil {
		return err
	}
	spawn, err := h.client.Incr(ctx, h.key("spawns:seq")).Result()
	if err != nil {
		return err
	}
	step, err := h.client.Incr(ctx, h.key("trace:seq:"+c.ID)).Result()
	if err != nil {
		return err
	}
	exe := h.key("exe:" + c.ID)
	err = h.client.Watch(ctx, func(tx *goredis.Tx) error {
		blob, err := tx.Get(ctx, exe).Result()
		if err != nil {
			return err
		}
		if version, err := store.VersionOfBlob(blob); err != nil || version != c.Expected {
			return errors.Join(errLost, err)
		}
		_, err = tx.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.Set(ctx, exe, c.Data, 0)
			p.HSet(ctx, h.key("outbox"), strconv.FormatInt(seq, 10), outboxValue(c.Emits[0]))
			p.SAdd(ctx, h.key("processed:"+c.ID), *c.ProcessedEventID)
			p.HSet(ctx, h.key("spawns"), strconv.FormatInt(spawn, 10), spawnValue(c.ID, c.Spawns[0]))
			p.ZAdd(ctx, h.key("timers"), goredis.Z{Score: c.Timers[0].FireAt, Member: c.ID + "\x00" + c.Timers[0].Path})
			p.RPush(ctx, h.key("trace:"+c.ID), string(store.WithIndex(c.Trace, step-1)))
			p.LTrim(ctx, h.key("trace:"+c.ID), -200, -1)
			return nil
		})
		return err
	}, exe)
	if errors.Is(err, goredis.TxFailedErr) {
		return errLost
	}
	return err
}

// Commits of harel's and ours on one execution, by all three ways at once: each version
// has one winner, and what a loser had is nowhere.
func TestBesideHarel(t *testing.T) {
	for _, prefix := range []string{DefaultPrefix, LegacyPrefix} {
		t.Run(prefix, func(t *testing.T) {
			s := startServer(t)
			h := harel{s.client(t, 0), prefix}
			ctx := t.Context()
			// harel's own first write, so that the prefix is found.
			first, err := newExecution("hot").Encode(1)
			ok(t, err)
			ok(t, h.fast(ctx, "hot", first, 0, ""))
			d := open(t, Options{URL: s.url(0), ReadWrite: true})
			if d.Prefix() != prefix || d.Ours() {
				t.Fatalf("prefix %q, ours %v", d.Prefix(), d.Ours())
			}
			each := 120
			if testing.Short() {
				each = 25
			}
			var mu sync.Mutex
			winners := map[int64]string{1: "harel"}
			writer := func(name string, commit func(c store.Commit) error) error {
				for n := 0; n < each; {
					exe, err := d.Executions().Load(ctx, "hot")
					if err != nil {
						return err
					}
					version := exe.Version + 1
					exe.Outcome = &name
					c := numberedCommit(exe)
					mark := name + "-" + *c.ProcessedEventID
					c.ProcessedEventID, c.Emits[0].Event.ID = &mark, mark
					err = commit(c)
					if errors.Is(err, errLost) || errors.Is(err, store.ErrConflict) {
						continue
					}
					if err != nil {
						return err
					}
					n++
					mu.Lock()
					if other, taken := winners[version]; taken {
						err = fmt.Errorf("version %d was won by %s and %s", version, other, name)
					}
					winners[version] = name
					mu.Unlock()
					if err != nil {
						return err
					}
				}
				return nil
			}
			ways := map[string]func(store.Commit) error{
				"ours": func(c store.Commit) error { _, err := d.Executions().Commit(ctx, c); return err },
				"also": func(c store.Commit) error { _, err := d.Executions().Commit(ctx, c); return err },
				"slow": func(c store.Commit) error {
					checked, err := c.Check()
					return errors.Join(err, h.slow(ctx, checked))
				},
				"fast": func(c store.Commit) error {
					checked, err := c.Check()
					return errors.Join(err, h.fast(ctx, checked.ID, checked.Data, checked.Expected, *checked.ProcessedEventID))
				},
			}
			errs := make(chan error, len(ways))
			for name, way := range ways {
				go func() { errs <- writer(name, way) }()
			}
			for range ways {
				ok(t, <-errs)
			}
			exe, err := d.Executions().Load(ctx, "hot")
			ok(t, err)
			if want := int64(1 + len(ways)*each); exe.Version != want || len(winners) != int(want) {
				t.Fatalf("version %d with %d winners, want %d", exe.Version, len(winners), want)
			}
			entries, err := d.Executions().PendingOutbox(ctx)
			ok(t, err)
			if want := 3 * each; len(entries) != want {
				t.Errorf("%d entries, want %d: harel's fast way has none", len(entries), want)
			}
			for _, e := range entries {
				if name, rest, _ := strings.Cut(e.Event.ID, "-"); e.Bad != nil || winners[versionIn(rest)] != name {
					t.Errorf("entry %q of a commit that lost", e.Event.ID)
				}
			}
			for version, name := range winners {
				mark := fmt.Sprintf("%s-hot-%d", name, version)
				if done, err := d.Executions().IsProcessed(ctx, "hot", mark); version > 1 && (err != nil || !done) {
					t.Errorf("%s is not marked: %v", mark, err)
				}
			}
			steps, err := d.Executions().ReadTrace(ctx, "hot")
			ok(t, err)
			for i := 1; i < len(steps); i++ {
				if steps[i].Bad != nil || steps[i].Index == steps[i-1].Index {
					t.Errorf("step %d after %d: %v", steps[i].Index, steps[i-1].Index, steps[i].Bad)
				}
			}
		})
	}
}

func versionIn(mark string) int64 {
	n, _ := strconv.ParseInt(mark[strings.LastIndexByte(mark, '-')+1:], 10, 64)
	return n
}

// What harel or somebody else's hand has written is read, the bad rows as bad rows.
func TestForeignRows(t *testing.T) {
	s := startServer(t)
	c, ctx := s.client(t, 0), t.Context()
	set := func(id, blob string) { ok(t, c.Set(ctx, "harel:exe:"+id, blob, 0).Err()) }
	set("good", `{"id":"good","definition_id":"d","status":"RUNNING","version":3,"context":{"a":NaN}}`)
	set("a-bad", `{"id":`)
	set("drift", `{"id":"other","definition_id":"d","status":"DONE","version":"2"}`)
	set("z:odd*[x]?\\", `{"status":"DONE","version":1,"status":"FAILED"}`)
	set("noversion", `{"id":"noversion","version":null,"deferred":{}}`)
	ok(t, c.HSet(ctx, "harel:outbox", "7", `{"t": null, "e": "{\"id\":\"x\",\"kind\":\"K\",\"data\":{}}"}`, "8", `{"t": 5, "e": "{}"}`, "x", `{`, "9", `{"t":"good","e":{}}`).Err())
	ok(t, c.HSet(ctx, "harel:spawns", "1", `{"p": "good", "c": "k", "r": "R.A", "x": {"v": Infinity}}`, "2", `[]`).Err())
	ok(t, c.ZAdd(ctx, "harel:timers", goredis.Z{Score: 5, Member: "good\x00a.b"}, goredis.Z{Score: 4, Member: "nopath"}, goredis.Z{Score: 6, Member: "good\x00x\x00y"}).Err())
	ok(t, c.RPush(ctx, "harel:trace:good", `{"event_kind": "A", "index": 4}`, `nothing`, `{"event_kind": "B"}`).Err())
	ok(t, c.Set(ctx, "harel:trace:seq:good", "7", 0).Err())
	ok(t, c.Set(ctx, "other:exe", "x", 0).Err())
	d := open(t, Options{URL: s.url(0), ReadWrite: true})
	es := d.Executions()
	page, err := es.ListExecutions(ctx, store.ExecutionFilter{}, store.PageRequest{})
	ok(t, err)
	var got []string
	for _, s := range page.Items {
		got = append(got, fmt.Sprintf("%s %s %d bad=%v drift=%d", s.ID, s.Status, s.Version, s.Bad != nil, len(s.Drift)))
	}
	equal(t, "list", got, []string{
		"a-bad  0 bad=true drift=0", "drift DONE 2 bad=false drift=1", "good RUNNING 3 bad=false drift=0",
		"noversion PENDING 0 bad=true drift=0", `z:odd*[x]?\ FAILED 1 bad=false drift=0`,
	})
	var row *store.RowError
	if _, err := es.Load(ctx, "a-bad"); !errors.As(err, &row) || string(row.Raw) != `{"id":` {
		t.Errorf("a bad row: %v", err)
	}
	drift, err := es.Load(ctx, "drift")
	ok(t, err)
	if drift.ID != "drift" || drift.Version != 2 || len(drift.Drift) != 1 {
		t.Errorf("a row with another id in it: %+v", drift)
	}
	// The version is text there, which Lua is not asked to understand.
	drift.Status = store.Cancelled
	ok(t, es.Save(ctx, drift))
	if blob := c.Get(ctx, "harel:exe:drift").Val(); blob != `{"id":"other","definition_id":"d","status":"CANCELLED","version":3}` {
		t.Errorf("written: %s", blob)
	}
	entries, err := es.PendingOutbox(ctx)
	ok(t, err)
	got = nil
	for _, e := range entries {
		got = append(got, fmt.Sprintf("%d %q %v", e.Seq, e.Event.Kind, e.Bad != nil))
	}
	equal(t, "outbox", got, []string{`0 "" true`, `7 "K" false`, `8 "" true`, `9 "" true`})
	spawns, err := es.PendingSpawns(ctx)
	ok(t, err)
	if len(spawns) != 2 || spawns[0].Context != `{"v": Infinity}` || spawns[1].Bad == nil {
		t.Errorf("spawns: %+v", spawns)
	}
	timers, err := es.DueTimers(ctx, 99)
	ok(t, err)
	if len(timers) != 3 || timers[0].Bad == nil || timers[1].Path != "a.b" || timers[2].Path != "x\x00y" {
		t.Errorf("timers: %+v", timers)
	}
	steps, err := es.ReadTrace(ctx, "good")
	ok(t, err)
	if len(steps) != 3 || steps[0].Index != 4 || steps[1].Bad == nil || steps[2].Index != 6 {
		t.Errorf("trace: %+v", steps)
	}
	counts, err := es.Counts(ctx)
	ok(t, err)
	if counts.Executions != 5 || counts.Unreadable != 2 || counts.ByStatus[store.Failed] != 1 {
		t.Errorf("counts: %+v", counts)
	}
}

// One key may be the counter of x and the trace of seq:x. Neither harms the other.
func TestKeysThatMeet(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0))
	es, ctx := d.Executions(), t.Context()
	_, err := es.Commit(ctx, store.Commit{Execution: newExecution("x"), Trace: `{"n":0}`})
	ok(t, err)
	exe := newExecution("seq:x")
	_, err = es.Commit(ctx, numberedCommit(exe))
	is(t, err, store.ErrNotAStore)
	if !strings.Contains(err.Error(), `"harel:trace:seq:x" is a string`) {
		t.Errorf("the error does not say which key: %v", err)
	}
	if _, err := es.Load(ctx, "seq:x"); !errors.Is(err, store.ErrNotFound) || exe.Version != 0 {
		t.Errorf("half of it was written: %v, version %d", err, exe.Version)
	}
	steps, err := es.ReadTrace(ctx, "seq:x")
	ok(t, err)
	equal(t, "steps", len(steps), 0)
	ok(t, es.Save(ctx, exe))
	purged, err := es.Purge(ctx, "seq:x", 1)
	ok(t, err)
	equal(t, "purged", purged, true)
	_, err = es.Commit(ctx, store.Commit{Execution: newExecution("y"), Trace: `{"n":0}`})
	ok(t, err)
	ok(t, es.AppendTrace(ctx, "x", `{"n":1}`))
	steps, err = es.ReadTrace(ctx, "x")
	ok(t, err)
	if len(steps) != 2 || steps[1].Index != 1 {
		t.Errorf("the counter of x is gone: %+v", steps)
	}
}
