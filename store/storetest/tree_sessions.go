package storetest

import (
	"errors"
	"math"
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

func treeTTLCases() []treeCase {
	return []treeCase{
		{
			name: "without one the tree stays",
			rule: "Contract, TTL: none retains the tree until deletion",
			run: func(b *treeBundle) {
				b.seed("example", "r")
				b.clock.advance(200 * 365 * 24 * time.Hour)
				b.equal("count", b.count("example"), int64(1))
				purged, err := b.s.PurgeExpired(b.ctx)
				b.ok(err)
				b.equal("purged", purged, 0)
			},
		},
		{
			name: "zero expires at once",
			rule: "Contract, TTL: zero expires immediately",
			run: func(b *treeBundle) {
				info := b.createFor("example", store.Seconds(0))
				if info.ExpiresAt == nil {
					b.t.Fatal("created with ttl 0, but without an expiry")
				}
				b.absent("example", "r")
				b.seed("other", "r")
				_, err := b.s.SetSessionTTL(b.ctx, "other", store.Seconds(math.Copysign(0, -1)))
				b.ok(err)
				b.absent("other", "r")
			},
		},
		{
			name: "it ends when it ends",
			rule: "Contract, TTL: seconds from now by the store's clock; a missing and an expired tree are one answer",
			run: func(b *treeBundle) {
				now := seconds(b.clock)
				info := b.createFor("example", store.Seconds(10.5))
				b.expires(info, now+10.5)
				b.append("example", rootNode("r"))
				got, err := b.s.Session(b.ctx, "example")
				b.ok(err)
				b.equal("read", got, info)
				b.clock.advance(9 * time.Second)
				b.equal("count", b.count("example"), int64(1))
				b.clock.advance(1500 * time.Millisecond)
				b.absent("example", "r")
			},
		},
		{
			name: "bad ones are refused",
			rule: "Contract, TTL: negative or nonfinite raises; nothing is written",
			run: func(b *treeBundle) {
				b.createFor("example", store.Seconds(10))
				before := b.dump()
				for _, ttl := range []float64{-1, -math.SmallestNonzeroFloat64, -math.MaxFloat64, math.NaN(), math.Inf(1), math.Inf(-1)} {
					_, err := b.s.CreateSession(b.ctx, "other", "session", &ttl)
					b.refused("create", err, "ttl", store.ErrBadTTL)
					_, err = b.s.CreateSession(b.ctx, "example", "session", &ttl)
					b.refused("create again", err, "ttl", store.ErrBadTTL)
					_, err = b.s.SetSessionTTL(b.ctx, "example", &ttl)
					b.refused("set", err, "ttl", store.ErrBadTTL)
				}
				b.equal("store", b.dump(), before)
			},
		},
		{
			name: "setting counts from now",
			rule: "Contract, set TTL: sets a new expiry from now, for the whole tree",
			run: func(b *treeBundle) {
				b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"))
				b.clock.advance(8 * time.Second)
				now := seconds(b.clock)
				info, err := b.s.SetSessionTTL(b.ctx, "example", store.Seconds(20))
				b.ok(err)
				b.equal("id and kind", []string{info.ID, info.Kind}, []string{"example", "session"})
				b.expires(info, now+20)
				b.clock.advance(19 * time.Second)
				b.equal("count", b.count("example"), int64(1))

				info, err = b.s.SetSessionTTL(b.ctx, "example", nil)
				b.ok(err)
				b.equal("without", info, store.SessionInfo{ID: "example", Kind: "session"})
				b.clock.advance(1000 * time.Hour)
				b.equal("count", b.count("example"), int64(1))

				_, err = b.s.SetSessionTTL(b.ctx, "example", store.Seconds(5)) // shorter than before
				b.ok(err)
				b.clock.advance(6 * time.Second)
				b.absent("example", "r")
			},
		},
		{
			name: "nothing sets one for an absent tree",
			rule: "a TTL for a missing or expired tree is not found: expiry cannot be taken back",
			run: func(b *treeBundle) {
				_, err := b.s.SetSessionTTL(b.ctx, "nobody", store.Seconds(10))
				b.noSession(err, "nobody")
				b.createFor("example", store.Seconds(10))
				b.clock.advance(11 * time.Second)
				_, err = b.s.SetSessionTTL(b.ctx, "example", store.Seconds(10))
				b.noSession(err, "example")
				b.absent("example", "r")
			},
		},
		{
			name: "reads and appends do not renew it",
			rule: "Contract, TTL: reads and append do not renew",
			run: func(b *treeBundle) {
				info := b.createFor("example", store.Seconds(10))
				b.append("example", rootNode("r"))
				b.clock.advance(5 * time.Second)
				for name, read := range b.reads("example", "r") {
					if err := read(); err != nil {
						b.t.Fatalf("%s: %v", name, err)
					}
				}
				b.append("example", childNode("a", "r"), rootNode("r"))
				b.sessions(store.SessionFilter{})
				got, err := b.s.Session(b.ctx, "example")
				b.ok(err)
				b.equal("session", got, info)
				b.clock.advance(6 * time.Second)
				b.absent("example", "r")
			},
		},
		{
			name: "the largest and the smallest work",
			rule: "any finite ttl is taken: the expiry is finite, never sooner than asked for, and does not wrap around",
			run: func(b *treeBundle) {
				now := seconds(b.clock)
				for i, ttl := range []float64{1e10, 1e18, 1e300, math.MaxFloat64} {
					id := numbered("large", i+1)[i]
					info := b.createFor(id, &ttl)
					if at := info.ExpiresAt; at == nil || math.IsInf(*at, 0) || *at < ttl {
						b.t.Fatalf("ttl %g: expires at %v", ttl, at)
					}
				}
				for i, ttl := range []float64{math.SmallestNonzeroFloat64, 1e-9, 1e-3} {
					info := b.createFor(numbered("small", i+1)[i], &ttl)
					if at := info.ExpiresAt; at == nil || *at < now || *at > now+1 {
						b.t.Fatalf("ttl %g: expires at %v, now is %v", ttl, at, now)
					}
				}
				b.clock.advance(200 * 365 * 24 * time.Hour)
				b.inOrder("sessions", b.sessions(store.SessionFilter{}), []string{"large00000", "large00001", "large00002", "large00003"})
			},
		},
		{
			name: "expired trees are not listed",
			rule: "Contract, get: a missing and an expired tree are the same; lists go by that",
			run: func(b *treeBundle) {
				for i, id := range numbered("s", 10) {
					b.createFor(id, store.Seconds(float64(10*(i%2+1))))
				}
				b.clock.advance(11 * time.Second)
				ids := numbered("s", 10)
				want := pick(ids, 1, 3, 5, 7, 9)
				b.inOrder("sessions", b.sessions(store.SessionFilter{}), want)
				b.inOrder("by kind", b.sessions(store.SessionFilter{Kinds: []string{"session"}}), want)
			},
		},
	}
}

func seconds(c *clock) float64 { return float64(c.now().UnixNano()) / 1e9 }

// expires demands an expiry at, or less than a second after: a server's clock goes
// on.
func (b *treeBundle) expires(i store.SessionInfo, at float64) {
	b.t.Helper()
	if i.ExpiresAt == nil || *i.ExpiresAt < at || *i.ExpiresAt > at+1 {
		b.t.Fatalf("session %q expires at %v, want %v", i.ID, i.ExpiresAt, at)
	}
}

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
