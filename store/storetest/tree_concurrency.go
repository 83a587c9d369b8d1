package storetest

import (
	"errors"
	"fmt"
	"sync/atomic"

	"treering/store"
)

func treeConcurrencyCases() []treeCase {
	return []treeCase{
		{
			name: "every actor adds its child",
			rule: "Contract, actors: any number of actors appending under one parent add as many children; none changes another's",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				clients := b.clients()
				actors, each := 16, size(8, 3)
				errs := make([]error, actors)
				together(actors, func(i int) {
					s := clients[i%len(clients)]
					for j := range each {
						n := childNode(fmt.Sprintf("actor%02d-%02d", i, j), "r")
						n.Data = store.JSON(fmt.Sprintf(`{"actor":%d,"n":%d}`, i, j))
						errs[i] = errors.Join(errs[i], s.Append(b.ctx, "example", n), s.Append(b.ctx, "example", n))
					}
				})
				b.ok(errors.Join(errs...))
				b.equal("children", len(b.children("example", "r")), actors*each)
				for i := range actors {
					for j := range each {
						n := childNode(fmt.Sprintf("actor%02d-%02d", i, j), "r")
						n.Data = store.JSON(fmt.Sprintf(`{"actor":%d,"n":%d}`, i, j))
						b.sameNode("example", n)
					}
				}
			},
		},
		{
			name: "every actor extends its own",
			rule: "Contract, actors: each actor can extend its own node while others do",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				clients := b.clients()
				actors, depth := 8, size(12, 4)
				errs := make([]error, actors)
				together(actors, func(i int) {
					at := "r"
					for j := range depth {
						id := fmt.Sprintf("actor%02d-%02d", i, j)
						errs[i] = errors.Join(errs[i], clients[i%len(clients)].Append(b.ctx, "example", childNode(id, at)))
						at = id
					}
				})
				b.ok(errors.Join(errs...))
				b.equal("count", b.count("example"), int64(1+actors*depth))
				for i := range actors {
					b.equal("depth", len(b.history("example", fmt.Sprintf("actor%02d-%02d", i, depth-1))), depth+1)
				}
			},
		},
		{
			name: "one node of many equal appends",
			rule: "Contract, append: repeating the same append adds no duplicate, at the same moment too",
			run: func(b *treeBundle) {
				b.create("example")
				clients := b.clients()
				for _, n := range []store.Node{rootNode("r"), childNode("a", "r")} {
					errs := make([]error, 16)
					together(len(errs), func(i int) { errs[i] = clients[i%len(clients)].Append(b.ctx, "example", n) })
					b.ok(errors.Join(errs...))
					b.sameNode("example", n)
				}
				b.equal("count", b.count("example"), int64(2))
			},
		},
		{
			name: "one winner of many different appends",
			rule: "Contract, append: changing a node under the same id raises: of many at the same moment one wins and stays whole",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				clients := b.clients()
				for round := range size(8, 2) {
					id := numbered("n", round+1)[round]
					errs := make([]error, 12)
					node := func(i int) store.Node {
						return store.Node{ID: id, ParentID: ptr("r"), Kind: "run", Data: store.JSON(fmt.Sprintf(`{"actor":%d}`, i))}
					}
					together(len(errs), func(i int) { errs[i] = clients[i%len(clients)].Append(b.ctx, "example", node(i)) })
					winner := b.oneWinner(errs, func(err error) { b.conflict(err, "example", id, store.ReasonData) })
					b.sameNode("example", node(winner))
				}
			},
		},
		{
			name: "one root of many",
			rule: "Contract, append: a second root raises: of many at the same moment exactly one wins",
			run: func(b *treeBundle) {
				clients := b.clients()
				for round := range size(8, 2) {
					session := numbered("s", round+1)[round]
					b.create(session)
					ids := numbered("root", 12)
					errs := make([]error, len(ids))
					together(len(ids), func(i int) { errs[i] = clients[i%len(clients)].Append(b.ctx, session, rootNode(ids[i])) })
					winner := b.oneWinner(errs, func(err error) { b.is("a loser", err, store.ErrNodeConflict) })
					b.equal("roots", b.children(session, ""), []string{ids[winner]})
					b.equal("count", b.count(session), int64(1))
				}
			},
		},
		{
			name: "one kind of many",
			rule: "Contract, create: a tree's kind is immutable: of many creations at the same moment those of one kind succeed",
			run: func(b *treeBundle) {
				clients := b.clients()
				for round := range size(8, 2) {
					session := numbered("s", round+1)[round]
					errs := make([]error, 12)
					kind := func(i int) string { return fmt.Sprintf("kind-%d", i%3) }
					together(len(errs), func(i int) {
						_, errs[i] = clients[i%len(clients)].CreateSession(b.ctx, session, kind(i), nil)
					})
					info, err := b.s.Session(b.ctx, session)
					b.ok(err)
					for i, err := range errs {
						if kind(i) == info.Kind {
							b.ok(err)
							continue
						}
						b.is(kind(i)+" where "+info.Kind+" won", err, store.ErrKindMismatch)
					}
				}
			},
		},
		{
			name: "deletion ends appending",
			rule: "Contract, calls: concurrent calls take either order: an append lands before the deletion or finds no tree; nothing comes back",
			run: func(b *treeBundle) {
				clients := b.clients()
				for round := range size(8, 2) {
					session := numbered("s", round+1)[round]
					b.seed(session, "r")
					errs := make([]error, 8)
					var existed atomic.Int32
					together(len(errs), func(i int) {
						s := clients[i%len(clients)]
						if i < 2 {
							var yes bool
							if yes, errs[i] = s.DeleteSession(b.ctx, session); yes {
								existed.Add(1)
							}
							return
						}
						for j := 0; j < 20 && errs[i] == nil; j++ {
							errs[i] = s.Append(b.ctx, session, childNode(fmt.Sprintf("n%d-%d", i, j), "r"))
						}
					})
					b.ok(errors.Join(errs[:2]...))
					b.equal("deletions that found it", existed.Load(), int32(1))
					for _, err := range errs[2:] {
						if err != nil {
							b.noSession(err, session)
						}
					}
					b.absent(session, "r")
				}
			},
		},
		{
			name: "a batch is of one moment",
			rule: "Contract, get nodes: one atomic call: a node is never seen without the parent that was there before it",
			run: func(b *treeBundle) {
				ids := numbered("n", size(150, 25))
				b.create("example")
				b.append("example", rootNode(ids[0]))
				clients := b.clients()
				done := make(chan error, 1)
				go func() {
					for i := 1; i < len(ids); i++ {
						if err := clients[i%len(clients)].Append(b.ctx, "example", childNode(ids[i], ids[i-1])); err != nil {
							done <- err
							return
						}
					}
					done <- nil
				}()
				// Asked from the youngest to the oldest, so that reading one by one would see a
				// node and miss an earlier one.
				asked := make([]string, len(ids))
				for i, id := range ids {
					asked[len(ids)-1-i] = id
				}
				for seen := 0; seen < len(ids); {
					slots, err := b.s.Nodes(b.ctx, "example", asked)
					b.ok(err)
					seen = 0
					for i, slot := range slots {
						if slot != nil {
							seen++
						} else if seen > 0 {
							b.t.Fatalf("%q is there, its ancestor %q is not", asked[i-1], asked[i])
						}
					}
					select {
					case err := <-done:
						b.ok(err)
						done <- nil
					default:
					}
				}
				b.ok(<-done)
			},
		},
		{
			name: "what is written is seen",
			rule: "Contract, calls: a successful write is visible to subsequent reads from any client",
			run: func(b *treeBundle) {
				clients := b.clients()
				other := clients[len(clients)-1]
				b.create("example")
				b.append("example", rootNode("r"))
				at := "r"
				for i, id := range numbered("n", size(50, 10)) {
					writer, reader := b.s, other
					if i%2 == 1 {
						writer, reader = other, b.s
					}
					b.ok(writer.Append(b.ctx, "example", childNode(id, at)))
					got, err := reader.Node(b.ctx, "example", id)
					b.ok(err)
					b.equal("seen by another", got, childNode(id, at))
					n, err := reader.CountNodes(b.ctx, "example")
					b.ok(err)
					b.equal("count", n, int64(i+2))
					at = id
				}
				existed, err := other.DeleteSession(b.ctx, "example")
				b.ok(err)
				b.equal("existed", existed, true)
				b.absent("example", "r")
			},
		},
	}
}

// oneWinner demands that exactly one of the calls succeeded and hands the errors
// of the others over.
func (b *treeBundle) oneWinner(errs []error, loser func(error)) int {
	b.t.Helper()
	winner := -1
	for i, err := range errs {
		switch {
		case err != nil:
			loser(err)
		case winner >= 0:
			b.t.Fatalf("calls %d and %d have both won", winner, i)
		default:
			winner = i
		}
	}
	if winner < 0 {
		b.t.Fatal("nobody has won")
	}
	return winner
}
