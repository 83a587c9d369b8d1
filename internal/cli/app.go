package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"treering/internal/term"
	"treering/store"
	"treering/store/locate"
)

// app is one run of the program.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	out    *output
	stderr io.Writer
	env    locate.Environ
	now    func() time.Time

	// Flags that several commands share.
	store    string
	rw       bool
	create   bool
	prefix   string
	limit    int
	json     bool
	raw      bool
	jsonArgs bool
	filters  []string // of the lists

	screen screenFlags
	keys   keyring

	storeGiven  bool
	prefixGiven bool

	running  bool // a command's own work has begun
	endless  bool // it goes on until it is interrupted, which then is no failure
	watching bool // steps of several executions are told
}

// purpose is what a command opens a store for.
type purpose int

const (
	reading   purpose = iota // takes no writer's resources and never makes the default store
	surveying                // reading that does not choose among several sets
	writing                  // needs a store that can be written
	changing                 // writing to what must be there already, so not to a default store yet to be made
	exploring                // shows what it can write and what not
)

// openError is a store that could not be opened, for whatever reason.
type openError struct{ err error }

func (e *openError) Error() string { return e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

// withStore opens the store that the flags and the environment name, runs fn on it
// and closes it.
func (a *app) withStore(ctx context.Context, p purpose, fn func(*locate.Opened) error) error {
	o, err := a.open(ctx, p)
	if err != nil {
		return err
	}
	return closeAfter(ctx, o, fn(o))
}

// closeAfter closes a store that err was made of. After an interrupt it does not wait
// for what was withdrawn from a writer that waits for another process; a write whose
// outcome is unknown it waits for, since ending now would undo it.
func closeAfter(ctx context.Context, o *locate.Opened, err error) error {
	if errors.Is(err, store.ErrOutcomeUnknown) {
		ctx = context.WithoutCancel(ctx)
	}
	cerr := interruptible(ctx, o.Close)
	if cerr != nil && ctx.Err() == nil {
		err = errors.Join(err, fmt.Errorf("close the store: %w", cerr))
	}
	return err
}

// withTrees is withStore for the session trees in it.
func (a *app) withTrees(ctx context.Context, p purpose, fn func(store.TreeStore) error) error {
	return a.withStore(ctx, p, func(o *locate.Opened) error {
		if o.Trees == nil {
			return lacks(o, p, "session trees")
		}
		return fn(o.Trees)
	})
}

// withExecutions is withStore for the executions in it.
func (a *app) withExecutions(ctx context.Context, p purpose, fn func(store.ExecutionStore) error) error {
	return a.withStore(ctx, p, func(o *locate.Opened) error {
		if o.Executions == nil {
			return lacks(o, p, "executions")
		}
		return fn(o.Executions)
	})
}

func lacks(o *locate.Opened, p purpose, what string) error {
	if o.Info.OtherTrees && o.Trees == nil {
		return &openError{fmt.Errorf("%q has tables of the session trees' names, but not with the columns that this version knows: "+
			"another version or another program made them", o.Info.Locator)}
	}
	if o.Info.Foreign {
		return &openError{fmt.Errorf("%q holds no %s, but sessions of another program (%s)", o.Info.Locator, what, o.Info.Backend)}
	}
	if p == reading {
		return &openError{fmt.Errorf("%q holds no %s; a command that writes adds their tables, with --rw --create", o.Info.Locator, what)}
	}
	return &openError{fmt.Errorf("%q holds no %s; with --rw --create their tables are added", o.Info.Locator, what)}
}

func (a *app) open(ctx context.Context, p purpose) (*locate.Opened, error) {
	locator, isDefault, err := a.locator()
	if err != nil {
		return nil, &openError{err}
	}
	reads := p == reading || p == surveying
	opts := locate.Options{ReadWrite: a.rw, Create: a.create, Survey: p == surveying, Adding: func(what []string) error {
		return a.announce(locator, what)
	}}
	if a.prefixGiven {
		opts.Prefix = &a.prefix
	}
	if isDefault {
		if (reads || p == changing) && !a.create && !exists(locator) {
			return a.openNothing(ctx, locator, !reads)
		}
		if !reads {
			opts.Create = true
		}
	}
	if reads {
		opts.ReadOnly, opts.ReadWrite = true, false
	}
	if isDefault && opts.Create {
		if err := os.MkdirAll(filepath.Dir(locator), 0o700); err != nil {
			return nil, &openError{fmt.Errorf("make the folder of the default store: %w; name another store with -s", err)}
		}
	}
	o, err := a.openAt(ctx, locator, opts)
	if err != nil {
		return nil, err
	}
	if (p == writing || p == changing) && !o.Info.Writable {
		err := fmt.Errorf("%q is %w: %s", o.Info.Locator, errReadOnly, o.Info.Why)
		if !a.rw && !o.Info.Foreign {
			err = fmt.Errorf("%w; --rw opens it for writing", err)
		}
		return nil, &openError{errors.Join(err, o.Close())}
	}
	if p == exploring {
		return explorable(o)
	}
	return o, nil
}

// explorable refuses what the explorer has nothing to show of: queues between harel's
// workers without the executions that they are for.
func explorable(o *locate.Opened) (*locate.Opened, error) {
	if o.Executions != nil || o.Trees != nil || o.Transport == nil || len(o.Info.Sets) > 0 {
		return o, nil
	}
	err := fmt.Errorf("%q holds a transport of harel's alone, without executions: treering transport lists its queues", o.Info.Locator)
	return nil, &openError{errors.Join(err, o.Close())}
}

// announce says what is about to be added to a file of another program.
func (a *app) announce(locator string, what []string) error {
	// Where standard error cannot be written there is nobody to tell.
	fmt.Fprintf(a.stderr, "treering: adding the tables for %s to %s\n", //nolint:errcheck // see above
		strings.Join(what, " and "), term.SanitiseN(strconv.Quote(locate.Redact(locator)), maxErrorCells))
	return nil
}

// noBackend is the backend of a store that is not there yet.
const noBackend = "none"

// openNothing stands for the default store while it is not there: empty, and not
// made by looking.
func (a *app) openNothing(ctx context.Context, path string, writable bool) (*locate.Opened, error) {
	o, err := a.openAt(ctx, "memory:", locate.Options{})
	if err != nil {
		return nil, err
	}
	o.Info.Locator, o.Info.Name, o.Info.Path = path, filepath.Base(path), path
	o.Info.Backend, o.Info.Ours, o.Info.Writable = noBackend, false, writable
	o.Info.Sets, o.Info.TreeTables, o.Info.Sessions = nil, false, nil
	o.Info.How, o.Info.Why = "not there yet", "the explorer or the first command that writes makes it"
	return o, nil
}

// errReadOnly words store.ErrReadOnly for the middle of a sentence.
var errReadOnly = readOnlyError{}

type readOnlyError struct{}

func (readOnlyError) Error() string { return "open read-only" }
func (readOnlyError) Unwrap() error { return store.ErrReadOnly }

func (a *app) openAt(ctx context.Context, locator string, opts locate.Options) (*locate.Opened, error) {
	var o *locate.Opened
	err := interruptible(ctx, func() (err error) {
		o, err = locate.Open(ctx, locator, opts)
		return err
	})
	if err == nil {
		return o, nil
	}
	// What is no path at all cannot be created either, nor what a link leads to; a server
	// says itself what makes tables on it.
	var wrong *locate.LocatorError
	if errors.Is(err, store.ErrStoreNotFound) && !opts.Create && !errors.As(err, &wrong) && !isLink(locator) && !strings.Contains(locator, "://") {
		err = fmt.Errorf("%w; --create makes a new store", err)
	}
	return nil, &openError{err}
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// locator is the store to open, and whether it is the default one.
func (a *app) locator() (locator string, isDefault bool, err error) {
	// An empty -s is a variable that was not set, and no wish for the default store.
	if a.storeGiven {
		return a.store, false, nil
	}
	if named := a.env.Get("TREERING_STORE"); named != "" {
		return named, false, nil
	}
	path, err := locate.DefaultPath(a.env)
	if err != nil {
		return "", false, fmt.Errorf("%w; name a store with -s", err)
	}
	return path, true, nil
}

// yetToBeMade reports whether the store is the default one and not there.
func (a *app) yetToBeMade() bool {
	path, isDefault, err := a.locator()
	return err == nil && isDefault && !exists(path)
}

// exists reports whether there is a file with something in it. What cannot be
// looked at is there: opening it says what is wrong.
func exists(path string) bool {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	return err != nil || info.Size() > 0 || !info.Mode().IsRegular()
}

// each pages a list through, up to the limit of the command line, and calls done
// after every page.
func each[T any](a *app, list func(store.PageRequest) (store.Page[T], error), visit func(T) error, done func() error) error {
	var req store.PageRequest
	for seen := 0; ; {
		if a.limit > 0 {
			req.Limit = min(a.limit-seen, store.DefaultLimit)
		}
		page, err := list(req)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			if err := visit(item); err != nil {
				return err
			}
		}
		seen += len(page.Items)
		if err := done(); err != nil {
			return err
		}
		if page.Next == "" || a.limit > 0 && seen >= a.limit {
			return nil
		}
		req.Cursor = page.Next
	}
}

// printer writes the items of one list in the form that was asked for.
type printer[T any] struct {
	empty string   // said on a terminal when the list is
	head  []string // of the columns
	json  func(*line, T)
	row   func(T) []string
	raw   func(T) (string, error) // nil: --raw does not apply
}

func list[T any](a *app, p printer[T], fetch func(store.PageRequest) (store.Page[T], error)) error {
	switch {
	case a.raw:
		return each(a, fetch, func(item T) error {
			text, err := p.raw(item)
			if err != nil {
				return err
			}
			return a.out.stored(text)
		}, a.out.flush)
	case a.json:
		var l line
		return each(a, fetch, func(item T) error {
			l.b = l.b[:0]
			p.json(&l, item)
			return a.out.jsonLine(&l)
		}, a.out.flush)
	}
	t := a.out.table(p.empty, p.head...)
	if err := each(a, fetch, func(item T) error { return t.row(p.row(item)...) }, t.flush); err != nil {
		return err
	}
	return t.end()
}

// items is a list of what is already there.
func items[T any](all ...T) func(store.PageRequest) (store.Page[T], error) {
	return func(r store.PageRequest) (store.Page[T], error) {
		if r.Limit > 0 && r.Limit < len(all) {
			return store.Page[T]{Items: all[:r.Limit]}, nil
		}
		return store.Page[T]{Items: all}, nil
	}
}
