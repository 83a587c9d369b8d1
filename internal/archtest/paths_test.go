package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Paths of the machine that something was written on mean nothing anywhere
// else. The pattern is put together here so that it does not match itself.
var machinePath = regexp.MustCompile(`(^|[^A-Za-z0-9_.])/wo` + `rk/`)

func TestNoMachinePaths(t *testing.T) {
	top := root(t)
	for _, name := range tracked(t, top) {
		b, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0 {
			continue // not text
		}
		for n, line := range bytes.Split(b, []byte("\n")) {
			if machinePath.Match(line) {
				t.Errorf("%s:%d holds a path of one machine: %.120s", name, n+1, line)
			}
		}
	}
}

func TestMachinePathPattern(t *testing.T) {
	slash := "/wo" + "rk/"
	for line, want := range map[string]bool{
		slash + "x": true, `"` + slash: true, "cd " + slash + "main": true,
		"net" + slash: false, "a." + slash: false, "/works/": false, "/home/user/": false,
	} {
		if got := machinePath.MatchString(line); got != want {
			t.Errorf("%q matches: %v, want %v", line, got, want)
		}
	}
}

// tracked returns the regular files under version control, relative to top. In
// an unpacked source archive, which has no history, those are all files.
func tracked(t *testing.T, top string) []string {
	t.Helper()
	var names []string
	if _, err := os.Stat(filepath.Join(top, ".git")); err == nil {
		out, err := exec.Command("git", "-C", top, "-c", "safe.directory=*", "ls-files", "-z").Output()
		if err != nil {
			t.Fatalf("git ls-files: %v", err)
		}
		for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			// A file may be deleted and not yet committed, or a link.
			if info, err := os.Lstat(filepath.Join(top, name)); err == nil && info.Mode().IsRegular() {
				names = append(names, name)
			}
		}
	} else {
		err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(top, name)
			names = append(names, rel)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) == 0 {
		t.Fatal("no tracked files")
	}
	return names
}
