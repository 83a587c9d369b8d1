package sqltree_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"treering/store"
	"treering/store/internal/sqltree"
)

// hooked opens a store whose writes pass through wrap.
func hooked(t *testing.T, wrap func(write func(func(*sqlite.Conn) error) error, fn func(*sqlite.Conn) error) error) (*sqltree.Store, *sqlite.Conn) {
	t.Helper()
	conn := memoryConn(t)
	if err := sqltree.Migrate(conn); err != nil {
		t.Fatal(err)
	}
	write := func(fn func(*sqlite.Conn) error) error {
		if !conn.AutocommitEnabled() {
			return fn(conn)
		}
		return sqltree.Atomically(conn, func() error { return fn(conn) })
	}
	return sqltree.New(sqltree.Options{
		Read: func(_ context.Context, fn func(*sqlite.Conn) error) error {
			return sqltree.Together(conn, func() error { return fn(conn) })
		},
		Write: func(_ context.Context, fn func(*sqlite.Conn) error) error { return wrap(write, fn) },
	}), conn
}

func left(t *testing.T, conn *sqlite.Conn) []string {
	t.Helper()
	return rows(t, conn, "SELECT (SELECT count(*) FROM tree_sessions), (SELECT count(*) FROM tree_nodes)")
}

func TestDeleteInPortions(t *testing.T) {
	t.Parallel()
	const count = 10_000
	writes, tree := 0, "1|10000"
	s, conn := hooked(t, func(write func(func(*sqlite.Conn) error) error, fn func(*sqlite.Conn) error) error {
		writes++
		return write(fn)
	})
	fill(t, s, conn, "s", count, func(i int) int { return i - 1 })
	if got := left(t, conn); got[0] != tree {
		t.Fatalf("sessions|nodes %v, want %s", got, tree)
	}
	writes = 0
	existed, err := s.DeleteSession(t.Context(), "s")
	if err != nil || !existed {
		t.Fatal(existed, err)
	}
	if got := left(t, conn); got[0] != "0|0" {
		t.Errorf("sessions|nodes left: %v", got)
	}
	if writes != 3 {
		t.Errorf("%d transactions for %d nodes, want 3", writes, count)
	}
}

