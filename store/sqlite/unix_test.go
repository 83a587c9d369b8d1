//go:build darwin || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"treering/internal/testfiles"
	"treering/store"
)

func init() { childRoles["look"] = childLook }

// looked is what childLook saw.
type looked struct {
	Mode       string
	Rows       int64
	Error      string
	Permission bool // fs.ErrPermission
	ReadOnly   bool // store.ErrReadOnly
	Path       bool // an *OpenError of the path
}

// childLook opens a database as its arguments say (path, "ro", "rw" or "create"),
// counts table t and tells.
func childLook(args []string) error {
	o := Options{Path: args[0], ReadWrite: args[1] == "rw", Create: args[1] == "create", BusyTimeout: 200 * time.Millisecond}
	var l looked
	f, err := OpenFile(context.Background(), o)
	if err == nil {
		l.Mode = f.How().Mode
		err = f.Read(context.Background(), countAll)
		if err == nil && args[1] == "rw" {
			_, err = f.WriterConn(context.Background())
		}
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		l.Error = err.Error()
		l.Permission, l.ReadOnly = errors.Is(err, fs.ErrPermission), errors.Is(err, store.ErrReadOnly)
		var oe *OpenError
		l.Path = errors.As(err, &oe) && oe.Path == args[0]
	}
	return json.NewEncoder(os.Stdout).Encode(l)
}

// nobody is a user without privileges.
const nobody = 65534

