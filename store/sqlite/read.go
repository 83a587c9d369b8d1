package sqlite

import (
	"context"
	"errors"
	"fmt"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// Read runs fn inside one short read transaction on one of at most two reading
// connections. Cancelling ctx interrupts it and leaves no transaction and no
// cursor behind.
//
// If the file changed underneath in a way that the read was not protected from,
// what fn did is thrown away and fn runs again: it must start from nothing each
// time, and hand out nothing before Read has returned nil. It must finalise what it
// prepares by itself (statements of conn.Prepare are reset for it), must not begin
// or end transactions, and must not call Read.
//
// A lock held by another process for longer than BusyTimeout matches
// [store.ErrBusy], damaged content [store.ErrNotAStore], a file that is gone
// [store.ErrStoreNotFound], one that changes again and again
// [store.ErrSourceChanged]. Errors of fn itself come back as they are.
func (f *File) Read(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	select {
	case f.readers <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.readers }()

	for attempt := 1; ; attempt++ {
		src, conn, err := f.reader(ctx)
		if err != nil {
			return err
		}
		again, err := f.readOnce(ctx, src, conn, fn)
		if !again {
			return sqliteError(ctx, f.opts.Path, err)
		}
		if attempt == maxAttempts {
			if err != nil {
				return sqliteError(ctx, f.opts.Path, err)
			}
			return keepsChanging(f.opts.Path)
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

// readOnce reads through conn and gives it back. It asks for another attempt where
// the result cannot be trusted.
func (f *File) readOnce(ctx context.Context, src *source, conn *sqlite.Conn, fn func(*sqlite.Conn) error) (again bool, err error) {
	done := false
	defer func() {
		// Also where fn panics.
		f.putBack(src, conn, !done || again)
	}()
	err = inRead(ctx, f.interruption(conn), f.opts.BusyTimeout, fn)
	done = true
	if err != nil && ctx.Err() != nil {
		return false, err
	}
	if src.plan != planWrite && src.plan != planCopy && notInPlace(err) {
		return true, err
	}
	if src.plan == planCopy {
		return false, err // the copy is whole; whether it is still the newest is asked before the next read
	}
	stale, serr := src.stale(f.named)
	if serr != nil {
		return false, serr
	}
	return stale, err
}

// reader takes a connection of a source that may be read now.
func (f *File) reader(ctx context.Context) (*source, *sqlite.Conn, error) {
	if err := f.lock(ctx); err != nil {
		return nil, nil, err
	}
	defer f.free()
	if err := f.fresh(ctx); err != nil {
		return nil, nil, err
	}
	conn := f.pop()
	if conn == nil {
		var err error
		if conn, err = f.connect(); err != nil {
			// The file may have gone in this instant. Opening anew finds out, and leaves an
			// idle connection.
			f.src.spoilt.Store(true)
			if err := f.fresh(ctx); err != nil {
				return nil, nil, err
			}
			conn = f.pop()
		}
	}
	return f.src, conn, nil
}

// pop takes an idle connection, nil where there is none.
func (f *File) pop() *sqlite.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.idle)
	if n == 0 {
		return nil
	}
	conn := f.idle[n-1]
	f.idle = f.idle[:n-1]
	return conn
}

// connect makes one more connection to the source. It is called in turn.
func (f *File) connect() (*sqlite.Conn, error) {
	conn, err := f.src.connect()
	if err != nil {
		return nil, sqliteError(context.Background(), f.opts.Path, err)
	}
	f.mu.Lock()
	f.own(conn, f.src)
	f.mu.Unlock()
	return conn, nil
}

// putBack returns a connection after a read. A source that is spoilt is opened
// anew before the next one.
func (f *File) putBack(src *source, conn *sqlite.Conn, spoilt bool) {
	if spoilt {
		src.spoilt.Store(true)
	}
	f.mu.Lock()
	keep := !src.retired && conn.AutocommitEnabled()
	if keep {
		f.idle = append(f.idle, conn)
	}
	f.mu.Unlock()
	if !keep {
		f.closeConn(conn)
	}
}

// WriterConn returns the writing connection of a file opened with ReadWrite, for
// one goroutine alone: WAL in files of ours, the synchronous level asked for, a
// busy timeout of 5 s. It is made at the first call and closed by [File.Close].
// Writes begin IMMEDIATE. To ask for it at the beginning of each batch costs one
// system call and finds out whether the file is still the one at the path:
// otherwise the answer is [store.ErrSourceChanged] or [store.ErrStoreNotFound], and
// nothing should be written any more.
//
// A file opened for reading answers [store.ErrReadOnly].
func (f *File) WriterConn(ctx context.Context) (*sqlite.Conn, error) {
	if err := f.lock(ctx); err != nil {
		return nil, err
	}
	defer f.free()
	if !f.opts.ReadWrite {
		return nil, &OpenError{f.opts.Path, "it is open for reading only", "open it with --rw", store.ErrReadOnly}
	}
	if err := f.fresh(ctx); err != nil {
		return nil, err
	}
	if f.writer != nil {
		return f.writer, nil
	}
	conn, err := f.connect()
	if err != nil {
		return nil, err
	}
	if err := makeWriter(conn, f.opts.Synchronous); err != nil {
		f.closeConn(conn)
		return nil, sqliteError(ctx, f.opts.Path, err)
	}
	f.writer = conn
	return conn, nil
}

// ChangeToken returns a token that differs from earlier ones whenever the content
// may have changed since, by whomever: another process, this File's own writing
// connection, or a file put in its place. Two equal tokens mean that it has not. It costs a few microseconds while nothing
// changes.
func (f *File) ChangeToken(ctx context.Context) (string, error) {
	if err := f.lock(ctx); err != nil {
		return "", err
	}
	defer f.free()
	for attempt := 1; ; attempt++ {
		if err := f.fresh(ctx); err != nil {
			return "", err
		}
		seen, err := f.seen(ctx)
		if err == nil {
			return fmt.Sprintf("%d.%s", f.epoch, seen), nil
		}
		again := errors.Is(err, errChanged) || notInPlace(err) && f.src.plan != planWrite
		if !again || attempt == maxAttempts {
			return "", sqliteError(ctx, f.opts.Path, err)
		}
		f.src.spoilt.Store(true)
	}
}

// seen is what changes within one source. It is called in turn.
func (f *File) seen(ctx context.Context) (string, error) {
	switch f.src.plan {
	case planImmutable, planCopy:
		return "", nil // any change makes a new source
	case planPlain:
		// Each commit outside WAL mode moves the counter in the header, before its
		// lock is given back: whoever sees the new counter reads the new content. The
		// data_version would do too, but asking for it reads the database.
		wal, counter, err := headerSaysWAL(f.src.file.fd)
		if err != nil || wal {
			return "", errChanged
		}
		db, err := f.seenFile()
		return fmt.Sprintf("%d.%s", counter, db), err
	case planFollow:
		// An empty log that nobody uses makes the data_version move at every call. There
		// the database file is all there is, and its time tells once it has settled.
		wal, err := lookAt(f.src.found.Target + "-wal")
		if err == nil && wal.size == 0 {
			if db, err := f.seenFile(); err != nil || db.unsettled() == 0 {
				return "f" + db.String(), err
			}
		}
	}
	// The data_version is that of one connection, and sees only what others commit.
	if f.watch == nil {
		conn, err := f.connect()
		if err != nil {
			return "", err
		}
		f.watch = conn
	}
	defer f.interruption(f.watch).during(ctx)()
	stmt, err := f.watch.Prepare("PRAGMA data_version")
	if err != nil {
		return "", err
	}
	if _, err := stmt.Step(); err != nil {
		return "", err
	}
	version := stmt.ColumnText(0)
	return version, stmt.Reset()
}

func (f *File) seenFile() (sighting, error) {
	db, err := lookAt(f.src.found.Target)
	if err != nil {
		return db, systemError(f.opts.Path, "it", err)
	}
	if db.info == nil {
		return db, errChanged
	}
	return db, nil
}
