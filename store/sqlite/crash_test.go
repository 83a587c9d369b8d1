package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a crash leaves behind is read as it will be once recovered, and left so.
func TestAfterCrash(t *testing.T) {
	crashed := func(t *testing.T) string {
		path := database(t, "wal")
		w := writerProcess(t, path, insert, insert, "BEGIN IMMEDIATE", insert)
		w.kill()
		return path
	}
	emptied := func(t *testing.T) string {
		path := database(t, "wal")
		w := writerProcess(t, path, insert, insert, "PRAGMA wal_checkpoint(TRUNCATE)")
		w.kill()
		when := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		make func(t *testing.T) string
		mode string
	}{
		{"log and index", crashed, following},
		{"log without index", func(t *testing.T) string {
			path := crashed(t)
			must(t, os.Remove(path+"-shm"))
			return path
		}, private},
		{"log with an empty index", func(t *testing.T) string {
			path := crashed(t)
			must(t, os.Truncate(path+"-shm", 0))
			return path
		}, following},
		{"log with a wiped index", func(t *testing.T) string {
			path := crashed(t)
			must(t, os.WriteFile(path+"-shm", make([]byte, 32768), 0o600))
			return path
		}, following},
		{"log with an index that is none", func(t *testing.T) string {
			path := crashed(t)
			must(t, os.Remove(path+"-shm"))
			must(t, os.Mkdir(path+"-shm", 0o700))
			return path
		}, following},
		{"empty log and index", emptied, following},
		{"empty log without index", func(t *testing.T) string {
			path := emptied(t)
			must(t, os.Remove(path+"-shm"))
			return path
		}, immutable},
		{"empty log with an index that is none", func(t *testing.T) string {
			path := emptied(t)
			must(t, os.Remove(path+"-shm"))
			must(t, os.Mkdir(path+"-shm", 0o700))
			return path
		}, following},
		{"index without log", func(t *testing.T) string {
			path := emptied(t)
			must(t, os.Remove(path+"-wal"))
			return path
		}, immutable},
		{"torn log", func(t *testing.T) string {
			path := crashed(t)
			// The frames of an unfinished transaction may follow the commits.
			wal, err := os.OpenFile(path+"-wal", os.O_WRONLY|os.O_APPEND, 0)
			must(t, err)
			_, err = wal.Write(make([]byte, 5000))
			must(t, errors.Join(err, wal.Close()))
			must(t, os.Remove(path+"-shm"))
			return path
		}, private},
		{"hot journal", hotJournal, private},
		{"hot journal beside a WAL header", func(t *testing.T) string {
			path := hotJournal(t)
			b, err := os.ReadFile(path)
			must(t, err)
			b[18], b[19] = 2, 2
			must(t, os.WriteFile(path, b, 0o600))
			return path
		}, private},
		{"empty log beside a database without WAL", func(t *testing.T) string {
			path := database(t, "delete")
			writerProcess(t, path, insert, insert).close()
			must(t, os.WriteFile(path+"-wal", nil, 0o600))
			return path
		}, immutable},
		{"alien log: of pages of another size", func(t *testing.T) string {
			path := crashed(t)
			other := filepath.Join(t.TempDir(), "other.db")
			writerProcess(t, other, "PRAGMA page_size=1024", "PRAGMA journal_mode=wal", "CREATE TABLE t(a)", insert).close()
			must(t, errors.Join(os.Remove(path+"-shm"), os.Rename(other, path)))
			return path
		}, private},
		{"alien log beside a database without WAL", func(t *testing.T) string {
			path := crashed(t)
			b, err := os.ReadFile(path)
			must(t, err)
			b[18], b[19] = 1, 1
			must(t, errors.Join(os.WriteFile(path, b, 0o600), os.Remove(path+"-shm")))
			return path
		}, private},
		{"stale journal", func(t *testing.T) string {
			path := database(t, "delete")
			writerProcess(t, path, insert, insert).close()
			must(t, os.WriteFile(path+"-journal", make([]byte, 512), 0o600))
			return path
		}, plain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(t)
			check := unharmed(t, filepath.Dir(path))
			temp := t.TempDir()
			f := open(t, Options{Path: path, TempDir: temp})
			wantMode(t, f, tt.mode)
			if h := f.How(); h.PrivateCopy != (tt.mode == private) {
				t.Errorf("how: %+v", h)
			}
			want := int64(3)
			if strings.HasPrefix(tt.name, "alien") {
				want = 1 // what is in the database itself
				if why := f.How().Why; !strings.Contains(why, "belong") || !strings.Contains(why, "left out") {
					t.Errorf("why: %s", why)
				}
			}
			for range 2 {
				if n := number(t, f, countSQL); n != want {
					t.Errorf("%d rows, want %d", n, want)
				}
			}
			token := ""
			wantToken(t, f, &token, true)
			wantToken(t, f, &token, false)
			if left := picture(t, temp); (len(left) > 0) != (tt.mode == private) {
				t.Errorf("%d private copies", len(left))
			}
			closed(t, f)
			check()
			if left := picture(t, temp); len(left) > 0 {
				t.Errorf("the private copy was left: %v", left)
			}
		})
	}
}

// hotJournal is a database with three rows whose writer died in the middle of a
// transaction that had reached the file.
func hotJournal(t *testing.T) string {
	t.Helper()
	path := database(t, "delete")
	w := writerProcess(t, path, insert, insert, "PRAGMA cache_size=5", "PRAGMA cache_spill=1", "BEGIN IMMEDIATE",
		"INSERT INTO t SELECT randomblob(3000) FROM (WITH RECURSIVE x(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM x WHERE i<100) SELECT i FROM x)")
	w.kill()
	if found, err := Probe(path); err != nil || !found.Journal {
		t.Fatalf("found %+v, %v: want a journal", found, err)
	}
	return path
}

// A writer that recovers what a crash left takes the reader with it, from the
// private copy to the file.
func TestRecoveredByWriter(t *testing.T) {
	for _, journal := range []bool{false, true} {
		t.Run(fmt.Sprintf("journal %v", journal), func(t *testing.T) {
			var path string
			if journal {
				path = hotJournal(t)
			} else {
				path = database(t, "wal")
				writerProcess(t, path, insert, insert).kill()
				if err := os.Remove(path + "-shm"); err != nil {
					t.Fatal(err)
				}
			}
			temp := t.TempDir()
			f := open(t, Options{Path: path, TempDir: temp})
			wantMode(t, f, private)
			token := ""
			wantToken(t, f, &token, true)
			w := writerProcess(t, path, insert)
			wantToken(t, f, &token, true)
			if n := number(t, f, countSQL); n != 4 {
				t.Errorf("%d rows, want 4", n)
			}
			if journal {
				wantMode(t, f, plain)
			} else {
				wantMode(t, f, following)
			}
			if left := picture(t, temp); len(left) > 0 {
				t.Errorf("the private copy was left: %v", left)
			}
			w.kill()
		})
	}
}

// The index of a live writer is damaged under its hands: what cannot be read in
// place is read from a copy.
func TestDamagedIndex(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, insert)
	b, err := os.ReadFile(path + "-shm")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		b[i] ^= 0x55
	}
	if err := os.WriteFile(path+"-shm", b, 0o600); err != nil {
		t.Fatal(err)
	}
	check := unharmed(t, filepath.Dir(path))
	f := open(t, Options{Path: path, TempDir: t.TempDir()})
	wantMode(t, f, private)
	if n := number(t, f, countSQL); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
	closed(t, f)
	check()
	w.kill()
}
