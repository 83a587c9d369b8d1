package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// sighting is a file as it was seen at one moment. info is nil where there is none.
type sighting struct {
	info os.FileInfo
	size int64
	time time.Time
}

func lookAt(name string) (sighting, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return sighting{}, nil
	}
	if err != nil {
		return sighting{}, err
	}
	return sighting{info, info.Size(), info.ModTime()}, nil
}

// same reports whether two sightings are of one file that did not change between
// them.
func (s sighting) same(o sighting) bool {
	if s.info == nil || o.info == nil {
		return s.info == nil && o.info == nil
	}
	return s.size == o.size && s.time.Equal(o.time) && os.SameFile(s.info, o.info)
}

// signature is a database with all that lies beside it.
type signature struct {
	db, wal, journal sighting
	shm              bool
}

// sign looks at the database at target. A missing database is a signature too.
func sign(target string) (s signature, err error) {
	if s.db, err = lookAt(target); err != nil {
		return s, err
	}
	if s.wal, err = lookAt(target + "-wal"); err != nil {
		return s, err
	}
	if s.journal, err = lookAt(target + "-journal"); err != nil {
		return s, err
	}
	shm, err := lookAt(target + "-shm")
	s.shm = shm.info != nil
	return s, err
}

func (s signature) same(o signature) bool {
	return s.db.same(o.db) && s.wal.same(o.wal) && s.journal.same(o.journal) && s.shm == o.shm
}

// Two changes within one tick of a file system's clock leave one modification
// time. The kernel's clock ticks every 10 ms at most; file systems that keep whole
// seconds keep two of them at worst.
const (
	tick       = 20 * time.Millisecond
	coarseTick = 2 * time.Second
)

// settle waits until a change of the database or its journal would show in their
// modification times, which it would not within the tick in which they were last changed. A time
// in the future tells nothing and is not waited for.
func (s signature) settle(ctx context.Context) error {
	var wait time.Duration
	now := time.Now()
	for _, f := range []sighting{s.db, s.journal} {
		if f.info == nil {
			continue
		}
		t := tick
		if f.time.Nanosecond() == 0 {
			t = coarseTick
		}
		if age := now.Sub(f.time); age >= 0 && age < t {
			wait = max(wait, t-age)
		}
	}
	if wait == 0 {
		return nil
	}
	return pause(ctx, wait)
}
