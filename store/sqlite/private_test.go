package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"treering/store"
)

// superRecord is what SQLite puts at the end of a journal in a transaction over
// several databases.
func superRecord(name string) []byte {
	b := binary.BigEndian.AppendUint32(nil, 0x40000000/4096+1)
	b = append(b, name...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
	var sum uint32
	for _, c := range []byte(name) {
		sum += uint32(int8(c))
	}
	b = binary.BigEndian.AppendUint32(b, sum)
	return append(b, 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7)
}

func TestSuperJournalName(t *testing.T) {
	whole := append([]byte("pages"), superRecord("/tmp/x.db-mj0123ABCé")...)
	broken := append([]byte(nil), whole...)
	broken[12]++
	for _, tt := range []struct {
		journal []byte
		name    string
		at      int64
	}{
		{whole, "/tmp/x.db-mj0123ABCé", 5},
		{broken, "", 0},
		{whole[1:], "/tmp/x.db-mj0123ABCé", 4},
		{whole[:len(whole)-1], "", 0},
		{nil, "", 0},
		{make([]byte, 100), "", 0},
	} {
		name, at, err := superJournal(strings.NewReader(string(tt.journal)), int64(len(tt.journal)))
		if err != nil || name != tt.name || at != tt.at {
			t.Errorf("%d bytes: %q at %d, %v; want %q at %d", len(tt.journal), name, at, err, tt.name, tt.at)
		}
	}
}

// A hot journal of a transaction over several databases is rolled back in the copy
// while its super-journal is there, which stays; without it the transaction was
// committed and the journal means nothing.
func TestSuperJournal(t *testing.T) {
	path := hotJournal(t)
	super := path + "-mj0123ABCDE"
	journal, err := os.OpenFile(path+"-journal", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = journal.Write(superRecord(super))
	if err := errors.Join(err, journal.Close(), os.WriteFile(super, []byte(path+"-journal\x00"), 0o600)); err != nil {
		t.Fatal(err)
	}
	check := unharmed(t, filepath.Dir(path))
	f := open(t, Options{Path: path})
	wantMode(t, f, private)
	if n := number(t, f, countSQL); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	closed(t, f)
	check()

	to := filepath.Join(t.TempDir(), "copied")
	s := &source{opts: Options{Path: path}}
	info, err := os.Stat(path + "-journal")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.copyJournal(t.Context(), path+"-journal", to, info.Size()); err != nil {
		t.Fatal(err)
	}
	copied, err := os.Stat(to)
	if want := info.Size() - int64(len(superRecord(super))); err != nil || copied.Size() != want {
		t.Errorf("the copied journal has %v bytes, %v; want %d", copied.Size(), err, want)
	}
	if err := errors.Join(os.Remove(super), os.Remove(to)); err != nil {
		t.Fatal(err)
	}
	if err := s.copyJournal(t.Context(), path+"-journal", to, info.Size()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a leftover journal was copied: %v", err)
	}
}

// Commits that are added to the log while it is copied do not hurt, a log begun anew
// does.
func TestCopyOfMovingLog(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, "PRAGMA locking_mode=exclusive", insert)
	found, file, err := look(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &source{opts: Options{Path: path}, found: found, file: file}
	defer s.dispose()
	sig, err := sign(path)
	if err != nil {
		t.Fatal(err)
	}
	w.do(insert, insert)
	if err := s.copyTo(t.Context(), filepath.Join(t.TempDir(), "x.db"), sig); err != nil {
		t.Errorf("error %v after commits were added", err)
	}
	w.do("PRAGMA wal_checkpoint(RESTART)", insert)
	if err := s.copyTo(t.Context(), filepath.Join(t.TempDir(), "x.db"), sig); !errors.Is(err, errChanged) {
		t.Errorf("error %v after the log was begun anew, want another look", err)
	}
	w.kill()
}

func TestCopyFails(t *testing.T) {
	path := hotJournal(t)
	check := unharmed(t, filepath.Dir(path))
	_, err := OpenFile(t.Context(), Options{Path: path, TempDir: filepath.Join(path, "nowhere")})
	var oe *OpenError
	if !errors.As(err, &oe) || !strings.Contains(oe.Reason, "no place for a private copy") {
		t.Errorf("error %v, want the missing place named", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	temp := t.TempDir()
	if _, err := OpenFile(ctx, Options{Path: path, TempDir: temp}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if left := picture(t, temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	check()
	if len(files.files) != 0 {
		t.Errorf("%d files are still open", len(files.files))
	}
	// Armed for writing, SQLite rolls it back as it does for anybody.
	f := open(t, Options{Path: path, ReadWrite: true})
	wantMode(t, f, "read-write")
	if n := number(t, f, countSQL); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	if _, err := os.Stat(path + "-journal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal is still there: %v", err)
	}
	if _, err := f.WriterConn(t.Context()); errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
}

// A large copy rests before the next one is made, and says so; a small one does not.
func TestCopiesRest(t *testing.T) {
	for _, large := range []bool{false, true} {
		path := database(t, "wal")
		fill := "INSERT INTO t VALUES (1)"
		if large {
			fill = "INSERT INTO t VALUES (zeroblob(1 << 20))"
		}
		w := writerProcess(t, path, "PRAGMA locking_mode=exclusive", fill)
		f := open(t, Options{Path: path})
		wantMode(t, f, private)
		if rest := f.src.rest; rest > 0 != large {
			t.Fatalf("large %v: rests for %v", large, rest)
		}
		if why := f.How().Why; strings.Contains(why, "but not within") != large {
			t.Errorf("large %v: why: %s", large, why)
		}
		if large {
			f.src.rest = time.Hour
			token := ""
			wantToken(t, f, &token, true)
			w.do(insert)
			if n := number(t, f, countSQL); n != 2 {
				t.Errorf("%d rows while the copy rests, want 2", n)
			}
			wantToken(t, f, &token, false)
			f.src.rest = 0
			wantToken(t, f, &token, true)
			if n := number(t, f, countSQL); n != 3 {
				t.Errorf("%d rows of the next copy, want 3", n)
			}
		}
		w.kill()
	}
}
