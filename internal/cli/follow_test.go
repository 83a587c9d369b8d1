//go:build !windows

package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"treering/store"
	"treering/store/locate"
)

// follower is a command that follows, as a process of its own.
type follower struct {
	t    *testing.T
	cmd  *exec.Cmd
	pipe *os.File
	out  *bufio.Scanner
	errs bytes.Buffer
}

func (w *world) follower(args ...string) *follower {
	w.t.Helper()
	f := &follower{t: w.t, cmd: w.child(args...)}
	r, out, err := os.Pipe()
	must(w.t, err)
	f.cmd.Stdout, f.cmd.Stderr = out, &f.errs
	must(w.t, f.cmd.Start())
	must(w.t, out.Close())
	f.pipe, f.out = r, bufio.NewScanner(r)
	return f
}

// fact is the next line without its time.
func (f *follower) fact() string {
	f.t.Helper()
	must(f.t, f.pipe.SetReadDeadline(time.Now().Add(20*time.Second)))
	if !f.out.Scan() {
		f.t.Fatalf("it says nothing: %v, %s", f.out.Err(), f.errs.String())
	}
	line := f.out.Text()
	before, rest, found := strings.Cut(line, `"at":`)
	if _, after, ok := strings.Cut(rest, ","); found && ok {
		return before + after
	}
	if found {
		return strings.TrimSuffix(before, ",") + "}"
	}
	if strings.HasPrefix(line, "-- ") && len(line) > 14 {
		return line[:3] + line[14:]
	}
	return line
}

func (f *follower) facts(want ...string) {
	f.t.Helper()
	for _, w := range want {
		same(f.t, "fact", f.fact(), w)
	}
}

