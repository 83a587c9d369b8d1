//go:build !windows

package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/store"
	"treering/store/locate"
)

// child is the program as a process of its own.
func (w *world) child(args ...string) *exec.Cmd {
	w.t.Helper()
	self, err := os.Executable()
	must(w.t, err)
	cmd := exec.CommandContext(w.t.Context(), self, append([]string{"-s", w.store}, args...)...)
	cmd.Env = append(os.Environ(), runMain+"=1", "HOME="+w.home)
	return cmd
}

func code(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}

// The system kills whoever writes to a closed standard output, unless told otherwise.
func TestClosedStandardOutputOfAProcess(t *testing.T) {
	w := on(t, "harel-shop.db")
	for _, args := range [][]string{{"trace", "order-long", "--json"}, {"executions", "--raw"}, {"--help"}} {
		cmd := w.child(args...)
		r, out, err := os.Pipe()
		must(t, err)
		must(t, r.Close())
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = out, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, errs.String())
		}
		must(t, out.Close())
	}
}

// An interrupt ends a command that waits for its input.
func TestInterrupt(t *testing.T) {
	w := ours(t, nil)
	cmd := w.child("commit")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	must(t, cmd.Start())
	_, err = io.WriteString(in, `{"execution":{"id":"a"}}`+"\n")
	must(t, err)
	// The answer is the sign that it is at work.
	answer, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	same(t, "answer", answer, `{"version":1,"seqs":[]}`+"\n")
	must(t, cmd.Process.Signal(os.Interrupt))
	if got := code(cmd.Wait()); got != exitFailed {
		t.Errorf("code %d", got)
	}
	same(t, "stderr", errs.String(), "treering: interrupted\n")
	same(t, "executions", lineCount(w.ok("executions", "--json")), "1")
}

// Without a terminal the explorer says one line and makes nothing.
func TestExplorerWithoutATerminal(t *testing.T) {
	w := newWorld(t)
	w.store = w.home + "/x.db"
	cmd := w.child("--create")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if got := code(cmd.Run()); got != exitUsage || out.Len() > 0 {
		t.Errorf("code %d, %q", got, out.String())
	}
	if got := errs.String(); !oneErrorLine.MatchString(got) || !strings.Contains(got, "needs a terminal") {
		t.Errorf("stderr %q", got)
	}
	unchanged(t, w.home, map[string]string{})
}

// An interrupt ends a command whose output nobody reads, and leaves no private copy.
func TestInterruptWhileNobodyReads(t *testing.T) {
	w := ours(t, func(o *locate.Opened) {
		for i := range 600 {
			must(t, o.Executions.Save(t.Context(), &store.Execution{ID: strconv.Itoa(i), DefinitionID: strings.Repeat("d", 1000)}))
		}
	})
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := w.child("executions", "--json")
		temp := t.TempDir()
		cmd.Env = append(cmd.Env, "TMPDIR="+temp)
		r, out, err := os.Pipe()
		must(t, err)
		var errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = out, &errs
		must(t, cmd.Start())
		must(t, out.Close())
		// The first bytes are the sign that it writes; the pipe holds no more than 64 KiB.
		_, err = io.ReadFull(r, make([]byte, 10))
		must(t, err)
		must(t, cmd.Process.Signal(sig))
		if got := code(cmd.Wait()); got != exitFailed || errs.String() != "treering: interrupted\n" {
			t.Errorf("%v: code %d, %q", sig, got, errs.String())
		}
		must(t, r.Close())
		unchanged(t, temp, map[string]string{})
	}
}

// An interrupt ends a command that waits for another process's lock, with the code of
// an interrupt, and long before the lock's own time is up.
func TestInterruptWhileLocked(t *testing.T) {
	w := ours(t, exampleTrees(t))
	conn, err := sqlite.OpenConn(w.store, sqlite.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteTransient(conn, "BEGIN IMMEDIATE", nil))
	start := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	w.ctx = ctx
	timer := time.AfterFunc(100*time.Millisecond, cancel)
	defer timer.Stop()
	if r := w.run("session", "create", "x"); r.code != exitFailed || r.err != "treering: interrupted\n" {
		t.Errorf("code %d, %q", r.code, r.err)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	must(t, sqlitex.ExecuteTransient(conn, "ROLLBACK", nil))
	must(t, conn.Close())
	w.ctx = t.Context()
	w.fails(exitNotFound, "not found", "tree", "x")
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
