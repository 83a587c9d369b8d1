package ui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"treering/store"
	"treering/ui/state"
)

func TestCreatingASession(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("+").asks("New session").settled().press("enter", "enter", "enter").asks("name: must not be empty").press("esc")
	// One that is there is no new one.
	d.press("+").settled().typed("example").press("enter", "enter", "enter").asks("there is a session of that name, of kind session").press("esc").says("nothing was written")
	d.press("+").shows("›name     example").settled().press("ctrl+u").typed("fresh").press("enter", "ctrl+u").typed("do").press("tab").shows("kind     docker-build")
	d.press("enter").typed("2h").shows("that expires 14:00:0", "session create --kind docker-build --ttl 2h fresh").hides("append")
	d.press("tab").typed(`{"title":"base`).press("tab", "enter").asks("root: not JSON").press("shift+tab").typed(`"}`)
	d.shows("then its root", "fresh &&", "append --kind init --data", "--root fresh").press("shift+tab", "enter").settled().press("y").asksNothing().says("created fresh with its root")
	d.changed().shows("›fresh", "1 node, 1 head", "base")
	info, err := o.Trees.Session(t.Context(), "fresh")
	must(t, err)
	if info.Kind != "docker-build" || info.ExpiresAt == nil {
		t.Errorf("stored %+v", info)
	}
	// Somebody else makes one of that name, of another kind, in between.
	d.press("+").settled().typed("raced").press("enter", "enter", "enter").settled()
	_, err = o.Trees.CreateSession(t.Context(), "raced", "upload", nil)
	must(t, err)
	d.press("y").shows(`session "raced" is of kind "upload", not "session"; tab changes it`).press("esc")
	d.press("+").shows("raced")
}

func TestACreationThatStopsHalfway(t *testing.T) {
	o := seeded(t)
	s := &slow{TreeStore: o.Trees, err: store.ErrBusy}
	o.Trees = s
	d := open(t, o, 100, 30).press("+").settled().typed("half").press("enter", "enter", "tab").typed("{}").press("shift+tab", "enter").settled().press("y")
	d.asks("the session is there, its root is not: the store is busy; y tries the same again")
	s.err = nil
	d.changed().press("y").asksNothing().says("created half with its root")
}

