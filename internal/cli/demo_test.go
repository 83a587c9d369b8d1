package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"treering/internal/testfiles"
)

func TestDemoWithoutATerminal(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	w := newWorld(t)
	out := w.ok("demo")
	for _, says := range []string{"Sessions\n", "\nExecutions\n", "\nOutbox\n", "\nSpawns\n", "\nTimers\n"} {
		if !strings.Contains(out, says) {
			t.Errorf("it does not say %q", says)
		}
	}
	strict(t, "demo", w.ok("demo", "--json"))
	unchanged(t, tmp, map[string]string{})
	unchanged(t, w.home, map[string]string{})
	w.fails(exitUsage, "to seed one write: treering demo --into", "-s", "x.db", "demo")
	w.fails(exitUsage, "--into or -s, not both", "-s", "x.db", "demo", "--into", "y.db")
}

func TestDemoInto(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "demo.db")
	w.fails(exitUsage, "--create makes a new store", "demo", "--into", path)
	same(t, "into", w.ok("demo", "--into", path, "--create"), "seeded "+path+"\n")
	w.store = path
	same(t, "executions", lineCount(w.ok("executions", "--json")), "12")
	if n := lineCount(w.ok("sessions", "--json")); n != "4" {
		t.Errorf("%s live sessions", n)
	}
	before := w.ok("executions", "--json")
	w.store = ""
	w.fails(exitConflict, "the demo is there already", "demo", "--into", path)
	w.store = path
	same(t, "nothing more was written", w.ok("executions", "--json"), before)

	// Somebody else's file needs --rw like any write.
	w.store = ""
	foreign := testfiles.Copy(t, "harel-shop.db")
	w.fails(exitUsage, "--rw opens it for writing", "demo", "--into", foreign)
}
