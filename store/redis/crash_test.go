package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"treering/store"
	"treering/store/storetest"
)

func newExecution(id string) *store.Execution {
	return &store.Execution{ID: id, DefinitionID: "shop", Status: store.Running, Context: `{"user":"ana"}`}
}

// numbered is a commit whose parts say which of its execution it is.
func numberedCommit(exe *store.Execution) store.Commit {
	n := exe.Version + 1
	mark := fmt.Sprintf("%s-%d", exe.ID, n)
	return store.Commit{
		Execution: exe, ProcessedEventID: &mark,
		Emits:  []store.Emit{{TargetID: &exe.ID, Event: store.Event{ID: mark, Kind: "E"}}},
		Spawns: []store.Spawn{{ChildID: mark}},
		Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: float64(n)}},
		Trace:  store.JSON(fmt.Sprintf(`{"n":%d}`, n)),
	}
}

// settle commits until the answer is known: a server that is away comes back, and an
// answer that was lost is asked for again with the same commit.
func settle(ctx context.Context, s store.ExecutionStore, c store.Commit) (unknown bool, err error) {
	want := c.Execution.Version + 1
	for {
		_, err := s.Commit(ctx, c)
		var lost *store.ConflictError
		switch {
		case err == nil:
			return unknown, nil
		case unknown && errors.As(err, &lost) && lost.Found != nil && *lost.Found == want:
			c.Execution.Version = want // the lost answer was a yes
			return true, nil
		case errors.Is(err, store.ErrOutcomeUnknown):
			unknown = true
		case !errors.Is(err, ErrUnreachable) && !errors.Is(err, store.ErrBusy):
			return unknown, err
		}
		select {
		case <-ctx.Done():
			return unknown, ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// whole checks that each of the executions has its commits 1 to want, each once.
func whole(t *testing.T, s store.ExecutionStore, want map[string]int64) {
	t.Helper()
	ctx := context.Background()
	sent, spawned := map[string]int{}, map[string]int{}
	entries, err := s.PendingOutbox(ctx)
	ok(t, err)
	for _, e := range entries {
		sent[e.Event.ID]++
	}
	spawns, err := s.PendingSpawns(ctx)
	ok(t, err)
	for _, e := range spawns {
		spawned[e.ChildID]++
	}
	total := int64(0)
	for id, versions := range want {
		total += versions
		exe, err := s.Load(ctx, id)
		ok(t, err)
		if exe.Version != versions {
			t.Errorf("%s has version %d, %d commits were acknowledged", id, exe.Version, versions)
		}
		steps, err := s.ReadTrace(ctx, id)
		ok(t, err)
		if int64(len(steps)) != min(versions, store.DefaultTraceMax) || steps[len(steps)-1].Index != versions-1 {
			t.Errorf("%s has %d steps, the last is %d", id, len(steps), steps[len(steps)-1].Index)
		}
		for n := int64(1); n <= versions; n++ {
			mark := fmt.Sprintf("%s-%d", id, n)
			if sent[mark] != 1 || spawned[mark] != 1 {
				t.Errorf("%s was sent %d times and spawned %d times", mark, sent[mark], spawned[mark])
			}
			if n > versions-3 {
				if done, err := s.IsProcessed(ctx, id, mark); err != nil || !done {
					t.Errorf("%s is not marked: %v", mark, err)
				}
			}
		}
	}
	if int64(len(entries)) != total || int64(len(spawns)) != total {
		t.Errorf("%d entries and %d spawns of %d commits", len(entries), len(spawns), total)
	}
}

// What was acknowledged is there after the server was killed in the middle of thousands
// of commits and started again, and nothing is there twice.
func TestKilledServer(t *testing.T) {
	commits := 10_000
	if testing.Short() {
		commits = 800
	}
	s := startServer(t, "--appendfsync", "always")
	d := openNew(t, s.url(0))
	const committers = 8
	each := commits / committers
	var done atomic.Int64
	var unknown atomic.Int64
	half := make(chan struct{})
	var once sync.Once
	errs := make([]error, committers)
	var all sync.WaitGroup
	want := map[string]int64{}
	for w := range committers {
		id := fmt.Sprint("e", w)
		want[id] = int64(each)
		all.Go(func() {
			exe := newExecution(id)
			for range each {
				lost, err := settle(t.Context(), d.Executions(), numberedCommit(exe))
				if err != nil {
					errs[w] = err
					return
				}
				if lost {
					unknown.Add(1)
				}
				if done.Add(1) == int64(commits/2) {
					once.Do(func() { close(half) })
				}
			}
		})
	}
	select {
	case <-half:
	case <-t.Context().Done():
	}
	s.kill()
	if _, err := d.Executions().Load(t.Context(), "e0"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("reading while it is down: %v", err)
	}
	s.start(t)
	all.Wait()
	ok(t, errors.Join(errs...))
	whole(t, d.Executions(), want)
	t.Logf("%d commits, of which %d lost their first answer", done.Load(), unknown.Load())
	if !d.Down().IsZero() {
		t.Error("it answers, and counts as down")
	}
}

// childURL tells a process of this binary to commit to that server.
const childURL = "TREERING_TEST_REDIS_URL"

func TestMain(m *testing.M) {
	storetest.HostMain(openHost)
	if url := os.Getenv(childURL); url != "" {
		if err := commitAsChild(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childCommits is how many successful commits each process makes on one execution.
const childCommits = 150

func commitAsChild(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := Open(ctx, Options{URL: url, ReadWrite: true})
	if err != nil {
		return err
	}
	for n := 0; n < childCommits; {
		exe, err := d.Executions().Load(ctx, "hot")
		if err != nil {
			return err
		}
		switch _, err = d.Executions().Commit(ctx, numberedCommit(exe)); {
		case err == nil:
			n++
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return d.Close()
}

// Two processes that commit to one execution lose no update.
func TestTwoProcesses(t *testing.T) {
	s := startServer(t)
	d := openNew(t, s.url(0))
	_, err := d.Executions().Commit(t.Context(), numberedCommit(newExecution("hot")))
	ok(t, err)
	binary, err := os.Executable()
	ok(t, err)
	const processes = 2
	var all sync.WaitGroup
	errs := make([]error, processes)
	for i := range processes {
		all.Go(func() {
			cmd := exec.CommandContext(t.Context(), binary)
			cmd.Env = append(os.Environ(), childURL+"="+s.url(0))
			if out, err := cmd.CombinedOutput(); err != nil {
				errs[i] = fmt.Errorf("%w: %s", err, out)
			}
		})
	}
	all.Wait()
	ok(t, errors.Join(errs...))
	whole(t, d.Executions(), map[string]int64{"hot": 1 + processes*childCommits})
}
