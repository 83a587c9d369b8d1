package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/exp/golden"

	"treering/store"
	"treering/store/locate"
)

// Screens as they are, as text at several sizes and as a terminal of sixteen
// colours and one without colours get them.
func TestScreens(t *testing.T) {
	shop := func(keys ...string) func(*testing.T, int, int) *driver {
		return func(t *testing.T, w, h int) *driver {
			return openFile(t, "harel-shop.db", locate.Options{}, w, h).press(keys...)
		}
	}
	mem := func(keys ...string) func(*testing.T, int, int) *driver {
		return func(t *testing.T, w, h int) *driver { return open(t, seeded(t), w, h).press(keys...) }
	}
	for _, c := range []struct {
		name string
		make func(*testing.T, int, int) *driver
	}{
		{"shop", shop()},
		{"shop-family", shop("j", "j", "j", "2", "j")},
		{"shop-families", shop("l", "j", "j", "j")},
		{"shop-whole-store", shop("6", "w")},
		{"bad-values", func(t *testing.T, w, h int) *driver {
			return openFile(t, "harel-bad-values.db", locate.Options{}, w, h).press("j", "4")
		}},
		{"fleet", func(t *testing.T, w, h int) *driver {
			o, _ := fleet(t, locate.Options{})
			o.Transport = &cable{Transport: o.Transport}
			return open(t, o, w, h).press("6", "w", "h", "h", "h", "l", "l", "l")
		}},
		{"memory-session", mem("2", "j", "j")},
		{"memory-ancestry", mem("2", "j", "j", "j", "3")},
		{"memory-execution", mem("l")},
		{"memory-step", mem("l", "5")},
		{"memory-help", mem("?")},
		{"memory-search", mem("?", "z", "o", "o", "m")},
		{"memory-prefix", mem("Z")},
		{"memory-about", mem("i")},
		{"empty", func(t *testing.T, w, h int) *driver { return open(t, openMemory(t), w, h) }},
	} {
		for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 12}} {
			t.Run(fmt.Sprintf("%s/%dx%d", c.name, size[0], size[1]), func(t *testing.T) {
				golden.RequireEqual(t, c.make(t, size[0], size[1]).advance(time.Second).text())
			})
		}
	}
	for _, p := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ASCII} {
		t.Run("shop-family/"+p.String(), func(t *testing.T) {
			golden.RequireEqual(t, shop("j", "j", "j", "2")(t, 80, 24).advance(time.Second).in(p))
		})
		t.Run("memory-step/"+p.String(), func(t *testing.T) {
			golden.RequireEqual(t, mem("l", "5")(t, 80, 24).advance(time.Second).in(p))
		})
	}
}

func TestDialogScreens(t *testing.T) {
	for name, keys := range map[string][]string{
		"append":          {"2", "j", "a"},
		"append-mistake":  {"2", "j", "a", "wait", "{", "1"},
		"append-question": {"2", "j", "a", "wait", "enter", "enter"},
		"ttl":             {"t"},
		"create":          {"+"},
		"delete":          {"D"},
		"purge-expired":   {"X"},
		"name":            {"2", "j", "b"},
		"acknowledge":     {"6", "w", "A"},
		"spawn":           {"6", "w", "l", "A"},
		"fire":            {"6", "w", "l", "l", "G", "f"},
		"suspend":         {"l", "s"},
		"cancel":          {"l", "C"},
		"purge":           {"l", "j", "j", "P"},
		"log":             {"6", "w", "A", "wait", "y", "A", "wait", "n", "1", "t", "wait", "n", "o", "n", "e", "enter", "wait", "y", "L"},
	} {
		for _, size := range [][2]int{{80, 24}, {200, 60}, {40, 12}} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				o := seeded(t)
				_, err := o.Trees.CreateSession(t.Context(), "old", "session", store.Seconds(0))
				must(t, err)
				d := open(t, o, size[0], size[1]).asFile()
				for _, k := range keys {
					if k == "wait" {
						d.settled()
						for d.m.dialog != nil && !d.m.dialog.editing() && d.m.dialog.unread() > 0 {
							d.press("pgdown")
						}
						continue
					}
					d.press(k)
				}
				d.advance(time.Second)
				if d.m.dialog == nil {
					t.Fatalf("no dialog\n%s", d.text())
				}
				text := d.text()
				if strings.HasPrefix(name, "append") {
					text = maskIDs(text)
				}
				golden.RequireEqual(t, text)
			})
		}
	}
}

// A message that is too long for its line takes that of the keys too, and gives it back.
func TestALongMessageTakesTwoLines(t *testing.T) {
	d := open(t, seeded(t), 80, 24)
	line := func(n int) string { return strings.Split(d.text(), "\n")[n] }
	keys := func() string { return line(23) }
	was := keys()
	d.m.refused("copy the value of data: 440,018 bytes are too many for the terminal's clipboard, which takes 74,994: export to a file instead")
	if got, want := line(22)+"\n"+keys(), " copy the value of data: 440,018 bytes are too many for the terminal's\n clipboard, which takes 74,994: export to a file instead"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.press("?") // what is open has its keys there
	if got := keys(); !strings.Contains(got, "esc close") {
		t.Errorf("%q", got)
	}
	d.press("esc").advance(saidFor)
	if got := keys(); got != was {
		t.Errorf("%q, want %q", got, was)
	}
	d.m.refused(strings.Repeat("many words ", 30))
	if got := keys(); !strings.HasSuffix(got, "…") || line(22) == got {
		t.Errorf("%q", got)
	}
	d.send(tea.WindowSizeMsg{Width: 40, Height: 12})
	d.m.refused("name branch: not in the navigator; it is for the tree (2), ancestry (3), detail (4)")
	if got, want := strings.Join(strings.Split(d.text(), "\n")[10:12], "\n"), " name branch: not in the navigator; it\n is for the tree (2), ancestry (3), de…"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	d.m.say("short")
	if got := keys(); got != was {
		t.Errorf("%q, want %q", got, was)
	}
	d.screen()
}
