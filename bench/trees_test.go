package bench

import (
	"fmt"
	"testing"

	zombiezen "zombiezen.com/go/sqlite"

	"treering/store"
)

// nodeID climbs with time, as version 7 UUIDs do.
func nodeID(n int) string { return fmt.Sprintf("0191d1c2-7c31-7d33-a9a5-%012d", n) }

func nodeData(n int) string {
	return fmt.Sprintf(`{"command":"make -C /src bench","image_uuid":"%032x","exit_code":0,"duration":92.114,"user":{"label":"run %d"}}`, n, n)
}

// tree makes a file with one session of so many nodes.
func tree(b *testing.B, count int, parent func(n int) int) store.TreeStore {
	b.Helper()
	db, path := create(b, "OFF")
	ts := db.Trees()
	if _, err := ts.CreateSession(b.Context(), "s", "session", nil); err != nil {
		b.Fatal(err)
	}
	// The only session of a new file has the number 1; a page that came out empty
	// would fail the benchmark.
	fill(b, path, "INSERT INTO tree_nodes (node, tree, id, parent, parent_id, kind, data) VALUES (?, 1, ?, ?, ?, 'run', ?)", count, func(n int, q *zombiezen.Stmt) {
		q.BindInt64(1, int64(n+1)) // numbered in the order of appending
		q.BindText(2, nodeID(n))
		q.BindNull(3)
		q.BindNull(4)
		if n > 0 {
			q.BindInt64(3, int64(parent(n)+1))
			q.BindText(4, nodeID(parent(n)))
		}
		q.BindText(5, nodeData(n))
	})
	return ts
}

// cursorBefore returns a cursor that leads to the page in the middle of a list.
func cursorBefore(b *testing.B, count int, list func(store.PageRequest) (store.Page[store.Node], error)) string {
	b.Helper()
	var req store.PageRequest
	for seen := 0; seen < count/2; seen += store.DefaultLimit {
		page, err := list(req)
		if err != nil {
			b.Fatal(err)
		}
		req.Cursor = page.Next
	}
	return req.Cursor
}

func through(b *testing.B, want int, list func(store.PageRequest) (store.Page[store.Node], error)) {
	b.Helper()
	got := 0
	if err := store.All(list, func(store.Node) error { got++; return nil }); err != nil {
		b.Fatal(err)
	}
	if got != want {
		b.Fatalf("%d nodes, want %d", got, want)
	}
}

func onePage(b *testing.B, cursor string, list func(store.PageRequest) (store.Page[store.Node], error)) {
	b.Helper()
	for range b.N {
		page, err := list(store.PageRequest{Cursor: cursor})
		if err != nil {
			b.Fatal(err)
		}
		if len(page.Items) != store.DefaultLimit {
			b.Fatalf("a page of %d", len(page.Items))
		}
	}
}

// BenchmarkAppend appends one node after the other, and from 100 goroutines, which
// the writer groups; the reference puts 100 into a transaction.
func BenchmarkAppend(b *testing.B) {
	for _, synchronous := range []string{"full", "normal"} {
		for _, actors := range []int{1, 100} {
			name := "one"
			if actors > 1 {
				name = fmt.Sprintf("bulk%d", actors)
			}
			b.Run(synchronous+"/"+name, func(b *testing.B) {
				db, _ := create(b, map[string]string{"full": "FULL", "normal": "NORMAL"}[synchronous])
				ts := db.Trees()
				ctx := b.Context()
				if _, err := ts.CreateSession(ctx, "s", "session", nil); err != nil {
					b.Fatal(err)
				}
				if err := ts.Append(ctx, "s", store.Node{ID: nodeID(0), Kind: "init", Data: "{}"}); err != nil {
					b.Fatal(err)
				}
				each := max(1, b.N/actors)
				failed := make(chan error, actors)
				b.ResetTimer()
				for k := range actors {
					go func() {
						failed <- func() error {
							parent := nodeID(0)
							for i := range each {
								n := 1 + i*actors + k
								p := parent
								node := store.Node{ID: nodeID(n), ParentID: &p, Kind: "run", Data: store.JSON(nodeData(n))}
								if err := ts.Append(ctx, "s", node); err != nil {
									return err
								}
								parent = node.ID
							}
							return nil
						}()
					}()
				}
				for range actors {
					if err := <-failed; err != nil {
						b.Fatal(err)
					}
				}
				b.StopTimer()
				b.ReportMetric(float64(each*actors)/b.Elapsed().Seconds(), "nodes/s")
			})
		}
	}
}

// BenchmarkNodes lists a large tree in identity order.
func BenchmarkNodes(b *testing.B) {
	count := pick(1_000_000, 50_000)
	ts := tree(b, count, func(n int) int { return (n - 1) / 4 })
	list := func(p store.PageRequest) (store.Page[store.Node], error) { return ts.ListNodes(b.Context(), "s", p) }
	middle := cursorBefore(b, count, list)
	b.Run("list_all", func(b *testing.B) {
		for range b.N {
			through(b, count, list)
		}
	})
	b.Run("page_first", func(b *testing.B) { onePage(b, "", list) })
	b.Run("page_middle", func(b *testing.B) { onePage(b, middle, list) })
}

// BenchmarkChildren lists the children of one node.
func BenchmarkChildren(b *testing.B) {
	count := pick(100_000, 10_000)
	ts := tree(b, count+1, func(int) int { return 0 })
	list := func(p store.PageRequest) (store.Page[store.Node], error) {
		return ts.ListChildren(b.Context(), "s", nodeID(0), p)
	}
	middle := cursorBefore(b, count, list)
	b.Run("list_all", func(b *testing.B) {
		for range b.N {
			through(b, count, list)
		}
	})
	b.Run("page_middle", func(b *testing.B) { onePage(b, middle, list) })
}

// BenchmarkAncestry follows parents from the deepest node to the root.
func BenchmarkAncestry(b *testing.B) {
	depth := pick(10_000, 1000)
	ts := tree(b, depth, func(n int) int { return n - 1 })
	for range b.N {
		through(b, depth, func(p store.PageRequest) (store.Page[store.Node], error) {
			return ts.ListHistory(b.Context(), "s", nodeID(depth-1), p)
		})
	}
}
