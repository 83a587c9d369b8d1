package storetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"treering/store"
)

// HostStore is what a host has open of a server.
type HostStore struct {
	Executions store.ExecutionStore
	Trees      store.TreeStore
	Close      func() error
}

// OpenHost opens, for writing, what a locator names. Nothing is made.
type OpenHost func(ctx context.Context, locator string) (HostStore, error)

// hostVariable makes a process of the test binary a host: its value is a [hostOrder].
const hostVariable = "TREERING_TEST_HOST"

// hostOrder is what a host is told.
type hostOrder struct {
	Locator string
	Name    string
	Offset  time.Duration // of its clock
	Commits int
}

// hostReport is what a host says of its work.
type hostReport struct {
	Name      string
	Fired     []float64 // the times of the timers that it handled
	Swept     float64   // the last time of its clock at which it looked for due ones
	Unknown   int       // commits whose first answer was lost
	Lost      int       // commits that lost a race, and were made again on what had won
	ExpiresAt float64   // of a tree with a time to live of hostTTL seconds
	Late      string    // what became of an append to a tree that is over by one clock only
	Ended     string    // and to one that is over by the server's
}

const (
	hostTTL    = 1000 // seconds
	hostTimers = 24   // executions with a timer each
	hotID      = "hot"
	sharedTree = "shared"
	lateTree   = "late"
)

// HostMain does a host's part and ends the process where [TestHosts] has started it as
// one. TestMain of a package calls it first.
func HostMain(open OpenHost) {
	text := os.Getenv(hostVariable)
	if text == "" {
		return
	}
	var order hostOrder
	err := json.Unmarshal([]byte(text), &order)
	if err == nil {
		err = (&host{hostOrder: order, in: bufio.NewReader(os.Stdin)}).run(open)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, order.Name+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// host is one process with a clock of its own.
type host struct {
	hostOrder
	in *bufio.Reader
	hostReport
	HostStore
}

func (h *host) now() float64 {
	at := time.Now().Add(h.Offset)
	return float64(at.Unix()) + float64(at.Nanosecond())/1e9
}

func (h *host) run(open OpenHost) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if h.HostStore, err = open(ctx, h.Locator); err != nil {
		return err
	}
	h.hostReport.Name = h.hostOrder.Name
	for _, part := range []func(context.Context) error{h.commit, h.sweep, h.grow, h.ended} {
		if _, err := h.in.ReadString('\n'); err != nil {
			return err
		}
		if err := part(ctx); err != nil {
			return err
		}
		fmt.Println("done")
	}
	if err := h.Close(); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(h.hostReport)
}

// settled commits until it is done: on what has won where a race was lost, the same
// again where the answer was.
func (h *host) settled(ctx context.Context, id, mark string, more func(*store.Commit)) (done bool, err error) {
	for {
		exe, processed, err := h.Executions.LoadForEvent(ctx, id, mark)
		if err != nil || processed {
			return false, err
		}
		c := store.Commit{
			Execution: exe, ProcessedEventID: &mark, Emits: []store.Emit{{TargetID: &id, Event: store.Event{ID: mark, Kind: "E"}}},
			Trace: store.ObjectOf(store.Member{Key: "mark", Value: store.Quote(mark)}),
		}
		if more != nil {
			more(&c)
		}
		want := exe.Version + 1
		for unknown := false; ; {
			_, err = h.Executions.Commit(ctx, c)
			var lost *store.ConflictError
			switch {
			case err == nil:
				return true, nil
			case errors.Is(err, store.ErrOutcomeUnknown):
				h.Unknown++
				unknown = true
				continue
			case errors.As(err, &lost) && unknown && lost.Found != nil && *lost.Found >= want:
				// Done, or another's: the mark says which.
				if processed, err := h.Executions.IsProcessed(ctx, id, mark); err != nil || processed {
					return processed, err
				}
			}
			break
		}
		if !errors.Is(err, store.ErrConflict) {
			return false, err
		}
		h.Lost++
	}
}

// commit makes the host's commits on the execution that all hosts commit on.
func (h *host) commit(ctx context.Context) error {
	for n := range h.Commits {
		mark := fmt.Sprintf("%s-%d", h.hostOrder.Name, n)
		done, err := h.settled(ctx, hotID, mark, nil)
		if err != nil {
			return err
		}
		if !done {
			return fmt.Errorf("%s was done before it was asked for", mark)
		}
	}
	return nil
}

// sweep handles the timers that are due by this host's clock, as a worker does: the
// event's id comes from the timer, the execution's mark says whether another host was
// first, and the row goes last.
func (h *host) sweep(ctx context.Context) error {
	for range 3 { // what another has fired meanwhile is not there any more
		h.Swept = h.now()
		due, err := h.Executions.DueTimers(ctx, h.Swept)
		if err != nil {
			return err
		}
		for _, timer := range due {
			done, err := h.settled(ctx, timer.ExecutionID, store.TimeoutEventID(timer.ExecutionID, timer.Path, timer.FireAt), nil)
			if err != nil {
				return err
			}
			if done {
				h.Fired = append(h.Fired, timer.FireAt)
			}
			if _, err := h.Executions.DeleteTimer(ctx, timer.ExecutionID, timer.Path, timer.FireAt); err != nil {
				return err
			}
		}
	}
	return nil
}

// grow appends to the tree that all hosts append to, its own nodes and nodes that all
// append, and to one that is over by the clock that is ahead.
func (h *host) grow(ctx context.Context) error {
	root := "r"
	for n := range h.Commits {
		for _, id := range []string{fmt.Sprintf("%s-%d", h.hostOrder.Name, n), fmt.Sprintf("same-%d", n)} {
			node := store.Node{ID: id, ParentID: &root, Kind: "run", Data: store.JSON(fmt.Sprintf(`{"n":%d}`, n))}
			if err := h.appended(ctx, sharedTree, node); err != nil {
				return err
			}
		}
	}
	info, err := h.Trees.CreateSession(ctx, "of-"+h.hostOrder.Name, "session", store.Seconds(hostTTL))
	if err != nil {
		return err
	}
	h.ExpiresAt = *info.ExpiresAt
	h.Late = said(h.appended(ctx, lateTree, store.Node{ID: h.hostOrder.Name, ParentID: &root, Kind: "run", Data: store.EmptyObject}))
	return nil
}

// ended appends to a tree that is over by the server's clock.
func (h *host) ended(ctx context.Context) error {
	root := "r"
	h.Ended = said(h.appended(ctx, lateTree, store.Node{ID: h.hostOrder.Name + "-again", ParentID: &root, Kind: "run", Data: store.EmptyObject}))
	return nil
}

// appended appends once more where the answer was lost: that is done, too, then.
func (h *host) appended(ctx context.Context, session string, node store.Node) error {
	err := h.Trees.Append(ctx, session, node)
	for errors.Is(err, store.ErrOutcomeUnknown) {
		h.Unknown++
		err = h.Trees.Append(ctx, session, node)
	}
	return err
}

func said(err error) string {
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, store.ErrNotFound):
		return "not found"
	}
	return err.Error()
}

