package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"treering/store"
)

// pagedList is one of the four lists, of the whole store or of one execution,
// under the rules that all of them share.
type pagedList struct {
	name string
	// put makes the entry named id; ids sort as the list does where its order is by id.
	put func(b *execBundle, id string) error
	// drop removes what put made.
	drop func(b *execBundle, id string) error
	// page reads one page; filtered is another selection of the same list.
	page func(b *execBundle, filtered bool, p store.PageRequest) (ids []string, next string, err error)
	// bySeq lists are in the order of their making.
	bySeq bool
}

func pagedLists() []pagedList {
	all, of := store.QueueFilter{}, func(id string) store.QueueFilter { return store.QueueFilter{ExecutionID: &id} }
	dueOf := of("e")
	dueOf.DueBy = ptr(7.0)
	return []pagedList{
		pagedExecutions(),
		pagedOutbox("outbox", all, of("t")), pagedOutbox("outbox of one", of("t"), all),
		pagedSpawns("spawns", func(id string) string { return "by-" + id }, all, of("by-x00000")),
		pagedSpawns("spawns of one", func(string) string { return "e" }, of("e"), all),
		pagedTimers("timers", func(id string) store.Timer { return store.Timer{ExecutionID: id, Path: "p"} }, all, store.QueueFilter{DueBy: ptr(7.0)}),
		pagedTimers("timers of one", func(id string) store.Timer { return store.Timer{ExecutionID: "e", Path: id} }, of("e"), dueOf),
	}
}

func pagedExecutions() pagedList {
	return pagedList{
		name: "executions",
		put:  func(b *execBundle, id string) error { return b.s.Save(b.ctx, fresh(id)) },
		drop: func(b *execBundle, id string) error { _, err := b.s.Purge(b.ctx, id, 1); return err },
		page: func(b *execBundle, filtered bool, p store.PageRequest) ([]string, string, error) {
			var f store.ExecutionFilter
			if filtered {
				f.DefinitionID = ptr("shop")
			}
			page, err := b.s.ListExecutions(b.ctx, f, p)
			return lines(page.Items, func(s store.Summary) string { return s.ID }), page.Next, err
		},
	}
}

// pagedOutbox lists by f, with other as the other selection; all entries are to "t".
func pagedOutbox(name string, f, other store.QueueFilter) pagedList {
	return pagedList{
		name: name, bySeq: true,
		put: func(b *execBundle, id string) error {
			return b.commitTo("by-"+id, store.Commit{Emits: []store.Emit{emit("t", store.Event{ID: id})}})
		},
		drop: func(b *execBundle, id string) error {
			entries, err := b.s.PendingOutbox(b.ctx)
			for _, e := range entries {
				if e.Event.ID == id && err == nil {
					_, err = b.s.AckOutbox(b.ctx, e.Seq)
				}
			}
			return err
		},
		page: func(b *execBundle, filtered bool, p store.PageRequest) ([]string, string, error) {
			page, err := b.s.ListOutbox(b.ctx, either(filtered, other, f), p)
			return lines(page.Items, func(e store.OutboxEntry) string { return e.Event.ID }), page.Next, err
		},
	}
}

// pagedSpawns is of children named by id, each by a parent.
func pagedSpawns(name string, parent func(id string) string, f, other store.QueueFilter) pagedList {
	return pagedList{
		name: name, bySeq: true,
		put: func(b *execBundle, id string) error {
			return b.commitTo(parent(id), store.Commit{Spawns: []store.Spawn{{ChildID: id}}})
		},
		drop: func(b *execBundle, id string) error {
			entries, err := b.s.PendingSpawns(b.ctx)
			for _, e := range entries {
				if e.ChildID == id && err == nil {
					_, err = b.s.AckSpawn(b.ctx, e.Seq)
				}
			}
			return err
		},
		page: func(b *execBundle, filtered bool, p store.PageRequest) ([]string, string, error) {
			page, err := b.s.ListSpawns(b.ctx, either(filtered, other, f), p)
			return lines(page.Items, func(e store.SpawnEntry) string { return e.ChildID }), page.Next, err
		},
	}
}

