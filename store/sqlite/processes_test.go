package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"treering/store"
	"zombiezen.com/go/sqlite"
)

func init() {
	childRoles["commit"] = childCommit
	childRoles["endless"] = childEndless
}

// sharedIDs are the executions that the children fight over.
func sharedIDs() []string { return []string{"shared-0", "shared-1", "shared-2"} }

// childCommit commits on the shared executions until it has won so many times, and
// prints every win as "id version seq". Its arguments: path, name, wins.
func childCommit(args []string) error {
	path, name := args[0], args[1]
	wins, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	db, err := Open(context.Background(), Options{Path: path, Create: true, TraceMax: ptr(7)})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	var line string
	if _, err := fmt.Scanln(&line); err != nil {
		return err
	}
	for n := 0; n < wins; {
		id := sharedIDs()[rand.IntN(len(sharedIDs()))]
		version, seq, err := commitOnce(db.Executions(), id, fmt.Sprintf("%s-%d", name, n))
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println(id, version, seq)
		n++
	}
	return db.Close()
}

// commitOnce makes one whole commit on what is stored now.
func commitOnce(es store.ExecutionStore, id, tag string) (version, seq int64, err error) {
	ctx := context.Background()
	exe, err := es.Load(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		exe, err = benchExecution(id, store.Running, 20), nil
	}
	if err != nil {
		return 0, 0, err
	}
	seqs, err := es.Commit(ctx, store.Commit{
		Execution:        exe,
		Emits:            []store.Emit{{TargetID: &tag, Event: store.Event{ID: tag, Kind: "E", Data: store.JSON(fmt.Sprintf(`{"version":%d}`, exe.Version+1))}}},
		ProcessedEventID: &tag,
		Timers:           []store.TimerOp{{Action: store.Schedule, Path: tag, FireAt: float64(exe.Version)}},
		Spawns:           []store.Spawn{{ChildID: tag}},
		Trace:            store.JSON(fmt.Sprintf(`{"tag":%q}`, tag)),
	})
	if err != nil {
		return 0, 0, err
	}
	return exe.Version, seqs[0], nil
}

// childEndless commits on executions of its own until it is killed, and prints each
// commit that has come through as "id version". Its arguments: path, name.
func childEndless(args []string) error {
	db, err := Open(context.Background(), Options{Path: args[0], Create: true, TraceMax: ptr(7)})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for k := range 4 {
		go func() {
			id := fmt.Sprintf("%s-%d", args[1], k)
			for n := 0; ; n++ {
				version, _, err := commitOnce(db.Executions(), id, fmt.Sprintf("%s-%d", id, n))
				if err != nil {
					failed <- err
					return
				}
				fmt.Println(id, version)
			}
		}()
	}
	return <-failed
}

// Several processes commit on one file at once: each version of an execution has
// exactly one winner, nothing of a winner is lost, nothing of a loser is there, and
// nobody sees an error of the database's.
func TestProcesses(t *testing.T) {
	const children, wins = 4, 60
	path := filepath.Join(t.TempDir(), "shared.db")
	var all []*process
	for i := range children {
		all = append(all, child(t, "commit", path, fmt.Sprintf("p%d", i), strconv.Itoa(wins)))
	}
	for _, p := range all {
		if got := p.line(); got != "ready" { // made by all of them at once, too
			t.Fatalf("child said %q", got)
		}
	}
	for _, p := range all {
		fmt.Fprintln(p.in, "go")
	}
	winners := map[string]string{} // "id version" to the child and seq
	for i, p := range all {
		for range wins {
			id, rest, _ := strings.Cut(p.line(), " ")
			version, seq, _ := strings.Cut(rest, " ")
			key := id + " " + version
			if other, twice := winners[key]; twice {
				t.Errorf("%s was won by %s and by %d with seq %s", key, other, i, seq)
			}
			winners[key] = fmt.Sprintf("%d with seq %s", i, seq)
		}
	}
	for _, p := range all {
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a child: %v", err)
		}
	}

	db := openDB(t, Options{Path: path, ReadWrite: true, TraceMax: ptr(7)})
	es, ctx := db.Executions(), t.Context()
	versions := int64(0)
	for _, id := range sharedIDs() {
		exe, err := es.Load(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		versions += exe.Version
		for v := int64(1); v <= exe.Version; v++ {
			if winners[fmt.Sprint(id, " ", v)] == "" {
				t.Errorf("%s has version %d, which nobody won", id, v)
			}
		}
		steps, err := es.ReadTrace(ctx, id)
		if err != nil || len(steps) != 7 || steps[6].Index != exe.Version-1 {
			t.Errorf("trace of %s: %d steps to %d at version %d, %v", id, len(steps), steps[len(steps)-1].Index, exe.Version, err)
		}
	}
	counts, err := es.Counts(ctx)
	if want := int64(children * wins); err != nil || versions != want || counts.Outbox != want || counts.Spawns != want || counts.Timers != want {
		t.Errorf("%d versions, counts %+v, want %d of each; %v", versions, counts, want, err)
	}
	for _, o := range outboxOf(t, es, store.QueueFilter{}, 0) {
		processed := false
		for _, id := range sharedIDs() {
			was, err := es.IsProcessed(ctx, id, o.Event.ID)
			if err != nil {
				t.Fatal(err)
			}
			processed = processed || was
		}
		if !processed {
			t.Errorf("the event of %s is in the outbox without its mark", o.Event.ID)
		}
	}
}

