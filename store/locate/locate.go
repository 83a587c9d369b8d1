// Package locate turns a locator into open stores. It is the only package that
// knows all backends.
package locate

import (
	"context"

	"treering/store"
	"treering/store/foreign"
	"treering/store/sqlite"
)

// Options say how to open.
type Options struct {
	// ReadWrite arms writing. Files of our own making and memory stores are opened
	// for writing either way; see Opened.Info.
	ReadWrite bool
	// Create makes a missing or zero-byte file with both contracts, or with ReadWrite
	// adds the contract that a foreign database lacks.
	Create bool
	// Adding is told what a foreign database is about to get, such as "session trees",
	// before Create adds it. An error from it ends the opening, with nothing added.
	Adding func(what []string) error
	// ReadOnly keeps what is there from being written, even our own files. Create makes
	// a missing one all the same.
	ReadOnly bool
	// Survey opens a file with several sets of execution tables for its Info: where
	// none can be preferred, none is opened, and Executions is nil.
	Survey bool
	// Prefix names the set of execution tables, as harel writes it, without the
	// underscore; empty for the names without a prefix. nil picks the only one.
	Prefix *string
}

// Opened is what a locator led to. One of Executions and Trees may be nil: the
// store does not hold that contract.
type Opened struct {
	Executions store.ExecutionStore
	Trees      store.TreeStore
	Watcher    store.Watcher // nil where changes cannot be noticed cheaply
	// Transport is the queues between harel's workers where they are kept beside the
	// executions that are open; nil where there are none.
	Transport store.Transport
	// Foreign is Trees where they are in the format of another program: it knows their
	// titles and what is wrong with them. nil otherwise.
	Foreign  *foreign.Store
	Info     Info
	close    func() error
	how      func() string // how a database of another program is open
	db       *sqlite.DB    // nil for memory
	server   server        // nil for what is on this machine
	unchosen bool          // of several sets none is open
	why      string        // why it may be written; "" where the file says
}

// Close releases both stores. It may be called more than once.
func (o *Opened) Close() error {
	if o.close == nil {
		return nil
	}
	c := o.close
	o.close = nil
	return c()
}

// Info says what a store is and how and why it is open as it is. All of its text
// may come from the store or the command line: sanitise before showing.
type Info struct {
	Locator     string // as given, credentials taken out
	Backend     string // "sqlite", "memory", or the format of another program: "pi", "claude", "contree"
	Name        string // short, for a title: the file's base name
	Path        string // absolute, "" where there is no file
	Ours        bool   // made by treering
	Foreign     bool   // in the format of another program: never open for writing
	Writable    bool
	How         string // "read-only (immutable)", "read-write"
	Why         string // the reason for it, one sentence
	JournalMode string // "wal", "delete", "" where there is none
	SchemaInfo  string // application_id and user_version where they say something
	Sets        []Set  // execution sets found, the open one marked
	TreeTables  bool
	OtherTrees  bool     // there are tables of the trees' names, but with other columns
	Sessions    *int64   // live trees, nil: unknown
	Transport   []string // harel transport tables found
	Notes       []string // anything a user should know: several sets, missing tables, private copy
}

// Set is one set of execution tables.
type Set struct {
	Prefix     string
	Executions *int64 // rows; nil: could not be counted
	Open       bool
	Missing    []string // companion tables that are not there
}

// Open opens what the locator names: a path, a file: or sqlite: URL, memory:, or the
// URL of a server.
// An existing file always wins over a scheme. What a file is, is found by its
// contents; one that another program's format is known for is open read-only, and a
// folder stands for all session files below it. The errors match
// [store.ErrStoreNotFound], [store.ErrNotAStore], [store.ErrNotBuilt],
// [store.ErrReadOnly] or [store.ErrBusy]; several sets of execution tables of
// which none can be preferred are an *[AmbiguousSetError]. Unless Create is set
// nothing is ever made.
func Open(ctx context.Context, locator string, o Options) (*Opened, error) {
	return open(ctx, locator, o)
}