// unprivileged returns a directory that everybody can reach, and a function that
// looks at a path in it as a user who owns nothing there.
func unprivileged(t *testing.T) (dir string, look func(path, how string) looked) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to become another user")
	}
	dir, err := os.MkdirTemp("", "treering-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	temp := filepath.Join(dir, "tmp")
	binary := filepath.Join(dir, "test")
	exe, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.Chmod(dir, 0o755), os.Mkdir(temp, 0o700), os.Chown(temp, nobody, nobody), os.WriteFile(binary, exe, 0o755), os.Chmod(binary, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	return work, func(path, how string) looked {
		t.Helper()
		cmd := exec.Command(binary, path, how)
		cmd.Env = append(childEnv("look"), "TMPDIR="+temp)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.Output()
		if errors.Is(err, fs.ErrPermission) {
			t.Skip("the temporary directory cannot be reached by other users")
		}
		var l looked
		if err == nil {
			err = json.Unmarshal(out, &l)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if left := picture(t, temp); len(left) > 0 {
			t.Errorf("a private copy was left: %v", left)
		}
		return l
	}
}

// What may be read is read, what may not says so, and neither makes or changes
// anything, for a user who may not write.
func TestUnprivileged(t *testing.T) {
	dir, look := unprivileged(t)
	modes := func(path string, mode fs.FileMode) {
		t.Helper()
		entries, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if err := os.Chmod(e, mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	// move puts a database with what lies beside it into a directory of its own.
	move := func(name, from string) string {
		t.Helper()
		to := filepath.Join(dir, name)
		if err := os.Mkdir(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			if err := os.Rename(from+suffix, filepath.Join(to, "x.db"+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
		return filepath.Join(to, "x.db")
	}
	crashed := func(name string) string {
		path := database(t, "wal")
		writerProcess(t, path, insert).kill()
		return move(name, path)
	}
	// seal takes the right to write from everybody.
	seal := func(path string, files fs.FileMode) {
		t.Helper()
		modes(path, files)
		if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name  string
		make  func(name string) string
		how   string
		mode  string // "": an error
		says  string
		check func(l looked) bool
	}{
		{"rollback", func(n string) string { p := move(n, database(t, "delete")); seal(p, 0o444); return p }, "ro", plain, "", nil},
		{"WAL at rest", func(n string) string { p := move(n, database(t, "wal")); seal(p, 0o444); return p }, "ro", immutable, "", nil},
		{"crashed WAL", func(n string) string { p := crashed(n); seal(p, 0o444); return p }, "ro", following, "", nil},
		{"index not readable", func(n string) string {
			p := crashed(n)
			seal(p, 0o444)
			modes(p+"-shm", 0)
			return p
		}, "ro", private, "", nil},
		{"index not readable, log empty", func(n string) string {
			path := database(t, "wal")
			writerProcess(t, path, insert, "PRAGMA wal_checkpoint(TRUNCATE)").kill()
			p := move(n, path)
			seal(p, 0o444)
			modes(p+"-shm", 0)
			return p
		}, "ro", immutable, "", nil},
		{"log not readable", func(n string) string {
			p := crashed(n)
			seal(p, 0o444)
			modes(p+"-wal", 0)
			return p
		}, "ro", "", "its -wal cannot be read: permission denied", func(l looked) bool { return l.Permission }},
		{"hot journal", func(n string) string { p := move(n, hotJournal(t)); seal(p, 0o444); return p }, "ro", private, "", nil},
		{"hot journal not readable", func(n string) string {
			p := move(n, hotJournal(t))
			seal(p, 0o444)
			modes(p+"-journal", 0)
			return p
		}, "ro", "", "its -journal cannot be read: permission denied", func(l looked) bool { return l.Permission }},
		{"database not readable", func(n string) string { p := move(n, database(t, "wal")); modes(p, 0); return p }, "ro", "",
			"permission denied", func(l looked) bool { return l.Permission }},
		{"directory closed", func(n string) string {
			p := move(n, database(t, "wal"))
			if err := os.Chmod(filepath.Dir(p), 0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}, "ro", "", "permission denied", func(l looked) bool { return l.Permission }},
		{"writing a sealed file", func(n string) string { p := move(n, database(t, "delete")); seal(p, 0o444); return p }, "rw", "",
			"cannot be written: permission denied", func(l looked) bool { return l.ReadOnly }},
		{"writing in a sealed directory", func(n string) string { p := move(n, database(t, "wal")); seal(p, 0o666); return p }, "rw", "",
			"the file and of its directory", func(l looked) bool { return l.ReadOnly }},
		{"creating in a sealed directory", func(n string) string {
			d := filepath.Join(dir, n)
			if err := os.Mkdir(d, 0o555); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(d, "new.db")
		}, "create", "", "cannot be made: permission denied", func(l looked) bool { return l.ReadOnly }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(strings.ReplaceAll(tt.name, " ", "-"))
			check := unharmed(t, filepath.Dir(path))
			l := look(path, tt.how)
			if l.Mode != tt.mode || !strings.Contains(l.Error, tt.says) || (l.Error == "") != (tt.mode != "") {
				t.Errorf("looked %+v, want mode %q, error with %q", l, tt.mode, tt.says)
			}
			if tt.check != nil && (!tt.check(l) || !l.Path) {
				t.Errorf("looked %+v: the error matches the wrong thing", l)
			}
			check()
		})
	}

	// Beside a live writer whose files may be read only.
	t.Run("live", func(t *testing.T) {
		path := move("live", database(t, "wal"))
		w := writerProcess(t, path, insert)
		seal(path, 0o444)
		check := unharmed(t, filepath.Dir(path))
		if l := look(path, "ro"); l.Mode != following || l.Error != "" {
			t.Errorf("looked %+v", l)
		}
		check()
		w.kill()
	})
}

// A FIFO, a socket and a device are refused without waiting for them.
func TestSpecialFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "tr") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fifo, socket := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	check := unharmed(t, dir)
	for path, says := range map[string]string{fifo: "named pipe", socket: "socket", "/dev/null": "device"} {
		for _, o := range []Options{{}, {ReadWrite: true}, {Create: true}} {
			o.Path = path
			_, err := OpenFile(t.Context(), o)
			wantOpenError(t, err, path, store.ErrNotAStore, says)
		}
	}
	check()
	// A path that becomes a FIFO between look and open is not waited for either.
	if fd, err := os.OpenFile(fifo, os.O_RDONLY|openNonblock, 0); err != nil {
		t.Error(err)
	} else {
		fd.Close()
	}
}

// The shared lock taken by hand keeps the last writer from taking its log away.
func TestShareLock(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, insert)
	fd, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	held, err := shareLock(fd)
	if err != nil || !held {
		t.Fatalf("held %v, %v", held, err)
	}
	w.close()
	if found, err := Probe(path); err != nil || found.Log != LogContent || !found.Shm {
		t.Errorf("found %+v, %v: want the log kept", found, err)
	}
	if err := shareUnlock(fd); err != nil {
		t.Error(err)
	}
	w = writerProcess(t, path, "PRAGMA locking_mode=exclusive", insert)
	if _, err := shareLock(fd); !lockedByOther(err) {
		t.Errorf("error %v beside an exclusive lock", err)
	}
	w.close()
	if found, err := Probe(path); err != nil || found.Log != LogAbsent {
		t.Errorf("found %+v, %v: want the log gone", found, err)
	}
}

// A writer that locks its log for itself is an error that says so, in time.
func TestLockedLog(t *testing.T) {
	path := database(t, "wal")
	w := writerProcess(t, path, insert, "PRAGMA locking_mode=exclusive", insert)
	if found, err := Probe(path); err != nil || !found.Shm {
		t.Skipf("found %+v, %v: this SQLite takes the index away", found, err)
	}
	_, err := OpenFile(t.Context(), Options{Path: path, BusyTimeout: 20 * time.Millisecond})
	wantOpenError(t, err, path, store.ErrBusy, "another process")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := OpenFile(ctx, Options{Path: path}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
	w.kill()
	f := open(t, Options{Path: path})
	if n := number(t, f, countSQL); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// The files that are read keep their owner and mode, also where root reads them.
func TestOwnerKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to give files away")
	}
	path := testfiles.Copy(t, "harel-shop.db")
	w := writerProcess(t, path, "DELETE FROM executions WHERE id = 'order-long'")
	owners := func() string {
		var s []string
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			st := info.Sys().(*syscall.Stat_t)
			s = append(s, fmt.Sprint(st.Uid, st.Gid, info.Mode(), info.ModTime()))
		}
		return strings.Join(s, "; ")
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Chown(path+suffix, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	before := owners()
	f := open(t, Options{Path: path})
	wantMode(t, f, following)
	if err := f.Read(t.Context(), countAll); err != nil {
		t.Fatal(err)
	}
	closed(t, f)
	if after := owners(); after != before {
		t.Errorf("now %s, before %s", after, before)
	}
	w.kill()
}
