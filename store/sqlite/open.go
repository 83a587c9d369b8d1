package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// Options say how to open a file.
type Options struct {
	Path string
	// ReadWrite allows [File.WriterConn]. Without it nothing about the file and its
	// directory is changed, whatever state it is in.
	ReadWrite bool
	// Create, which includes ReadWrite, makes a missing or zero-byte file in an
	// existing directory. A database that is there is opened as it is.
	Create bool
	// Init makes the schema of a new file. It runs inside the transaction that marks
	// the file as ours; if it fails there is no file. Several processes may create
	// one file at once: one of them runs it.
	Init func(*sqlite.Conn) error
	// BusyTimeout is how long to wait for another process's lock; 0 is 5 s.
	BusyTimeout time.Duration
	// Synchronous of the writing connection: FULL (also ""), NORMAL or OFF.
	Synchronous string
	// TempDir takes private copies; "" is the system's.
	TempDir string

	// What follows is for [Open] alone; [OpenFile] looks at none of it.

	// Prefix names the set of execution tables, as harel writes it; nil picks the only
	// one. See [PickSet].
	Prefix *string
	// TraceMax is the length of the trace rings: nil is [store.DefaultTraceMax], 0
	// unbounded, a negative one is refused. A ring is trimmed at its next write.
	TraceMax *int
	// Now is the clock of the trees' time to live; nil is the system's.
	Now func() time.Time
}

// How says how a file is open, for people.
type How struct {
	Mode          string // "read-only", "read-only (following)", "read-only (immutable)", "read-only (private copy)", "read-write"
	Why           string // one sentence
	JournalMode   string // "wal" or "rollback"
	PrivateCopy   bool
	ApplicationID uint32
	UserVersion   int32
	Ours          bool // ApplicationID is ours
}

// File is an open SQLite file. Opened for reading it follows the path: if another
// file is put in its place, or if the way to read it without harm changes, it
// reopens by itself. Opened for writing it stays with the file that it opened, and
// answers [store.ErrSourceChanged] once another is in its place. All methods are
// safe for concurrent use.
type File struct {
	opts  Options
	named string // opts.Path made absolute, links not followed

	how  atomic.Pointer[How] // of the last source
	bell *bell

	turn    chan struct{} // one token: held while the source is looked at or changed
	readers chan struct{} // one token for each Read under way, two at most

	// Guarded by turn.
	src    *source
	watch  *sqlite.Conn // of src, for ChangeToken
	writer *sqlite.Conn
	left   *leftLog // of the last source that had a log
	epoch  uint64
	closed bool

	mu       sync.Mutex // guards what follows; held for moments only
	idle     []*sqlite.Conn
	owner    map[*sqlite.Conn]owned // every open connection
	target   string                 // of the last source
	cleanups error                  // of sources that were given up
}

// maxReaders is how many reading connections a file has at most.
const maxReaders = 2

// maxAttempts is how often a read is begun again because its source changed.
const maxAttempts = 8

// errChanged: what was looked at is no longer so. Look again.
var errChanged = errors.New("changed meanwhile")

// OpenFile opens a file by what [Probe] finds. See [Probe] for the errors of a path
// that is no database; a file that is locked for longer than BusyTimeout matches
// [store.ErrBusy], one without write permission opened with ReadWrite
// [store.ErrReadOnly].
func OpenFile(ctx context.Context, o Options) (*File, error) {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = writerBusyTimeout
	}
	if o.Synchronous == "" {
		o.Synchronous = "FULL"
	}
	if _, ok := synchronousLevel(o.Synchronous); !ok {
		return nil, fmt.Errorf("synchronous cannot be %q: FULL, NORMAL or OFF", o.Synchronous)
	}
	named, err := absolute(o.Path)
	if err != nil {
		return nil, systemError(o.Path, "the working directory", err)
	}
	if o.Create {
		o.ReadWrite = true
		if err := create(ctx, o); err != nil {
			return nil, err
		}
	}
	f := &File{
		opts: o, named: named, target: named, bell: newBell(),
		turn:    make(chan struct{}, 1),
		readers: make(chan struct{}, maxReaders),
		owner:   make(map[*sqlite.Conn]owned),
	}
	if err := f.reopen(ctx); err != nil {
		return nil, err
	}
	return f, nil
}

// How says how and why the file is open: as it was opened last, without waiting for
// an opening that is under way.
func (f *File) How() How {
	if h := f.how.Load(); h != nil {
		return *h
	}
	return How{}
}

// Path is the file's path as it was given.
func (f *File) Path() string { return f.opts.Path }

// Epoch is the number of times that the file behind conn, a connection handed out
// by this File, has been opened anew: what was learnt about the layout in another
// epoch may not hold in this one. It is 0 for a connection that is not this File's.
func (f *File) Epoch(conn *sqlite.Conn) uint64 {
	if src := f.sourceOf(conn); src != nil {
		return src.epoch
	}
	return 0
}

