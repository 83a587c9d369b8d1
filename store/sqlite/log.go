package sqlite

import (
	"encoding/binary"
	"os"

	"treering/store"
)

// A log knows nothing of its database but the size of its pages: SQLite applies
// whatever lies beside a database under its name. Where a database was put in the
// place of another, that may be the other's.

// alienLog says why the log beside the database cannot be its own, "" where it may
// be. It answers errChanged where the file has changed since it was looked at.
func (s *source) alienLog() (why string, err error) {
	if s.found.Log != LogContent {
		return "", nil
	}
	if !s.found.WAL {
		// Whoever leaves WAL mode deletes the log first.
		if now, err := Probe(s.opts.Path); err != nil || now.WAL || now.Log != LogContent {
			return "", errChanged
		}
		return "it is not in WAL mode but a -wal with content lies beside it, which may belong to another database", nil
	}
	wal, err := s.openBeside(s.found.Target+"-wal", "its -wal")
	if err != nil {
		return "", err
	}
	defer wal.Close()
	header, err := walHeader(wal)
	if err != nil {
		return "", systemError(s.opts.Path, "its -wal", err)
	}
	if binary.BigEndian.Uint32(header[:])&^1 != walMagic {
		return "", nil // SQLite takes it for empty
	}
	if size := binary.BigEndian.Uint32(header[8:]); int(size) != s.found.PageSize {
		return "the -wal beside it has pages of another size, so it belongs to another database", nil
	}
	return "", nil
}

const walMagic = 0x377f0682

// leftLog is the log of a database that was open for reading until another took its
// place. While it is held no other file has its number.
type leftLog struct {
	log  os.FileInfo
	file string // identity of the database
	held *os.File
}

// check refuses a database beside which the log of its predecessor still lies.
func (l *leftLog) check(s *source) error {
	if l == nil || s.found.Log != LogContent || s.file.identity == l.file {
		return nil
	}
	now, err := lookAt(s.found.Target + "-wal")
	if err != nil {
		return systemError(s.opts.Path, "its -wal", err)
	}
	if now.info == nil || !os.SameFile(now.info, l.log) {
		return nil
	}
	return &OpenError{s.opts.Path, "another file was put in its place, but the -wal beside it still is that of the old one",
		"move the -wal and the -shm away, then open it again", store.ErrSourceChanged}
}

// leave keeps the log of a source that is about to be given up. It is called in turn.
func (f *File) leave(src *source) {
	if src.log == nil {
		return
	}
	log := src.log
	src.log = nil
	info, err := log.Stat()
	if err != nil {
		log.Close()
		return // without it a log that was left behind is not known again
	}
	if f.left != nil {
		f.left.held.Close()
	}
	f.left = &leftLog{info, src.file.identity, log}
}
