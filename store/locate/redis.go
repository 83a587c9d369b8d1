package locate

import (
	"context"
	"errors"
	"strings"

	"treering/store"
	"treering/store/redis"
)

// openRedis opens a store on Redis by its URL, t.url.
func openRedis(ctx context.Context, t target, o Options) (*Opened, error) {
	write, err := armed(t, o)
	if err != nil {
		return nil, err
	}
	ro := redis.Options{URL: t.url, Prefix: o.Prefix, ReadWrite: write}
	if o.Create {
		if err := announceRedis(ctx, ro, o); err != nil {
			return nil, redisError(t, err)
		}
		ro.Create = true
	}
	db, err := redis.Open(ctx, ro)
	var several *redis.AmbiguousSetError
	unchosen := o.Survey && errors.As(err, &several)
	if unchosen {
		ro.Prefix = &several.Sets[0].Prefix
		db, err = redis.Open(ctx, ro)
	}
	if err != nil {
		return nil, redisError(t, err)
	}
	opened := &Opened{Watcher: db, close: db.Close}
	s := &redisServer{db: db, o: opened}
	opened.server = s
	sets, note := db.Sets()
	if !unchosen && (len(sets) > 0 || ro.Create) {
		opened.Executions = db.Executions()
	}
	if db.HasTrees() || db.Ours() || ro.Create {
		opened.Trees = db.Trees()
	}
	queues, tables, err := db.Transport(ctx)
	if err != nil {
		return nil, errors.Join(redisError(t, err), db.Close())
	}
	if opened.Executions != nil {
		opened.Transport = queues
	}
	opened.Info = Info{
		Locator: t.shown, Backend: "redis", Name: nameOf(t.shown), Ours: db.Ours(), Writable: db.Writable(),
		SchemaInfo: db.Server(), TreeTables: opened.Trees != nil, Transport: tables,
	}
	if unchosen {
		sets = several.Sets
		opened.Info.Notes = append(opened.Info.Notes, "there are executions under several prefixes, and none is open: choose one with its prefix")
	}
	opened.Info.Sets = redisSets(sets, db.Prefix(), opened.Executions != nil)
	if note != "" {
		opened.Info.Notes = append(opened.Info.Notes, note)
	}
	if db.Replica() {
		opened.Info.Notes = append(opened.Info.Notes, "the server is a replica: what it shows may be older than its master, and it takes no writes")
	}
	opened.Info.How, opened.Info.Why = s.How()
	return opened, nil
}

// announceRedis tells what somebody else's database is about to get.
func announceRedis(ctx context.Context, ro redis.Options, o Options) error {
	ro.ReadWrite, ro.Create = false, false
	db, err := redis.Open(ctx, ro)
	if errors.Is(err, store.ErrNotAStore) {
		return nil
	}
	if err != nil {
		return err
	}
	sets, _ := db.Sets()
	lacking := !db.Ours() && !db.HasTrees() && len(sets) > 0
	if err := db.Close(); err != nil {
		return err
	}
	if lacking && o.Adding != nil {
		return o.Adding([]string{"session trees"})
	}
	return nil
}

// redisError is an error with the locator in front, and one about several sets as such.
func redisError(t target, err error) error {
	var several *redis.AmbiguousSetError
	var address *redis.AddressError
	switch {
	case errors.As(err, &several):
		return &AmbiguousSetError{Locator: t.shown, Sets: redisSets(several.Sets, "", false), err: several}
	case errors.As(err, &address):
		return &LocatorError{t.shown, address.Reason, store.ErrStoreNotFound}
	}
	return err
}

func redisSets(found []redis.Set, open string, isOpen bool) []Set {
	var sets []Set
	for _, s := range found {
		set := Set{Prefix: s.Prefix, Open: isOpen && s.Prefix == open}
		if s.Executions >= 0 {
			set.Executions = &s.Executions
		}
		sets = append(sets, set)
	}
	return sets
}

// nameOf is what a title shows of a server: its host and what follows, without options.
func nameOf(shown string) string {
	_, rest, found := strings.Cut(shown, "//")
	if !found {
		rest = shown
	}
	rest, _, _ = strings.Cut(rest, "?")
	return rest
}

// redisServer is what an open store on Redis tells of itself.
type redisServer struct {
	db *redis.DB
	o  *Opened
}

// How implements server.
func (s *redisServer) How() (how, why string) { return s.db.How() }

// Count counts the executions of the open set and the live sessions.
func (s *redisServer) Count(ctx context.Context) (sets []Set, sessions *int64, err error) {
	sets = s.o.Info.Sets
	if s.o.Executions != nil {
		counts, err := s.o.Executions.Counts(ctx)
		if err != nil {
			return nil, nil, err
		}
		for i := range sets {
			if sets[i].Open {
				sets[i].Executions = &counts.Executions
			}
		}
	}
	if s.o.Trees == nil {
		return sets, nil, nil
	}
	var n int64
	err = store.All(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return s.o.Trees.ListSessions(ctx, store.SessionFilter{}, p)
	}, func(store.SessionInfo) error {
		n++
		return nil
	})
	return sets, &n, err
}
