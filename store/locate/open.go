package locate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"treering/store"
	"treering/store/foreign"
	"treering/store/memory"
	"treering/store/sqlite"
)

// AmbiguousSetError: the file holds several sets of execution tables and none can
// be preferred. Options.Prefix chooses.
type AmbiguousSetError struct {
	Locator string // credentials taken out
	Sets    []Set  // counted
	err     error
}

func (e *AmbiguousSetError) Error() string { return fmt.Sprintf("%q: %v", e.Locator, e.err) }

// Unwrap returns the backend's error.
func (e *AmbiguousSetError) Unwrap() error { return e.err }

func open(ctx context.Context, locator string, o Options) (*Opened, error) {
	t, err := parse(locator)
	if err != nil {
		return nil, err
	}
	switch {
	case t.memory:
		return openMemory(t, o)
	case t.server != "":
		opened, err := t.open(ctx, t, o)
		if err != nil {
			return nil, withoutSecrets(err, t.url)
		}
		return opened, nil
	}
	return openFile(ctx, t, o)
}

func openMemory(t target, o Options) (*Opened, error) {
	if o.Prefix != nil {
		return nil, &LocatorError{t.shown, "it holds no tables, so there is no prefix to choose", store.ErrNotFound}
	}
	m, err := memory.New(memory.Options{})
	if err != nil {
		return nil, err
	}
	none := int64(0)
	return &Opened{
		Executions: m.Executions(),
		Trees:      m.Trees(),
		Watcher:    m,
		close:      m.Close,
		Info: Info{
			Locator: t.shown, Backend: "memory", Name: "memory",
			Ours: true, Writable: true, How: "read-write", Why: "it was made a moment ago and ends with this process",
			Sets:       []Set{{Executions: &none, Open: true}},
			TreeTables: true, Sessions: &none,
		},
	}, nil
}

func openFile(ctx context.Context, t target, o Options) (*Opened, error) {
	if info, err := os.Stat(t.path); err == nil && info.IsDir() {
		return openFolder(ctx, t, o)
	}
	found, err := sqlite.Probe(t.path)
	so := sqlite.Options{Path: t.path, Prefix: o.Prefix}
	why := ""
	switch missing := errors.Is(err, store.ErrStoreNotFound); {
	case missing || found.Empty:
		if missing && Redact(t.path) != t.path {
			return nil, &LocatorError{t.shown, "there is no such file, and none is made under a name that holds a credential", store.ErrStoreNotFound}
		}
		if !o.Create {
			return nil, err
		}
		so.Create, so.ReadWrite, why = true, true, "it was made just now"
	case err != nil:
		return notADatabase(ctx, t, found, err, o)
	case o.ReadOnly:
	case o.ReadWrite:
		so.ReadWrite = true
		if o.Create {
			// Somebody else's file gets the tables it lacks only where both are asked for.
			if so.Create, err = announce(ctx, t, so, o); err != nil {
				return nil, openingError(t, err)
			}
		}
	case found.Ours && found.UserVersion <= sqlite.SchemaVersion:
		so.ReadWrite, why = true, "it was made by treering"
	}
	db, err := sqlite.Open(ctx, so)
	var several *sqlite.AmbiguousSetError
	unchosen := o.Survey && errors.As(err, &several) && len(several.Sets) > 0
	if unchosen {
		so.Prefix = &several.Sets[0].Prefix
		db, err = sqlite.Open(ctx, so)
	}
	var notes []string
	if errors.Is(err, store.ErrReadOnly) && so.ReadWrite && !so.Create && !o.ReadWrite {
		// A store of ours on a disk or under an owner that lets it be read only.
		notes = append(notes, "it cannot be written: "+reason(err))
		so.ReadWrite = false
		db, err = sqlite.Open(ctx, so)
	}
	if holdsNothing(err) {
		if opened, err := openTables(ctx, t, o); opened != nil || err != nil {
			return opened, err
		}
	}
	if err != nil {
		return nil, openingError(t, err)
	}
	if found.Ours && found.UserVersion > sqlite.SchemaVersion && !so.ReadWrite {
		notes = append(notes, fmt.Sprintf("it was made by a newer treering (schema %d, this version knows %d)", found.UserVersion, sqlite.SchemaVersion))
	}
	opened := &Opened{Executions: db.Executions(), Trees: db.Trees(), Watcher: db, Transport: db.Transport(), close: db.Close, db: db, why: why, unchosen: unchosen}
	if unchosen {
		opened.Executions = nil
		notes = append(notes, "it holds several sets of execution tables, and none is open: choose one with its prefix")
	}
	opened.Info = fileInfo(t, db, so.ReadWrite, opened.set())
	opened.Info.Notes = append(notes, opened.Info.Notes...)
	opened.Info.How, opened.Info.Why = opened.How()
	if path, err := filepath.Abs(t.path); err == nil {
		opened.Info.Path = path
	}
	return opened, nil
}

