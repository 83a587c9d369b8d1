package sqlite

import (
	"context"
	"errors"
	"fmt"
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

// String is the same for two sightings of one file that did not change between them.
func (s sighting) String() string { return fmt.Sprintf("%d@%d", s.size, s.time.UnixNano()) }

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

// unsettled is how long a further change of the file might not show in its
// modification time, which it does not within the tick in which the file was last
// changed. A time in the future tells nothing and counts as settled.
func (s sighting) unsettled() time.Duration {
	if s.info == nil {
		return 0
	}
	t := tick
	if s.time.Nanosecond() == 0 {
		t = coarseTick
	}
	if age := time.Since(s.time); age >= 0 && age < t {
		return t - age
	}
	return 0
}

// settle waits until a change of the database or its journal would show.
func (s signature) settle(ctx context.Context) error {
	if wait := max(s.db.unsettled(), s.journal.unsettled()); wait > 0 {
		return pause(ctx, wait)
	}
	return nil
}
