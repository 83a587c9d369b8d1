package locate

import (
	"context"
	"errors"
	"os"
	"slices"

	"treering/store"
	"treering/store/rqlite"
)

// rqlitePassword is the variable of the environment that a password is taken from
// which the URL does not have.
const rqlitePassword = "RQLITE_PASSWORD"

// openRqlite opens a store on rqlite by its URL, t.url.
func openRqlite(ctx context.Context, t target, o Options) (*Opened, error) {
	address, err := rqlite.ParseAddress(t.url)
	if err != nil {
		return nil, &LocatorError{t.shown, err.Error(), store.ErrStoreNotFound}
	}
	if address.HasUser && !address.HasPassword {
		address.Password = os.Getenv(rqlitePassword)
	}
	write, err := armed(t, o)
	if err != nil {
		return nil, err
	}
	db, err := rqlite.Open(ctx, rqlite.Options{
		Address: address, ReadWrite: write, Create: o.Create, Adding: o.Adding, Survey: o.Survey, Prefix: o.Prefix, Browse: true,
	})
	var several *rqlite.AmbiguousSetError
	switch {
	case errors.As(err, &several):
		return nil, &AmbiguousSetError{Locator: t.shown, Sets: rqliteSets(several.Sets, nil), err: several}
	case errors.Is(err, rqlite.ErrUnavailable):
		return nil, &LocatorError{t.shown, err.Error(), both(store.ErrStoreNotFound, err)}
	case err != nil:
		return nil, err
	}
	return rqliteOpened(t, db, address, write), nil
}

// both is an error that matches two.
func both(a, b error) error { return errors.Join(a, b) }

func rqliteOpened(t target, db *rqlite.DB, address rqlite.Address, write bool) *Opened {
	s := &rqliteServer{db, write}
	set, note := db.Set()
	layout := db.Layout()
	o := &Opened{
		Executions: db.Executions(), Trees: db.Trees(), Watcher: db, Transport: db.Transport(), server: s, close: db.Close,
		Info: Info{
			Locator: t.shown, Backend: "rqlite", Name: address.Nodes[0], Writable: write,
			Sets: rqliteSets(layout.Sets, set), TreeTables: layout.Trees, OtherTrees: layout.OtherTrees, Transport: layout.Transport,
		},
	}
	o.Info.How, o.Info.Why = s.How()
	if note != "" {
		o.Info.Notes = append(o.Info.Notes, note)
	}
	if set != nil {
		for _, m := range set.Missing {
			o.Info.Notes = append(o.Info.Notes, "the table \""+m+"\" is missing or has not the columns it should have")
		}
	}
	if layout.OtherTrees {
		o.Info.Notes = append(o.Info.Notes, "it has tables of the session trees' names, but not with the columns that this version knows; they are left alone")
	}
	return o
}

func rqliteSets(found []rqlite.Set, open *rqlite.Set) []Set {
	var sets []Set
	for _, s := range found {
		set := Set{Prefix: s.Prefix, Open: open != nil && open.Prefix == s.Prefix, Missing: slices.Clone(s.Missing)}
		if s.Rows >= 0 {
			rows := s.Rows
			set.Executions = &rows
		}
		sets = append(sets, set)
	}
	return sets
}

// rqliteServer is what an open cluster tells of itself.
type rqliteServer struct {
	db    *rqlite.DB
	write bool
}

// How implements server. How old what is read may be is said with how changes are
// noticed.
func (s *rqliteServer) How() (how, why string) {
	if s.write {
		return "read-write", "writing was asked for"
	}
	return "read-only", "no writing was asked for"
}

// Count implements server.
func (s *rqliteServer) Count(ctx context.Context) (sets []Set, sessions *int64, err error) {
	counted, err := s.db.CountSets(ctx)
	if err != nil {
		return nil, nil, err
	}
	open, _ := s.db.Set()
	sets = rqliteSets(counted, open)
	trees := s.db.Trees()
	if trees == nil {
		return sets, nil, nil
	}
	var live int64
	err = store.All(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return trees.ListSessions(ctx, store.SessionFilter{}, p)
	}, func(store.SessionInfo) error {
		live++
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return sets, &live, nil
}
