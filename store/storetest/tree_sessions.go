package storetest

import (
	"errors"
	"strings"
	"time"

	"treering/store"
)

// oddIDs are ids that something between a caller and a store likes to break.
func oddIDs() []string {
	return []string{
		"a", "A", "a ", " a", "á", "a\u0301", // one composed, one not
		"'", `"`, "`", "''", "%", "_", "a%", "*", "?", "[a]", `\`, `\n`, "\n", "\t", "\r\n", "\x01", "\x7f", "\u0085",
		"../a", "a/b", "a:b", "a,b", "a;b--", "NULL", "null", "0", "-1", "1e3", "{}", "$1", "?1", ":id", "@id",
		"\u202eevil", "שלום", "مرحبا", "日本語", "👩‍👩‍👧", "\ufeff", "\ufffd", "\U0010ffff", "\u200b",
		strings.Repeat("x", store.MaxIDBytes), strings.Repeat("é", store.MaxIDBytes/2), strings.Repeat("x", store.MaxIDBytes-1) + "y",
	}
}

// impossibleIDs are ids that no store of ours takes, with the reason.
func impossibleIDs() map[string]error {
	return map[string]error{
		"":                                      store.ErrEmptyID,
		strings.Repeat("x", store.MaxIDBytes+1): store.ErrTooLong,
		strings.Repeat("é", store.MaxIDBytes/2) + "x": store.ErrTooLong,
		"a\x00b":       store.ErrNotText,
		"\x00":         store.ErrNotText,
		"a\xff":        store.ErrNotText,
		"\xed\xa0\x80": store.ErrNotText, // a half surrogate
	}
}

func treeSessionCases() []treeCase {
	return []treeCase{
		{
			name: "a new tree is empty",
			rule: "Contract, create: creates an empty tree",
			run: func(b *treeBundle) {
				info, err := b.s.CreateSession(b.ctx, "example", "docker-build", nil)
				b.ok(err)
				want := store.SessionInfo{ID: "example", Kind: "docker-build"}
				b.equal("created", info, want)
				got, err := b.s.Session(b.ctx, "example")
				b.ok(err)
				b.equal("read", got, want)
				b.equal("nodes", b.all("example"), []string{})
				b.equal("roots", b.children("example", ""), []string{})
				b.equal("count", b.count("example"), int64(0))
			},
		},
		{
			name: "creating again changes nothing",
			rule: "Contract, create: repeating it with the same kind returns the existing tree without renewing its TTL",
			run: func(b *treeBundle) {
				first := b.createFor("example", store.Seconds(60))
				b.append("example", rootNode("r"))
				b.clock.advance(10 * time.Second)
				for _, ttl := range []*float64{nil, store.Seconds(0), store.Seconds(3600)} {
					b.equal("created again", b.createFor("example", ttl), first)
				}
				b.equal("nodes", b.all("example"), []string{"r"})
				b.clock.advance(51 * time.Second)
				b.absent("example", "r")
			},
		},
		{
			name: "another kind is refused",
			rule: "Contract, create: a different kind raises; a tree's kind is immutable",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				before := b.dump()
				_, err := b.s.CreateSession(b.ctx, "example", "upload-cache", store.Seconds(1))
				b.is("create", err, store.ErrKindMismatch)
				var e *store.KindMismatchError
				if !errors.As(err, &e) {
					b.t.Fatalf("error is %T, want *KindMismatchError", err)
				}
				b.equal("mismatch", *e, store.KindMismatchError{Session: "example", Stored: "session", Given: "upload-cache"})
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "an expired tree gives its name to a new one",
			rule: "another kind on an expired tree is a new tree, and creating the name again starts an empty tree in which no old node is visible",
			run: func(b *treeBundle) {
				b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"), childNode("a", "r"))
				b.clock.advance(11 * time.Second)
				info, err := b.s.CreateSession(b.ctx, "example", "docker-build", nil)
				b.ok(err)
				b.equal("created", info, store.SessionInfo{ID: "example", Kind: "docker-build"})
				b.expectEmpty("example", "r", "a")
			},
		},
		{
			name: "odd ids are ids",
			rule: "session ids are any valid UTF-8 without NUL: they are compared byte by byte, and no character means anything",
			run: func(b *treeBundle) {
				ids := oddIDs()
				for _, id := range ids {
					b.createFor(id, nil)
				}
				for _, id := range ids {
					got, err := b.s.Session(b.ctx, id)
					b.ok(err)
					b.equal("id", got.ID, id)
				}
				b.inOrder("sessions", b.sessions(store.SessionFilter{}), ids)
			},
		},
		{
			name: "odd kinds are kinds",
			rule: "a tree's kind is any valid UTF-8 without NUL, is given back unchanged and can be selected",
			run: func(b *treeBundle) {
				for i, kind := range oddIDs() {
					id := numbered("s", i+1)[i]
					_, err := b.s.CreateSession(b.ctx, id, kind, nil)
					b.ok(err)
					got, err := b.s.Session(b.ctx, id)
					b.ok(err)
					b.equal("kind", got.Kind, kind)
					b.equal("selected", b.sessions(store.SessionFilter{Kinds: []string{kind}}), []string{id})
					b.equal("selected among two", b.sessions(store.SessionFilter{Kinds: []string{kind, "nobody's"}}), []string{id})
				}
				b.equal("excluded", b.sessions(store.SessionFilter{NotKinds: oddIDs()}), []string{})
			},
		},
		{
			name: "impossible ids and kinds are refused",
			rule: "ids and kinds have 1 to 512 bytes of valid UTF-8 without NUL; a refused value is a *ValueError and nothing is written",
			run: func(b *treeBundle) {
				for id, want := range impossibleIDs() {
					_, err := b.s.CreateSession(b.ctx, id, "session", nil)
					b.refused("create", err, "session id", want)
					_, err = b.s.CreateSession(b.ctx, "example", id, nil)
					b.refused("create", err, "kind", want)
				}
				b.equal("store", len(b.dump()), 0)
			},
		},
		{
			name: "what cannot exist is missing",
			rule: "looking up an id that no tree can have finds nothing; only writing one is refused",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				for id := range impossibleIDs() {
					_, err := b.s.Session(b.ctx, id)
					b.noSession(err, id)
					_, err = b.s.ListNodes(b.ctx, id, store.PageRequest{})
					b.noSession(err, id)
					_, err = b.s.Node(b.ctx, "example", id)
					b.missing(err, store.NotFoundError{What: "node", ID: id, In: "example"})
					_, err = b.s.ListHistory(b.ctx, "example", id, store.PageRequest{})
					b.missing(err, store.NotFoundError{What: "node", ID: id, In: "example"})
					if id != "" {
						_, err = b.s.ListChildren(b.ctx, "example", id, store.PageRequest{})
						b.missing(err, store.NotFoundError{What: "node", ID: id, In: "example"})
					}
					existed, err := b.s.DeleteSession(b.ctx, id)
					b.ok(err)
					b.equal("existed", existed, false)
				}
			},
		},
		{
			name: "kinds are selected before paging",
			rule: "Contract, list: filters before pagination; kinds can be selected or excluded; nil is any, empty is none",
			run: func(b *treeBundle) {
				kinds := []string{"session", "upload-cache", "docker-build"}
				byKind := map[string][]string{}
				for i, id := range numbered("s", 30) {
					kind := kinds[i%3]
					_, err := b.s.CreateSession(b.ctx, id, kind, nil)
					b.ok(err)
					byKind[kind] = append(byKind[kind], id)
				}
				all := append(append(append([]string{}, byKind["session"]...), byKind["upload-cache"]...), byKind["docker-build"]...)
				two := append(append([]string{}, byKind["session"]...), byKind["docker-build"]...)
				for _, c := range []struct {
					name string
					f    store.SessionFilter
					want []string
				}{
					{"any", store.SessionFilter{}, all},
					{"none", store.SessionFilter{Kinds: []string{}}, nil},
					{"one", store.SessionFilter{Kinds: []string{"session"}}, byKind["session"]},
					{"one, twice", store.SessionFilter{Kinds: []string{"session", "session"}}, byKind["session"]},
					{"two", store.SessionFilter{Kinds: []string{"session", "docker-build"}}, two},
					{"not one", store.SessionFilter{NotKinds: []string{"upload-cache"}}, two},
					{"not two", store.SessionFilter{NotKinds: []string{"upload-cache", "session"}}, byKind["docker-build"]},
					{"one but not it", store.SessionFilter{Kinds: []string{"session"}, NotKinds: []string{"session"}}, nil},
					{"two less one", store.SessionFilter{Kinds: []string{"session", "docker-build"}, NotKinds: []string{"session"}}, byKind["docker-build"]},
					{"nobody's", store.SessionFilter{Kinds: []string{"x"}}, nil},
					{"impossible", store.SessionFilter{Kinds: []string{"\x00", "\xff", ""}}, nil},
					{"not impossible", store.SessionFilter{NotKinds: []string{"\x00", "\xff", ""}}, all},
					{"other case", store.SessionFilter{Kinds: []string{"Session"}}, nil},
				} {
					b.inOrder(c.name, b.sessions(c.f), c.want)
					page, err := b.s.ListSessions(b.ctx, c.f, store.PageRequest{Limit: 3})
					b.ok(err)
					if len(c.want) > 0 && len(page.Items) == 0 || len(page.Items) > 3 {
						b.t.Fatalf("%s: a page of 3 has %d items", c.name, len(page.Items))
					}
					for _, i := range page.Items {
						if !c.f.Selects(i.Kind) {
							b.t.Fatalf("%s: %q is of kind %q", c.name, i.ID, i.Kind)
						}
					}
				}
			},
		},
	}
}

// expectEmpty demands a live tree without any trace of the nodes it had in an
// earlier life.
func (b *treeBundle) expectEmpty(session string, old ...string) {
	b.t.Helper()
	b.equal("count", b.count(session), int64(0))
	b.equal("nodes", b.all(session), []string{})
	b.equal("roots", b.children(session, ""), []string{})
	slots, err := b.s.Nodes(b.ctx, session, old)
	b.ok(err)
	b.equal("slots", slots, make([]*store.Node, len(old)))
	for _, id := range old {
		want := store.NotFoundError{What: "node", ID: id, In: session}
		_, err := b.s.Node(b.ctx, session, id)
		b.missing(err, want)
		_, err = b.s.ListChildren(b.ctx, session, id, store.PageRequest{})
		b.missing(err, want)
		_, err = b.s.ListHistory(b.ctx, session, id, store.PageRequest{})
		b.missing(err, want)
		b.missing(b.s.Append(b.ctx, session, childNode("late", id)), store.NotFoundError{What: "parent", ID: id, In: session})
	}
	// The same ids may be used again, with other contents.
	last := ""
	for i, id := range old {
		n := store.Node{ID: id, Kind: "again", Data: `{"again":true}`}
		if i > 0 {
			n.ParentID = ptr(last)
		}
		b.append(session, n)
		b.sameNode(session, n)
		last = id
	}
}
