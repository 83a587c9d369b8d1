package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// plan is a way of opening a file.
type plan int

const (
	planPlain     plan = iota // neither WAL nor a log: SQLite's own locks
	planFollow                // WAL with its log and index there: beside its writers, touching neither
	planImmutable             // WAL at rest: without locks, checked after every read
	planCopy                  // a log or journal that cannot be read in place: a private copy
	planWrite                 // for writing
)

// source is one opening of a file: the plan by which its connections are made.
type source struct {
	opts   Options
	found  Found
	file   *openFile
	plan   plan
	uri    string
	flags  sqlite.OpenFlags
	sig    signature // as opened or copied
	why    string    // planCopy: what could not be read in place
	dir    string    // planCopy: where the copy lies
	log    *os.File  // the -wal that is read, held so that no other file can pass for it
	alien  bool      // planCopy: the -wal is not copied, since it is not that of the database
	epoch  uint64
	copied time.Time
	rest   time.Duration // planCopy: how long the copy is good enough although the file changes

	spoilt atomic.Bool // a read met something that this plan does not cover

	// Guarded by File.mu.
	retired  bool
	disposed bool
}

func (s *source) how() How {
	h := How{
		JournalMode:   "rollback",
		ApplicationID: s.found.ApplicationID,
		UserVersion:   s.found.UserVersion,
		Ours:          s.found.Ours,
	}
	if s.found.WAL {
		h.JournalMode = "wal"
	}
	switch s.plan {
	case planPlain:
		h.Mode, h.Why = "read-only", "it is not in WAL mode, so SQLite's own locks protect each read and nothing is written"
	case planFollow:
		h.Mode, h.Why = "read-only (following)", "it is in WAL mode and its log is there, so it is read beside its writers without touching the log or its index"
	case planImmutable:
		h.Mode, h.Why = "read-only (immutable)", "it is in WAL mode and at rest, so it is read without locks and checked for changes after every read"
	case planCopy:
		h.Mode, h.PrivateCopy = "read-only (private copy)", true
		why := s.why
		if s.alien {
			why += ", and is left out"
		}
		h.Why = why + ", so a private copy is read, taken at " + s.copied.Format(time.TimeOnly) + " and taken again when the file changes"
		if s.rest > 0 {
			h.Why += fmt.Sprintf(", but not within %v", s.rest.Round(time.Second/10))
		}
	case planWrite:
		h.Mode, h.Why = "read-write", "writing was asked for"
	}
	if n := hardLinks(s.file.info); n > 1 {
		h.Why += fmt.Sprintf("; the file has %d names (hard links), and what a program writes through another one may be in a log that cannot be seen from here", n)
	}
	return h
}

// openSource looks at the path and opens it by what is found, with a first
// connection that has proved to read. errChanged asks for another look.
func openSource(ctx context.Context, o Options, left *leftLog) (*source, *sqlite.Conn, error) {
	found, file, err := look(o.Path)
	if err != nil {
		if file != nil {
			files.release(file)
		}
		return nil, nil, err
	}
	s := &source{opts: o, found: found, file: file}
	var conn *sqlite.Conn
	if err = left.check(s); err == nil {
		conn, err = s.open(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, s.dispose())
	}
	return s, conn, nil
}

func (s *source) open(ctx context.Context) (*sqlite.Conn, error) {
	switch f := s.found; {
	case s.opts.ReadWrite:
		return s.openWrite(ctx)
	case !f.WAL && f.Log == LogAbsent:
		conn, err := s.openPlain(ctx)
		if notInPlace(err) {
			if f.Journal {
				return s.openCopy(ctx, "an interrupted transaction waits to be rolled back")
			}
			if now, perr := Probe(s.opts.Path); perr != nil || now.WAL || now.Journal || now.Log != LogAbsent {
				return nil, errChanged
			}
		}
		return conn, err
	}
	// SQLite uses a log that lies beside a database whatever the header says.
	why, err := s.alienLog()
	if err != nil {
		return nil, err
	}
	if why != "" {
		s.alien = true
		return s.openCopy(ctx, why)
	}
	switch f := s.found; {
	case f.Journal:
		return s.openCopy(ctx, "an interrupted transaction waits to be rolled back")
	case f.Log == LogAbsent, f.Log == LogEmpty && !f.Shm:
		return s.openImmutable(ctx)
	case !f.Shm:
		return s.openCopy(ctx, "its log holds commits and the index of the log is missing")
	}
	conn, err := s.openFollow(ctx)
	switch {
	case !notInPlace(err):
		return conn, err
	case s.found.Log == LogContent:
		return s.openCopy(ctx, "its log holds commits and the index of the log cannot be used")
	}
	return s.openImmutable(ctx)
}

