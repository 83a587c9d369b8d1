package storetest

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"treering/store"
)

// treeList is one list of ids, whatever it lists.
type treeList struct {
	name string
	page func(store.PageRequest) (ids []string, next string, err error)
}

func treeListOf[T any](name string, list func(store.PageRequest) (store.Page[T], error), id func(T) string) treeList {
	return treeList{name, func(p store.PageRequest) ([]string, string, error) {
		page, err := list(p)
		ids := []string{}
		for _, item := range page.Items {
			ids = append(ids, id(item))
		}
		return ids, page.Next, err
	}}
}

// treeLists are all lists: of sessions, and of the nodes of one tree.
func treeLists(b *treeBundle, session, parent, leaf string) []treeList {
	lists := []treeList{
		treeListOf("ListSessions", func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
			return b.s.ListSessions(b.ctx, store.SessionFilter{}, p)
		}, func(i store.SessionInfo) string { return i.ID }),
		treeListOf("ListSessions of a kind", func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
			return b.s.ListSessions(b.ctx, store.SessionFilter{Kinds: []string{"session"}}, p)
		}, func(i store.SessionInfo) string { return i.ID }),
	}
	nodes := nodeLists(b, session, parent, leaf)
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		lists = append(lists, treeListOf(name, nodes[name], func(n store.Node) string { return n.ID }))
	}
	return lists
}

// walk pages to the end with a limit and calls between after each page.
func (l treeList) walk(b *treeBundle, limit int, between func()) []string {
	b.t.Helper()
	out := []string{}
	seen := map[string]bool{}
	for p := (store.PageRequest{Limit: limit}); ; {
		if seen[p.Cursor] {
			b.t.Fatalf("%s: the cursor %q came twice: paging does not end", l.name, p.Cursor)
		}
		seen[p.Cursor] = true
		ids, next, err := l.page(p)
		if err != nil {
			b.t.Fatalf("%s: %v", l.name, err)
		}
		if len(ids) > limit && limit > 0 {
			b.t.Fatalf("%s: %d items where %d were asked for", l.name, len(ids), limit)
		}
		out = append(out, ids...)
		if next == "" {
			return out
		}
		p.Cursor = next
		if between != nil {
			between()
		}
	}
}

// seedLists makes a tree in which each list of treeLists(b, "s00000", "n00000",
// last) has n entries but for the roots.
func seedLists(b *treeBundle, n int) (last string) {
	b.t.Helper()
	for _, id := range numbered("s", n) {
		b.create(id)
	}
	session, chain := "s00000", numbered("n", n)
	b.append(session, rootNode(chain[0]))
	for i := 1; i < n; i++ {
		b.append(session, childNode(chain[i], chain[i-1]))
	}
	for _, id := range numbered("leaf", n-1) {
		b.append(session, childNode(id, chain[0]))
	}
	return chain[n-1]
}

