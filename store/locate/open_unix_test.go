//go:build unix

package locate

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"treering/store"
)

// nobody is a user without rights, by custom.
const nobody = 65534

// asNobody runs the test once more as a user whom permissions bind.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "treering-locate-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := errors.Join(os.WriteFile(program, binary, 0o700), os.Chmod(dir, 0o755), os.Chmod(program, 0o755),
		os.Mkdir(filepath.Join(dir, "tmp"), 0o700), os.Chown(filepath.Join(dir, "tmp"), nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		t.Skipf("no other user can be had here: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

// A store of ours that may not be written is read, and Info says why.
func TestOpenOursOnAReadOnlyDisk(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "ours.db")
	if err := mustOpen(t, path, Options{Create: true}).Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, path, Options{})
	if o.Info.Writable || len(o.Info.Notes) != 1 || !strings.HasPrefix(o.Info.Notes[0], "it cannot be written: ") {
		t.Errorf("Info = %+v", o.Info)
	}
	if _, err := Open(t.Context(), path, Options{ReadWrite: true}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Open for writing = %v", err)
	}
}

// What may not be read is said in one line, and hides nothing beside it.
func TestSessionsThatMayNotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	dir := t.TempDir()
	session := `{"type":"session","version":3,"id":"%s","timestamp":"2026-05-01T10:00:00.000Z","cwd":"/src"}` + "\n" +
		`{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hello"}}` + "\n"
	for _, name := range []string{"open", "shut", "closed/in", "listed/in"} {
		path := filepath.Join(dir, name+".jsonl")
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(strings.ReplaceAll(session, "%s", name)), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(dir, "closed")
	if err := errors.Join(os.Chmod(filepath.Join(dir, "shut.jsonl"), 0), os.Chmod(closed, 0)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o700) //nolint:errcheck // so that it can be removed, which says what is wrong

	for name, locator := range map[string]string{"a file": "shut.jsonl", "a folder": "closed", "a file in a folder": "closed/in.jsonl"} {
		_, err := Open(t.Context(), filepath.Join(dir, locator), Options{})
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "permission denied") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}

	o := mustOpen(t, dir, Options{})
	heads, err := o.Foreign.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range heads {
		ids = append(ids, h.ID)
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"listed/in", "open"}) {
		t.Errorf("sessions %q", ids)
	}
	notes := strings.Join(o.Info.Notes, "\n")
	if len(o.Info.Notes) != 1 || !strings.Contains(notes, "shut.jsonl: permission denied") || !strings.Contains(notes, "closed: permission denied") {
		t.Errorf("notes %q", o.Info.Notes)
	}
}
