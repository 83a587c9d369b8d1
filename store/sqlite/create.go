package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

// create makes a store of a missing or zero-byte file, and leaves every other file
// as it is. Any number of processes may do so at once.
//
// The schema and the mark are written in one transaction in rollback mode, and the
// file is put into WAL mode after it: whoever looks at the file meanwhile sees
// either an empty file, or one with a journal beside it, or one of ours.
func create(ctx context.Context, o Options) error {
	for attempt := 1; ; attempt++ {
		err := createOnce(ctx, o)
		if !errors.Is(err, errChanged) {
			return sqliteError(ctx, o.Path, err)
		}
		if attempt == maxAttempts {
			return keepsChanging(o.Path)
		}
		if err := backOff(ctx, attempt); err != nil {
			return err
		}
	}
}

func createOnce(ctx context.Context, o Options) error {
	found, file, err := look(o.Path)
	defer func() {
		if file != nil {
			files.release(file)
		}
	}()
	made := false
	switch {
	case err == nil && (found.Ours || !found.Journal):
		return nil // a database
	case err == nil, found.Empty, found.unborn:
		// Empty, or somebody is making it, or died while making it: SQLite will tell
		// under its lock.
		if found.Log == LogContent {
			return leftover(o.Path, "-wal")
		}
	case errors.Is(err, store.ErrStoreNotFound):
		if file, err = makeFile(o.Path); err != nil {
			return err
		}
		made = true
	default:
		return err
	}
	target, err := resolve(o.Path)
	if err != nil {
		return err
	}
	err = initialise(ctx, o, target, file, made)
	if err != nil {
		return err
	}
	// Another process that failed may have removed the file under us.
	if now, err := os.Stat(target); err != nil || !os.SameFile(now, file.info) {
		return errChanged
	}
	return nil
}

func leftover(path, suffix string) error {
	return &OpenError{path, "a " + suffix + " with content lies beside it, left from another database", "move it away first", store.ErrNotAStore}
}

// makeFile makes an empty file where there is none.
func makeFile(path string) (*openFile, error) {
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil {
		return nil, &OpenError{path, "its directory cannot be used: " + reason(err), "make the directory first", both(store.ErrStoreNotFound, err)}
	} else if !info.IsDir() {
		return nil, &OpenError{path, strconv.Quote(dir) + " is not a directory", "name a file in a directory", store.ErrStoreNotFound}
	}
	// SQLite would take the journal or log of a lost database for that of the new one
	// and delete it.
	for _, suffix := range []string{"-journal", "-wal"} {
		at, err := lookAt(path + suffix)
		if err != nil {
			return nil, systemError(path, "its "+suffix, err)
		}
		if at.size > 0 {
			if _, err := os.Stat(path); err == nil {
				return nil, errChanged // somebody else is making it
			}
			return nil, leftover(path, suffix)
		}
	}
	fd, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		if _, serr := os.Stat(path); errors.Is(serr, fs.ErrNotExist) {
			_, err := resolve(path)
			return nil, err // a link to nowhere
		}
		return nil, errChanged
	case err != nil:
		return nil, &OpenError{path, "it cannot be made: " + reason(err), "choose a directory in which you may write", both(store.ErrReadOnly, err)}
	}
	return files.adopt(fd)
}

// initialise writes schema and mark unless they are there, and puts the file into
// WAL mode. On failure a file that this call made is removed.
func initialise(ctx context.Context, o Options, target string, file *openFile, made bool) (err error) {
	files.connected(file, false, 1)
	defer files.connected(file, false, -1)
	conn, err := connect(fileURI(target, "mode=rw"), sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() {
		conn.SetInterrupt(nil)
		if cerr := conn.Close(); err == nil {
			err = cerr
		}
	}()
	if err := set(conn, "query_only", "0"); err != nil {
		return err
	}
	conn.SetInterrupt(ctx.Done())
	wait := o.BusyTimeout
	err = untilFree(ctx, time.Now().Add(wait), func() error { return run(conn, "BEGIN IMMEDIATE") })
	if err != nil {
		return err
	}
	err = initialiseLocked(conn, o)
	conn.SetInterrupt(nil)
	if err == nil {
		err = untilFree(ctx, time.Now().Add(wait), func() error { return run(conn, "COMMIT") })
	}
	if err != nil {
		if !conn.AutocommitEnabled() {
			err = errors.Join(err, run(conn, "ROLLBACK"))
		}
		if made {
			err = errors.Join(err, removeEmpty(conn, target, file))
		}
		return err
	}
	if id, err := text(conn, "PRAGMA application_id"); err != nil || id != strconv.Itoa(int(ApplicationID)) {
		return err // somebody else's database after all
	}
	return setWAL(ctx, o.Path, conn, wait)
}

// initialiseLocked writes schema and mark into a database that has no content.
func initialiseLocked(conn *sqlite.Conn, o Options) error {
	for _, zero := range []string{"PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema"} {
		if n, err := text(conn, zero); err != nil || n != "0" {
			return err
		}
	}
	if o.Init != nil {
		if err := o.Init(conn); err != nil {
			return err
		}
	}
	if err := run(conn, fmt.Sprintf("PRAGMA application_id=%d", ApplicationID)); err != nil {
		return err
	}
	return run(conn, fmt.Sprintf("PRAGMA user_version=%d", SchemaVersion))
}

// removeEmpty removes a file without content. It does so under the lock: whoever waits
// for that finds the file gone and begins again, and whoever has it already is making
// the file what it should be.
func removeEmpty(conn *sqlite.Conn, target string, file *openFile) (err error) {
	if err := run(conn, "BEGIN IMMEDIATE"); err != nil {
		if isBusy(err) {
			return nil
		}
		return err
	}
	defer func() { err = errors.Join(err, run(conn, "ROLLBACK")) }()
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Size() > 0 || !os.SameFile(info, file.info)) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Remove(target)
}
