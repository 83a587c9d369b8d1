package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
)

// openCopy reads a copy of the database with its log or journal, which SQLite may
// then recover as it likes. It answers errChanged where the source changed while it
// was copied.
func (s *source) openCopy(ctx context.Context, why string) (*sqlite.Conn, error) {
	s.plan, s.why, s.flags = planCopy, why, sqlite.OpenReadWrite
	sig, err := sign(s.found.Target)
	if err != nil {
		return nil, systemError(s.opts.Path, "it", err)
	}
	if err := sig.settle(ctx); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(s.opts.TempDir, "treering-")
	if err != nil {
		return nil, &OpenError{s.opts.Path, s.why + ", and there is no place for a private copy: " + reason(err), "set TMPDIR to a directory with room", err}
	}
	s.dir, s.sig, s.copied = dir, sig, time.Now()
	copied := filepath.Join(dir, "copy.db")
	if err := s.copyTo(ctx, copied, sig); err != nil {
		return nil, err
	}
	if sig.db.size+sig.wal.size >= restFrom {
		s.rest = restFactor * time.Since(s.copied)
	}
	s.uri = fileURI(copied, "mode=rw")
	return s.first(ctx)
}

// A large file whose writer never rests is not copied again and again: copying takes a
// tenth of the time at most.
const (
	restFrom   = 1 << 20 // bytes
	restFactor = 10
)

func (s *source) copyTo(ctx context.Context, to string, sig signature) error {
	target := s.found.Target
	// Through the registry's descriptor: closing one of its own would drop locks.
	if err := s.copyBytes(ctx, to, s.file.fd, sig.db.size); err != nil {
		return err
	}
	unchanged := func() bool { return true }
	if sig.wal.size > 0 && !s.alien {
		wal, err := s.openBeside(target+"-wal", "its -wal")
		if err != nil {
			return err
		}
		defer wal.Close()
		begin, err := walHeader(wal)
		if err != nil {
			return systemError(s.opts.Path, "its -wal", err)
		}
		if err := s.copyBytes(ctx, to+"-wal", wal, sig.wal.size); err != nil {
			return err
		}
		unchanged = func() bool {
			end, err := walHeader(wal)
			return err == nil && begin == end
		}
	}
	if sig.journal.size > 0 {
		if err := s.copyJournal(ctx, target+"-journal", to+"-journal", sig.journal.size); err != nil {
			return err
		}
	}
	now, err := sign(target)
	if err != nil {
		return systemError(s.opts.Path, "it", err)
	}
	// Commits that were only added to the log meanwhile are no harm: its beginning,
	// up to the last whole commit copied, stands on the same database. A log that
	// was begun anew has another header.
	if now.wal.info != nil && sig.wal.info != nil && os.SameFile(now.wal.info, sig.wal.info) && now.wal.size >= sig.wal.size {
		now.wal = sig.wal
	}
	if !now.same(sig) || !unchanged() {
		return errChanged
	}
	return nil
}

func walHeader(wal io.ReaderAt) (h [32]byte, err error) {
	if _, err = wal.ReadAt(h[:], 0); errors.Is(err, io.EOF) {
		err = nil // shorter than a header: SQLite takes it for empty
	}
	return h, err
}

// openBeside opens a -wal or -journal for reading, on which SQLite takes no locks.
func (s *source) openBeside(name, what string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errChanged
	}
	if err != nil {
		return nil, systemError(s.opts.Path, what, err)
	}
	return f, nil
}

func (s *source) copyBytes(ctx context.Context, to string, from io.ReaderAt, size int64) (err error) {
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(out, &contextReader{ctx, io.NewSectionReader(from, 0, size)})
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}
	if err != nil && ctx.Err() == nil {
		return &OpenError{s.opts.Path, s.why + ", and the private copy failed: " + reason(err), "set TMPDIR to a directory with room", err}
	}
	return err
}

// contextReader stops when its context does.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// copyJournal copies a rollback journal without the name of the super-journal that
// a transaction over several databases puts at its end: having rolled back the
// copy, SQLite would go and delete the file of that name. Where that file is gone
// the transaction was committed and the journal is a leftover.
func (s *source) copyJournal(ctx context.Context, from, to string, size int64) error {
	journal, err := s.openBeside(from, "its -journal")
	if err != nil {
		return err
	}
	defer journal.Close()
	super, at, err := superJournal(journal, size)
	if err != nil {
		return systemError(s.opts.Path, "its -journal", err)
	}
	if super != "" {
		if _, err := os.Stat(super); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return systemError(s.opts.Path, fmt.Sprintf("its super-journal %q", super), err)
		}
		size = at
	}
	return s.copyBytes(ctx, to, journal, size)
}

// superJournal reads the name at the end of a journal, and where the record that
// holds it begins: a page number, the name, its length, a checksum, a magic number.
// Without a valid record the name is empty.
func superJournal(journal io.ReaderAt, size int64) (name string, at int64, err error) {
	const tail = 16
	var end [tail]byte
	if size < tail+4 {
		return "", 0, nil
	}
	if _, err := journal.ReadAt(end[:], size-tail); err != nil {
		return "", 0, err
	}
	n := int64(binary.BigEndian.Uint32(end[:]))
	if n == 0 || n > 4096 || n > size-tail-4 || !bytes.Equal(end[8:], []byte{0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7}) {
		return "", 0, nil
	}
	b := make([]byte, n)
	if _, err := journal.ReadAt(b, size-tail-n); err != nil {
		return "", 0, err
	}
	sum := binary.BigEndian.Uint32(end[4:])
	for _, c := range b {
		sum -= uint32(int8(c))
	}
	if sum != 0 {
		return "", 0, nil
	}
	return string(b), size - tail - n - 4, nil
}
