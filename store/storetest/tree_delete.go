package storetest

import (
	"time"

	"treering/store"
)

func treeDeleteCases() []treeCase {
	return []treeCase{
		{
			name: "a deleted tree is gone",
			rule: "Contract, delete: removes the tree and returns whether stored data existed",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a", "b")
				b.seed("example2", "r", "a")
				b.delete("example", true)
				b.absent("example", "r")
				b.delete("example", false)
				b.delete("nobody", false)
				b.inOrder("the other", b.all("example2"), []string{"r", "a"})
			},
		},
		{
			name: "an expired tree existed",
			rule: "Contract, delete: whether stored data existed, including expired data",
			run: func(b *treeBundle) {
				b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"))
				b.clock.advance(11 * time.Second)
				b.delete("example", true)
				b.delete("example", false)
				b.createFor("empty", store.Seconds(0))
				b.delete("empty", true)
			},
		},
		{
			name: "a late append does not bring it back",
			rule: "Contract, delete: a late append cannot recreate a deleted tree",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a")
				b.delete("example", true)
				for _, late := range []store.Node{rootNode("r"), rootNode("new"), childNode("a", "r"), childNode("b", "a")} {
					b.noSession(b.s.Append(b.ctx, "example", late), "example")
				}
				b.absent("example", "r")
				b.delete("example", false)
			},
		},
		{
			name: "the name begins anew",
			rule: "Contract, delete: explicit creation can reuse the name; no node of before is visible in it",
			run: func(b *treeBundle) {
				for range 3 {
					b.seed("example", "r", "a", "b")
					b.delete("example", true)
					b.create("example")
					b.expectEmpty("example", "r", "a", "b")
					b.delete("example", true)
				}
			},
		},
		{
			name: "a late append does not reach the next life",
			rule: "a retry that was meant for a deleted tree finds no parent in its successor, and is not mistaken for stored",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a")
				b.delete("example", true)
				b.seed("example", "r2")
				b.missing(b.s.Append(b.ctx, "example", childNode("a", "r")), store.NotFoundError{What: "parent", ID: "r", In: "example"})
				b.conflict(b.s.Append(b.ctx, "example", rootNode("r")), "example", "r", store.ReasonSecondRoot)
				b.equal("nodes", b.all("example"), []string{"r2"})
			},
		},
		{
			name: "purge takes the expired",
			rule: "purging removes all expired trees, no other, and says how many there were",
			run: func(b *treeBundle) {
				for i, id := range numbered("s", 9) {
					ttl := [...]*float64{nil, store.Seconds(10), store.Seconds(1000)}[i%3]
					b.createFor(id, ttl)
					b.append(id, rootNode("r"), childNode("a", "r"))
				}
				b.clock.advance(11 * time.Second)
				b.purge(3)
				b.purge(0)
				ids := numbered("s", 9)
				for _, id := range pick(ids, 1, 4, 7) {
					b.delete(id, false)
				}
				b.inOrder("left", b.sessions(store.SessionFilter{}), pick(ids, 0, 2, 3, 5, 6, 8))
				b.clock.advance(1000 * time.Second)
				b.purge(3)
				b.create(ids[1])
				b.expectEmpty(ids[1], "r", "a")
			},
		},
		{
			name: "a replaced tree is not counted",
			rule: "an expired tree whose name was created again is gone: deleting finds the new one, purging nothing",
			run: func(b *treeBundle) {
				b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"))
				b.clock.advance(11 * time.Second)
				b.create("example")
				b.purge(0)
				b.delete("example", true)
				b.delete("example", false)
			},
		},
		{
			name: "many nodes go too",
			rule: "a large tree can be deleted, and its name be used again at once",
			run: func(b *treeBundle) {
				ids := numbered("n", size(1200, 60))
				b.seed("example", "r", ids...)
				b.seed("other", "r", "a")
				b.delete("example", true)
				b.absent("example", "r")
				b.create("example")
				b.expectEmpty("example", "r", ids[0])
				b.inOrder("the other", b.all("other"), []string{"r", "a"})
			},
		},
	}
}

func (b *treeBundle) delete(session string, want bool) {
	b.t.Helper()
	existed, err := b.s.DeleteSession(b.ctx, session)
	b.ok(err)
	b.equal("existed "+session, existed, want)
}

func (b *treeBundle) purge(want int) {
	b.t.Helper()
	n, err := b.s.PurgeExpired(b.ctx)
	b.ok(err)
	b.equal("purged", n, want)
}
