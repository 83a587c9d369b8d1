package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/store/locate"
)

func TestTheDataIsCheckedAsItIsTyped(t *testing.T) {
	for text, want := range map[string]struct{ says, caret string }{
		`{"a": tru}`:             {"line 1, column 7", "                 ^"},
		"{\n  \"a\": 1,\n}":      {"line 3, column 1", "           ^"},
		"{\n\n \"é\": 1 \"b\"}":  {"line 3, column 9", "                   ^"},
		`[1]`:                    {"not a JSON object but an array", "           ^"},
		`{"a":1,"a":2}`:          {"line 1, column 13", "                       ^"},
		`{"a":NaN}`:              {"line 1, column 6", "                ^"},
		"  12":                   {"not a JSON object but a number", "             ^"},
		"{\"a\":\"\\ud800\\q\"}": {"line 1", "^"},
	} {
		d := open(t, seeded(t), 100, 30).press("2", "a").settled().paste(text)
		d.shows("data: not", want.says, want.caret)
		d.press("enter", "enter").asks("data: not").shows("›kind").hides("command ")
		d.press("esc")
	}
	d := open(t, seeded(t), 100, 30).asFile().press("2", "a").settled().paste("{\n\t\"a\": [1,\n  2]\n}").shows("enter goes on to: kind", "command ")
	d.press("ctrl+j").typed(" ").press("enter", "enter").settled().press("y").says("appended")
	n, err := d.m.ts.Node(t.Context(), "example", d.node())
	must(t, err)
	if n.Data != "{\n\t\"a\": [1,\n  2]\n}" {
		t.Errorf("stored %q", n.Data)
	}
}

func TestKindsAreCompleted(t *testing.T) {
	d := open(t, seeded(t), 100, 30)
	appendNode(t, d.m.ts, "example", "s", "n0", "stage-build", "x")
	d.changed().press("2", "a").settled().press("tab").shows("kinds     ").shows("init, run, stage-build")
	d.press("ctrl+u").typed("st").shows("›kind     stage-build").press("tab").shows("›kind     stage-build").press("tab").shows("›id")
	if got := d.m.dialog.fields[1].text(); got != "stage-build" {
		t.Errorf("the kind is %q", got)
	}
	d.press("shift+tab", "ctrl+u").typed("st").press("enter").shows("kind      st").hides("stage-build  ")
}

// Where a branch goes on, its head is offered; a fork has several.
func TestAppendingAtTheHead(t *testing.T) {
	d := open(t, seeded(t), 100, 40).asFile()
	d.run(d.m.tree.selectNode(d.m, "n2"))
	d.press("2", "a").shows("this node has 1 child; yours becomes a 2nd branch", "ctrl+t: at the head of this branch, n3").settled()
	d.press("ctrl+t").shows("parent    n3", "make bench", "goes on at the head of this branch, 1 step below", "ctrl+t: a branch of the node selected, n2", "--parent n3")
	d.press("ctrl+t").shows("parent    n2", "--parent n2").press("ctrl+t", "enter", "enter").settled()
	// The head moves on: what was read is not what would be done.
	appendNode(t, d.m.ts, "example", "n5", "n3", "run", "later")
	d.changed().shows("disarmed: the branch went on: its head is another node now").press("y").asks("disarmed").press("esc")
	d.press("a").settled().press("ctrl+t").shows("parent    n5").press("enter", "enter").settled().press("y").says("appended")
	n, err := d.m.ts.Node(t.Context(), "example", d.node())
	must(t, err)
	if *n.ParentID != "n5" {
		t.Errorf("below %s", *n.ParentID)
	}
	d.run(d.m.tree.selectNode(d.m, "n1"))
	d.press("a").settled().hides("ctrl+t").press("ctrl+t").shows("there is no one head below")
}

