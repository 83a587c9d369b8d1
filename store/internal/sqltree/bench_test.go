package sqltree_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/internal/sqltree"
)

// open returns a store on one connection that nobody else uses.
func open(tb testing.TB, path string, o sqltree.Options) (*sqltree.Store, *sqlite.Conn) {
	tb.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	})
	if path != ":memory:" {
		for _, pragma := range []string{"journal_mode=WAL", "synchronous=NORMAL", "wal_autocheckpoint=4000"} {
			if err := sqlitex.ExecuteTransient(conn, "PRAGMA "+pragma, nil); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := sqltree.Migrate(conn); err != nil {
		tb.Fatal(err)
	}
	o.Write = func(_ context.Context, fn func(*sqlite.Conn) error) error {
		if !conn.AutocommitEnabled() { // inside a bulk of the test's own
			return fn(conn)
		}
		return sqltree.Atomically(conn, func() error { return fn(conn) })
	}
	o.Read = func(_ context.Context, fn func(*sqlite.Conn) error) error {
		return sqltree.Together(conn, func() error { return fn(conn) })
	}
	return sqltree.New(o), conn
}

// nodeData is 150 bytes, as a step of a session holds.
const nodeData = `{"user":{"label":"make bench"},"image_uuid":"0191d1c2-7c31-7d33-a9a5-1b2f0a7f9e44","command":"make CFLAGS=-O3 -j2 bench","exit_code":0,"ts":1700000000.25}`

// fill appends count nodes: a root, and the others below the parent that is named.
func fill(tb testing.TB, s *sqltree.Store, conn *sqlite.Conn, session string, count int, parent func(i int) int) {
	tb.Helper()
	ctx := tb.Context()
	id := func(i int) string { return fmt.Sprintf("0191d1c2-7c31-7d33-a9a5-%012d", i) }
	if _, err := s.CreateSession(ctx, session, "session", nil); err != nil {
		tb.Fatal(err)
	}
	err := sqltree.Atomically(conn, func() error {
		for i := range count {
			n := store.Node{ID: id(i), Kind: "run", Data: nodeData}
			if i > 0 {
				p := id(parent(i))
				n.ParentID = &p
			}
			if err := s.Append(ctx, session, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func backends(b *testing.B, run func(b *testing.B, path string)) {
	b.Run("memory", func(b *testing.B) { run(b, ":memory:") })
	b.Run("file", func(b *testing.B) { run(b, filepath.Join(b.TempDir(), "trees.db")) })
}

func BenchmarkAppend(b *testing.B) {
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		b.ReportAllocs()
		fill(b, s, conn, "s", b.N, func(i int) int { return i - 1 })
	})
}

func BenchmarkListNodes(b *testing.B) {
	for _, count := range []int{1000, 1_000_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			backends(b, func(b *testing.B, path string) {
				s, conn := open(b, path, sqltree.Options{})
				fill(b, s, conn, "s", count, func(i int) int { return i - 1 })
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					pageThrough(b, count, func(p store.PageRequest) (store.Page[store.Node], error) { return s.ListNodes(b.Context(), "s", p) })
				}
				b.ReportMetric(float64(b.N)*float64(count)/b.Elapsed().Seconds(), "nodes/s")
			})
		})
	}
}

func BenchmarkListChildren(b *testing.B) {
	const count = 100_000
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		fill(b, s, conn, "s", count+1, func(int) int { return 0 })
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			pageThrough(b, count, func(p store.PageRequest) (store.Page[store.Node], error) {
				return s.ListChildren(b.Context(), "s", "0191d1c2-7c31-7d33-a9a5-000000000000", p)
			})
		}
	})
}

// BenchmarkFewChildren reads the children of one node among very many that are not.
func BenchmarkFewChildren(b *testing.B) {
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		fill(b, s, conn, "s", 200_000, func(i int) int { return (i - 1) / 3 })
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			page, err := s.ListChildren(b.Context(), "s", "0191d1c2-7c31-7d33-a9a5-000000030000", store.PageRequest{})
			if err != nil || len(page.Items) != 3 {
				b.Fatal(len(page.Items), err)
			}
		}
	})
}

func BenchmarkListHistory(b *testing.B) {
	const count = 10_000
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		fill(b, s, conn, "s", count, func(i int) int { return i - 1 })
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			pageThrough(b, count, func(p store.PageRequest) (store.Page[store.Node], error) {
				return s.ListHistory(b.Context(), "s", fmt.Sprintf("0191d1c2-7c31-7d33-a9a5-%012d", count-1), p)
			})
		}
	})
}

func BenchmarkNodes(b *testing.B) {
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		fill(b, s, conn, "s", 100_000, func(i int) int { return i - 1 })
		ids := make([]string, store.MaxNodeIDs)
		for i := range ids {
			ids[i] = fmt.Sprintf("0191d1c2-7c31-7d33-a9a5-%012d", i*97)
		}
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := s.Nodes(b.Context(), "s", ids); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDelete(b *testing.B) {
	const count = 1_000_000
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		for range b.N {
			b.StopTimer()
			fill(b, s, conn, "s", count, func(i int) int { return i - 1 })
			b.StartTimer()
			if _, err := s.DeleteSession(b.Context(), "s"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkListSessions looks for the few of one kind among a million of another.
func BenchmarkListSessions(b *testing.B) {
	s, conn := open(b, ":memory:", sqltree.Options{})
	err := sqltree.Atomically(conn, func() error {
		for i := range 1_000_000 {
			kind := "upload-cache"
			if i%10_000 == 0 {
				kind = "session"
			}
			if _, err := s.CreateSession(b.Context(), fmt.Sprintf("s-%08d", i), kind, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]store.SessionFilter{
		"all":  {},
		"kind": {Kinds: []string{"session"}},
		"not":  {NotKinds: []string{"upload-cache"}},
		"two":  {Kinds: []string{"session", "docker-build"}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := s.ListSessions(b.Context(), f, store.PageRequest{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func pageThrough(b *testing.B, want int, list func(store.PageRequest) (store.Page[store.Node], error)) {
	b.Helper()
	got := 0
	if err := store.All(list, func(store.Node) error { got++; return nil }); err != nil {
		b.Fatal(err)
	}
	if got != want {
		b.Fatalf("%d nodes, want %d", got, want)
	}
}

func BenchmarkNode(b *testing.B) {
	backends(b, func(b *testing.B, path string) {
		s, conn := open(b, path, sqltree.Options{})
		fill(b, s, conn, "s", 10_000, func(i int) int { return i - 1 })
		b.ReportAllocs()
		b.ResetTimer()
		for range b.N {
			if _, err := s.Node(b.Context(), "s", "0191d1c2-7c31-7d33-a9a5-000000005000"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
