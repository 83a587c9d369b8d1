package ui

import (
	"strings"
	"testing"

	"treering/ui/layout"
)

func TestNoKeyIsBoundTwice(t *testing.T) {
	ids := map[string]bool{}
	for _, it := range intents() {
		if ids[it.ID] {
			t.Errorf("%s is in the table twice", it.ID)
		}
		ids[it.ID] = true
		if len(it.Keys) == 0 || it.Short == "" || it.Long == "" || it.do == nil {
			t.Errorf("%s lacks a key, a text or an act", it.ID)
		}
	}
	for _, p := range layout.Panes() {
		bound := map[string]string{}
		for _, it := range intents() {
			if !it.appliesIn(p) {
				continue
			}
			for _, k := range it.Keys {
				if other := bound[k]; other != "" {
					t.Errorf("in pane %d both %s and %s are on %s", p, other, it.ID, k)
				}
				bound[k] = it.ID
			}
		}
	}
}

func TestTheHelpListsEveryIntent(t *testing.T) {
	d := open(t, seeded(t), 200, 60)
	for _, p := range layout.Panes() {
		d.press(string(rune('0' + p)))
		listed := map[string]int{}
		for _, l := range helpOverlay(d.m).lines {
			if !l.key.Empty() {
				listed[l.text.String()]++
			}
		}
		for _, it := range intents() {
			if listed[it.Long] != 1 {
				t.Errorf("pane %d: %q is listed %d times", p, it.Long, listed[it.Long])
			}
		}
	}
}

func TestTheFooterOffersWhatCanBeUsed(t *testing.T) {
	d := open(t, seeded(t), 120, 30)
	d.press("2").shows("a append").press("l").press("1", "l").hides("a append", "t time to live").press("6", "w").shows("A acknowledge").hides("f fire")
	ro := d.m.info
	ro.Writable = false
	d.m.info = ro
	d.press("1", "l").hides("A acknowledge", "a append")
}

func TestFocusAndZoom(t *testing.T) {
	d := open(t, seeded(t), 80, 24)
	for _, p := range layout.Panes() {
		d.focusedOn(p).press("tab")
	}
	d.focusedOn(layout.Navigator).press("shift+tab").focusedOn(layout.Queues)
	d.press("4").shows("▸4 Detail", "─2 Tree").press("z").shows("▸4 Detail").hides("2 Tree ·")
	d.press("esc").shows("─2 Tree").focusedOn(layout.Detail).press("esc").focusedOn(layout.Navigator)
	d.press("enter").focusedOn(layout.Tree).press("enter").focusedOn(layout.Detail)
	d.press("1", "l", "enter", "enter").focusedOn(layout.Trace).press("enter").focusedOn(layout.Detail)
}

func TestOverlaysCloseOnAnyKeyThatDoesNotScroll(t *testing.T) {
	d := open(t, seeded(t), 80, 24).press("?").shows("Keys", "1-19 of")
	d.press("down").shows("2-20 of").press("G").press("g").shows("1-19 of").press("pgdown").hides("1-19 of")
	d.press("q")
	if d.quit || d.m.overlay != nil {
		t.Error("q in the help did something else than close it")
	}
	d.press("i").shows("This store", "backend").press("esc").hides("This store")
	d.press("q")
	if !d.quit {
		t.Error("q does not quit")
	}
}

func TestCtrlCQuitsFromEverywhere(t *testing.T) {
	for _, keys := range []string{"", "?", "2 a", "/"} {
		d := open(t, seeded(t), 80, 24).press(strings.Fields(keys)...).press("ctrl+c")
		if !d.quit {
			t.Errorf("after %q: still there", keys)
		}
	}
}

func TestKeysOfOtherLayouts(t *testing.T) {
	d := open(t, seeded(t), 80, 24)
	msg := keyMsg("о") // Cyrillic, on the key that is j on a US keyboard
	msg.BaseCode = 'j'
	d.send(msg)
	d.shows("›web-image")
}
