package ui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	settings "treering/ui/config"
	"treering/ui/keymap"
	"treering/ui/layout"
)

func TestTheTableIsSound(t *testing.T) {
	ids := map[string]bool{}
	for _, it := range intents() {
		if ids[it.ID] {
			t.Errorf("%s is in the table twice", it.ID)
		}
		ids[it.ID] = true
		if len(it.Keys) == 0 || it.Short == "" || it.Long == "" || it.do == nil {
			t.Errorf("%s lacks a key, a text or an act", it.ID)
		}
		if strings.Trim(it.ID, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%q: an id is lower case letters and hyphens: it is written in the configuration", it.ID)
		}
	}
	k := bind(intents(), nil)
	for _, p := range k.problems {
		t.Error(p)
	}
	for _, it := range intents() {
		if !slices.ContainsFunc(k.bound.Keys(it.ID), func(c keymap.Chord) bool { return !c.Modified() }) {
			t.Errorf("%s needs a modifier: %v", it.ID, k.bound.Keys(it.ID))
		}
	}
}

// From the palette every intent is done, or says why it cannot be.
func TestThePaletteReachesEveryIntent(t *testing.T) {
	for _, it := range intents() {
		if it.ID == "suspend-program" {
			continue // which nobody but a terminal can do
		}
		d := open(t, seeded(t), 120, 40).press(":").typed(it.ID)
		p, ok := d.m.overlay.(*picker)
		if !ok {
			t.Fatalf("no palette\n%s", d.text())
		}
		if p.at != it.ID {
			t.Errorf("%s: its name finds %s first", it.ID, p.at)
			continue
		}
		d.press("enter")
		if d.m.overlay == p {
			t.Errorf("%s: the palette is still open", it.ID)
		}
		if it.Panes != nil && !slices.Contains(it.Panes, layout.Navigator) && d.m.focus == layout.Navigator && it.ID != "open" && d.m.dialog == nil {
			t.Errorf("%s: the focus stayed in the navigator, which it is not for", it.ID)
		}
		d.screen()
	}
}

func TestTheHelpListsEveryIntent(t *testing.T) {
	d := open(t, seeded(t), 200, 60)
	for _, p := range layout.Panes() {
		d.press(string(rune('0' + p)))
		listed := map[string]int{}
		for _, l := range helpPicks(d.m, "") {
			if l.id != "" {
				listed[l.id]++
			}
		}
		for _, it := range intents() {
			if listed[it.ID] != 1 {
				t.Errorf("pane %d: %q is listed %d times", p, it.ID, listed[it.ID])
			}
		}
	}
}

func TestTheHelpIsSearched(t *testing.T) {
	d := open(t, seeded(t), 120, 40)
	first := func(typed string) string {
		found := helpPicks(d.m, typed)
		if len(found) == 0 {
			return ""
		}
		return found[0].id
	}
	for typed, want := range map[string]string{
		"ctrl+z": "suspend-program", "Ctrl+Z": "suspend-program", "z": "zoom", "G": "last", "shift+tab": "previous-pane", "Z p": "previous-pane",
		"time to live": "ttl", "TIMER DUE": "fire", "nobody says this": "", "space": "fold", "esc": "back",
	} {
		if got := first(typed); got != want {
			t.Errorf("%q finds %q, want %q", typed, got, want)
		}
	}
	d.press("?").typed("zoom").shows("the focused pane alone").hides("one row down").press("enter")
	if !d.m.zoom || d.m.overlay != nil {
		t.Errorf("enter did not do it\n%s", d.text())
	}
	d.press("z", "?").typed("acknow").shows("in queues").press("enter").focusedOn(layout.Queues)
	if d.m.dialog == nil {
		t.Errorf("no dialog\n%s", d.text())
	}
	d.settled().press("esc", "?").typed("no such thing").shows("nothing here has that text").press("enter", "backspace").shows("no such thin").press("esc")
	if d.m.overlay != nil {
		t.Error("esc does not close")
	}
}

func TestThePaletteShowsWhatWasChosenLast(t *testing.T) {
	d := open(t, seeded(t), 120, 40).press(":").typed("zoom").press("enter", "z", ":")
	if p := d.m.overlay.(*picker); p.at != "zoom" {
		t.Errorf("%s is first", p.at)
	}
	d.press("down", "up", "esc", ":").typed("abt")
	if p := d.m.overlay.(*picker); p.at != "about" {
		t.Errorf("abt finds %s", p.at)
	}
}

func TestGoto(t *testing.T) {
	d := open(t, seeded(t), 120, 40)
	d.press(":").typed("goto n3").press("enter").focusedOn(layout.Tree)
	if d.node() != "n3" {
		t.Errorf("on %s", d.node())
	}
	d.press("J").typed("order-2").press("enter").focusedOn(layout.Tree)
	if d.m.subject != (subject{execution, "order-2"}) || d.m.nav.view != executionsView {
		t.Errorf("at %v", d.m.subject)
	}
	d.press("J").typed("web-image").press("enter")
	if d.m.subject != (subject{session, "web-image"}) || d.m.nav.selected() != d.m.subject {
		t.Errorf("at %v", d.m.subject)
	}
	d.press(":").typed("no such id").press("enter").says("no session, no execution and no node of this session has the id no such id")
	d.press("J", "enter").screen()
	d.press("J").paste("\x1b]0;x\x07").press("enter").screen()
}

