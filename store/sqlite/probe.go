package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"treering/store"
)

// ApplicationID marks files of our own making in their header: "TRNG".
const ApplicationID uint32 = 0x54524E47

// SchemaVersion is the user_version of files that this version makes. Files of
// ours with a greater one were made by a newer version and are only read.
const SchemaVersion = 1

// Log is the state of a database's write-ahead log.
type Log int

// The states of a [Log].
const (
	LogAbsent  Log = iota // there is no -wal
	LogEmpty              // there is one of no length
	LogContent            // it may hold commits that the database file lacks
)

// Found is what a look at a path saw, without opening it as a database.
type Found struct {
	Path   string // as given
	Target string // absolute, with symbolic links followed
	Empty  bool   // a file of no length
	Size   int64  // of the database file, in bytes
	// ModTime of the database file.
	ModTime time.Time

	PageSize  int   // bytes
	PageCount int64 // by the header; 0 where the header does not say

	WAL     bool // the header says so
	Log     Log
	Shm     bool // a -shm lies beside it
	Journal bool // a rollback journal with content: a transaction is under way, or was when its writer died

	ApplicationID uint32
	UserVersion   int32
	Ours          bool // ApplicationID is ours

	cut    bool // shorter than its header says
	unborn bool // its first transaction is not finished
}

// Probe looks at path without opening it as a database, and creates and locks
// nothing. It never blocks on a FIFO.
//
// What cannot be read as a SQLite database is an *[OpenError] that matches
// [store.ErrStoreNotFound] for a missing file, [store.ErrNotAStore] for anything
// that is not a whole database (an empty file too), [fs.ErrPermission] for what
// may not be read. Found then holds what was seen.
func Probe(path string) (Found, error) {
	found, file, err := look(path)
	if file != nil {
		files.release(file)
	}
	return found, err
}

// look is Probe that keeps hold of the file; the caller releases it where it is not
// nil, with an error too.
func look(path string) (Found, *openFile, error) {
	for try := 1; ; try++ {
		found, file, err := lookOnce(path)
		if !found.cut || try == 3 {
			return found, file, err
		}
		// A writer that keeps no journal may be in the middle of making it longer.
		files.release(file)
		time.Sleep(2 * time.Millisecond)
	}
}

func lookOnce(path string) (Found, *openFile, error) {
	found := Found{Path: path}
	target, err := resolve(path)
	if err != nil {
		return found, nil, err
	}
	found.Target = target
	info, err := os.Stat(target)
	if err != nil {
		return found, nil, systemError(path, "it", err)
	}
	if err := regular(path, info.Mode()); err != nil {
		return found, nil, err
	}
	found.Size, found.ModTime = info.Size(), info.ModTime()
	file, err := files.acquire(target)
	if err != nil {
		return found, nil, systemError(path, "it", err)
	}
	if err := regular(path, file.info.Mode()); err != nil {
		return found, file, err
	}
	if err := lookBeside(&found); err != nil {
		return found, file, err
	}
	return found, file, readHeader(&found, file.fd)
}

// regular refuses what is not a file of bytes.
func regular(path string, mode fs.FileMode) error {
	what := ""
	switch {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &OpenError{path, "it is a directory", "name a file in it", store.ErrNotAStore}
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	default:
		what = "not a regular file"
	}
	return &OpenError{path, "it is " + what, "name a database file", store.ErrNotAStore}
}

// lookBeside finds the -wal, -shm and -journal.
func lookBeside(found *Found) error {
	wal, err := lookAt(found.Target + "-wal")
	if err != nil {
		return systemError(found.Path, "its -wal", err)
	}
	switch {
	case wal.info == nil:
		found.Log = LogAbsent
	case wal.size == 0:
		found.Log = LogEmpty
	default:
		found.Log = LogContent
	}
	shm, err := lookAt(found.Target + "-shm")
	if err != nil {
		return systemError(found.Path, "its -shm", err)
	}
	found.Shm = shm.info != nil
	found.Journal, err = journalHasContent(found.Target + "-journal")
	if err != nil {
		return systemError(found.Path, "its -journal", err)
	}
	return nil
}