// What was typed is kept, whatever closes the form.
func TestWhatWasTypedIsKept(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).press("2", "a").settled().typed(`{"long":"thought"}`).press("esc").says("nothing was written")
	d.press("a").shows("kept ", `{"long":"thought"}`).settled().press("tab").press("ctrl+u").typed("stage")
	_, err := o.Trees.DeleteSession(t.Context(), "example")
	must(t, err)
	d.changed().shows("disarmed: the session was deleted or has expired; what you typed is kept").press("y", "enter").asksNothing()
	seedTree(t, o.Trees, "other")
	d.changed().press("1", "g", "2", "a").shows("session   other", "kept ", "for session example", `{"long":"thought"}`, "kind     stage").settled()
	d.press("ctrl+x").shows("data     {}").hides("kept ").press("esc")
	d.press("a").hides("kept ").settled().typed(`{"x":1}`).press("enter", "enter").settled().press("y").says("appended").press("a").hides("kept ").press("esc")
	// And where the store takes nothing any more.
	d.settled().press("a").settled().typed(`{"y":1}`).press("enter", "enter").settled()
	_, err = o.Trees.DeleteSession(t.Context(), "other")
	must(t, err)
	d.press("y").says("the session is gone: deleted or expired; what you typed is kept")
	seedTree(t, o.Trees, "third")
	d.changed().press("1", "g", "2", "a").shows(`{"y":1}`)
	// A tree of the same name that was made anew has no such parent.
	d.press("esc").settled().press("a").settled().press("enter", "enter").settled()
	_, err = o.Trees.DeleteSession(t.Context(), "third")
	must(t, err)
	_, err = o.Trees.CreateSession(t.Context(), "third", "session", nil)
	must(t, err)
	d.changed().shows("disarmed: the parent is not in the session any more, which was deleted and made anew;", "what you typed is kept for the next form")
}

// A text that is too long is refused with the limit; one that is as long as a node
// takes is checked behind the screen.
func TestHugePastes(t *testing.T) {
	d := open(t, seeded(t), 100, 30).asFile().press("2", "a").settled()
	begun := time.Now()
	d.paste(strings.Repeat("x", 20<<20)).shows("20,971,520 bytes more are too many: the field takes 16,777,216; nothing was taken", "data     {}")
	text := `{"a":"` + strings.Repeat("x", 15<<20) + `"}`
	_, cmd := d.m.Update(tea.PasteMsg{Content: text})
	d.shows("checking the data…").press("enter", "enter").asks("checking the data…")
	d.m.View()
	d.run(cmd)
	d.press("enter").shows("bytes in all", "--data @FILE").settled()
	if d.press("y").says("appended"); time.Since(begun) > time.Minute {
		t.Errorf("took %v", time.Since(begun))
	}
	n, err := d.m.ts.Node(t.Context(), "example", d.node())
	must(t, err)
	if string(n.Data) != text {
		t.Errorf("stored %d bytes", len(n.Data))
	}
}

// editing makes a script the editor, and runs it in place.
func (d *driver) editing(script string) *driver {
	d.t.Helper()
	if runtime.GOOS == "windows" {
		d.t.Skip("a script for a Unix shell")
	}
	dir := d.t.TempDir()
	d.t.Setenv("TMPDIR", dir)
	path := filepath.Join(d.t.TempDir(), "editor.sh")
	must(d.t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700))
	d.m.env = append(os.Environ(), "EDITOR=vi", "VISUAL="+path+" --wait")
	d.m.execute = func(c *exec.Cmd, done tea.ExecCallback) tea.Cmd {
		return func() tea.Msg { return done(c.Run()) }
	}
	return d
}