// pagedTimers is of timers at one time, each where place says for its id.
func pagedTimers(name string, place func(id string) store.Timer, f, other store.QueueFilter) pagedList {
	return pagedList{
		name: name,
		put: func(b *execBundle, id string) error {
			at := place(id)
			return b.commitTo(at.ExecutionID, store.Commit{Timers: []store.TimerOp{schedule(at.Path, 7)}})
		},
		drop: func(b *execBundle, id string) error {
			at := place(id)
			_, err := b.s.DeleteTimer(b.ctx, at.ExecutionID, at.Path, 7)
			return err
		},
		page: func(b *execBundle, filtered bool, p store.PageRequest) ([]string, string, error) {
			page, err := b.s.ListTimers(b.ctx, either(filtered, other, f), p)
			return lines(page.Items, func(t store.Timer) string {
				if place("").Path == "" {
					return t.Path
				}
				return t.ExecutionID
			}), page.Next, err
		},
	}
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// commitTo commits to an execution that may be there or not, with a copy of its
// state, until no other was faster.
func (b *execBundle) commitTo(id string, c store.Commit) error {
	for {
		exe, err := b.s.Load(b.ctx, id)
		switch {
		case err == nil:
			c.Execution = exe.Clone()
		case errors.Is(err, store.ErrNotFound):
			c.Execution = fresh(id)
		default:
			return err
		}
		if _, err = b.s.Commit(b.ctx, c); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// walk pages to the end and returns the pages; between runs before each further page.
func (l pagedList) walk(b *execBundle, limit int, between func()) [][]string {
	b.t.Helper()
	var pages [][]string
	var p store.PageRequest
	for p.Limit = limit; ; between() {
		ids, next, err := l.page(b, false, p)
		b.ok(err)
		pages = append(pages, ids)
		if next == "" {
			return pages
		}
		if next == p.Cursor {
			b.t.Fatalf("the cursor after %d pages is the one before: a pager would never end", len(pages))
		}
		p.Cursor = next
	}
}

func pagingCases() []execCase {
	var out []execCase
	for _, l := range pagedLists() {
		for _, c := range l.cases() {
			c.name = l.name + " " + c.name
			out = append(out, c)
		}
	}
	return append(out, execCase{
		name: "cursors of other lists",
		rule: "a cursor goes on with the list it came from; another list or store answers ErrBadCursor",
		run: func(b *execBundle) {
			ids := numbered("x", 3)
			other := &execBundle{t: b.t, ctx: b.ctx, s: b.f.Open(b.t, ExecOptions{}), f: b.f}
			for _, l := range pagedLists() {
				for _, id := range ids {
					b.ok(l.put(b, id))
					b.ok(l.put(other, id))
				}
			}
			for _, from := range pagedLists() {
				_, cursor, err := from.page(b, false, store.PageRequest{Limit: 1})
				b.ok(err)
				for _, to := range pagedLists() {
					_, _, err := to.page(b, false, store.PageRequest{Limit: 1, Cursor: cursor})
					if from.name == to.name {
						b.ok(err)
					} else {
						b.is(err, store.ErrBadCursor)
					}
				}
				_, _, err = from.page(other, false, store.PageRequest{Limit: 1, Cursor: cursor})
				b.is(err, store.ErrBadCursor)
			}
		},
	})
}

func (l pagedList) cases() []execCase {
	put := func(b *execBundle, ids []string) {
		b.t.Helper()
		for _, id := range ids {
			b.ok(l.put(b, id))
		}
	}
	nothing := func() {}
	return []execCase{
		{
			name: "pages",
			rule: "pages hold at most the limit, cover the list once and in order, and end with an empty cursor",
			run: func(b *execBundle) {
				b.equal("empty store", slices.Concat(l.walk(b, 4, nothing)...), []string(nil))
				ids := numbered("x", 12)
				put(b, ids)
				for _, limit := range []int{1, 4, 5, 11, 12, 13, 0} {
					pages := l.walk(b, limit, nothing)
					b.equal(fmt.Sprintf("pages of %d", limit), slices.Concat(pages...), ids)
					for _, page := range pages {
						if limit > 0 && len(page) > limit {
							b.t.Fatalf("a page of %d has %d entries", limit, len(page))
						}
					}
				}
			},
		},
		{
			name: "negative limit",
			rule: "a negative limit is refused, it is not the end of the list",
			run: func(b *execBundle) {
				put(b, []string{"x"})
				_, _, err := l.page(b, false, store.PageRequest{Limit: -1})
				b.is(err, store.ErrBadLimit)
			},
		},
		{
			name: "at most 1000",
			rule: "no limit means 1000 and more is cut to 1000; the rest is on the next page",
			run: func(b *execBundle) {
				if size(1, 0) == 0 {
					b.t.Skip("more than a thousand rows")
				}
				ids := numbered("x", store.DefaultLimit+3)
				var firstErr error
				var mu sync.Mutex
				const writers = 16
				together(writers, func(w int) {
					for i := w; i < len(ids); i += writers {
						if err := l.put(b, ids[i]); err != nil {
							mu.Lock()
							firstErr = err
							mu.Unlock()
						}
					}
				})
				b.ok(firstErr)
				for _, limit := range []int{0, store.DefaultLimit + 1, 1 << 40} {
					got, next, err := l.page(b, false, store.PageRequest{Limit: limit})
					b.ok(err)
					b.equal(fmt.Sprintf("first page of %d", limit), len(got), store.DefaultLimit)
					rest, _, err := l.page(b, false, store.PageRequest{Limit: limit, Cursor: next})
					b.ok(err)
					b.equal("rest", len(rest), 3)
					b.equal("all", sorted(append(got, rest...)), ids)
				}
			},
		},
		{
			name: "bad cursors",
			rule: "a cursor that is cut, changed, of another selection or no cursor at all is ErrBadCursor, never the first page",
			run: func(b *execBundle) {
				put(b, numbered("x", 5))
				_, c, err := l.page(b, false, store.PageRequest{Limit: 2})
				b.ok(err)
				bad := []string{c[:len(c)-1], c[1:], c + "A", c + c, strings.ToUpper(c), "Mg==", "2", " ", "\x00", "é", strings.Repeat("A", 1<<20), c + strings.Repeat("A", 1<<20)}
				for i := range c {
					flipped := []byte(c)
					flipped[i] ^= 1
					bad = append(bad, string(flipped))
				}
				for _, cursor := range bad {
					if _, _, err := l.page(b, false, store.PageRequest{Limit: 2, Cursor: cursor}); err == nil {
						b.t.Fatalf("cursor %.40q instead of %q was taken", cursor, c)
					} else {
						b.is(err, store.ErrBadCursor)
					}
				}
				_, _, err = l.page(b, true, store.PageRequest{Limit: 2, Cursor: c})
				b.is(err, store.ErrBadCursor)
				rest, _, err := l.page(b, false, store.PageRequest{Limit: 10, Cursor: c})
				b.ok(err)
				b.equal("the good one, at another limit", rest, []string{"x00002", "x00003", "x00004"})
			},
		},
		{
			name: "removals between pages",
			rule: "paging is by key: what is removed between two pages, the row at the cursor included, shifts nothing",
			run: func(b *execBundle) {
				ids := numbered("x", 10)
				put(b, ids)
				n := 0
				pages := l.walk(b, 3, func() {
					n++
					switch n {
					case 1: // the last row of the page before, an earlier one and a later one
						b.ok(l.drop(b, ids[2]))
						b.ok(l.drop(b, ids[0]))
						b.ok(l.drop(b, ids[4]))
					case 2:
						b.ok(l.put(b, "x00000+")) // behind the cursor, or at the end where the order is by seq
					}
				})
				want := append(slices.Clone(ids[:4]), ids[5:]...)
				if l.bySeq {
					want = append(want, "x00000+")
				}
				b.equal("seen", slices.Concat(pages...), want)
			},
		},
		{
			name: "under concurrent changes",
			rule: "while others insert and remove, each row that is there throughout appears exactly once",
			run: func(b *execBundle) {
				keep := numbered("k", size(60, 20))
				put(b, keep)
				stop := make(chan struct{})
				var others sync.WaitGroup
				var failed error
				others.Go(func() {
					for i := 0; failed == nil; i++ {
						select {
						case <-stop:
							return
						default:
						}
						id := fmt.Sprintf("k%05d+%d", i%len(keep), i)
						if failed = l.put(b, id); failed == nil {
							failed = l.drop(b, id)
						}
					}
				})
				for range 3 {
					seen := map[string]int{}
					for _, id := range slices.Concat(l.walk(b, 7, nothing)...) {
						seen[id]++
					}
					for id, n := range seen {
						if n != 1 {
							b.t.Errorf("%s appears %d times", id, n)
						}
					}
					for _, id := range keep {
						if seen[id] != 1 {
							b.t.Errorf("%s appears %d times", id, seen[id])
						}
					}
				}
				close(stop)
				others.Wait()
				b.ok(failed)
			},
		},
	}
}