// journalHasContent is SQLite's own rule: a journal that is empty or begins with a
// zero byte is a leftover. One that may not be read counts as content, as it does
// for SQLite. Whether a journal with content belongs to a live writer only SQLite
// can tell, from the lock on the database.
func journalHasContent(name string) (bool, error) {
	at, err := lookAt(name)
	if err != nil || at.size == 0 {
		return false, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, fs.ErrPermission):
		return true, nil
	case err != nil:
		return false, err
	}
	defer f.Close()
	var first [1]byte
	if _, err := f.ReadAt(first[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return first[0] != 0, nil
}

const magic = "SQLite format 3\x00"

// headerSize is the length of a database header, in bytes.
const headerSize = 100

// readHeader fills in what the database header says.
func readHeader(found *Found, fd *os.File) error {
	var h [headerSize]byte
	n, err := fd.ReadAt(h[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return systemError(found.Path, "it", err)
	}
	notOne := func(reason, hint string) error {
		return &OpenError{found.Path, reason, hint, store.ErrNotAStore}
	}
	switch {
	case n == 0:
		found.Empty = true
		return notOne("it is empty", "--create makes a store of it")
	case found.Journal && h == [headerSize]byte{}:
		found.unborn = true
		return notOne("a program is making it, or died while making it", "try again, or let --create make a store of it")
	case !strings.HasPrefix(magic, string(h[:min(n, len(magic))])):
		switch first := binary.BigEndian.Uint32(h[:]); {
		case first&^1 == 0x377f0682:
			return notOne("it is a SQLite write-ahead log, not a database", "name the file without -wal")
		case first == 0xd9d505f9:
			return notOne("it is a SQLite rollback journal, not a database", "name the file without -journal")
		}
		return notOne("it is not a SQLite database, nor in another format that is known here", "")
	case n < headerSize:
		found.cut = true
		return notOne(fmt.Sprintf("it is cut short: %d bytes of a database header", n), "copy it again from where it came")
	}
	u16 := func(at int) uint16 { return binary.BigEndian.Uint16(h[at:]) }
	u32 := func(at int) uint32 { return binary.BigEndian.Uint32(h[at:]) }

	found.PageSize = int(u16(16))
	if found.PageSize == 1 {
		found.PageSize = 65536
	}
	if found.PageSize < 512 || found.PageSize&(found.PageSize-1) != 0 {
		return notOne(fmt.Sprintf("its database header is damaged: a page size of %d", found.PageSize), "try sqlite3's .recover on a copy")
	}
	if v := h[19]; v != 1 && v != 2 {
		return notOne(fmt.Sprintf("it is a SQLite database of an unknown format version %d", v), "")
	}
	found.WAL = h[19] == 2
	found.ApplicationID = u32(68)
	found.UserVersion = int32(u32(60))
	found.Ours = found.ApplicationID == ApplicationID

	// The header's page count means something only where the two change counters
	// agree, and only while no transaction and no log is under way.
	if u32(24) == u32(92) {
		found.PageCount = int64(u32(28))
	}
	if need := found.PageCount * int64(found.PageSize); found.Log != LogContent && !found.Journal {
		info, err := fd.Stat()
		if err != nil {
			return systemError(found.Path, "it", err)
		}
		if info.Size() < need {
			found.cut = true
			return notOne(fmt.Sprintf("it is cut short: %d bytes of the %d that its header asks for", info.Size(), need), "copy it again from where it came")
		}
	}
	return nil
}

// headerSaysWAL reads the one byte that says whether a database is in WAL mode, and
// the counter that every commit outside WAL mode moves.
func headerSaysWAL(fd *os.File) (wal bool, counter uint32, err error) {
	var h [28 - 19]byte
	if n, err := fd.ReadAt(h[:], 19); n < len(h) {
		return false, 0, err
	}
	return h[0] == 2, binary.BigEndian.Uint32(h[24-19:]), nil
}
