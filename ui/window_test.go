package ui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/ui/layout"
	"treering/ui/state"
)

// click clicks on the first cell of a text on the screen.
func (d *driver) click(text string) *driver {
	d.t.Helper()
	for y, line := range strings.Split(d.text(), "\n") {
		if i := strings.Index(line, text); i >= 0 {
			d.send(tea.MouseClickMsg{X: term.StyledWidth(line[:i]), Y: y, Button: tea.MouseLeft})
			return d
		}
	}
	d.t.Fatalf("%q is not on the screen:\n%s", text, d.text())
	return d
}

func (d *driver) wheelAt(x, y int, button tea.MouseButton) *driver {
	d.t.Helper()
	d.send(tea.MouseWheelMsg{X: x, Y: y, Button: button})
	return d
}

func TestClicksSelectAndFocus(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		d := open(t, seeded(t), size[0], size[1])
		if d.m.View().MouseMode != tea.MouseModeCellMotion {
			t.Error("the mouse is not taken")
		}
		d.click("web-image").focusedOn(layout.Navigator).shows("›web-image").click("example  ")
		d.click("make bench").focusedOn(layout.Tree)
		if d.node() != "n3" {
			t.Errorf("on %s", d.node())
		}
		d.click("│ ○ run     apt").focusedOn(layout.Tree).click("○ run     apt")
		if d.node() != "n1" {
			t.Errorf("on %s", d.node())
		}
		d.hides("make bench").click("▸ run").shows("make bench")
		d.click("Exec").focusedOn(layout.Navigator).shows("[Exec")
		if d.m.nav.view != executionsView || d.m.subject.kind != execution {
			t.Errorf("shown: %v %v", d.m.nav.view, d.m.subject)
		}
		if size[0] == 80 {
			d.click("6 queues").focusedOn(layout.Queues).click("5 trace").focusedOn(layout.Trace).click("6 queues")
		}
		d.press("6").click("Timers").focusedOn(layout.Queues).shows("[Timers").click("Spawns").shows("[Spawns")
		d.press("w").click("Outbox").click("Lost").focusedOn(layout.Queues)
		if e, _ := d.m.queues.outbox.selected(); e.Seq != 2 {
			t.Errorf("on %d", e.Seq)
		}
		d.press("?").typed("up").click("one row up")
		if p := d.m.overlay.(*picker); p.at != "up" {
			t.Errorf("on %s", p.at)
		}
		d.press("esc")
	}
}

func TestTheWheelScrollsWhatIsUnderIt(t *testing.T) {
	d := open(t, seeded(t), 200, 60)
	tree := d.m.screen.layout.Rects[layout.Tree]
	d.wheelAt(tree.X+2, tree.Y+2, tea.MouseWheelDown).focusedOn(layout.Navigator)
	if d.node() != "n2" {
		t.Errorf("on %s", d.node())
	}
	d.wheelAt(tree.X+2, tree.Y+2, tea.MouseWheelUp)
	if d.node() != "n0" {
		t.Errorf("on %s", d.node())
	}
	d.wheelAt(-1, -1, tea.MouseWheelUp).wheelAt(0, 0, tea.MouseWheelDown).wheelAt(tree.X, tree.Y, tea.MouseWheelLeft)
	d.press("?").wheelAt(5, 5, tea.MouseWheelDown)
	if p := d.m.overlay.(*picker); p.index() != 3+p.first() {
		t.Errorf("on row %d", p.index())
	}
}

// Whatever the mouse does, nothing is written, and a dialog stays as it is.
func TestTheMouseNeverWrites(t *testing.T) {
	d := open(t, seeded(t), 80, 24).press("2", "a").settled().press("enter", "enter")
	dialog, before := d.m.dialog, d.text()
	for y := range 24 {
		for x := 0; x < 80; x += 7 {
			d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
			d.wheelAt(x, y, tea.MouseWheelDown)
		}
	}
	if d.m.dialog != dialog || d.text() != before {
		t.Errorf("the dialog took notice\n%s", d.text())
	}
	d.settled().press("esc")
	for _, open := range []string{":", "?", ""} {
		if open != "" {
			d.press(open)
		}
		for y := range 24 {
			for x := 0; x < 80; x += 5 {
				d.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
				if d.m.dialog != nil {
					t.Fatalf("a click at %d,%d opened a dialog", x, y)
				}
			}
		}
		d.press("esc")
	}
}