// holdsNothing reports whether a database was opened that holds neither executions nor
// session trees of ours.
func holdsNothing(err error) bool {
	var opening *sqlite.OpenError
	return errors.As(err, &opening) && opening.Err == store.ErrNotAStore //nolint:errorlint // with a cause it is no database
}

// announce tells what a database is about to get, and whether that is anything. What
// another program keeps its sessions in gets nothing.
func announce(ctx context.Context, t target, so sqlite.Options, o Options) (create bool, err error) {
	so.ReadWrite, so.Create = false, false
	adding := o.Adding
	db, err := sqlite.Open(ctx, so)
	var lacking []string
	switch {
	case holdsNothing(err):
		opened, err := openTables(ctx, t, o)
		if err != nil {
			return false, err
		}
		if opened != nil { // it was not refused, since nothing is to be written
			return false, opened.Close()
		}
		lacking = []string{"executions", "session trees"}
	case err != nil:
		return false, err
	default:
		if db.Executions() == nil {
			lacking = append(lacking, "executions")
		}
		if db.Trees() == nil && !otherTrees(db) {
			lacking = append(lacking, "session trees")
		}
		if err := db.Close(); err != nil {
			return false, err
		}
	}
	if lacking == nil || adding == nil {
		return lacking != nil, nil
	}
	return true, adding(lacking)
}

// otherTrees reports whether there are tables of the trees' names that are not as
// this version has them.
func otherTrees(db *sqlite.DB) bool {
	if db.Trees() != nil {
		return false
	}
	for _, name := range db.Layout().Tables {
		if strings.EqualFold(name, "tree_sessions") || strings.EqualFold(name, "tree_nodes") {
			return true
		}
	}
	return false
}

// set is the set of execution tables that is open.
func (o *Opened) set() *sqlite.Set {
	if o.unchosen {
		return nil
	}
	set, _ := o.db.Set()
	return set
}

// fileInfo tells what a database holds.
func fileInfo(t target, db *sqlite.DB, writable bool, open *sqlite.Set) Info {
	how, layout := db.How(), db.Layout()
	info := Info{
		Locator: t.shown, Backend: "sqlite", Name: filepath.Base(t.path), Path: t.path,
		Ours: how.Ours, Writable: writable, JournalMode: how.JournalMode,
		TreeTables: db.Trees() != nil, OtherTrees: otherTrees(db), Transport: layout.Transport,
	}
	var schema []string
	if how.ApplicationID != 0 {
		schema = append(schema, fmt.Sprintf("application_id 0x%08X", how.ApplicationID))
	}
	if how.UserVersion != 0 {
		schema = append(schema, fmt.Sprintf("user_version %d", how.UserVersion))
	}
	info.SchemaInfo = strings.Join(schema, ", ")
	info.Sets = setsOf(layout.Sets, open)
	if _, note := db.Set(); note != "" && open != nil {
		info.Notes = append(info.Notes, note)
	}
	if info.OtherTrees {
		info.Notes = append(info.Notes, "it has tables of the session trees' names, but not with the columns that this version knows; they are left alone")
	}
	if open != nil {
		for _, m := range open.Missing {
			info.Notes = append(info.Notes, fmt.Sprintf("the table %q cannot be read: %s", m.Table, m.Reason))
		}
	}
	if layout.Foreign != "" {
		info.Notes = append(info.Notes, "it is also "+layout.Foreign+", of which nothing is shown")
	}
	return info
}