// startedHost is a host as its starter sees it.
type startedHost struct {
	hostOrder
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startHost(t testing.TB, order hostOrder) *startedHost {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	h := &startedHost{hostOrder: order, cmd: exec.CommandContext(t.Context(), binary)}
	h.cmd.Env = append(os.Environ(), hostVariable+"="+string(text))
	h.cmd.Stderr = os.Stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHosts has two processes, the clock of one an hour behind and that of the other an
// hour ahead, work at once on a new store of both contracts on a server, and looks at
// it from a third, this one: commits are neither lost nor doubled, a timer is due by
// the clock of whoever sweeps and is handled once, trees expire by the server's clock
// alone.
func TestHosts(t *testing.T, locator string, open OpenHost) {
	t.Helper()
	ctx := t.Context()
	h, err := open(ctx, locator)
	if err != nil {
		t.Fatal(err)
	}
	b := hostBundle{t, h}
	defer func() { b.ok(h.Close()) }()
	const apart = time.Hour
	now := float64(time.Now().Unix())
	b.ok(h.Executions.Save(ctx, fresh(hotID)))
	var early, late []float64 // due by both clocks, and by the one that is ahead only
	for i := range hostTimers {
		exe := fresh(fmt.Sprintf("timed-%02d", i))
		at := now - 2*apart.Seconds() - float64(i)
		switch i % 3 {
		case 0:
			early = append(early, at)
		case 1:
			at = now - float64(i)
			late = append(late, at)
		default:
			at = now + 2*apart.Seconds() + float64(i) // by none
		}
		_, err := h.Executions.Commit(ctx, store.Commit{Execution: exe, Timers: []store.TimerOp{{Action: store.Schedule, Path: "p", FireAt: at}}})
		b.ok(err)
	}
	for tree, ttl := range map[string]*float64{sharedTree: nil, lateTree: store.Seconds(apart.Seconds() / 2)} {
		_, err := h.Trees.CreateSession(ctx, tree, "session", ttl)
		b.ok(err)
		b.ok(h.Trees.Append(ctx, tree, store.Node{ID: "r", Kind: "init", Data: store.EmptyObject}))
	}
	commits := size(200, 40)
	hosts := []*startedHost{
		startHost(t, hostOrder{locator, "behind", -apart, commits}),
		startHost(t, hostOrder{locator, "ahead", apart, commits}),
	}
	before := time.Now()
	for part := range 4 {
		if part == 3 {
			_, err := h.Trees.SetSessionTTL(ctx, lateTree, store.Seconds(0))
			b.ok(err)
		}
		for _, h := range hosts {
			_, err := io.WriteString(h.in, "go\n")
			b.ok(err)
		}
		for _, h := range hosts {
			if line, err := h.out.ReadString('\n'); err != nil || line != "done\n" {
				t.Fatalf("%s, part %d: %q, %v", h.Name, part, line, err)
			}
		}
	}
	took := time.Since(before)
	var reports []hostReport
	for _, h := range hosts {
		var r hostReport
		b.ok(json.NewDecoder(h.out).Decode(&r))
		b.ok(h.cmd.Wait())
		reports = append(reports, r)
	}
	b.commits(ctx, reports, commits)
	b.timers(ctx, reports, early, late)
	b.trees(ctx, reports, commits, took)
}

// hostBundle checks what the hosts have left.
type hostBundle struct {
	t *testing.T
	HostStore
}

func (b hostBundle) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b hostBundle) is(what string, got, want any) {
	b.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// commits: every commit of either host is there, once.
func (b hostBundle) commits(ctx context.Context, hosts []hostReport, each int) {
	b.t.Helper()
	exe, err := b.Executions.Load(ctx, hotID)
	b.ok(err)
	b.is("version", exe.Version, 1+len(hosts)*each)
	entries, err := b.Executions.PendingOutbox(ctx)
	b.ok(err)
	seen, last := map[string]int{}, int64(0)
	for _, e := range entries {
		if e.Seq <= last {
			b.t.Errorf("seq %d after %d", e.Seq, last)
		}
		last = e.Seq
		if e.TargetID != nil && *e.TargetID == hotID {
			seen[e.Event.ID]++
		}
	}
	lost := 0
	for _, h := range hosts {
		lost += h.Lost
		for n := range each {
			mark := fmt.Sprintf("%s-%d", h.Name, n)
			if seen[mark] != 1 {
				b.t.Errorf("%s was sent %d times", mark, seen[mark])
			}
			done, err := b.Executions.IsProcessed(ctx, hotID, mark)
			b.ok(err)
			if !done {
				b.t.Errorf("%s is not marked", mark)
			}
		}
	}
	b.is("entries", len(seen), len(hosts)*each)
	steps, err := b.Executions.ReadTrace(ctx, hotID)
	b.ok(err)
	total := len(hosts) * each
	b.is("steps", len(steps), min(total, store.DefaultTraceMax))
	for i, s := range steps {
		if s.Index != int64(total-len(steps)+i) {
			b.t.Errorf("step %d of the ring has index %d", i, s.Index)
		}
	}
	if lost == 0 {
		b.t.Log("the two hosts met nowhere: no commit lost a race")
	}
}

// timers: whoever's clock said so has handled each, once, and what is due by nobody's
// clock is still armed.
func (b hostBundle) timers(ctx context.Context, hosts []hostReport, early, late []float64) {
	b.t.Helper()
	var fired []float64
	for _, h := range hosts {
		for _, at := range h.Fired {
			if at > h.Swept {
				b.t.Errorf("%s fired a timer of %.0f at %.0f by its clock", h.Name, at, h.Swept)
			}
			if h.Name == "behind" && slices.Contains(late, at) {
				b.t.Errorf("%s fired what is due in an hour by its clock", h.Name)
			}
		}
		fired = append(fired, h.Fired...)
	}
	want := slices.Concat(early, late)
	slices.Sort(want)
	slices.Sort(fired)
	b.is("fired", fired, want)
	left, err := b.Executions.ListTimers(ctx, store.QueueFilter{}, store.PageRequest{})
	b.ok(err)
	b.is("still armed", len(left.Items), hostTimers-len(want))
	for i := range hostTimers {
		exe, err := b.Executions.Load(ctx, fmt.Sprintf("timed-%02d", i))
		b.ok(err)
		version := int64(2)
		if i%3 == 2 {
			version = 1
		}
		b.is("version of "+exe.ID, exe.Version, version)
	}
}

// trees: the hosts agree on when a tree is over, whatever their clocks say, and what all
// appended is there once.
func (b hostBundle) trees(ctx context.Context, hosts []hostReport, each int, took time.Duration) {
	b.t.Helper()
	n, err := b.Trees.CountNodes(ctx, sharedTree)
	b.ok(err)
	b.is("nodes", n, 1+len(hosts)*each+each)
	if d := hosts[0].ExpiresAt - hosts[1].ExpiresAt; d > took.Seconds()+1 || d < -took.Seconds()-1 {
		b.t.Errorf("trees made within %v of each other expire %.1f s apart", took, d)
	}
	for _, h := range hosts {
		b.is(h.Name+", before the end", h.Late, "done")
		b.is(h.Name+", after the end", h.Ended, "not found")
	}
	_, err = b.Trees.Session(ctx, lateTree)
	if !errors.Is(err, store.ErrNotFound) {
		b.t.Errorf("a tree that is over: %v", err)
	}
}
