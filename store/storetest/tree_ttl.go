package storetest

import (
	"math"
	"time"

	"treering/store"
)

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
			name: "what a purge will remove is counted",
			rule: "the count of expired trees is what the next purge removes; counting removes nothing, and what was deleted does not count",
			run: func(b *treeBundle) {
				count := func(want int) {
					b.t.Helper()
					n, err := b.s.CountExpired(b.ctx)
					b.ok(err)
					b.equal("expired", n, want)
				}
				count(0)
				b.seed("kept", "r")
				for i, id := range []string{"a", "b", "c"} {
					_, err := b.s.CreateSession(b.ctx, id, "session", store.Seconds(float64(10*(i+1))))
					b.ok(err)
				}
				count(0)
				b.clock.advance(25 * time.Second) // a server's clock goes on meanwhile
				count(2)
				count(2)
				_, err := b.s.DeleteSession(b.ctx, "a")
				b.ok(err)
				count(1)
				purged, err := b.s.PurgeExpired(b.ctx)
				b.ok(err)
				b.equal("purged", purged, 1)
				count(0)
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
