package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// The running demo works on any store that can be written, beside another one, and an
// interrupt ends it as it should.
func TestDemoHeadless(t *testing.T) {
	w := ours(t, nil)
	// Processes of their own: within one, a file is open only once.
	var running []*exec.Cmd
	var outs, errs [2]bytes.Buffer
	for i := range outs {
		cmd := w.child("demo", "--headless", "--rate", "200", "--json")
		cmd.Stdout, cmd.Stderr = &outs[i], &errs[i]
		must(t, cmd.Start())
		running = append(running, cmd)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		if n := lineCount(w.ok("executions", "--status", "DONE", "--json")); len(n) > 1 || time.Now().After(deadline) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for i, cmd := range running {
		must(t, cmd.Process.Signal(os.Interrupt))
		if err := cmd.Wait(); err != nil || errs[i].Len() > 0 || !strings.Contains(outs[i].String(), `"problems":0`) {
			t.Errorf("%v %q %q", err, outs[i].String(), errs[i].String())
		}
	}
	if out := w.ok("executions", "--json"); !strings.Contains(out, "demo-order-") {
		t.Errorf("no order runs: %s", out)
	}
	w.fails(exitUsage, "--still or --headless", "demo", "--still", "--headless")
	w.fails(exitUsage, "--rate takes a number", "demo", "--rate", "-3")
	w.fails(exitUsage, "--executions takes a number", "demo", "--executions", "0")
	w.fails(exitUsage, "with --headless", "demo")
	foreign := on(t, "harel-shop.db")
	foreign.fails(exitUsage, "--rw", "demo", "--headless")
}