func treePagingCases() []treeCase {
	return []treeCase{
		{
			name: "every limit gives every item once",
			rule: "Contract, list: pass the next cursor with the same selection; none means the end",
			run: func(b *treeBundle) {
				last := seedLists(b, 23)
				for _, l := range treeLists(b, "s00000", "n00000", last) {
					want := l.walk(b, 0, nil)
					if l.name != "roots" && len(want) < 23 {
						b.t.Fatalf("%s: %d items", l.name, len(want))
					}
					for _, limit := range []int{1, 2, 7, 22, 23, 24, 1000} {
						b.equal(fmt.Sprintf("%s by %d", l.name, limit), l.walk(b, limit, nil), want)
					}
				}
			},
		},
		{
			name: "limits have bounds",
			rule: "a limit of 0 means 1000, more than 1000 is cut to 1000, a negative one is refused",
			run: func(b *treeBundle) {
				b.seed("example", "r", numbered("n", store.DefaultLimit+5)...)
				for _, l := range treeLists(b, "example", "r", "n00000") {
					_, _, err := l.page(store.PageRequest{Limit: -1})
					b.refused(l.name, err, "limit", store.ErrBadLimit)
				}
				for _, limit := range []int{0, 1000, 1001, 1 << 40} {
					page, err := b.s.ListChildren(b.ctx, "example", "r", store.PageRequest{Limit: limit})
					b.ok(err)
					if len(page.Items) == 0 || len(page.Items) > store.DefaultLimit || page.Next == "" {
						b.t.Fatalf("limit %d: %d items, next %q", limit, len(page.Items), page.Next)
					}
				}
				b.equal("children", len(b.children("example", "r")), store.DefaultLimit+5)
				b.equal("nodes", len(b.all("example")), store.DefaultLimit+6)
			},
		},
		{
			name: "large nodes make short pages",
			rule: "Contract, list: a backend can return fewer items with a continuation to bound the response; a short page does not imply the end",
			run: func(b *treeBundle) {
				ids := numbered("n", 24)
				b.create("example")
				data := store.JSON(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)
				for i, id := range ids {
					n := rootNode(id)
					if i > 0 {
						n = childNode(id, ids[i-1])
					}
					n.Data = data
					b.append("example", n)
				}
				b.inOrder("nodes", b.all("example"), ids)
				b.equal("history", len(b.history("example", ids[23])), len(ids))
			},
		},
		{
			name: "nodes survive paging while others append",
			rule: "pages are by key: what is there all the time appears exactly once, whatever is inserted before or behind",
			run: func(b *treeBundle) {
				last := seedLists(b, 20)
				n := 0
				for _, l := range treeLists(b, "s00000", "n00000", last)[2:] {
					before := l.walk(b, 0, nil)
					got := l.walk(b, 3, func() {
						n++
						id := numbered("", n+1)[n]
						for _, prefix := range []string{"a", "leaf00009x", "n00009x", "z"} {
							b.append("s00000", childNode(prefix+id, "n00000"))
						}
					})
					b.equal(l.name+": survivors", onlyOf(got, before), before)
					b.equal(l.name+": once", len(slices.Compact(sorted(got))), len(got))
				}
			},
		},
		{
			name: "sessions survive paging while others come and go",
			rule: "pages are by key: what is there all the time appears exactly once, whatever is inserted or deleted before or behind, the cursor's own item too",
			run: func(b *treeBundle) {
				ids := numbered("s", 60)
				for _, id := range ids {
					b.create(id)
				}
				for _, l := range treeLists(b, "s00000", "", "")[:2] {
					var left []string
					removed := map[string]bool{}
					n := 0
					got := l.walk(b, 4, func() {
						n++
						// The last item of the page before, one far before it and one far behind.
						for _, at := range []int{4*n - 1, 4*n - 4, 4*n + 10} {
							if at < len(ids) && !removed[ids[at]] {
								removed[ids[at]] = true
								b.delete(ids[at], true)
							}
						}
						b.create(fmt.Sprintf("a%d", n))
						b.create(fmt.Sprintf("s%05dx", 4*n+2))
					})
					for _, id := range ids {
						if !removed[id] {
							left = append(left, id)
						}
					}
					b.inOrder(l.name+": survivors", onlyOf(got, left), left)
					b.equal(l.name+": once", len(slices.Compact(sorted(got))), len(got))
					for _, id := range b.sessions(store.SessionFilter{}) {
						b.delete(id, true)
					}
					for _, id := range ids {
						b.create(id)
					}
				}
			},
		},
		{
			name: "nodes survive paging beside writers",
			rule: "Contract, list: pages are live reads; beside real writers too each survivor comes exactly once",
			run: func(b *treeBundle) {
				last := seedLists(b, 30)
				writer := b.clients()
				var stop atomic.Bool
				done := make(chan error, 1)
				go func() {
					n := 0
					for ; !stop.Load() && n < 400; n++ {
						s := writer[n%len(writer)]
						id := fmt.Sprintf("%c%05d", 'a'+n*7%26, n)
						if err := s.Append(b.ctx, "s00000", childNode("w"+id, "n00000")); err != nil {
							done <- err
							return
						}
						if _, err := s.CreateSession(b.ctx, "w"+id, "session", nil); err != nil {
							done <- err
							return
						}
						if n%2 == 0 {
							if _, err := s.DeleteSession(b.ctx, "w"+id); err != nil {
								done <- err
								return
							}
						}
					}
					done <- nil
				}()
				lists := treeLists(b, "s00000", "n00000", last)
				for range size(6, 2) {
					for _, l := range lists {
						got := l.walk(b, 3, nil)
						b.equal(l.name+": once", len(slices.Compact(sorted(got))), len(got))
						seen := 0
						for _, id := range got {
							if !strings.HasPrefix(id, "w") {
								seen++
							}
						}
						want := map[string]int{"ListNodes": 59, "ListChildren": 30, "ListHistory": 30, "roots": 1}[l.name]
						if want == 0 {
							want = 30 // sessions
						}
						b.equal(l.name+": survivors", seen, want)
					}
				}
				stop.Store(true)
				b.ok(<-done)
			},
		},
	}
}