func TestDeletingASession(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("D").asks("Delete a session").shows("the session and its 5 nodes are removed", "session delete example").settled()
	d.press("enter").asks("type the session's name").typed("exampl").press("enter").asks("that is not its name").typed("e").press("enter").asks("y delete it for good")
	d.press("y").asks("y delete it").settled().press("y").asksNothing().says("deleted example")
	if _, err := o.Trees.Session(t.Context(), "example"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
	d.changed().hides("›example")
	// Made anew while the dialog is open: another tree, which nobody looked at.
	seedTree(t, o.Trees, "again")
	d.changed().press("1", "g", "D").settled().typed("again").press("enter").settled()
	_, err := o.Trees.DeleteSession(t.Context(), "again")
	must(t, err)
	_, err = o.Trees.CreateSession(t.Context(), "again", "session", nil)
	must(t, err)
	d.changed().shows("disarmed: the session was deleted or has expired, or another has its name now").press("y").asks("disarmed").press("esc")
	// A name that no keyboard has is typed as it is shown.
	_, err = o.Trees.CreateSession(t.Context(), "a\x1b", "session", nil)
	must(t, err)
	d.changed().press("g", "D").settled().typed("a␛").press("enter").settled().press("y").says("deleted a")
}

func TestPurgingExpiredSessions(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("X").asks("disarmed: no session has expired that is still there").press("esc")
	for _, id := range []string{"x", "y"} {
		_, err := o.Trees.CreateSession(t.Context(), id, "session", store.Seconds(0))
		must(t, err)
	}
	d.settled().press("X").shows("2 expired sessions are removed", "purge --expired").settled().press("y").asksNothing().says("removed 2 expired sessions")
	_, err := o.Trees.CreateSession(t.Context(), "x", "session", store.Seconds(0))
	must(t, err)
	d.press("X").settled().shows("1 expired session is removed")
	_, err = o.Trees.PurgeExpired(t.Context())
	must(t, err)
	d.press("y").says("somebody else removed them")
}

func TestPurgingAnExecution(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("l", "P").asksNothing().says("purge: it is RUNNING; only what is DONE or CANCELLED is removed")
	const id = "order-1:Fulfilment.Picking:0"
	d.jumpTo(id).press("P").asks("Purge an execution").shows("removed with its trace and marks, 0 outbox entries to it", "purge --version 1 "+id).settled()
	exe, err := o.Executions.Load(ctx, id)
	must(t, err)
	must(t, o.Executions.Save(ctx, exe.Clone()))
	d.changed().shows("disarmed: it moved on: version 1 is now 2, DONE").press("y").asks("disarmed").press("esc")
	d.press("P").settled().press("y").asksNothing().says("removed " + id)
	// The parent of others leaves them behind, and says so.
	exe, err = o.Executions.Load(ctx, "order-1")
	must(t, err)
	exe = exe.Clone()
	exe.Status = store.Done
	must(t, o.Executions.Save(ctx, exe))
	d.changed().jumpTo("order-1").press("P").shows("1 spawn by it and", "its children, without a parent: order-1:Fulfilment.Billing:0").settled()
	d.purge("order-1").press("y").says("it was removed by someone else")
}

func TestCancelling(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("l", "C").asks("Cancel").shows("RUNNING becomes CANCELLING, version 4, and a Cancel event to it goes to the",
		"1 live descendant becomes CANCELLED: order-1:Fulfilment.Billing:0 FAILED", "cancel --version 3 order-1", "T ends it at once").settled()
	d.press("y").asksNothing().says("cancel: order-1 is CANCELLING, version 4, its Cancel in the outbox, and 1 descendant")
	d.press("C").says("cancel: it is CANCELLING; T terminates it")
	entries, err := o.Executions.PendingOutbox(t.Context())
	must(t, err)
	if last := entries[len(entries)-1]; len(entries) != 3 || last.Event.Kind != store.CancelEvent || *last.TargetID != "order-1" {
		t.Errorf("outbox %+v", entries)
	}
}

func TestAcknowledgeWatchesItsOwnEntry(t *testing.T) {
	o := seeded(t)
	// The list moves elsewhere, the entry does not.
	d := open(t, o, 100, 30).press("l", "6", "w", "h", "A").asks("Acknowledge outbox entry 1").settled()
	d.run(d.m.selectMember("order-2"))
	d.changed().hides("disarmed").shows("y remove it")
	_, err := o.Executions.AckOutbox(t.Context(), 1)
	must(t, err)
	d.changed().shows("disarmed: acknowledged by someone else").press("esc")
}

func TestBranchNames(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile()
	d.run(d.m.tree.selectNode(d.m, "n3"))
	d.press("B").says("remove name: not in the navigator").press("2", "B").says("the node has no branch name")
	d.press("b").asks("Name a branch").shows("node      n3", "make bench").settled().press("enter").asks("name: must not be empty").typed("main").press("enter").settled().press("y").says("branch main is n3").shows("make bench  [main]")
	// The end of a branch takes its name along.
	d.press("a").shows("the branch main goes on to it").settled().typed(`{"title":"next"}`).press("enter", "enter").settled().press("y").says("appended").shows("next  [main]").hides("make bench  [main]")
	tip := d.node()
	if got := d.m.memory.BranchNames(d.m.writes.names.key, "example"); len(got) != 1 || got["main"] != tip {
		t.Errorf("kept %v, want main at %s", got, tip)
	}
	// A name moves; a node may have several, and the only one becomes another.
	d.run(d.m.tree.selectNode(d.m, "n4"))
	d.press("b").settled().typed("ma").press("right").shows("the name moves here from node " + tip).press("enter").settled().press("y").shows("make -j2  [main]")
	d.press("b").settled().shows("main").press("ctrl+u").typed("trunk").shows("renamed: main is no name any more").press("enter").settled().press("y").shows("[trunk]").hides("[main]")
	d.press("B").asks("the name trunk is forgotten").settled().press("y").says("trunk names nothing any more").hides("[trunk]")
	d.press("b").settled().typed("gone").press("enter").settled()
	_, err := o.Trees.DeleteSession(t.Context(), "example")
	must(t, err)
	d.changed().shows("disarmed: the session was deleted or has expired")
}

// A fork leaves the name where it is: the name is of the other branch.
func TestAForkTakesNoName(t *testing.T) {
	d := open(t, seeded(t), 100, 30)
	must(t, d.m.memory.SetBranchName(d.m.writes.names.key, "example", "base", "n1"))
	d.m.renamed()
	d.run(d.m.tree.selectNode(d.m, "n1"))
	d.press("2", "a").hides("goes on to it").settled().press("enter", "enter").settled().press("y").says("appended").shows("apt-get update  [base]")
}

// unkept is a memory that keeps nothing.
type unkept struct{ *state.State }

func (unkept) SetBranchName(string, string, string, string) error { return errors.New("no room") }

func TestANameThatIsNotKept(t *testing.T) {
	d := open(t, seeded(t), 100, 30)
	d.m.writes.names.kept = unkept{state.InMemory()}
	d.press("2", "b").settled().typed("main").press("enter").settled().press("y").asks("no room; y tries the same again").press("esc").press("L").shows("failed: no room")
}

func TestTheLogOfOwnWrites(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("L").says("nothing was written since the explorer started")
	d.press("l", "6", "w", "h", "A").settled().press("y").says("acknowledged outbox 1")
	d.advance(quiet).press("A").settled()
	_, err := o.Executions.AckOutbox(t.Context(), 2)
	must(t, err)
	d.press("y").says("acknowledged by someone else")
	d.press("L").asks("Own writes").shows("›12:00:0", "Acknowledge outbox entry 2", "nothing: acknowledged by someone else", "ack outbox 2", "Acknowledge outbox entry 1, done: acknowledged outbox 1", "2 writes")
	d.press("y").says("copied the command").press("j").shows("ack outbox 1").press("Y").says("copied the log, 2 writes")
	if n := len(d.raw); n != 2 {
		t.Errorf("%d copies", n)
	}
	d.press("g", "G", "q").asksNothing()
	for range maxLogged + 3 {
		d.m.writes.log.begin(d.now, &dialog{effect: func() []dialogRow { return nil }, command: func() string { return "x" }}).end(outcome{done: "ok"}, "")
	}
	if l := &d.m.writes.log; len(l.entries) != maxLogged || l.dropped != 5 || l.bytes != maxLogged {
		t.Errorf("%d entries, %d dropped, %d bytes", len(l.entries), l.dropped, l.bytes)
	}
	d.press("L").shows("500 writes; 5 older are forgotten").press("G").shows("done: ok").press("pgup", "pgdown", "esc").asksNothing()
	d.m.writes.log.begin(d.now, &dialog{effect: func() []dialogRow { return nil }, command: func() string { return strings.Repeat("x", maxLoggedBytes) }})
	if l := &d.m.writes.log; len(l.entries) != 1 {
		t.Errorf("%d entries beside a long one", len(l.entries))
	}
}

// A key held down, or typed ahead, confirms nothing.
func TestADialogIsDeafUntilTheKeysAreSilent(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("l", "s").asks("Suspend")
	for range 6 {
		d.advance(quiet / 2).press("y").asks("Suspend")
	}
	d.advance(quiet).press("y").asksNothing().says("is SUSPENDED")
	d.press("r")
	for range 7 {
		d.advance(quiet / 2).press("x").asks("Resume") // no longer than maxQuiet
	}
	d.advance(quiet / 2).press("y").asksNothing().says("is RUNNING")
	d.press("s").press("esc").asksNothing() // leaving is always possible
}

// The key that opens a dialog does not confirm it, whatever it is bound to.
func TestAnotherKeyConfirms(t *testing.T) {
	d := open(t, seeded(t), 100, 30)
	d.m.keys = bind(intents(), map[string][]string{"suspend": {"y"}, "copy": {"Y"}})
	d.press("l", "y").asks("Suspend").settled().press("y").asks("Y suspend it").press("Y").asksNothing().says("is SUSPENDED")
}
