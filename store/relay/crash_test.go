package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"treering/store"
	"treering/store/relay"
	"treering/store/sqlite"
)

// crashStore names the store that a child process relays on until it is killed.
const crashStore = "TREERING_TEST_RELAY_ON"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashStore); path != "" {
		if err := relayUntilKilled(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func relayUntilKilled(path string) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadWrite: true, Synchronous: "NORMAL"})
	if err != nil {
		return err
	}
	r := relay.New(db.Executions(), &counter{}, relay.Options{Poll: time.Millisecond})
	defer r.Close()
	fmt.Println("up")
	return r.Run(ctx)
}

// A relay that is killed at any point and started again makes every event take
// effect exactly once: events that run round, timers that fire, children that are
// made and tell their parents.
func TestKilledAtAnyPoint(t *testing.T) {
	kills, rounds := 200, int64(4000)
	if testing.Short() {
		kills, rounds = 10, 100
	}
	self, err := os.Executable()
	must(t, err)
	path := filepath.Join(t.TempDir(), "crash.db")
	es := openFile(t, path)
	ctx := t.Context()
	ring := []string{"r0", "r1", "r2", "r3", "r4"}
	for i, id := range ring {
		emits := []store.Emit{{TargetID: &ring[(i+1)%len(ring)], Event: hop(id, rounds)}}
		for n := range 40 {
			at := float64(time.Now().UnixMilli())/1000 + float64(n)/20
			emits = append(emits, store.Emit{TargetID: &id, Event: store.NewEvent("Arm", store.JSON(fmt.Sprintf(`{"path":"P%d","at":%.3f}`, n, at)))})
		}
		emits = append(emits, store.Emit{TargetID: &id, Event: store.NewEvent("Fork", `{"children":40}`)})
		_, err := es.Commit(ctx, store.Commit{Execution: &store.Execution{ID: id, DefinitionID: "d", Status: store.Running, Context: "{}"}, Emits: emits})
		must(t, err)
	}
	died := 0
	for range kills {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), crashStore+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if _, err := out.Read(make([]byte, 3)); err != nil {
			t.Fatalf("the relay did not start: %v, %v", err, cmd.Wait())
		}
		// Where it dies is the point: the time is drawn, not waited for.
		time.Sleep(rand.N(15 * time.Millisecond))
		must(t, cmd.Process.Kill())
		if err := cmd.Wait(); err != nil {
			died++
		}
	}
	if died != kills {
		t.Errorf("%d of %d were killed, the others ended by themselves", died, kills)
	}
	r := relay.New(es, &counter{}, relay.Options{})
	defer r.Close()
	for {
		moved, err := r.Drain(ctx)
		must(t, err)
		c, err := es.Counts(ctx)
		must(t, err)
		if !moved && c.Outbox+c.Spawns+c.Timers == 0 {
			break
		}
	}
	t.Logf("after %d kills %d events were left to the last relay", kills, r.Stats().Delivered)
	hops := int64(0)
	for _, id := range ring {
		exe, err := es.Load(ctx, id)
		must(t, err)
		n, _ := exe.Context.Get("Hop").Int64()
		hops += n
		for member, want := range map[string]int64{"Arm": 40, "Fork": 1, "Finished": 40} {
			if got, _ := exe.Context.Get(member).Int64(); got != want {
				t.Errorf("%s of %s: %d, want %d", member, id, got, want)
			}
		}
		for n := range 40 {
			if got, _ := exe.Context.Get(fmt.Sprintf("Timeout P%d", n)).Int64(); got != 1 {
				t.Errorf("timer %d of %s fired %d times", n, id, got)
			}
		}
	}
	if want := int64(len(ring)) * (rounds + 1); hops != want {
		t.Errorf("%d hops, want %d", hops, want)
	}
}
