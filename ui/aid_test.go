package ui

import (
	"os"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
	"treering/ui/state"
)

// The help's key shows the keys of whatever is open, and what is open is as it was
// afterwards.
func TestEveryOverlayHasItsKeys(t *testing.T) {
	for name, c := range map[string]struct {
		open  []string
		under string
		shows []string
	}{
		"compare":  {[]string{"2", "G", "m", "k", "c"}, "further on", []string{"to the next step that differs", "close, and go to A, to B"}},
		"palette":  {[]string{":"}, "some letters of a command", []string{"Commands", "narrows the list: some letters of a command", "choose a row"}},
		"views":    {[]string{"F"}, "expiring", []string{"narrows the list"}},
		"about":    {[]string{"i"}, "This store", []string{"so does any other key", "by a page"}},
		"filter":   {[]string{"/"}, "tab complete", []string{"Filters", "kind:", "keep the filter"}},
		"find":     {[]string{"2", "4", "/"}, "stay", []string{"Finding in the detail", "capital letters count"}},
		"question": {[]string{"6", "w", "A"}, "Acknowledge", []string{"Keys of this question", "leave, nothing is written"}},
		"form":     {[]string{"a"}, "Append", []string{"Keys of this question", "to the next field"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"?", aidKey} {
				if name == "form" && key == "?" {
					continue // it is a character there
				}
				d := open(t, seeded(t), 100, 40).press(c.open...).shows(c.under)
				before := d.text()
				d.pressed(key).shows(c.shows...).shows("esc closes").press("esc")
				if d.m.aid != nil || d.text() != before {
					t.Errorf("%s: not as it was\n%s\nnow\n%s", key, before, d.text())
				}
			}
		})
	}
}

// pressed is a key of any kind.
func (d *driver) pressed(key string) *driver {
	d.t.Helper()
	if key == aidKey {
		return d.send(tea.KeyPressMsg{Code: tea.KeyF1})
	}
	return d.press(key)
}

// Where something is typed, a question mark is a character, and in the list of keys a
// key.
func TestAQuestionMarkCanBeTyped(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press(":").typed("a?")
	if p := d.m.overlay.(*picker); p.input.Text() != "a?" || d.m.aid != nil {
		t.Errorf("typed %q", p.input.Text())
	}
	d = open(t, seeded(t), 100, 30).press("?").typed("?").shows("these keys; typing finds one")
	if d.m.aid != nil {
		t.Error("the list of keys is no list to choose from")
	}
	d.pressed(aidKey).shows("narrows the list")
	open(t, seeded(t), 100, 30).pressed(aidKey).shows("In the navigator")
}

// What was pressed to read the keys does not answer the question below them.
func TestTheKeysOfAQuestionDoNotAnswerIt(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("6", "w", "A").asks("outbox").settled().press("?").shows("after the last key", "remove it")
	d.press("y").asks("outbox").press("y").asks("outbox").shows("wait…").settled().shows("ready now").press("y").asksNothing().says("acknowledged")
}

// A key that comes too soon after a question is not taken, and it is said why and when
// the next one is.
func TestAKeyThatComesTooSoonIsToldSo(t *testing.T) {
	d := open(t, seeded(t), 100, 30).press("6", "w", "A").asks("outbox").hides("wait…").press("y").asks("outbox").shows("wait… a key that comes this soon is not taken")
	d.advance(quiet - time.Millisecond).shows("wait…").press("y").shows("wait…")
	d.advance(quiet).hides("wait…").shows("ready now").press("y").asksNothing().says("acknowledged")
}

func TestAPendingExecutionHasNoStepYet(t *testing.T) {
	o := openMemory(t)
	for id, status := range map[string]store.Status{"a": store.Pending, "b": store.Done} {
		must(t, o.Executions.Save(t.Context(), &store.Execution{ID: id, DefinitionID: "shop", Status: status, Context: "{}"}))
	}
	open(t, o, 120, 40).press("5").shows("PENDING: it has not begun").press("1", "j", "5").shows("no steps were recorded").hides("has not begun")
}

// A store that was open once and is gone is listed as such, and can be taken out.
func TestAStoreThatIsGoneIsMarked(t *testing.T) {
	shop, other := testfiles.Copy(t, "harel-shop.db"), testfiles.Copy(t, "harel-bad-values.db")
	memory := state.InMemory()
	for _, key := range []string{other, "postgres://host/db"} {
		must(t, memory.Touch(key, nil, noon.Add(-time.Hour)))
	}
	d := house(t, openedFile(t, shop), memory, opener)
	d.press("o").hides("gone").press("esc")
	must(t, os.Remove(other))
	d.press("o").shows("gone; enter takes it out of this list").typed("bad-values").press("enter").shows("is gone", "take it out of this list", "try to open it")
	d.press("down", "enter").says("the store before is still open")
	d.press("o").typed("bad-values").press("enter", "enter").says("out of the list").shows("Open a store").hides("gone;")
	if recent := memory.RecentStores(); len(recent) != 2 {
		t.Errorf("listed: %v", recent)
	}
}

// The footer of the smallest window of a store that can be written begins with how to
// move and how to find the rest.
func TestTheSmallestFooterBeginsWithMoving(t *testing.T) {
	d := openFile(t, "harel-shop.db", locate.Options{ReadWrite: true}, 40, 12)
	for _, pane := range []string{"1", "2", "6"} {
		d.press(pane).shows("? help", "1-6 pane").hides("terminate", "suspend")
		if pane != "6" { // where nothing is listed
			d.shows("↑/↓ move  ? help  enter open")
		}
	}
}

// The words that somebody who has never seen the program would type find what does it.
func TestTheWordsOfANewcomerFindTheirKeys(t *testing.T) {
	d := open(t, seeded(t), 100, 30)
	for words, want := range map[string]string{
		"fork": "to-fork", "differs": "compare", "append": "append", "acknowledge": "acknowledge", "overdue": "fire", "delete session": "delete",
		"subtree": "export", "search text": "filter", "newest step": "follow", "mermaid": "export", "back": "back",
	} {
		found := false
		for _, it := range d.m.keys.find(words) {
			found = found || it.ID == want
		}
		if !found {
			t.Errorf("%q does not find %s", words, want)
		}
	}
}