// together is facts of one change in the order in which its parts were found: each is looked at by
// itself, and a commit may come between two looks.
func (f *follower) together(want ...string) {
	f.t.Helper()
	got := make([]string, len(want))
	for i := range got {
		got[i] = f.fact()
	}
	slices.Sort(got)
	slices.Sort(want)
	same(f.t, "facts of a change", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

// ends waits for the end, which is a good one.
func (f *follower) ends() {
	f.t.Helper()
	done := make(chan error, 1)
	go func() { done <- f.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil || f.errs.Len() > 0 {
			f.t.Errorf("it ended with %v, %q", err, f.errs.String())
		}
	case <-time.After(20 * time.Second):
		f.t.Error("it does not end")
		f.cmd.Process.Kill()
	}
}

// steps commits so many steps to an execution of a store that is open elsewhere too.
func (w *world) steps(id string, n int) {
	w.t.Helper()
	o, err := locate.Open(w.t.Context(), w.store, locate.Options{ReadWrite: true})
	must(w.t, err)
	exe, err := o.Executions.Load(w.t.Context(), id)
	if err != nil {
		exe = &store.Execution{ID: id, DefinitionID: "d", Status: store.Running}
	}
	for range n {
		_, err := o.Executions.Commit(w.t.Context(), store.Commit{
			Execution: exe, Trace: store.JSON(fmt.Sprintf(`{"event_kind":"E%d","timestamp":%d}`, exe.Version, 10*exe.Version)),
		})
		must(w.t, err)
	}
	must(w.t, o.Close())
}

func TestTraceFollow(t *testing.T) {
	w := ours(t, nil)
	w.steps("e", 2)
	f := w.follower("trace", "e", "--follow", "--json")
	state := `"id":"e","definition_id":"d","status":"RUNNING","outcome":null,"active_path":null,"version":%d,"parent_id":null,"finished_at":null`
	step := func(index int, took string) string {
		return fmt.Sprintf(`{"fact":"step","execution":"e","index":%d,"took":%s,"late":false,"filled":false,"step":{"index":%d,"event_kind":"E%d","timestamp":%d}}`,
			index, took, index, index, 10*index)
	}
	f.facts(`{"fact":"execution_added",`+fmt.Sprintf(state, 2)+`}`,
		`{"fact":"trace","execution":"e","from":0,"held":2,"total":2,"dropped":0,"missing":0}`, step(0, "null"), step(1, "10.0"))
	w.steps("e", 1)
	f.together(`{"fact":"execution_changed",`+fmt.Sprintf(state, 3)+`,"before":{"version":2,"status":"RUNNING","active_path":null}}`, step(2, "10.0"))
	must(t, f.cmd.Process.Signal(syscall.SIGTERM))
	f.ends()

	// From where that ended.
	w.steps("e", 2)
	f = w.follower("trace", "e", "--follow", "--from", "3", "--limit", "2")
	f.facts("-- e is new: version 5, RUNNING", "-- trace of e from step 3 on: 5 of 5", "3  1970-01-01 00:00:30Z  E3  -  -", "4  1970-01-01 00:00:40Z  E4  -  -")
	f.ends()
	w.steps("e", 300)
	f = w.follower("trace", "e", "--follow", "--from", "5", "--filter", "event:E304")
	f.facts("-- e is new: version 305, RUNNING", "-- trace of e from step 105 on: 200 of 305, 105 dropped",
		"-- e: 100 missed, steps 5 to 104: dropped before they were seen", "304  1970-01-01 00:50:40Z  E304  -  -")
	must(t, f.cmd.Process.Signal(os.Interrupt))
	f.ends()

	same(t, "a list", w.ok("trace", "e", "--from", "304"), "304  1970-01-01 00:50:40Z  E304  -  -\n")
	w.fails(exitUsage, "0 or more", "trace", "e", "--from=-1")
	w.fails(exitUsage, "not both", "trace", "e", "--follow", "--raw")
}

func TestWatch(t *testing.T) {
	w := ours(t, nil)
	w.steps("a", 1)
	f := w.follower("watch", "--executions", "--sessions", "--execution", "b")
	f.facts("-- trace of b from step 0 on: no steps", "-- watching from here on: 1 executions, 0 outbox entries, 0 spawns, 0 timers, 0 sessions")
	w.ok("session", "create", "s")
	f.facts("-- session s is new: session, 0 nodes")
	w.ok("append", "s", "--root", "--kind", "init", "--data", "{}", "--id", "n")
	f.facts("-- session s: 1 nodes, were 0")
	w.ok("session", "delete", "s")
	f.facts("-- session s is gone")
	w.steps("b", 1)
	f.together("-- b is new: version 1, RUNNING", "b  0  1970-01-01 00:00:00Z  E0  -  -", "-- b is new: version 1, RUNNING")
	// Another file in its place.
	other := ours(t, nil)
	must(t, os.Rename(other.store, w.store))
	// The log of the old one may lie beside it, and must not be read with it.
	for _, left := range []string{"-wal", "-shm"} {
		if err := os.Remove(w.store + left); !errors.Is(err, fs.ErrNotExist) {
			must(t, err)
		}
	}
	line := f.fact()
	for strings.Contains(line, "be read") {
		line = f.fact()
	}
	same(t, "fact", line, "-- it is another store now")
	must(t, f.cmd.Process.Signal(os.Interrupt))
	f.ends()

	w.fails(exitUsage, "does not exist", "watch", "-s", filepath.Join(t.TempDir(), "no.db"))
}

func TestWatchQueues(t *testing.T) {
	w := ours(t, nil)
	f := w.follower("watch", "--queues", "--json")
	f.facts(`{"fact":"began","executions":0,"outbox":0,"spawns":0,"timers":0,"sessions":0}`)
	w.stdin = strings.NewReader(`{"execution":{"id":"a"},"emits":[{"target_id":"b","event":{"id":"m","kind":"K"}}],"timers":[{"action":"schedule","path":"p","fire_at":5}]}` + "\n")
	w.ok("commit")
	seen := map[string]bool{f.fact(): true, f.fact(): true}
	for _, want := range []string{
		`{"fact":"queued","queue":"outbox","late":false,"entry":{"seq":1,"target_id":"b","event":{"id":"m","kind":"K","created_time":null,"received_time":null,"data":{}}}}`,
		`{"fact":"queued","queue":"timers","late":false,"entry":{"execution_id":"a","path":"p","fire_at":5.0}}`,
	} {
		if !seen[want] {
			t.Errorf("%s is not in %v", want, seen)
		}
	}
	w.ok("ack", "outbox", "1")
	f.facts(`{"fact":"unqueued","queue":"outbox","seq":1}`)
	must(t, f.cmd.Process.Signal(os.Interrupt))
	f.ends()
}

// Whoever reads no more ends a command that follows, also one that has nothing to say.
func TestFollowingEndsWithItsReader(t *testing.T) {
	w := ours(t, nil)
	w.steps("e", 1)
	for _, writes := range []bool{false, true} {
		f := w.follower("trace", "e", "--follow", "--json")
		for range 3 {
			f.fact()
		}
		must(t, f.pipe.Close())
		if writes {
			w.steps("e", 1)
		}
		f.ends()
	}
}

// Two follow while others write: each step is told once by both, and nothing is left
// beside the file that was not there.
func TestFollowingBesideWriters(t *testing.T) {
	w := ours(t, nil)
	w.steps("e", 1)
	followers := []*follower{w.follower("trace", "e", "--follow", "--json"), w.follower("trace", "e", "--follow", "--json")}
	for _, f := range followers {
		f.fact()
	}
	for range 10 {
		w.steps("e", 7)
	}
	for _, f := range followers {
		for next := 0; next <= 70; {
			line := f.fact()
			var index int
			if _, rest, ok := strings.Cut(line, `"fact":"step","execution":"e","index":`); ok {
				if _, err := fmt.Sscanf(rest, "%d", &index); err != nil || index != next {
					t.Fatalf("%s, want step %d (%v)", line, next, err)
				}
				next++
			}
		}
		must(t, f.cmd.Process.Signal(os.Interrupt))
		_, err := io.Copy(io.Discard, f.pipe)
		must(t, err)
		f.ends()
	}
}
