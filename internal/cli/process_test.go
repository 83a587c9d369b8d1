//go:build !windows

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
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
