package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"treering/store"
)

// treeCalls are all calls of the contract but Close, on a tree "example" with the
// nodes "r" and "a".
func treeCalls(s store.TreeStore) map[string]func(context.Context) error {
	page := store.PageRequest{}
	return map[string]func(context.Context) error{
		"CreateSession": func(ctx context.Context) error {
			_, err := s.CreateSession(ctx, "new", "session", nil)
			return err
		},
		"Session": func(ctx context.Context) error { _, err := s.Session(ctx, "example"); return err },
		"SetSessionTTL": func(ctx context.Context) error {
			_, err := s.SetSessionTTL(ctx, "example", store.Seconds(5))
			return err
		},
		"DeleteSession": func(ctx context.Context) error { _, err := s.DeleteSession(ctx, "example"); return err },
		"PurgeExpired":  func(ctx context.Context) error { _, err := s.PurgeExpired(ctx); return err },
		"CountExpired":  func(ctx context.Context) error { _, err := s.CountExpired(ctx); return err },
		"Append":        func(ctx context.Context) error { return s.Append(ctx, "example", childNode("new", "r")) },
		"Append, again": func(ctx context.Context) error { return s.Append(ctx, "example", childNode("a", "r")) },
		"Node":          func(ctx context.Context) error { _, err := s.Node(ctx, "example", "a"); return err },
		"Nodes":         func(ctx context.Context) error { _, err := s.Nodes(ctx, "example", []string{"a"}); return err },
		"ListSessions": func(ctx context.Context) error {
			_, err := s.ListSessions(ctx, store.SessionFilter{}, page)
			return err
		},
		"ListSessions, none": func(ctx context.Context) error {
			_, err := s.ListSessions(ctx, store.SessionFilter{Kinds: []string{}}, page)
			return err
		},
		"ListNodes":    func(ctx context.Context) error { _, err := s.ListNodes(ctx, "example", page); return err },
		"ListChildren": func(ctx context.Context) error { _, err := s.ListChildren(ctx, "example", "r", page); return err },
		"ListHistory":  func(ctx context.Context) error { _, err := s.ListHistory(ctx, "example", "a", page); return err },
		"CountNodes":   func(ctx context.Context) error { _, err := s.CountNodes(ctx, "example"); return err },
	}
}

func treeLifecycleCases() []treeCase {
	return []treeCase{
		{
			name: "a cancelled call does nothing",
			rule: "a context that has ended before the call: the call fails with its error and nothing is written",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a")
				b.createFor("expired", store.Seconds(0))
				before := b.dump()
				ctx, cancel := context.WithCancel(b.ctx)
				cancel()
				calls := treeCalls(b.s)
				for _, name := range slices.Sorted(maps.Keys(calls)) {
					b.is(name, calls[name](ctx), context.Canceled)
				}
				b.equal("store", b.dump(), before)
				b.purge(1) // the expired one is still there
			},
		},
		{
			name: "a call cancelled midway leaves nothing half done",
			rule: "cancelling abandons the wait: an append is there whole or not at all, and the store goes on working",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				ids := numbered("n", size(60, 15))
				answers := make([]error, len(ids))
				together(len(ids), func(i int) {
					ctx, cancel := context.WithCancel(b.ctx)
					done := make(chan struct{})
					go func() {
						defer close(done)
						answers[i] = b.s.Append(ctx, "example", childNode(ids[i], "r"))
					}()
					cancel()
					<-done
				})
				slots, err := b.s.Nodes(b.ctx, "example", ids)
				b.ok(err)
				for i, err := range answers {
					switch {
					case err == nil && slots[i] == nil:
						b.t.Fatalf("%q was appended, but is not there", ids[i])
					case err != nil && !errors.Is(err, context.Canceled):
						b.t.Fatalf("%q: %v", ids[i], err)
					case err != nil && slots[i] != nil && !errors.Is(err, store.ErrOutcomeUnknown):
						b.t.Fatalf("%q is there, but the answer was %v", ids[i], err)
					case slots[i] != nil:
						b.equal("node", *slots[i], childNode(ids[i], "r"))
					}
				}
				b.append("example", childNode("after", "r"))
			},
		},
		{
			name: "a closed store says so",
			rule: "calls after Close fail with ErrClosed; closing again does nothing",
			run: func(b *treeBundle) {
				b.seed("example", "r", "a")
				b.ok(b.s.Close())
				b.closed = true
				calls := treeCalls(b.s)
				for _, name := range slices.Sorted(maps.Keys(calls)) {
					b.is(name, calls[name](b.ctx), store.ErrClosed)
				}
				b.ok(b.s.Close())
			},
		},
		{
			name:  "what was written is there later",
			rule:  "a durable backend has everything after it was closed and opened again: trees, expiries, nodes with their text, cursors",
			needs: func(c TreeCaps) bool { return c.Durable },
			run: func(b *treeBundle) {
				b.createFor("example", store.Seconds(100))
				b.append("example", rootNode("r"))
				for i, pair := range equalData {
					n := childNode(numbered("n", i+1)[i], "r")
					n.Data = pair[1]
					b.append("example", n)
				}
				b.seed("other", "r", "a")
				b.delete("other", true)
				before := b.dump()
				page, err := b.s.ListNodes(b.ctx, "example", store.PageRequest{Limit: 3})
				b.ok(err)
				b.s = b.f.Reopen(b.t, b.s, b.clock.now)
				b.equal("store", b.dump(), before)
				rest, err := b.s.ListNodes(b.ctx, "example", store.PageRequest{Cursor: page.Next})
				b.ok(err)
				b.equal("nodes", len(page.Items)+len(rest.Items), len(equalData)+1)
				b.append("example", rootNode("r"), childNode("later", "r"))
			},
		},
		{
			name: "a cursor goes from client to client",
			rule: "a cursor is bound to the store, not to the client that got it",
			run: func(b *treeBundle) {
				b.seed("example", "r", numbered("n", 10)...)
				clients := b.clients()
				other := clients[len(clients)-1]
				page, err := b.s.ListNodes(b.ctx, "example", store.PageRequest{Limit: 4})
				b.ok(err)
				rest, err := other.ListNodes(b.ctx, "example", store.PageRequest{Cursor: page.Next})
				b.ok(err)
				b.equal("items", len(page.Items)+len(rest.Items), 11)
			},
		},
	}
}