// Processes that are killed in the middle of their commits, at any moment, leave a
// sound file: what they said was committed is there, whole, and others go on.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "killed.db")
	committed := map[string]int64{}
	for round := range 5 {
		var all []*process
		for i := range 2 {
			all = append(all, child(t, "endless", path, fmt.Sprintf("r%d-%d", round, i)))
		}
		for i, p := range all {
			for n := range 40 + 7*i {
				id, version, ok := strings.Cut(p.line(), " ")
				v, err := strconv.ParseInt(version, 10, 64)
				if !ok || err != nil {
					t.Fatalf("child line %d: %q %q", n, id, version)
				}
				committed[id] = v
			}
			p.kill()
			for p.out.Scan() { // what it said before it died
				id, version, _ := strings.Cut(p.out.Text(), " ")
				if v, err := strconv.ParseInt(version, 10, 64); err == nil {
					committed[id] = max(committed[id], v)
				}
			}
		}
	}
	db := openDB(t, Options{Path: path, ReadWrite: true, TraceMax: ptr(7)})
	es, ctx := db.Executions(), t.Context()
	events := map[string]int{}
	for _, o := range outboxOf(t, es, store.QueueFilter{}, 0) {
		events[o.Event.ID]++
	}
	for id, version := range committed {
		exe, err := es.Load(ctx, id)
		if err != nil || exe.Version < version {
			t.Errorf("%s was committed at version %d, there is %+v, %v", id, version, exe, err)
			continue
		}
		for n := range exe.Version {
			tag := fmt.Sprintf("%s-%d", id, n)
			processed, err := es.IsProcessed(ctx, id, tag)
			if err != nil || !processed || events[tag] != 1 {
				t.Errorf("%s: processed %v, in the outbox %d times, %v", tag, processed, events[tag], err)
			}
			delete(events, tag)
		}
		if _, err := es.Commit(ctx, store.Commit{Execution: exe}); err != nil {
			t.Errorf("%s goes on: %v", id, err)
		}
	}
	for tag := range events {
		id := tag[:strings.LastIndex(tag, "-")]
		if _, known := committed[id]; known {
			t.Errorf("the event %s is there without its commit", tag)
		}
	}
}

// A process that is stopped while it holds the lock keeps nobody from reading, and
// whoever writes is told.
func TestStoppedLockHolder(t *testing.T) {
	db := openNew(t, Options{BusyTimeout: 50 * time.Millisecond})
	es := db.Executions()
	if err := es.Save(t.Context(), benchExecution("e", store.Running, 1)); err != nil {
		t.Fatal(err)
	}
	holder := writerProcess(t, db.Path(), "BEGIN IMMEDIATE", "UPDATE harel_executions SET version = 9")
	if err := es.Save(t.Context(), benchExecution("f", store.Running, 1)); !errors.Is(err, store.ErrBusy) {
		t.Errorf("a write: %v", err)
	}
	if exe, err := es.Load(t.Context(), "e"); err != nil || exe.Version != 1 {
		t.Errorf("a read: %+v, %v", exe, err)
	}
	holder.kill()
	if err := es.Save(t.Context(), benchExecution("f", store.Running, 1)); err != nil {
		t.Errorf("after it died: %v", err)
	}
	var left string
	err := db.file.Read(t.Context(), func(conn *sqlite.Conn) (err error) {
		left, err = text(conn, "SELECT group_concat(version) FROM harel_executions")
		return err
	})
	if err != nil || left != "1,1" {
		t.Errorf("versions %q, %v", left, err)
	}
}