// identity tells the file behind conn, a connection handed out by this File, from
// any other that was or will be at the path.
func (f *File) identity(conn *sqlite.Conn) string {
	if src := f.sourceOf(conn); src != nil {
		return src.file.identity
	}
	return ""
}

// fileIdentity is that of the file that is open at this moment.
func (f *File) fileIdentity() string {
	f.turn <- struct{}{}
	defer f.free()
	if f.src == nil {
		return ""
	}
	return f.src.file.identity
}

func (f *File) sourceOf(conn *sqlite.Conn) *source {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owner[conn].source
}

func (f *File) interruption(conn *sqlite.Conn) *interruption {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owner[conn].interruption
}

// own notes a new connection. It is called with mu held.
func (f *File) own(conn *sqlite.Conn, src *source) {
	f.owner[conn] = owned{src, &interruption{conn: conn}}
}

// lock takes the turn.
func (f *File) lock(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if f.closed {
		f.free()
		return store.ErrClosed
	}
	return nil
}

func (f *File) free() { <-f.turn }

// fresh makes sure that there is a source that may be read now. It is called in turn.
func (f *File) fresh(ctx context.Context) error {
	if f.src != nil {
		stale, err := f.src.stale(f.named)
		if err != nil {
			return err
		}
		if !stale {
			return nil
		}
	}
	return f.reopen(ctx)
}

// reopen replaces the source by a new one. It is called in turn.
func (f *File) reopen(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		// The old source goes first: while a connection is left no other kind can be
		// made safely, and a reader that goes on with it closes it when it is done.
		if f.src != nil {
			f.leave(f.src)
			f.retire(f.src)
			f.src = nil
		}
		src, conn, err := openSource(ctx, f.opts, f.left)
		if err == nil {
			f.epoch++
			src.epoch = f.epoch
			f.src = src
			how := src.how()
			f.how.Store(&how)
			f.mu.Lock()
			f.target = src.found.Target
			f.own(conn, src)
			f.idle = append(f.idle, conn)
			f.mu.Unlock()
			return nil
		}
		if !errors.Is(err, errChanged) {
			return sqliteError(ctx, f.opts.Path, err)
		}
		if attempt == maxAttempts {
			return keepsChanging(f.opts.Path)
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

func keepsChanging(path string) error {
	return &OpenError{path, "it was changed in the middle of every attempt to read it", "try again when its writer is done", store.ErrSourceChanged}
}

// backOff waits before the next attempt: 1 ms, 2 ms, 4 ms, ... 64 ms.
func backOff(ctx context.Context, attempt int) error {
	return pause(ctx, time.Millisecond<<min(attempt-1, 6))
}

// retire closes the idle connections of a source. The last connection in use takes
// the rest with it. It is called in turn.
func (f *File) retire(src *source) {
	if f.watch != nil {
		f.closeConn(f.watch)
		f.watch = nil
	}
	f.mu.Lock()
	idle := f.idle
	f.idle = nil
	src.retired = true
	f.mu.Unlock()
	for _, conn := range idle {
		f.closeConn(conn)
	}
	f.disposeUnused(src)
}

// closeConn closes a connection, and its source if it was the last of a retired one.
func (f *File) closeConn(conn *sqlite.Conn) {
	err := conn.Close()
	f.mu.Lock()
	src := f.owner[conn].source
	delete(f.owner, conn)
	f.mu.Unlock()
	src.disconnected()
	f.keep(err)
	f.disposeUnused(src)
}

// disposeUnused gives up a retired source that has no connection left.
func (f *File) disposeUnused(src *source) {
	f.mu.Lock()
	last := src.retired && !src.disposed
	for _, o := range f.owner {
		last = last && o.source != src
	}
	src.disposed = src.disposed || last
	f.mu.Unlock()
	if last {
		f.keep(src.dispose())
	}
}

// keep holds an error of closing for Close to report: whoever's read comes to the
// end of a source has no use for it.
func (f *File) keep(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleanups = errors.Join(f.cleanups, err)
}

// Close waits for the reads under way and closes everything. The writing
// connection must not be in use. Closing twice is harmless.
func (f *File) Close() error {
	for range maxReaders {
		f.readers <- struct{}{}
	}
	defer func() {
		for range maxReaders {
			<-f.readers
		}
	}()
	f.turn <- struct{}{}
	defer f.free()
	if f.closed {
		return nil
	}
	f.closed = true
	f.bell.close()
	if f.src != nil {
		f.retire(f.src)
		f.src = nil
	}
	if f.left != nil {
		f.left.held.Close() // it was only read
		f.left = nil
	}
	// The writer last: the last connection that can write merges the log.
	if f.writer != nil {
		f.closeConn(f.writer)
		f.writer = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return sqliteError(context.Background(), f.opts.Path, f.cleanups)
}