func TestTheEditor(t *testing.T) {
	seen := filepath.Join(t.TempDir(), "seen")
	for name, c := range map[string]struct {
		typed, script string
		text          string // of the data afterwards
		says          string
	}{
		"taken":      {`{"a":1}`, `test "$1" = --wait && ls -l "$2" > ` + seen + ` && cat "$2" >> ` + seen + ` && printf '{"b":\n 2}\n' > "$2"`, "{\"b\":\n 2}", "enter goes on"},
		"beginning":  {"", `cp "$2" ` + seen + ` && printf '{"b":2}' > "$2"`, `{"b":2}`, "enter goes on"},
		"a mistake":  {`{"a":1}`, `printf '{"b":2,\n}\n' > "$2"`, "{\"b\":2,\n}", "line 2, column 1"},
		"emptied":    {`{"a":1}`, `: > "$2"`, `{"a":1}`, "cancelled, nothing was taken"},
		"untouched":  {`{"a":1}`, `exit 0`, `{"a":1}`, "unchanged"},
		"failed":     {`{"a":1}`, `echo '{"lost":1}' > "$2"; exit 3`, `{"a":1}`, "exit status 3: cancelled"},
		"no UTF-8":   {`{"a":1}`, `printf '\377' > "$2"`, `{"a":1}`, "is not UTF-8; it is still in"},
		"much":       {`{"a":1}`, `head -c 17000000 /dev/zero > "$2"`, `{"a":1}`, "17,000,000 bytes are too many: a node takes 16,777,216; it is still in"},
		"taken away": {`{"a":1}`, `rm "$2"`, `{"a":1}`, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, seeded(t), 90, 30).editing(c.script).press("2", "a").settled().typed(c.typed).press("ctrl+o").asks("Append a node")
			if got := d.m.dialog.fields[0].input.Text(); got != c.text {
				t.Errorf("the form says %q, want %q", got, c.text)
			}
			if got := d.words(); !strings.Contains(got, c.says) {
				t.Errorf("says %q, want %q", got, c.says)
			}
			left, err := os.ReadDir(os.TempDir())
			must(t, err)
			if kept := strings.Contains(c.says, "still in"); len(left) != 0 != kept {
				t.Errorf("%d files are left", len(left))
			}
			if name == "taken" {
				text, err := os.ReadFile(seen)
				must(t, err)
				if !strings.HasPrefix(string(text), "-rw------- ") || !strings.HasSuffix(string(text), "\n{\"a\":1}\n") {
					t.Errorf("the editor saw %q", text)
				}
			}
		})
	}
	d := open(t, seeded(t), 100, 30).editing("").press("2", "a").settled()
	d.m.env = []string{"EDITOR=/no/such/editor"}
	d.press("ctrl+o").shows(`the editor "/no/such/editor" is not there: set VISUAL or EDITOR`)
	// The session goes while the editor is open: what was written there is kept.
	d = open(t, seeded(t), 100, 30).editing(`printf '{"late":1}' > "$2"`).press("2", "a").settled()
	d.m.execute = func(c *exec.Cmd, done tea.ExecCallback) tea.Cmd {
		return func() tea.Msg {
			d.m.closeDialog()
			return done(c.Run())
		}
	}
	d.press("ctrl+o").asksNothing().press("a").shows(`{"late":1}`)
}

// slow is a store whose appends wait until they are let go.
type slow struct {
	store.TreeStore
	err error
}

func (s *slow) Append(ctx context.Context, session string, n store.Node) error {
	if s.err != nil {
		return s.err
	}
	return s.TreeStore.Append(ctx, session, n)
}

// during is a store in which something happens while a node is appended.
type during struct {
	store.TreeStore
	do func()
}

func (s *during) Append(ctx context.Context, session string, n store.Node) error {
	s.do()
	return s.TreeStore.Append(ctx, session, n)
}

// A write that somebody's lock holds up says what it waits for.
func TestASlowWriteSaysWhatItWaitsFor(t *testing.T) {
	o := seeded(t)
	s := &during{TreeStore: o.Trees, do: func() {}}
	o.Trees = s
	d := open(t, o, 100, 30).press("2", "j", "a").settled().typed(`{"title":"slow one"}`).press("enter", "enter").settled()
	held := false
	s.do = func() {
		held = true
		d.shows("writing… esc leaves it to itself").advance(slowWrite)
		d.asks("waiting for the store since 12:00:").asks("another program may hold its lock")
	}
	d.press("y").asksNothing().says("appended")
	if !held {
		t.Error("nothing was written")
	}
	d.press("a").settled().typed("{}").press("enter", "enter").hides("waiting for the store")
}

// A write that takes long can be left to itself, and the cursor stays where the user
// went meanwhile.
func TestAWriteIsLeftToItself(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 100, 30).press("2", "j", "a").settled().typed(`{"title":"slow one"}`).press("enter", "enter").settled()
	_, cmd := d.m.Update(keyMsg("y"))
	d.shows("writing… esc leaves it to itself").press("y", "T").asks("writing").press("esc").asksNothing().says("still writing")
	d.press("j").run(cmd)
	d.says("appended").shows("slow one")
	if d.node() != "n4" {
		t.Errorf("the cursor went to %s", d.node())
	}
	if d.m.writes.drafts[appendDraft] != nil {
		t.Error("what was written is still a draft")
	}
	// One that fails is said, and what was typed is there again.
	s := &slow{TreeStore: o.Trees, err: store.ErrBusy}
	d.m.ts = s
	d.press("a").settled().typed(`{"title":"kept"}`).press("enter", "enter").settled()
	_, cmd = d.m.Update(keyMsg("y"))
	d.press("esc").run(cmd)
	d.says("the store is busy")
	s.err = nil
	d.press("a").shows(`{"title":"kept"}`, "kept ")
}