func setsOf(found []sqlite.Set, open *sqlite.Set) []Set {
	var sets []Set
	for _, s := range found {
		set := Set{Prefix: s.Prefix, Open: open != nil && open.Executions == s.Executions}
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

// How says how and why the store is open at this moment: a file that another
// process changes may have to be read in another way.
func (o *Opened) How() (how, why string) {
	switch {
	case o.how != nil:
		return o.how(), o.Info.Why
	case o.server != nil:
		return o.server.How()
	case o.db == nil:
		return o.Info.How, o.Info.Why
	}
	h := o.db.How()
	why = h.Why
	switch {
	case o.why != "":
		why = o.why
	case o.Info.Ours && !o.Info.Writable:
		why = "no writing was asked for; " + why
	}
	return h.Mode, why
}

// OnServer reports whether the store is on a server, where it can come to stand
// otherwise than when it was opened.
func (o *Opened) OnServer() bool { return o.server != nil }

// Behind says since when what is read may be older than what was written, and why; the
// zero time: nothing speaks for that. Like How it does not wait for the store.
func (o *Opened) Behind() (since time.Time, why string) {
	if f, ok := o.Watcher.(store.Follower); ok {
		return f.Behind()
	}
	return time.Time{}, ""
}

// Count counts the executions of every set and the live sessions into Info. It
// reads an index of each, some 30 ms for a million rows, which Open does not spend.
func (o *Opened) Count(ctx context.Context) error {
	if o.server != nil {
		sets, sessions, err := o.server.Count(ctx)
		if err != nil {
			return err
		}
		o.Info.Sets, o.Info.Sessions = sets, sessions
		return nil
	}
	if o.db != nil {
		counted, err := o.db.CountSets(ctx)
		if err != nil {
			return err
		}
		o.Info.Sets = setsOf(counted, o.set())
	} else if o.Executions != nil {
		counts, err := o.Executions.Counts(ctx)
		if err != nil {
			return err
		}
		o.Info.Sets = []Set{{Executions: &counts.Executions, Open: true}}
	}
	if o.Trees == nil {
		return nil
	}
	var sessions int64
	err := store.All(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return o.Trees.ListSessions(ctx, store.SessionFilter{}, p)
	}, func(store.SessionInfo) error {
		sessions++
		return nil
	})
	if err != nil {
		return err
	}
	o.Info.Sessions = &sessions
	return nil
}

// notADatabase opens a file of lines, or says what a file is that is no database.
func notADatabase(ctx context.Context, t target, found sqlite.Found, err error, o Options) (*Opened, error) {
	if !errors.Is(err, store.ErrNotAStore) || found.Target == "" || found.Size == 0 || found.WAL {
		return nil, err
	}
	opened, lerr := openLines(ctx, t, o)
	if !errors.Is(lerr, foreign.ErrFormat) {
		return opened, lerr
	}
	kind, lookErr := foreignText(found.Target)
	if lookErr != nil || kind == "" {
		return nil, err // what was found before says more
	}
	return nil, unreadError(t.shown, kind)
}

// openingError says what a database is that is no store, and which sets there are
// to choose from.
func openingError(t target, err error) error {
	var several *sqlite.AmbiguousSetError
	if errors.As(err, &several) {
		return &AmbiguousSetError{Locator: t.shown, Sets: setsOf(several.Sets, nil), err: several}
	}
	var opening *sqlite.OpenError
	if errors.As(err, &opening) && opening.Err == store.ErrNotAStore && opening.Hint == "" { //nolint:errorlint // with a cause there is more to say
		told := *opening
		told.Hint = "this version does not read it"
		return &told
	}
	return err
}

// reason is what an error says without the file's name.
func reason(err error) string {
	var opening *sqlite.OpenError
	if errors.As(err, &opening) {
		return opening.Reason
	}
	return err.Error()
}

// CheckIntegrity has the store's own engine look for damage, and returns a line for
// each; ok is false where there is no such engine.
func (o *Opened) CheckIntegrity(ctx context.Context) (found []string, ok bool, err error) {
	if o.db == nil {
		return nil, false, nil
	}
	found, err = o.db.CheckIntegrity(ctx)
	return found, true, err
}
