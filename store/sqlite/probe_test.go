package sqlite

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
)

// databases are the real files that tests read.
func databases() []string {
	return []string{
		"harel-shop.db", "harel-shop-prefixed.db", "harel-monitor-demo.db", "harel-bad-values.db",
		"contree-cli.db", "contree-sdk-v1.db", "langgraph.sqlite",
	}
}

// picture is a directory with the content of everything in it.
func picture(t testing.TB, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch {
		case e.Type().IsRegular():
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			got[e.Name()] = string(b)
		default:
			got[e.Name()] = e.Type().String()
		}
	}
	return got
}

// unharmed checks at the end of the test that the directory is as it is now.
func unharmed(t testing.TB, dir string) (check func()) {
	t.Helper()
	before := picture(t, dir)
	return func() {
		t.Helper()
		after := picture(t, dir)
		for name, b := range before {
			if a, ok := after[name]; !ok {
				t.Errorf("%s is gone", name)
			} else if a != b {
				t.Errorf("%s changed", name)
			}
		}
		for name := range after {
			if _, ok := before[name]; !ok {
				t.Errorf("%s was made", name)
			}
		}
	}
}

func TestProbe(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	check := unharmed(t, filepath.Dir(path))
	found, err := Probe(path)
	if err != nil {
		t.Fatal(err)
	}
	if !found.WAL || found.Log != LogAbsent || found.Shm || found.Journal || found.Ours {
		t.Errorf("found %+v: want a WAL database at rest, not ours", found)
	}
	if found.Size != 299008 || found.PageSize != 4096 || found.PageCount != 73 {
		t.Errorf("size %d of %d pages of %d bytes, want 299008, 73, 4096", found.Size, found.PageCount, found.PageSize)
	}
	check()
	if len(files.files) != 0 {
		t.Errorf("%d files are still open", len(files.files))
	}
}

func TestProbeMarks(t *testing.T) {
	path := testfiles.Copy(t, "harel-bad-values.db")
	w := writerProcess(t, path, "PRAGMA application_id=0x54524E47", "PRAGMA user_version=7")
	w.close()
	found, err := Probe(path)
	if err != nil {
		t.Fatal(err)
	}
	if !found.Ours || found.ApplicationID != 0x54524E47 || found.UserVersion != 7 || found.WAL {
		t.Errorf("found %+v", found)
	}
}

// What is no database fails with its own error, in Probe and in OpenFile alike, and
// nothing is made.
func TestNotADatabase(t *testing.T) {
	whole := testfiles.Read(t, "harel-shop.db")
	header := func(change func(h []byte)) []byte {
		b := append([]byte(nil), whole...)
		change(b)
		return b
	}
	tests := []struct {
		name    string
		content []byte // nil: there is none
		err     error
		says    string
	}{
		{"missing.db", nil, store.ErrStoreNotFound, "does not exist"},
		{"missing/deeper.db", nil, store.ErrStoreNotFound, "does not exist"},
		{"empty.db", []byte{}, store.ErrNotAStore, "it is empty"},
		{"text.db", []byte("just a text, and long enough to be looked at as a header would be, if it were one, which it is not"), store.ErrNotAStore, "not a SQLite database"},
		{"short.db", []byte("SQLite"), store.ErrNotAStore, "cut short: 6 bytes"},
		{"header.db", whole[:50], store.ErrNotAStore, "cut short: 50 bytes"},
		{"half.db", whole[:len(whole)/2], store.ErrNotAStore, "cut short: 149504 bytes of the 299008"},
		{"page-size.db", header(func(h []byte) { binary.BigEndian.PutUint16(h[16:], 1000) }), store.ErrNotAStore, "page size of 1000"},
		{"version.db", header(func(h []byte) { h[19] = 9 }), store.ErrNotAStore, "format version 9"},
		{"x.db-wal", []byte("\x37\x7f\x06\x82 and so on"), store.ErrNotAStore, "write-ahead log"},
		{"x.db-journal", []byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"), store.ErrNotAStore, "rollback journal"},
		{"torn.db", append(append([]byte(nil), whole[:4096]...), make([]byte, len(whole)-4096)...), store.ErrNotAStore, "damaged"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, tt.name)
			if tt.content != nil {
				if err := os.WriteFile(path, tt.content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			check := unharmed(t, dir)
			defer check()
			if tt.name != "torn.db" { // only reading finds that out
				_, err := Probe(path)
				wantOpenError(t, err, path, tt.err, tt.says)
			}
			f, err := OpenFile(t.Context(), Options{Path: path})
			if err == nil {
				err = f.Read(t.Context(), countAll)
				f.Close()
			}
			wantOpenError(t, err, path, tt.err, tt.says)
			if tt.name == "missing.db" || tt.name == "empty.db" {
				_, err = OpenFile(t.Context(), Options{Path: path, ReadWrite: true})
				wantOpenError(t, err, path, tt.err, tt.says)
			}
		})
	}
}

func wantOpenError(t *testing.T, err error, path string, sentinel error, says string) {
	t.Helper()
	var oe *OpenError
	if !errors.As(err, &oe) || oe.Path != path || !errors.Is(err, sentinel) {
		t.Errorf("error %v: want an *OpenError of %q that matches %v", err, path, sentinel)
		return
	}
	if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q: want one line with %q", err, says)
	}
}

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	_, err := Probe(dir)
	wantOpenError(t, err, dir, store.ErrNotAStore, "directory")
	_, err = OpenFile(t.Context(), Options{Path: dir, Create: true})
	wantOpenError(t, err, dir, store.ErrNotAStore, "directory")
	_, err = Probe("")
	wantOpenError(t, err, "", store.ErrStoreNotFound, "empty")
	_, err = Probe("a\x00b")
	if err == nil {
		t.Error("a path with a NUL was taken")
	}
}

// A database of which only the middle is cut out of its log's reach is judged by
// SQLite, not by the header.
func TestProbeWithLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	w := writerProcess(t, path, "PRAGMA journal_mode=wal", "CREATE TABLE t(a)", "INSERT INTO t VALUES (1)")
	found, err := Probe(path)
	if err != nil {
		t.Fatal(err)
	}
	if !found.WAL || found.Log != LogContent || !found.Shm {
		t.Errorf("found %+v: want a log with content and its index", found)
	}
	w.do("PRAGMA wal_checkpoint(TRUNCATE)")
	if found, err = Probe(path); err != nil || found.Log != LogEmpty {
		t.Errorf("found %+v, %v: want an empty log", found, err)
	}
	w.close()
	if found, err = Probe(path); err != nil || found.Log != LogAbsent || found.Shm {
		t.Errorf("found %+v, %v: want no log", found, err)
	}
}

func TestProbePermission(t *testing.T) {
	if os.Getuid() <= 0 {
		t.Skip("root reads everything; TestUnprivileged does this as another user")
	}
	path := testfiles.Copy(t, "harel-shop.db")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Probe(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want a refused permission", err)
	}
}