// onlyOf keeps those of ids that are among want, in their order.
func onlyOf(ids, want []string) []string {
	out := []string{}
	for _, id := range ids {
		if slices.Contains(want, id) {
			out = append(out, id)
		}
	}
	return out
}

func treeCursorCases() []treeCase {
	return []treeCase{
		{
			name: "a spoilt cursor is refused",
			rule: "a cursor that is cut, changed, doubled or foreign text is ErrBadCursor, never the first page; only the empty one is that",
			run: func(b *treeBundle) {
				last := seedLists(b, 12)
				for _, l := range treeLists(b, "s00000", "n00000", last) {
					if l.name == "roots" {
						continue // one root: no second page
					}
					first, good, err := l.page(store.PageRequest{Limit: 5})
					b.ok(err)
					again, _, err := l.page(store.PageRequest{Limit: 5, Cursor: ""})
					b.ok(err)
					b.equal("the empty cursor", again, first)
					bad := map[string]string{
						"doubled": good + good, "space after": good + " ", "space before": " " + good, "newline": good + "\n", "padded": good + "=",
						"upper": strings.ToUpper(good) + "A", "one letter": "A", "garbage": "not a cursor", "zero": "0", "number": "5", "null": "null",
						"a megabyte of letters": strings.Repeat("A", 1<<20), "a megabyte of bytes": strings.Repeat("\xff", 1<<20),
						"a megabyte behind":   good + strings.Repeat("A", 1<<20),
						"a megabyte, encoded": base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("x", 1<<20))),
						"an id":               first[4], "NUL": "\x00",
					}
					for i := 1; i < len(good); i++ {
						bad[fmt.Sprintf("cut to %d", i)] = good[:i]
						bad[fmt.Sprintf("cut by %d", i)] = good[i:]
					}
					for i := range good {
						for bit := range 8 {
							flipped := []byte(good)
							flipped[i] ^= 1 << bit
							bad[fmt.Sprintf("bit %d of byte %d", bit, i)] = string(flipped)
						}
					}
					for what, cursor := range bad {
						_, _, err := l.page(store.PageRequest{Cursor: cursor})
						b.is(l.name+", "+what, err, store.ErrBadCursor)
					}
					_, _, err = l.page(store.PageRequest{Cursor: good})
					b.ok(err)
				}
			},
		},
		{
			name: "a cursor belongs to its list",
			rule: "a cursor is bound to the query with its selection: every other list refuses it",
			run: func(b *treeBundle) {
				last := seedLists(b, 12)
				b.append("s00001", rootNode("n00000"))
				for _, id := range numbered("leaf", 11) {
					b.append("s00001", childNode(id, "n00000"))
				}
				lists := treeLists(b, "s00000", "n00000", last)
				for i, l := range treeLists(b, "s00001", "n00000", "leaf00000")[2:] {
					l.name += " of another session"
					lists = append(lists, l)
					_ = i
				}
				sessions := func(name string, f store.SessionFilter) {
					lists = append(lists, treeListOf(name, func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
						return b.s.ListSessions(b.ctx, f, p)
					}, func(i store.SessionInfo) string { return i.ID }))
				}
				sessions("not that kind", store.SessionFilter{NotKinds: []string{"session"}})
				sessions("two kinds", store.SessionFilter{Kinds: []string{"session", "x"}})
				sessions("other two kinds", store.SessionFilter{Kinds: []string{"session", "y"}})
				sessions("kind and not", store.SessionFilter{Kinds: []string{"session"}, NotKinds: []string{"x"}})
				sessions("no kind", store.SessionFilter{Kinds: []string{}})
				sessions("not another kind", store.SessionFilter{NotKinds: []string{"x"}})
				node := func(name string, list func(store.PageRequest) (store.Page[store.Node], error)) {
					lists = append(lists, treeListOf(name, list, func(n store.Node) string { return n.ID }))
				}
				node("children of another", func(p store.PageRequest) (store.Page[store.Node], error) {
					return b.s.ListChildren(b.ctx, "s00000", "n00001", p)
				})
				node("history of another", func(p store.PageRequest) (store.Page[store.Node], error) {
					return b.s.ListHistory(b.ctx, "s00000", "n00005", p)
				})
				for _, from := range lists {
					_, cursor, err := from.page(store.PageRequest{Limit: 2})
					b.ok(err)
					if cursor == "" {
						continue
					}
					for _, to := range lists {
						_, _, err := to.page(store.PageRequest{Cursor: cursor})
						if to.name == from.name {
							b.ok(err)
							continue
						}
						b.is("a cursor of "+from.name+" in "+to.name, err, store.ErrBadCursor)
					}
				}
			},
		},
		{
			name: "a cursor belongs to its store",
			rule: "a cursor is bound to the store: another store with the same content refuses it",
			run: func(b *treeBundle) {
				last := seedLists(b, 12)
				other := newTreeBundle(b.t, b.f)
				seedLists(other, 12)
				theirs := treeLists(other, "s00000", "n00000", last)
				for i, l := range treeLists(b, "s00000", "n00000", last) {
					_, cursor, err := l.page(store.PageRequest{Limit: 2})
					b.ok(err)
					if cursor == "" {
						continue
					}
					_, _, err = theirs[i].page(store.PageRequest{Cursor: cursor})
					b.is(l.name, err, store.ErrBadCursor)
				}
			},
		},
		{
			name: "the order of a selection does not matter",
			rule: "a selection is a set of kinds: naming them in another order, or twice, is the same selection",
			run: func(b *treeBundle) {
				seedLists(b, 12)
				page, err := b.s.ListSessions(b.ctx, store.SessionFilter{Kinds: []string{"session", "x"}}, store.PageRequest{Limit: 5})
				b.ok(err)
				rest, err := b.s.ListSessions(b.ctx, store.SessionFilter{Kinds: []string{"x", "session", "x"}}, store.PageRequest{Cursor: page.Next})
				b.ok(err)
				b.equal("items", len(page.Items)+len(rest.Items), 12)
			},
		},
		{
			name: "the limit may change",
			rule: "a cursor is a position: the next page may be of another size",
			run: func(b *treeBundle) {
				last := seedLists(b, 12)
				for _, l := range treeLists(b, "s00000", "n00000", last) {
					want := l.walk(b, 0, nil)
					got, cursor, err := l.page(store.PageRequest{Limit: 2})
					b.ok(err)
					for limit := 1; cursor != ""; limit += 2 {
						ids, next, err := l.page(store.PageRequest{Limit: limit, Cursor: cursor})
						b.ok(err)
						got, cursor = append(got, ids...), next
					}
					b.equal(l.name, got, want)
				}
			},
		},
		{
			name: "the tree may end meanwhile",
			rule: "Contract, actors: deletion and expiry can interrupt paging: the next page says not found; a tree created later under the name does not go on with it",
			run: func(b *treeBundle) {
				for _, end := range []struct {
					name string
					end  func()
				}{
					{"deleted", func() { b.delete("example", true) }},
					{"expired", func() { b.clock.advance(11 * time.Second) }},
				} {
					b.createFor("example", store.Seconds(10))
					b.append("example", rootNode("r"))
					for _, id := range numbered("n", 9) {
						b.append("example", childNode(id, "r"))
					}
					b.append("example", childNode("n", "n00000"), childNode("o", "n"))
					lists := treeLists(b, "example", "r", "o")[2:]
					cursors := make([]string, len(lists))
					for i, l := range lists {
						var err error
						_, cursors[i], err = l.page(store.PageRequest{Limit: 2})
						b.ok(err)
					}
					end.end()
					for i, l := range lists {
						_, _, err := l.page(store.PageRequest{Cursor: cursors[i]})
						b.noSession(err, "example")
					}
					b.seed("example", "r", append(numbered("n", 9), "o")...)
					for i, l := range lists {
						if cursors[i] == "" {
							continue
						}
						_, _, err := l.page(store.PageRequest{Cursor: cursors[i]})
						b.is(end.name+", "+l.name, err, store.ErrBadCursor)
					}
					b.delete("example", true)
				}
			},
		},
	}
}
