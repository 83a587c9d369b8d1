package ui

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/locate"
)

// purge deletes an execution as another program would.
func (d *driver) purge(id string) *driver {
	d.t.Helper()
	s, _, err := store.Inspect(context.Background(), d.m.es, id)
	must(d.t, err)
	gone, err := d.m.es.Purge(context.Background(), id, s.Version)
	must(d.t, err)
	if !gone {
		d.t.Fatalf("%s was not there", id)
	}
	return d
}

// words is the text of the open dialog, as its lines say it: without a border, its
// words parted by single blanks.
func (d *driver) words() string {
	d.t.Helper()
	var out []string
	for line := range strings.SplitSeq(d.text(), "\n") {
		if rest, ok := strings.CutPrefix(line, "│ "); ok && strings.HasSuffix(rest, "│") {
			out = append(out, strings.Fields(strings.TrimSuffix(rest, "│"))...)
		}
	}
	return strings.Join(out, " ")
}

// A target that was deleted disarms the dialog, wherever the selection went.
func TestADeletedTargetDisarms(t *testing.T) {
	for _, k := range []string{"s", "T"} {
		for _, size := range [][2]int{{100, 30}, {40, 12}} {
			d := openFile(t, "harel-shop.db", locate.Options{ReadWrite: true}, size[0], size[1])
			d.press(k).asks("order-0000").settled().purge("order-0000").changed()
			if d.m.member == "order-0000" {
				t.Fatal("the selection did not move")
			}
			d.shows("disarmed: it is not in the store any", "more").press("y").asks("disarmed").press("esc").asksNothing()
		}
	}
	// A member of a family, looked at in the tree.
	d := openFile(t, "harel-shop.db", locate.Options{ReadWrite: true}, 80, 24).press("j", "j", "j", "2", "j", "j")
	if d.m.member != "order-0003:Fulfilment.Billing:0" {
		t.Fatalf("%s is looked at", d.m.member)
	}
	d.press("T").settled().purge("order-0003:Fulfilment.Billing:0").changed().shows("disarmed: it is not in the store any more").press("y").asks("disarmed")

	ctx := context.Background()
	o := seeded(t)
	for _, keys := range [][]string{{"t"}, {"2", "a"}} {
		d := open(t, o, 100, 30).press(keys...).asks("example").settled()
		_, err := o.Trees.DeleteSession(ctx, "example")
		must(t, err)
		d.changed().shows("disarmed: the session was deleted or has expired").press("enter").asksNothing().says("nothing was written")
		seedTree(t, o.Trees, "example")
	}
	// One whose time comes while the dialog is open.
	soon := 60.0
	d = open(t, o, 100, 30)
	_, err := o.Trees.SetSessionTTL(ctx, "example", &soon)
	must(t, err)
	d.changed().press("t").asks("Time to live").settled()
	d.m.dialog.look = nil // whatever the store's own clock says
	d.now = time.Now().Add(2 * time.Minute)
	d.press("x").shows("disarmed: the session expired")
}

func TestATimerIsWatchedByItself(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).asFile().press("l", "6", "w", "l", "G", "f").asks("Fire a timer").settled()
	d.purge("order-1").changed().shows("disarmed: the timer is gone: fired or cancelled")
}

// What a command reaches is told before it can be confirmed.
func TestACommandNamesItsDescendants(t *testing.T) {
	ctx := context.Background()
	o := seeded(t)
	parent := func(n int) {
		t.Helper()
		top := &store.Execution{ID: "x-many", DefinitionID: "shop", Status: store.Running}
		var children []store.ChildState
		for i := range n {
			id := fmt.Sprintf("x-many:%d", i)
			children = append(children, store.ChildState{ID: id})
			must(t, o.Executions.Save(ctx, &store.Execution{ID: id, DefinitionID: "shop", Status: store.Running, ParentID: ptr("x-many"), ChildID: &id}))
		}
		top.SetChildStates(children)
		must(t, o.Executions.Save(ctx, top))
	}
	parent(5)
	d := open(t, o, 90, 30).asFile().press("l")
	d.press("T").shows("below it  1 live descendant becomes CANCELLED: order-1:Fulfilment.Billing:0 FAILED").settled().press("esc").jumpTo("order-2").press("r").shows("below it  no live descendant").settled().press("esc")
	d.jumpTo("x-many")
	d.press("s").asks("execution x-many").settled()
	if got := d.words(); !strings.Contains(got, "below it 5 live descendants become SUSPENDED: x-many:0 RUNNING, x-many:1 RUNNING, x-many:2 RUNNING, and 2 more") {
		t.Errorf("%s", got)
	}
	// Others than those that were named are not written to unseen.
	exe, err := o.Executions.Load(ctx, "x-many:3")
	must(t, err)
	exe.Status = store.Done
	must(t, o.Executions.Save(ctx, exe))
	d.changed().shows("disarmed: other descendants are live now than those that were named").press("y").asks("disarmed").press("esc")
	d.press("s").settled().shows("4 live descendants").press("y").says("suspend: x-many is SUSPENDED, version 2, and 4 descendants")
}