func TestDeleteLargeNodesInPortions(t *testing.T) {
	t.Parallel()
	writes := 0
	s, conn := hooked(t, func(write func(func(*sqlite.Conn) error) error, fn func(*sqlite.Conn) error) error {
		writes++
		return write(fn)
	})
	fill(t, s, conn, "s", 1, nil)
	root := rows(t, conn, "SELECT id FROM tree_nodes")[0]
	data := store.JSON(`{"a":"` + strings.Repeat("x", store.MaxDataBytes-8) + `"}`)
	for i := range 5 {
		if err := s.Append(t.Context(), "s", store.Node{ID: fmt.Sprint(i), ParentID: &root, Kind: "run", Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	writes = 0
	if _, err := s.DeleteSession(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if got := left(t, conn); got[0] != "0|0" || writes != 3 {
		t.Errorf("sessions|nodes left: %v, in %d transactions, want 0|0 in 3: 80 MiB by 32", got, writes)
	}
}

func TestDeleteThatEndsEarly(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		err  func(cancel func()) error
		want error // of DeleteSession
	}{
		{"cancelled", func(cancel func()) error { cancel(); return context.Canceled }, nil},
		{"failed", func(func()) error { return broken }, broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			writes, failAt := 0, 2
			s, conn := hooked(t, func(write func(func(*sqlite.Conn) error) error, fn func(*sqlite.Conn) error) error {
				if writes++; writes == failAt {
					return c.err(cancel)
				}
				return write(fn)
			})
			failAt = -1
			fill(t, s, conn, "s", 10_000, func(i int) int { return i - 1 })
			writes, failAt = 0, 2
			existed, err := s.DeleteSession(ctx, "s")
			if !existed || !errors.Is(err, c.want) {
				t.Fatalf("existed %v, error %v; want true, %v", existed, err, c.want)
			}
			if got := left(t, conn); got[0] != "1|5904" {
				t.Errorf("sessions|nodes left: %v, want a first portion gone", got)
			}
			// Nobody sees the rest, and it is no tree of the next purge's count.
			if _, err := s.CountNodes(t.Context(), "s"); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("count: %v", err)
			}
			page, err := s.ListSessions(t.Context(), store.SessionFilter{}, store.PageRequest{})
			if err != nil || len(page.Items) != 0 {
				t.Errorf("listed: %v, %v", page.Items, err)
			}
			if existed, err := s.DeleteSession(t.Context(), "other"); existed || err != nil {
				t.Errorf("another delete: %v, %v", existed, err)
			}
			if got := left(t, conn); got[0] != "0|0" {
				t.Errorf("sessions|nodes left after another delete: %v", got)
			}
		})
	}
}

func TestPurgeManyTrees(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 0)
	conn := memoryConn(t)
	if err := sqltree.Migrate(conn); err != nil {
		t.Fatal(err)
	}
	hook := func(_ context.Context, fn func(*sqlite.Conn) error) error {
		return sqltree.Atomically(conn, func() error { return fn(conn) })
	}
	s := sqltree.New(sqltree.Options{Read: hook, Write: hook, Now: func() time.Time { return now }})
	err := sqltree.Atomically(conn, func() error {
		for i := range 2500 {
			ttl := store.Seconds(10)
			if i%100 == 0 {
				ttl = nil
			}
			if _, err := s.CreateSession(t.Context(), fmt.Sprint(i), "session", ttl); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(10 * time.Second)
	if n, err := s.PurgeExpired(t.Context()); n != 2475 || err != nil {
		t.Errorf("purged %d, %v; want 2475", n, err)
	}
	if got := left(t, conn); got[0] != "25|0" {
		t.Errorf("sessions|nodes left: %v, want 25|0", got)
	}
}

// A database may have been edited by hand.
func TestHistoryOfAnEditedDatabase(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3, 1000} {
		for length := 1; length <= 9; length++ {
			for tail := range 4 {
				s, conn := open(t, ":memory:", sqltree.Options{})
				fill(t, s, conn, "s", length+tail, func(i int) int { return i - 1 })
				ids := rows(t, conn, "SELECT id FROM tree_nodes ORDER BY id")
				exec(t, conn, "UPDATE tree_nodes SET parent_id = ?1, parent = (SELECT node FROM tree_nodes WHERE id = ?1) WHERE parent_id IS NULL", ids[length-1])
				steps := 0
				err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
					p.Limit = limit
					return s.ListHistory(t.Context(), "s", ids[len(ids)-1], p)
				}, func(store.Node) error { steps++; return nil })
				var row *store.RowError
				if !errors.As(err, &row) || row.Table != "tree_nodes" || !slices.Contains(ids[:length], row.Key) {
					t.Fatalf("circle of %d below %d: error is %v, want a *RowError", length, tail, err)
				}
				if steps > 4*(length+tail) {
					t.Errorf("circle of %d below %d: noticed after %d steps", length, tail, steps)
				}
			}
		}
	}

	s, conn := open(t, ":memory:", sqltree.Options{})
	fill(t, s, conn, "s", 3, func(i int) int { return i - 1 })
	ids := rows(t, conn, "SELECT id FROM tree_nodes ORDER BY id")
	// Numbers that lead elsewhere or nowhere: the names count.
	for _, number := range []string{"1", "3", "99", "NULL"} {
		exec(t, conn, "UPDATE tree_nodes SET parent = "+number+" WHERE parent_id IS NOT NULL")
		page, err := s.ListHistory(t.Context(), "s", ids[2], store.PageRequest{})
		if err != nil || len(page.Items) != 3 || page.Items[1].ID != ids[1] || page.Items[2].ID != ids[0] {
			t.Errorf("with the parent number %s: %v, %v", number, page.Items, err)
		}
	}
	exec(t, conn, "DELETE FROM tree_nodes WHERE id = ?", ids[0])
	var got []string
	err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
		return s.ListHistory(t.Context(), "s", ids[2], p)
	}, func(n store.Node) error { got = append(got, n.ID); return nil })
	var missing *store.NotFoundError
	if !errors.As(err, &missing) || missing.ID != ids[0] || !slices.Equal(got, []string{ids[2], ids[1]}) {
		t.Errorf("without its root: %q, then %v", got, err)
	}
}

// A history follows parents wherever their rows lie: right before the child's, far
// before it, with rows of another tree or nothing in between.
func TestHistoryWhereverRowsLie(t *testing.T) {
	t.Parallel()
	s, conn := open(t, ":memory:", sqltree.Options{})
	pick := rand.New(rand.NewPCG(1, 2))
	parents := map[string]string{}
	var names []string
	for _, session := range []string{"a", "b"} {
		if _, err := s.CreateSession(t.Context(), session, "session", nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 400 {
		id := fmt.Sprintf("%08d", pick.IntN(1e8)) // in no order
		n := store.Node{ID: id, Kind: "run", Data: store.JSON(fmt.Sprintf(`{"n":%d}`, i))}
		if i > 0 {
			p := names[max(0, len(names)-1-pick.IntN(4)*pick.IntN(4))]
			n.ParentID, parents[id] = &p, p
		}
		names = append(names, id)
		for _, session := range []string{"a", "b"}[pick.IntN(2)*min(i, 1):] { // b has all of them
			err := s.Append(t.Context(), session, n)
			if err != nil && (session == "b" || !errors.Is(err, store.ErrNotFound)) {
				t.Fatal(err)
			}
		}
	}
	exec(t, conn, "UPDATE tree_nodes SET parent = parent + 1 WHERE parent % 7 = 3") // some by hand, to wrong ones
	for _, limit := range []int{1, 7, 1000} {
		var want, got []string
		for at, ok := names[len(names)-1], true; ok; at, ok = parents[at] {
			want = append(want, at)
		}
		err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
			p.Limit = limit
			return s.ListHistory(t.Context(), "b", names[len(names)-1], p)
		}, func(n store.Node) error { got = append(got, n.ID); return nil })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("by %d: %v, %d nodes\n%q\nwant\n%q", limit, err, len(got), got, want)
		}
	}
}