// notInPlace reports whether err means that the file cannot be read where it is by
// the plan that was tried: a hot journal, or a log whose index is missing, damaged
// or not readable.
func notInPlace(err error) bool {
	switch code := sqlite.ErrCode(err); code {
	case sqlite.ResultIOErrSHMOpen, sqlite.ResultIOErrSHMLock, sqlite.ResultIOErrSHMMap, sqlite.ResultIOErrSHMSize:
		return true
	case sqlite.ResultReadOnly:
		return false // a statement that would write
	default:
		return code.ToPrimary() == sqlite.ResultCantOpen || code.ToPrimary() == sqlite.ResultReadOnly
	}
}

// first makes the first connection and reads through it.
func (s *source) first(ctx context.Context) (*sqlite.Conn, error) {
	conn, err := s.connect()
	if err != nil {
		return nil, err
	}
	err = inRead(ctx, &interruption{conn: conn}, s.opts.BusyTimeout, func(*sqlite.Conn) error { return nil })
	if err != nil {
		err = closeAfter(conn, err)
		s.disconnected()
		return nil, err
	}
	return conn, nil
}

// connect opens one more connection. The registry counts it before SQLite has it.
func (s *source) connect() (*sqlite.Conn, error) {
	s.count(1)
	conn, err := connect(s.uri, s.flags)
	if err != nil {
		s.count(-1)
		if len(s.found.Target) > sqlitePathMax {
			err = &OpenError{s.opts.Path, "its full path is longer than SQLite can open", "name it by a shorter way, or move it", err}
		}
		return nil, err
	}
	return conn, nil
}

// sqlitePathMax is what SQLite's Unix layer allows a full path, in bytes, with the
// suffix of its journal.
const sqlitePathMax = 500

func (s *source) disconnected() { s.count(-1) }

func (s *source) count(n int) {
	if s.plan != planImmutable && s.plan != planCopy {
		files.connected(s.file, s.plan == planFollow, n)
	}
}