func TestChords(t *testing.T) {
	d := open(t, seeded(t), 120, 40)
	d.press("Z").shows("Z and then", "pane before").press("p").focusedOn(layout.Queues).hides("Z and then")
	d.press("Z", "esc").hides("Z and then").focusedOn(layout.Queues)
	d.press("Z", "x").says("Z x is no key here").hides("Z and then")
	for _, size := range [][2]int{{40, 12}, {80, 24}} {
		d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		d.press("Z").shows("Z and then").screen()
		d.send(tea.WindowSizeMsg{Width: 1, Height: 1})
		d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		d.shows("Z and then").press("esc")
	}
}

func TestRemappedKeys(t *testing.T) {
	d := open(t, seeded(t), 160, 30)
	d.m.keys = bind(intents(), map[string][]string{"zoom": {"x", "g x"}, "help": {}, "quit": {"Q"}, "down": {"n", "down"}, "first": {"home"}, "suspend-program": {"ctrl+t"}})
	d.m.screen.bars()
	d.press("n").shows("›web-image", "x zoom").press("x")
	if !d.m.zoom {
		t.Error("x does not zoom")
	}
	d.press("g", "x")
	if d.m.zoom {
		t.Error("g x does not zoom")
	}
	d.press("?").says("? is no key here; : help lists them")
	d.press("q").says("q is no key here").press("ctrl+c")
	if !d.quit {
		t.Error("ctrl+c does not quit")
	}
	d.press("i", "n").shows("This store").press("Q").hides("This store")
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

func TestOverlays(t *testing.T) {
	d := open(t, seeded(t), 80, 24).press("?").shows("Keys", "1-18 of")
	d.press("down").shows("1-18 of").press("pgdown", "pgdown").hides("1-18 of").press("pgup", "pgup", "pgup").shows("1-18 of", "In the navigator")
	d.press("esc").hides("Keys")
	d.press("i").shows("This store", "backend").press("esc").hides("This store")
	d.press("i", "q").hides("This store")
	if d.quit {
		t.Error("q over a text did something else than close it")
	}
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
	d.press("g", "о").shows("›web-image") // from a terminal that tells the letter only
	msg = keyMsg("П")
	msg.BaseCode, msg.Mod = 'g', tea.ModShift
	d.press("g")
	d.send(msg)
	d.shows("›web-image")
}

// However the settings are, something leads to what has no key, and ctrl+c quits.
func TestThePaletteKeepsAKey(t *testing.T) {
	for name, c := range map[string]struct {
		remap map[string][]string
		want  string
	}{
		"unbound":     {map[string][]string{"palette": {}, "help": {}}, ":"},
		"no key":      {map[string][]string{"palette": {"nonsense"}}, ":"},
		"taken":       {map[string][]string{"quit": {":"}}, "f2"},
		"taken twice": {map[string][]string{"quit": {":"}, "help": {"f2"}, "palette": nil}, "f3"},
		"its own":     {map[string][]string{"palette": {"x"}}, "x"},
	} {
		k := bind(intents(), c.remap)
		if got := k.bound.Keys("palette"); len(got) == 0 || string(got[0]) != c.want {
			t.Errorf("%s: the palette is on %q, want %s", name, got, c.want)
		}
		if got := k.bound.Keys("quit"); !slices.Contains(got, "ctrl+c") {
			t.Errorf("%s: quit is on %q", name, got)
		}
		told := slices.ContainsFunc(k.problems, func(p keymap.Problem) bool {
			return p.Text == "palette has no key left; it is on \""+c.want+"\" all the same, since it runs what has none"
		})
		if told != (name != "its own") {
			t.Errorf("%s: %q", name, k.problems)
		}
		for _, p := range k.problems {
			if p.Text == "palette has no key left; the palette runs it" {
				t.Errorf("%s: %s", name, p)
			}
		}
	}
	d := openWith(t, seeded(t), config{settings: settings.Config{Keys: map[string][]string{"palette": {}, "help": {}}}}, 100, 30)
	d.press("%").says("% is no key here; : help lists them").press("Z", "%").says("Z % is no key here; : help lists them")
	d.press(":").typed("help").press("enter").shows("In the navigator")
}

// An entry of a list that is higher than its window shows what names it.
func TestAHighEntryShowsItsName(t *testing.T) {
	d := open(t, seeded(t), 40, 12).press(":")
	p := d.m.overlay.(*picker)
	for range p.picks {
		first := strings.Split(d.text(), "\n")[3:9]
		if want := "›" + d.m.term.Sanitise(p.at).Truncate(12, "…").String(); !slices.ContainsFunc(first, func(l string) bool { return strings.HasPrefix(l, "│ "+want) }) {
			t.Errorf("%q is not in\n%s", want, d.text())
		}
		d.press("down")
	}
}

// What is too much to look for is not taken, and that is said.
func TestAPasteThatIsTooLongIsSaid(t *testing.T) {
	for _, key := range []string{"?", ":", "J"} {
		d := open(t, seeded(t), 80, 24).press(key)
		typed := d.m.overlay.(*picker).input.Text()
		d.paste(strings.Repeat("x", 5000)).says("5,000 bytes are too many to look for; nothing was taken")
		if got := d.m.overlay.(*picker).input.Text(); got != typed {
			t.Errorf("%s: %q", key, got)
		}
	}
}
