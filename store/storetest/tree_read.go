package storetest

import (
	"fmt"
	"strings"
	"time"

	"treering/store"
)

func treeReadCases() []treeCase {
	return []treeCase{
		{
			name: "the contract's own scenario",
			rule: "Contract, nodes and tree kinds: a root, two runs below it, one delivered twice",
			run: func(b *treeBundle) {
				_, err := b.s.CreateSession(b.ctx, "example", "session", store.Seconds(3600))
				b.ok(err)
				root := store.Node{ID: store.NewID(), Kind: "init", Data: `{"image_uuid": "base-image"}`}
				first := store.Node{ID: store.NewID(), ParentID: &root.ID, Kind: "run", Data: `{"user": {"label": "first"}}`}
				second := store.Node{ID: store.NewID(), ParentID: &root.ID, Kind: "run", Data: `{"user": {"label": "second"}}`}
				b.append("example", root, first, second, first)
				slots, err := b.s.Nodes(b.ctx, "example", []string{first.ID, "missing"})
				b.ok(err)
				b.equal("slots", slots, []*store.Node{&first, nil})
				children, err := b.s.ListChildren(b.ctx, "example", root.ID, store.PageRequest{})
				b.ok(err)
				b.equal("children", len(children.Items), 2)
				page, err := b.s.ListSessions(b.ctx, store.SessionFilter{Kinds: []string{"session"}}, store.PageRequest{Limit: 20})
				b.ok(err)
				b.equal("listed", page.Items[0].ID, "example")
			},
		},
		{
			name: "a batch keeps its order",
			rule: "Contract, get nodes: up to 1000 identities in one call; input order and duplicates are preserved, missing nodes are empty slots",
			run: func(b *treeBundle) {
				ids := numbered("n", size(700, 80))
				b.seed("example", "r", ids...)
				asked := make([]string, 0, store.MaxNodeIDs)
				for i := 0; len(asked) < store.MaxNodeIDs; i++ {
					switch i % 5 {
					case 0, 1: // descending, so not the store's own order
						asked = append(asked, ids[len(ids)-1-i%len(ids)])
					case 2:
						asked = append(asked, ids[7])
					case 3:
						asked = append(asked, fmt.Sprintf("missing-%d", i))
					default:
						asked = append(asked, []string{"", "\xff", "\x00", strings.Repeat("x", 1000), "N00001"}[i/5%5])
					}
				}
				slots, err := b.s.Nodes(b.ctx, "example", asked)
				b.ok(err)
				b.equal("slots", len(slots), len(asked))
				for i, slot := range slots {
					stored := i%5 <= 2
					switch {
					case stored != (slot != nil):
						b.t.Fatalf("slot %d of %q is %v", i, asked[i], slot)
					case stored:
						b.equal("slot", *slot, childNode(asked[i], "r"))
					}
				}
			},
		},
		{
			name: "a batch has a bound",
			rule: "Contract, get nodes: up to 1000; more are refused, also where they are few different ones",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				for _, ids := range [][]string{numbered("n", store.MaxNodeIDs+1), make([]string, store.MaxNodeIDs+1)} {
					_, err := b.s.Nodes(b.ctx, "example", ids)
					b.refused("Nodes", err, "node ids", store.ErrTooManyIDs)
				}
				slots, err := b.s.Nodes(b.ctx, "example", numbered("n", store.MaxNodeIDs))
				b.ok(err)
				b.equal("slots", len(slots), store.MaxNodeIDs)
			},
		},
		{
			name: "an empty batch needs its tree",
			rule: "Contract, get nodes: a missing or expired tree raises, including for an empty batch",
			run: func(b *treeBundle) {
				for _, ids := range [][]string{nil, {}} {
					_, err := b.s.Nodes(b.ctx, "nobody", ids)
					b.noSession(err, "nobody")
				}
				b.createFor("example", store.Seconds(10))
				slots, err := b.s.Nodes(b.ctx, "example", nil)
				b.ok(err)
				b.equal("slots", len(slots), 0)
				b.clock.advance(11 * time.Second)
				_, err = b.s.Nodes(b.ctx, "example", nil)
				b.noSession(err, "example")
			},
		},
		{
			name: "a missing tree is missing everywhere",
			rule: "Contract, get: none for a missing or expired tree; every read of one raises the same",
			run: func(b *treeBundle) {
				b.absent("nobody", "r")
				b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"), childNode("a", "r"))
				b.clock.advance(11 * time.Second)
				b.absent("example", "r")
			},
		},
		{
			name: "a missing node is missing everywhere",
			rule: "Contract, reads: reading a missing node raises; so do its children and its history, which are not just empty",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a")
				b.seed("other", "o")
				for _, id := range []string{"nobody", "o", "A", "a "} {
					want := store.NotFoundError{What: "node", ID: id, In: "example"}
					_, err := b.s.Node(b.ctx, "example", id)
					b.missing(err, want)
					_, err = b.s.ListChildren(b.ctx, "example", id, store.PageRequest{})
					b.missing(err, want)
					_, err = b.s.ListHistory(b.ctx, "example", id, store.PageRequest{})
					b.missing(err, want)
				}
			},
		},
		{
			name: "children are those of one node",
			rule: "Contract, list children: filters before pagination and orders by identity; only direct children",
			run: func(b *treeBundle) {
				b.seed("example", "r", "c", "a", "b")
				b.append("example", childNode("aa", "a"), childNode("z", "a"), childNode("m", "a"), childNode("deep", "m"))
				b.inOrder("of r", b.children("example", "r"), []string{"a", "b", "c"})
				b.inOrder("of a", b.children("example", "a"), []string{"aa", "m", "z"})
				b.equal("of a leaf", b.children("example", "deep"), []string{})
				b.equal("roots", b.children("example", ""), []string{"r"})
			},
		},
		{
			name:  "lists are in identity order",
			rule:  "Contract, list: orders by identity, byte by byte, whatever the order of appending",
			needs: func(c TreeCaps) bool { return c.IdentityOrder },
			run: func(b *treeBundle) {
				ids := []string{"b", "a", "B", "é", "z", "10", "9", "\u00ff", "\U00010000", "\uffff", "aa", "a b"}
				b.seed("example", "r", ids...)
				b.equal("children", b.children("example", "r"), sorted(ids))
				b.equal("nodes", b.all("example"), sorted(append([]string{"r"}, ids...)))
				for _, id := range ids {
					b.create(id)
				}
				b.equal("sessions", b.sessions(store.SessionFilter{}), sorted(append([]string{"example"}, ids...)))
			},
		},
		{
			name: "history goes up",
			rule: "Contract, list history: follows parents from the specified node, beginning with it",
			run: func(b *treeBundle) {
				b.seed("example", "m", "z", "a") // no order of ids in it
				b.append("example", childNode("b", "z"), childNode("y", "b"), childNode("x", "b"))
				b.equal("of the root", b.history("example", "m"), []string{"m"})
				b.equal("of y", b.history("example", "y"), []string{"y", "b", "z", "m"})
				b.equal("of x", b.history("example", "x"), []string{"x", "b", "z", "m"})
			},
		},
		{
			name: "history stays while others append",
			rule: "Contract, actors: the ancestry of a known node is stable while other actors append",
			run: func(b *treeBundle) {
				b.create("example")
				b.append("example", rootNode("n00000"))
				ids := numbered("n", 30)
				for i := 1; i < len(ids); i++ {
					b.append("example", childNode(ids[i], ids[i-1]))
				}
				n := 0
				got := b.nodeIDs(func(p store.PageRequest) (store.Page[store.Node], error) {
					n++
					b.append("example", childNode(numbered("branch", n+1)[n], ids[n%len(ids)]), childNode(numbered("m", n+1)[n], ids[29]))
					p.Limit = 4
					return b.s.ListHistory(b.ctx, "example", ids[29], p)
				})
				want := make([]string, len(ids))
				for i, id := range ids {
					want[len(ids)-1-i] = id
				}
				b.equal("history", got, want)
			},
		},
		{
			name: "deep trees have a history",
			rule: "depth has no bound: a history of many thousand nodes is paged from end to end",
			run: func(b *treeBundle) {
				ids := numbered("n", size(10_000, 300))
				b.create("example")
				b.append("example", rootNode(ids[0]))
				for i := 1; i < len(ids); i++ {
					b.append("example", childNode(ids[i], ids[i-1]))
				}
				got := b.history("example", ids[len(ids)-1])
				b.equal("length", len(got), len(ids))
				for i, id := range got {
					if want := ids[len(ids)-1-i]; id != want {
						b.t.Fatalf("step %d is %q, want %q", i, id, want)
					}
				}
				b.equal("count", b.count("example"), int64(len(ids)))
			},
		},
	}
}