// jumpTo looks at an execution.
func (d *driver) jumpTo(id string) *driver {
	d.t.Helper()
	d.run(d.m.jump(id))
	if d.m.member != id {
		d.t.Fatalf("%s is looked at, not %s", d.m.member, id)
	}
	return d
}

// unreadable is a store of which one execution cannot be read for a while.
type unreadable struct {
	store.ExecutionStore
	err error
}

func (u *unreadable) Load(ctx context.Context, id string) (*store.Execution, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.ExecutionStore.Load(ctx, id)
}

func TestWhatCannotBeReadIsNotConfirmed(t *testing.T) {
	opened := openFile(t, "harel-shop.db", locate.Options{ReadWrite: true}, 100, 30)
	u := &unreadable{ExecutionStore: opened.m.es}
	opened.m.es = u
	u.err = store.ErrBusy
	d := opened.press("T").asks("what it reaches cannot be read").settled().press("y").asks("what it reaches cannot be read")
	u.err = nil
	d.changed().shows("y terminate it", "below it")
	u.err = &store.RowError{Table: "executions", Key: "order-0000", Err: errors.New("no JSON")}
	d.changed().shows("disarmed: its row cannot be read any more").press("y").asks("disarmed")
}

// At the smallest size everything can be reached, and is before a write can be
// confirmed.
func TestALowWindowShowsAll(t *testing.T) {
	long := strings.Repeat("order-with-a-long-name-", 6)
	o := openMemory(t)
	must(t, o.Executions.Save(context.Background(), &store.Execution{ID: long, DefinitionID: "d", Status: store.Running}))
	if seen, ok := o.Executions.(store.Observed); ok {
		t.Cleanup(seen.Observe())
	}
	for _, size := range [][2]int{{40, 12}, {41, 13}, {80, 24}} {
		d := open(t, o, size[0], size[1]).asFile().press("l", "s").asks("Suspend").settled()
		seen := map[string]bool{}
		look := func() {
			for line := range strings.SplitSeq(d.text(), "\n") {
				if rest, ok := strings.CutPrefix(line, "│ "); ok {
					seen[strings.TrimRight(strings.TrimSuffix(rest, "│"), " ")] = true
				}
			}
		}
		look()
		want, _, _ := d.m.dialog.rows(d.m, size[0]-4)
		if len(want) > d.m.dialog.scroll.room {
			d.shows("down reads on, then y", fmt.Sprintf("1-%d of %d", d.m.dialog.scroll.room, len(want)))
			d.press("y").asks("down reads on")
			for range len(want) {
				d.press("down")
				look()
			}
			d.shows("y suspend it").press("home").shows("y suspend it", "execution "+long[:20])
		} else if size[1] < 24 {
			t.Errorf("%v: all of it fits", size)
		}
		var command strings.Builder
		for _, r := range want {
			line := r.label.Pad(dialogLabel).Plus(r.text).String()
			if !seen[strings.TrimRight(line, " ")] {
				t.Errorf("%v: %q was never on the screen", size, line)
			}
			if command.Len() > 0 || r.label.String() == "command" {
				command.WriteString(r.text.String())
			}
		}
		if command.String() != "treering -s shop.db suspend --version 1 "+long {
			t.Errorf("%v: the command is %q", size, command.String())
		}
		d.press("esc")
	}
	// Another size makes other lines of it, which are to be read again.
	d := open(t, o, 80, 24).asFile().press("l", "s").settled().shows("y suspend it")
	d.send(tea.WindowSizeMsg{Width: 40, Height: 12})
	d.press("y").asks("down reads on").press("end").shows("y suspend it").press("y").asksNothing().says("is SUSPENDED")
}

// A form scrolls with the field being edited.
func TestAFormInALowWindow(t *testing.T) {
	d := open(t, seeded(t), 40, 12).asFile().press("2", "j", "a").settled().shows("›data").press("tab").shows("›kind")
	d.typed(strings.Repeat("k", 60)).shows("…kkk").press("home").shows("kkk…")
	d.press("enter").settled().shows("down reads on").press("y").asks("down reads on").press("G", "y").asksNothing().says("appended")
}

