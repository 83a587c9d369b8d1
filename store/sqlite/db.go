package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"treering/store"
	"treering/store/internal/sqltree"
	"zombiezen.com/go/sqlite"
)

// DB is an open database with the stores that it holds.
type DB struct {
	file       *File
	writer     *writer // nil: open for reading
	layout     Layout
	set        *Set // that Executions is on
	note       string
	executions *executions
	trees      *sqltree.Store
	transport  *transport

	closing sync.Once
	err     error
}

// Open opens a database and the stores in it.
//
// Without ReadWrite nothing is ever written. With Create a missing or empty file
// becomes a store of both contracts, with the execution tables under
// [DefaultPrefix] or Prefix; a database of somebody else's that lacks one of the
// contracts gets its tables, and keeps its mark. A file of ours that is opened
// for writing has its tree tables brought to this version's schema.
//
// Beside the errors of [OpenFile]: an *[AmbiguousSetError] where the set of
// execution tables must be chosen with Prefix, an *[UnknownPrefixError] where
// Prefix names none, and [store.ErrNotAStore] where the database holds neither
// contract.
func Open(ctx context.Context, o Options) (*DB, error) {
	traceMax := int64(store.DefaultTraceMax)
	if o.TraceMax != nil {
		if traceMax = int64(*o.TraceMax); traceMax < 0 {
			return nil, &store.ValueError{Field: "trace max", Reason: "must not be negative; 0 keeps every step", Err: store.ErrBadLimit}
		}
	}
	prefix := DefaultPrefix
	if o.Prefix != nil {
		prefix = *o.Prefix
	}
	if o.Create {
		if err := CheckPrefix(prefix); err != nil {
			return nil, err
		}
	}
	o.Init = func(conn *sqlite.Conn) error { return initSchema(conn, prefix) }
	f, err := OpenFile(ctx, o)
	if err != nil {
		return nil, err
	}
	db := &DB{file: f}
	if err := db.open(ctx, o, prefix, traceMax); err != nil {
		if cerr := db.Close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
		return nil, err
	}
	return db, nil
}

// initSchema makes the tables of both contracts.
func initSchema(conn *sqlite.Conn, prefix string) error {
	if err := makeExecutionTables(conn, prefix); err != nil {
		return err
	}
	return sqltree.Migrate(conn)
}

func makeExecutionTables(conn *sqlite.Conn, prefix string) error {
	for _, ddl := range ExecutionDDL(prefix) {
		if err := run(conn, ddl); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) open(ctx context.Context, o Options, prefix string, traceMax int64) error {
	if err := db.detect(ctx); err != nil {
		return err
	}
	if db.file.opts.ReadWrite {
		db.writer = newWriter(db.file)
		if err := db.complete(ctx, o, prefix); err != nil {
			return err
		}
	}
	if len(db.layout.Sets) > 0 || o.Prefix != nil {
		set, note, err := PickSet(db.layout, o.Prefix)
		if err != nil {
			return err
		}
		db.set, db.note = &set, note
	}
	scope := filepath.Clean(db.file.named)
	if db.set != nil {
		db.executions = &executions{
			file: db.file, writer: db.writer, sql: executionSQLOf(tablesOf(*db.set)),
			traceMax: traceMax, scope: fmt.Sprintf("sqlite %q %q", scope, db.set.Prefix), close: db.Close,
		}
	}
	if db.layout.Trees {
		db.trees = sqltree.New(sqltree.Options{Read: db.file.Read, Write: db.write, Now: o.Now, Scope: "sqlite " + scope + " " + db.file.fileIdentity(), Close: db.Close})
	}
	db.transport = db.newTransport()
	if db.executions == nil && db.trees == nil && db.transport == nil {
		what := "it holds neither execution tables nor session trees"
		if db.layout.Foreign != "" {
			what = "it is " + db.layout.Foreign
		}
		return &OpenError{o.Path, what, "", store.ErrNotAStore}
	}
	return nil
}

func (db *DB) detect(ctx context.Context) error {
	return db.file.Read(ctx, func(conn *sqlite.Conn) (err error) {
		db.layout, err = Detect(conn)
		return err
	})
}

// complete brings a database that is open for writing to what this version needs:
// the tables of a contract it lacks, where Create asks for them, and the newest tree
// schema, where the file is ours.
func (db *DB) complete(ctx context.Context, o Options, prefix string) error {
	executions := o.Create && len(db.layout.Sets) == 0
	trees := o.Create && !db.layout.Trees || db.layout.Trees && db.file.How().Ours
	if !executions && !trees {
		return nil
	}
	err := db.writer.write(ctx, func(conn *sqlite.Conn) error {
		if executions {
			if err := makeExecutionTables(conn, prefix); err != nil {
				return err
			}
		}
		if trees {
			return sqltree.Migrate(conn)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return db.detect(ctx)
}

// write is the trees' way to the writer.
func (db *DB) write(ctx context.Context, fn func(*sqlite.Conn) error) error {
	if db.writer == nil {
		return readOnlyError(db.file)
	}
	return db.writer.write(ctx, fn)
}

// Executions is the execution store of the chosen set, nil where the database has
// none. Closing it closes the database.
func (db *DB) Executions() store.ExecutionStore {
	if db.executions == nil {
		return nil
	}
	return db.executions
}

// Trees is the tree store, nil where the database has none. Closing it closes the
// database.
func (db *DB) Trees() store.TreeStore {
	if db.trees == nil {
		return nil
	}
	return db.trees
}

// Layout is what the database holds, as of its opening.
func (db *DB) Layout() Layout { return db.layout }

// Set is the set of execution tables that is open, nil where there is none, with a
// note where it was chosen among several.
func (db *DB) Set() (set *Set, note string) { return db.set, db.note }

// How says how and why the file is open as it is at this moment.
func (db *DB) How() How { return db.file.How() }

// Path is the path as it was given.
func (db *DB) Path() string { return db.file.Path() }

// ChangeToken implements [store.Watcher].
func (db *DB) ChangeToken(ctx context.Context) (string, error) { return db.file.ChangeToken(ctx) }

// Close finishes the writes that were asked for and closes the database with both
// stores. Closing again does nothing.
func (db *DB) Close() error {
	db.closing.Do(func() {
		if db.executions != nil {
			db.executions.closed.Store(true)
		}
		if db.writer != nil {
			db.writer.close()
		}
		db.err = db.file.Close()
	})
	return db.err
}
