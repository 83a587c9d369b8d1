package locate

import (
	"context"
	"errors"
	"fmt"

	"treering/store"
	"treering/store/postgres"
)

// openPostgres opens a store on PostgreSQL by its URL, t.url.
func openPostgres(ctx context.Context, t target, o Options) (*Opened, error) {
	write, err := armed(t, o)
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{
		URL: t.url, Prefix: o.Prefix, Survey: o.Survey, ReadWrite: write, Create: o.Create, Announce: o.Adding,
	})
	if err != nil {
		return nil, postgresError(t, err)
	}
	set, note := db.Set()
	layout := db.Layout()
	opened := &Opened{Executions: db.Executions(), Trees: db.Trees(), Watcher: db, Transport: db.Transport(), close: db.Close}
	opened.unchosen = set == nil && len(layout.Sets) > 1
	s := &postgresServer{db: db, o: opened}
	opened.server = s
	opened.Info = Info{
		Locator: t.shown, Backend: "postgres", Name: db.Name(), Ours: db.Ours(), Writable: db.Writable(),
		SchemaInfo: db.Server(), Sets: postgresSets(layout.Sets, set), TreeTables: opened.Trees != nil, OtherTrees: layout.OtherTree, Transport: layout.Transport,
	}
	opened.Info.How, opened.Info.Why = s.How()
	notes := &opened.Info.Notes
	switch {
	case note != "":
		*notes = append(*notes, note)
	case opened.unchosen:
		*notes = append(*notes, "it holds several sets of execution tables, and none is open: choose one with its prefix")
	}
	if layout.OtherTree {
		*notes = append(*notes, "it has tables of the session trees' names, but not as this version makes them; they are left alone")
	}
	if set != nil {
		for _, m := range set.Missing {
			*notes = append(*notes, fmt.Sprintf("the table %q cannot be read: %s", m.Table, m.Reason))
		}
	}
	if len(layout.Transport) > 0 && opened.Transport == nil {
		*notes = append(*notes, "there are queues of harel's under another prefix than the executions that are open")
	}
	return opened, nil
}

// postgresError is an error about several sets, or a missing one, as a locator's.
func postgresError(t target, err error) error {
	var several *postgres.AmbiguousSetError
	var config *postgres.ConfigError
	switch {
	case errors.As(err, &several):
		return &AmbiguousSetError{Locator: t.shown, Sets: postgresSets(several.Sets, nil), err: several}
	case errors.As(err, &config):
		return &LocatorError{t.shown, config.Error(), store.ErrStoreNotFound}
	}
	return fmt.Errorf("%q: %w", t.shown, err)
}

func postgresSets(found []postgres.Set, open *postgres.Set) []Set {
	var sets []Set
	for _, s := range found {
		set := Set{Prefix: s.Prefix, Open: open != nil && open.Prefix == s.Prefix}
		if s.Rows >= 0 {
			set.Executions = &s.Rows
		}
		for _, m := range s.Missing {
			set.Missing = append(set.Missing, m.Table)
		}
		sets = append(sets, set)
	}
	return sets
}

// postgresServer is the [server] of an open database.
type postgresServer struct {
	db *postgres.DB
	o  *Opened
}

// How implements server.
func (s *postgresServer) How() (how, why string) { return s.db.How() }

// Count implements server.
func (s *postgresServer) Count(ctx context.Context) ([]Set, *int64, error) {
	counted, err := s.db.CountSets(ctx)
	if err != nil {
		return nil, nil, err
	}
	set, _ := s.db.Set()
	sets := postgresSets(counted, set)
	if s.o.Trees == nil {
		return sets, nil, nil
	}
	sessions, err := s.db.CountSessions(ctx)
	return sets, &sessions, err
}