func TestAnExpiredSessionSaysSo(t *testing.T) {
	o := seeded(t)
	now := time.Now()
	ttl := 300.0
	_, err := o.Trees.SetSessionTTL(context.Background(), "example", &ttl)
	must(t, err)
	d := open(t, o, 100, 30)
	d.press("t").asks("expires").press("esc").settled().press("esc").asksNothing()
	d.now = now.Add(time.Hour)
	d.press("t").asksNothing().says("time to live: the session expired ")
	d.press("a").asksNothing().says("append: the session expired ")
}

func TestKindsOfSiblings(t *testing.T) {
	o := seeded(t)
	for i, kind := range []string{"stage", "stage", "config"} {
		appendNode(t, o.Trees, "example", fmt.Sprintf("s%d", i), "n3", kind, "x")
		want := []string{"stage", "stage", "run"}[i]
		d := open(t, o, 100, 30)
		d.run(d.m.tree.selectNode(d.m, "n3"))
		d.press("2", "a").shows("kind     " + want)
	}
	d := open(t, o, 100, 30)
	d.run(d.m.tree.selectNode(d.m, "n0"))
	d.press("2", "a").shows("kind     run") // not that of the root above it
}

// Every command is what a shell makes of it again.
func TestAShellReadsTheCommand(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	d := open(t, seeded(t), 100, 30).asFile()
	for _, id := range []string{
		"order-1:A.B:0", "two words", "  blanks  ", "it's", "", "$(touch x) `y` $HOME", `back\slash`, `\n`, "a\nb", "tab\there", "\x1b[2J", "\x7f", "é李雷",
		"e\u0301", "\u0301", "\u202egnp", "a\u200bb", "!!", "~", "*", "#x", "-x", "--help", "a=b", "a;b&c|d>e<f", "\"q\"", "\r", "\u0085", "1\x012", "😀", "\x1f7", "{a,b}", "'\n'",
	} {
		command := d.m.command("suspend", []string{"--kind", id}, id)
		if strings.ContainsFunc(command, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q: the command has controls: %q", id, command)
		}
		out, err := exec.Command(bash, "-c", `treering() { printf '%s\0' "$@"; }; `+command).CombinedOutput()
		want := []string{"-s", "shop.db", "suspend", "--kind", id}
		if strings.HasPrefix(id, "-") {
			want = append(want, "--")
		}
		want = append(want, id)
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: a shell reads %s as %q, %v, want %q", id, command, got, err, want)
		}
	}
	if got := d.m.command("suspend", nil, "raw\x00nul"); got != `none: a command line cannot hold the NUL in "raw\x00nul"` {
		t.Errorf("%s", got)
	}
	d.m.info.Ours, d.m.info.Sets = false, []locate.Set{{Prefix: "harel"}, {Prefix: "other", Open: true}}
	if got := d.m.command("ack", nil, "outbox", "1"); got != "treering -s shop.db --prefix other --rw ack outbox 1" {
		t.Errorf("%s", got)
	}
}

// The key that confirmed does nothing in the panes when it is pressed twice: the line
// that says what came of the write stays. So it is with those that leave, of which one
// quits.
func TestAnAnswerPressedTwiceDoesNothing(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("6", "w", "A").asks("Acknowledge").settled().press("y").asksNothing().says("acknowledged")
	d.press("y").says("acknowledged").advance(quiet-time.Millisecond).press("y", "y").says("acknowledged")
	if len(d.raw) != 0 {
		t.Errorf("%q went to the terminal", d.raw)
	}
	d.advance(quiet).press("j", "y").says("cop")

	for _, key := range []string{"q", "n"} {
		d := open(t, seeded(t), 100, 30).press("6", "w", "A").asks("outbox").settled().press(key).asksNothing().says("nothing was written")
		if d.press(key).says("nothing was written"); d.quit {
			t.Errorf("%s twice quits", key)
		}
	}
	// Another key in between is meant, and so is one that is pressed for long.
	d = open(t, seeded(t), 100, 30).press("6", "w", "A").settled().press("q", "j", "q")
	if !d.quit {
		t.Error("q is dead after j")
	}
	d = open(t, seeded(t), 100, 30).press("6", "w", "A").settled().press("q")
	for at := time.Duration(0); at < maxQuiet; at += quiet / 2 {
		if d.press("q"); d.quit {
			t.Errorf("held for %v, q quits", at)
		}
		d.advance(quiet / 2)
	}
	if d.press("q"); !d.quit {
		t.Error("q is dead for ever")
	}
}

// What was said before a question is not about it.
func TestAQuestionBeginsWithNothingSaid(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("1", "A").says("it is for the queues").press("6", "w", "A").asks("outbox")
	if got := d.m.status.text.String(); got != "" {
		t.Errorf("still said: %q", got)
	}
}