// dispose gives up the file and the private copy, when no connection is left.
func (s *source) dispose() error {
	files.release(s.file)
	if s.log != nil {
		s.log.Close() // it was only read
		s.log = nil
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

func (s *source) openPlain(ctx context.Context) (*sqlite.Conn, error) {
	// readonly_shm means nothing to a database that is not in WAL mode. Should it be
	// switched to it in the instant before the read, SQLite then makes no index.
	s.plan, s.flags = planPlain, sqlite.OpenReadOnly
	s.uri = fileURI(s.found.Target, "mode=ro&readonly_shm=1")
	if stale, err := s.stale(s.found.Target); stale || err != nil {
		return nil, errChanged
	}
	return s.first(ctx)
}

func (s *source) openFollow(ctx context.Context) (*sqlite.Conn, error) {
	s.plan, s.flags = planFollow, sqlite.OpenReadOnly
	s.uri = fileURI(s.found.Target, "mode=ro&readonly_shm=1")
	select {
	case s.file.opening <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-s.file.opening }()

	// The last writer deletes the log under an exclusive lock when it closes. SQLite
	// would make a new one if it came just then, so the shared lock is held from
	// before the last look until SQLite holds it too, which it does as long as the
	// connection lasts. Where a connection of this process has the file already,
	// there is no need: it keeps the log from going.
	held := false
	if locks, _ := files.counts(s.file); locks == 0 {
		deadline := time.Now().Add(s.opts.BusyTimeout)
		for {
			var err error
			if held, err = shareLock(s.file.fd); err == nil {
				break
			}
			if !lockedByOther(err) {
				return nil, systemError(s.opts.Path, "its lock", err)
			}
			if !time.Now().Before(deadline) {
				return nil, &OpenError{s.opts.Path, "another process has locked it for itself alone", "try again when that process is done", both(store.ErrBusy, err)}
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
	conn, err := s.firstFollowing(ctx)
	if err != nil && held {
		if locks, _ := files.counts(s.file); locks == 0 {
			err = errors.Join(err, shareUnlock(s.file.fd))
		}
	}
	return conn, err
}

func (s *source) firstFollowing(ctx context.Context) (*sqlite.Conn, error) {
	now := Found{Path: s.opts.Path, Target: s.found.Target}
	if err := lookBeside(&now); err != nil {
		return nil, err
	}
	if now.Log == LogAbsent || !now.Shm {
		return nil, errChanged
	}
	if holdsLogs {
		var err error
		if s.log, err = s.openBeside(s.found.Target+"-wal", "its -wal"); err != nil {
			return nil, err
		}
	}
	return s.first(ctx)
}

func (s *source) openImmutable(ctx context.Context) (*sqlite.Conn, error) {
	s.plan, s.flags = planImmutable, sqlite.OpenReadOnly
	s.uri = fileURI(s.found.Target, "mode=ro&immutable=1")
	sig, err := sign(s.found.Target)
	if err != nil {
		return nil, systemError(s.opts.Path, "it", err)
	}
	if err := sig.settle(ctx); err != nil {
		return nil, err
	}
	s.sig = sig
	conn, err := s.first(ctx)
	if stale, serr := s.changed(); serr != nil || stale {
		if err == nil {
			conn.Close() // it read what may have been torn, and holds nothing else
			s.disconnected()
		}
		return nil, errChanged
	}
	return conn, err
}

func (s *source) openWrite(ctx context.Context) (*sqlite.Conn, error) {
	s.plan, s.flags = planWrite, sqlite.OpenReadWrite
	s.uri = fileURI(s.found.Target, "mode=rw")
	if s.found.Ours && s.found.UserVersion > SchemaVersion {
		return nil, &OpenError{s.opts.Path, "a newer version of treering made it", "update treering, or open it read-only", store.ErrReadOnly}
	}
	if why, err := s.alienLog(); err != nil {
		return nil, err
	} else if why != "" {
		return nil, &OpenError{s.opts.Path, why, "move that away, or open it read-only", store.ErrReadOnly}
	}
	if n := hardLinks(s.file.info); n > 1 {
		// Two names have two logs and two journals: each writer would miss the other's.
		return nil, &OpenError{s.opts.Path, fmt.Sprintf("it has %d names (hard links), and what is written through one damages what is written through another", n),
			"write to a copy, or leave it one name", store.ErrReadOnly}
	}
	// SQLite opens a file without write permission for reading and says so only at
	// the first write.
	fd, err := os.OpenFile(s.found.Target, os.O_RDWR|openNonblock, 0)
	if err != nil {
		return nil, &OpenError{s.opts.Path, "it cannot be written: " + reason(err), "open it read-only", both(store.ErrReadOnly, err)}
	}
	files.park(s.file, fd)
	if _, quiet := files.counts(s.file); quiet > 0 {
		// All connections of a process share one view of the -shm, and it is read-only.
		return nil, &OpenError{s.opts.Path, "it is open for reading elsewhere in this program", "close that first", store.ErrBusy}
	}
	conn, err := s.first(ctx)
	if err != nil {
		return nil, err
	}
	if s.found.Ours && !s.found.WAL {
		err := set(conn, "query_only", "0")
		if err == nil {
			err = setWAL(ctx, s.opts.Path, conn, s.opts.BusyTimeout)
		}
		if err == nil {
			err = set(conn, "query_only", "1")
		}
		if err != nil {
			err = closeAfter(conn, err)
			s.disconnected()
			return nil, err
		}
		s.found.WAL = true
	}
	return conn, nil
}

// reason is the system's word for an error, without the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// changed reports whether the file or what lies beside it differs from what was
// opened or copied.
func (s *source) changed() (bool, error) {
	now, err := sign(s.found.Target)
	return !now.same(s.sig), err
}

// stale reports whether the source must be opened anew before a read. named is the
// path through which the file was opened, which may lead to another file by now.
func (s *source) stale(named string) (bool, error) {
	if s.spoilt.Load() {
		return true, nil
	}
	info, err := os.Stat(named)
	if err != nil {
		return true, systemError(s.opts.Path, "it", err)
	}
	if !os.SameFile(info, s.file.info) {
		if s.plan == planWrite {
			// The log of the old file may lie beside the new one, which would be damaged by
			// it. That is not for a program to decide.
			hint := "open it again"
			if wal, err := lookAt(s.found.Target + "-wal"); err == nil && wal.size > 0 {
				hint = "its -wal still is that of the old file: move it and the -shm away, then open it again"
			}
			return true, &OpenError{s.opts.Path, "another file was put in its place", hint, store.ErrSourceChanged}
		}
		return true, nil
	}
	switch s.plan {
	case planPlain:
		// A header that cannot be read any more is looked into by opening anew.
		if wal, _, err := headerSaysWAL(s.file.fd); wal || err != nil {
			return true, nil
		}
		wal, err := lookAt(s.found.Target + "-wal")
		if err != nil {
			return true, systemError(s.opts.Path, "its -wal", err)
		}
		return wal.info != nil, nil
	case planImmutable, planCopy:
		if time.Since(s.copied) < s.rest {
			return false, nil
		}
		stale, err := s.changed()
		if err != nil {
			return true, systemError(s.opts.Path, "it", err)
		}
		return stale, nil
	}
	return false, nil
}