// The expiry is never sooner than asked for, whatever the sum rounds to.
func TestDeadline(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_750_000_000, 123_456_789)
	conn := memoryConn(t)
	if err := sqltree.Migrate(conn); err != nil {
		t.Fatal(err)
	}
	hook := func(_ context.Context, fn func(*sqlite.Conn) error) error {
		return sqltree.Atomically(conn, func() error { return fn(conn) })
	}
	s := sqltree.New(sqltree.Options{Read: hook, Write: hook, Now: func() time.Time { return now }})
	begin := float64(now.Unix()) + float64(now.Nanosecond())/1e9
	for i, ttl := range []float64{math.SmallestNonzeroFloat64, 1e-9, 1e-7, 0.1, 0.3, 1, 10.7, 86400, 1e9 + 0.1, 1e15, 1e17, 1e300, math.MaxFloat64} {
		id := fmt.Sprint(i)
		info, err := s.CreateSession(t.Context(), id, "session", &ttl)
		if err != nil {
			t.Fatal(err)
		}
		at := *info.ExpiresAt
		if math.IsInf(at, 0) || at-begin < ttl && at < math.MaxFloat64 || at-begin > ttl*1.001+1e-6 && at < math.MaxFloat64 {
			t.Errorf("ttl %v: expires at %v, %v from now", ttl, at, at-begin)
		}
		if _, err := s.Session(t.Context(), id); err != nil {
			t.Errorf("ttl %v is over at once: %v", ttl, err)
		}
	}
	// Beyond the years that nanoseconds in 64 bits reach.
	now = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := s.Session(t.Context(), "7"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a day is not over in the year 3000: %v", err)
	}
	if _, err := s.Session(t.Context(), "9"); err != nil {
		t.Errorf("1e15 seconds are over in the year 3000: %v", err)
	}
}

func TestFailuresOfTheBackend(t *testing.T) {
	t.Parallel()
	s, conn := hooked(t, func(func(func(*sqlite.Conn) error) error, func(*sqlite.Conn) error) error { return store.ErrReadOnly })
	for name, err := range map[string]error{
		"create": second(s.CreateSession(t.Context(), "s", "session", nil)),
		"ttl":    second(s.SetSessionTTL(t.Context(), "s", nil)),
		"delete": second(s.DeleteSession(t.Context(), "s")),
		"purge":  second(s.PurgeExpired(t.Context())),
		"append": s.Append(t.Context(), "s", store.Node{ID: "r", Kind: "init", Data: "{}"}),
	} {
		if !errors.Is(err, store.ErrReadOnly) {
			t.Errorf("%s: error is %v, want %v", name, err, store.ErrReadOnly)
		}
	}
	if got := left(t, conn); got[0] != "0|0" {
		t.Errorf("sessions|nodes: %v", got)
	}
	closed := errors.New("could not close")
	s = sqltree.New(sqltree.Options{Close: func() error { return closed }})
	if err := s.Close(); !errors.Is(err, closed) {
		t.Errorf("close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close again: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// A page is bounded in bytes by a few nodes at most, in memory as in a file.
func TestPagesOfLargeNodes(t *testing.T) {
	t.Parallel()
	for _, path := range []string{":memory:", filepath.Join(t.TempDir(), "trees.db")} {
		s, conn := open(t, path, sqltree.Options{})
		fill(t, s, conn, "s", 1, nil)
		last := rows(t, conn, "SELECT id FROM tree_nodes")[0]
		data := store.JSON(`{"a":"` + strings.Repeat("x", 3<<20) + `"}`)
		for i := range 7 {
			parent := last
			last = fmt.Sprintf("n%d", i)
			if err := s.Append(t.Context(), "s", store.Node{ID: last, ParentID: &parent, Kind: "run", Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		for name, list := range map[string]func(store.PageRequest) (store.Page[store.Node], error){
			"nodes": func(p store.PageRequest) (store.Page[store.Node], error) { return s.ListNodes(t.Context(), "s", p) },
			"history": func(p store.PageRequest) (store.Page[store.Node], error) {
				return s.ListHistory(t.Context(), "s", last, p)
			},
		} {
			var sizes []int
			for p := (store.PageRequest{}); ; {
				page, err := list(p)
				if err != nil {
					t.Fatal(err)
				}
				sizes = append(sizes, len(page.Items))
				if p.Cursor = page.Next; p.Cursor == "" {
					break
				}
			}
			want := []int{4, 3, 1} // the small root counts for nothing
			if name == "history" {
				want = []int{3, 3, 2}
			}
			if !slices.Equal(sizes, want) {
				t.Errorf("%s in pages of %v, want %v", name, sizes, want)
			}
		}
	}
}