// A lost answer leaves nothing to change: another try must be the same.
func TestALostAnswerCanOnlyBeTriedAgain(t *testing.T) {
	o := seeded(t)
	l := &lossy{TreeStore: o.Trees}
	o.Trees = l
	d := open(t, o, 100, 30).press("2", "a").settled().typed(`{"a":1}`).press("enter", "enter").settled().press("y").asks("outcome unknown")
	d.shows("y asks for the same again, which is safe").hides("tab change it").press("tab").asks("y asks").hides("›data").press("ctrl+x", "ctrl+o").asks("outcome unknown")
	d.press("esc").says("it is not known whether it was written")
	d.press("L").shows("unknown: outcome unknown").press("esc")
}

func TestAnIdOfOnesOwn(t *testing.T) {
	d := open(t, seeded(t), 100, 30).asFile().press("2", "a").settled().press("tab", "tab").typed("mine").shows("--id mine").press("enter").shows("id        mine").settled().press("y").says("appended mine")
	// Other contents under it are a conflict in words, and the form is there to change.
	d.press("a").settled().typed(`{"a":1}`).press("tab", "tab").typed("mine").press("enter").settled().press("y")
	d.asks("it is stored with another parent; tab changes it")
	d.press("tab", "shift+tab", "ctrl+u").press("enter").settled().press("y").says("appended")
}

func TestFaultsOfAWrite(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
	}{
		{store.ErrBusy, "the store is busy; y tries the same again"},
		{store.ErrReadOnly, "the store is read-only; y tries the same again"},
		{fmt.Errorf("shop.db: %w", store.ErrStoreNotFound), "is not there any more"},
		{fmt.Errorf("shop.db: %w", store.ErrSourceChanged), "keeps changing; y tries"},
		{&store.ValueError{Field: "data", Reason: "is too deep", Err: errors.New("x")}, "data: is too deep; tab changes it"},
	} {
		o := seeded(t)
		s := &slow{TreeStore: o.Trees, err: c.err}
		o.Trees = s
		d := open(t, o, 90, 30).press("2", "a").settled().typed(`{"a":1}`).press("enter", "enter").settled().press("y")
		if got := d.words(); !strings.Contains(got, c.says) {
			t.Errorf("%v: %q, want %q", c.err, got, c.says)
		}
		s.err = nil
		d.press("y").asksNothing().says("appended")
		if n := len(d.m.writes.log.entries); n != 2 {
			t.Errorf("%d writes are logged, want both tries", n)
		}
	}
}

// A file that goes away, or another in its place, is told in words, and what was
// typed is written once the file is back.
func TestAFileThatGoesAwayUnderAForm(t *testing.T) {
	dir := t.TempDir()
	path, away := filepath.Join(dir, "own.db"), filepath.Join(dir, "away.db")
	files := func(do func(of string)) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			do(suffix)
		}
	}
	fresh := func(path, session string) *locate.Opened {
		t.Helper()
		o, err := locate.Open(t.Context(), path, locate.Options{ReadWrite: true, Create: true})
		must(t, err)
		seedTree(t, o.Trees, session)
		return o
	}
	o := fresh(path, "example")
	defer func() { must(t, o.Close()) }()
	d := open(t, o, 90, 30).press("2", "a").settled().typed(`{"a":1}`).press("enter", "enter").settled()
	move := func(from, to string) {
		t.Helper()
		files(func(suffix string) {
			if err := os.Rename(from+suffix, to+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		})
	}
	move(path, away)
	d.press("y").asks("is not there any more").shows(`data      {"a":1}`)
	if said := d.m.writes.log.entries[0].said; !strings.Contains(said, "is not there any more") {
		t.Errorf("the log says %q", said)
	}
	other := filepath.Join(dir, "other.db")
	must(t, fresh(other, "else").Close())
	move(other, path)
	d.changed().press("y")
	if d.m.dialog != nil && d.m.dialog.gone == "" && d.m.dialog.complaint == "" || strings.Contains(d.m.status.text.String(), "appended") {
		t.Errorf("written into another file\n%s", d.text())
	}
	d.press("esc").press("a")
	if d.m.dialog != nil {
		d.shows(`{"a":1}`)
	} else if d.m.writes.drafts[appendDraft] == nil {
		t.Error("what was typed is lost")
	}
}