func TestTheMouseIsGivenBack(t *testing.T) {
	d := open(t, seeded(t), 80, 24).press("Z", "m").says("the mouse is the terminal's")
	if d.m.View().MouseMode != tea.MouseModeNone {
		t.Error("it is still taken")
	}
	d.press("Z", "m").says("hold shift")
	if d.m.View().MouseMode != tea.MouseModeCellMotion {
		t.Error("it is not taken")
	}
}

func TestSplitsAreMovedAndRemembered(t *testing.T) {
	o := seeded(t)
	d := open(t, o, 200, 60)
	usual := d.m.screen.layout.Rects
	d.press("Z", "right", "right").shows("Z and then").press("down").screen()
	now := d.m.screen.layout.Rects
	if got, want := now[layout.Navigator].W, usual[layout.Navigator].W+2*columnStep; got != want {
		t.Errorf("the navigator is %d wide, want %d", got, want)
	}
	if got, want := now[layout.Navigator].H, usual[layout.Navigator].H-rowStep; got != want {
		t.Errorf("the navigator is %d high, want %d", got, want)
	}
	d.press("esc").hides("Z and then").press("<", "<", "2").advance(2 * time.Second)
	if got := d.m.screen.layout.Rects[layout.Navigator].W; got != usual[layout.Navigator].W {
		t.Errorf("the navigator is %d wide again, want %d", got, usual[layout.Navigator].W)
	}
	for range 60 {
		d.press(">")
	}
	d.says("the tree cannot be made wider here").screen()
	d.advance(2 * time.Second)
	kept := d.m.memory
	if len(kept.Splits("full")) == 0 || kept.Splits("tabbed") != nil {
		t.Errorf("remembered: %v %v", kept.Splits("full"), kept.Splits("tabbed"))
	}
	wide := d.m.screen.layout.Rects
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.screen()
	d.send(tea.WindowSizeMsg{Width: 200, Height: 60})
	if d.screen(); d.m.screen.layout.Rects != wide {
		t.Error("a window of another size between changed the splits")
	}
	again := newModel(t.Context(), config{opened: o, now: d.m.clock, after: d.m.after, zone: time.UTC, memory: kept})
	again.width, again.height, again.focus, again.subject = 200, 60, layout.Tree, d.m.subject
	if got := layout.Compute(again.want()).Rects; got != wide {
		t.Errorf("at the next start: %v, want %v", got, wide)
	}
	d.press("Z", "=").advance(2 * time.Second)
	if d.m.screen.layout.Rects[layout.Tree] != usual[layout.Tree] || kept.Splits("full") != nil {
		t.Errorf("not as usual: %v", kept.Splits("full"))
	}
	d.press("z", ">").says("zoomed; z shows")
	d.send(tea.WindowSizeMsg{Width: 60, Height: 20})
	d.press("z", ">").says("one pane at a time")
}

func TestWhatCannotBeRememberedIsSaidOnce(t *testing.T) {
	d := open(t, seeded(t), 80, 24)
	no := answerFunc(func(m *Model) tea.Cmd {
		return m.remember(func(*state.State) error { return errors.Join(store.ErrClosed) })
	})
	d.send(no)
	d.says("not there at the next start")
	d.m.unsay()
	d.send(no)
	d.says("")
	if got := d.m.status.text.String(); got != "" {
		t.Errorf("said again: %s", got)
	}
}

// However the size changes, the last one counts, whatever is open.
func TestAStormOfSizes(t *testing.T) {
	for _, keys := range []string{"", "?", ":", "i", "2 a", "/", "Z"} {
		d := open(t, seeded(t), 120, 40).press(strings.Fields(keys)...)
		for i := range 200 {
			d.m.Update(tea.WindowSizeMsg{Width: 1 + i*37%300, Height: 1 + i*17%90})
			d.m.View()
		}
		d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		got := maskIDs(d.text())
		if want := maskIDs(open(t, seeded(t), 120, 40).press(strings.Fields(keys)...).text()); got != want {
			t.Errorf("after %q:\n%s\nwant\n%s", keys, got, want)
		}
	}
}
