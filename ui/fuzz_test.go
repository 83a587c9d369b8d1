package ui

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
)

// keysAnybodyMightPress are all that are bound, and some that are not.
func keysAnybodyMightPress() []string {
	out := []string{"x", "ctrl+x", "n", "backspace", "ctrl+k", "ctrl+w", "shift+up", "é", "漢"}
	for _, it := range intents() {
		if it.ID == "quit" || it.ID == "suspend-program" {
			continue
		}
		for _, c := range bind(intents(), nil).bound.Keys(it.ID) {
			out = append(out, c.Presses()...)
		}
	}
	return out
}

// play presses keys and changes the size of the window, and looks at every frame.
func play(t *rapid.T, d *driver, write func()) {
	keys := keysAnybodyMightPress()
	for range rapid.IntRange(1, 40).Draw(t, "acts") {
		switch rapid.IntRange(0, 14).Draw(t, "act") {
		case 0:
			d.send(tea.WindowSizeMsg{Width: rapid.IntRange(0, 520).Draw(t, "w"), Height: rapid.IntRange(0, 210).Draw(t, "h")})
		case 1:
			d.settled()
		case 2:
			write()
			d.changed()
		case 3:
			d.paste(rapid.SampledFrom([]string{"", "x", `{"a":1}`, "\x1b[2J\n\t\u202e", "status:x kind:y", "7d"}).Draw(t, "paste"))
		case 4, 5:
			at := tea.Mouse{X: rapid.IntRange(-1, 200).Draw(t, "x"), Y: rapid.IntRange(-1, 60).Draw(t, "y"),
				Button: rapid.SampledFrom([]tea.MouseButton{tea.MouseLeft, tea.MouseRight, tea.MouseWheelUp, tea.MouseWheelDown}).Draw(t, "button")}
			if at.Button == tea.MouseWheelUp || at.Button == tea.MouseWheelDown {
				d.send(tea.MouseWheelMsg(at))
			} else {
				d.send(tea.MouseClickMsg(at))
			}
		default:
			d.press(rapid.SampledFrom(keys).Draw(t, "key"))
		}
		d.screen()
	}
}

func TestNoKeysAndNoSizesBreakTheScreen(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			o := seeded(t)
			d := open(t, o, 80, 24)
			n := 0
			play(rt, d, func() {
				n++
				id := fmt.Sprintf("w%03d", rapid.IntRange(0, 999).Draw(rt, "id"))
				// The user may have deleted or expired what is written to.
				_ = o.Trees.Append(context.Background(), "example", store.Node{ID: id, ParentID: ptr("n1"), Kind: "run", Data: "{}"})
				_ = o.Executions.AppendTrace(context.Background(), "order-1", store.JSON(fmt.Sprintf(`{"event_kind":"E%d"}`, n)))
				_ = o.Executions.Save(context.Background(), &store.Execution{ID: "x" + id, Status: store.Running, ParentID: ptr("order-1")})
			})
		})
	})
	t.Run("bad values", func(t *testing.T) {
		o, err := locate.Open(t.Context(), testfiles.Copy(t, "harel-bad-values.db"), locate.Options{})
		must(t, err)
		defer o.Close()
		rapid.Check(t, func(rt *rapid.T) { play(rt, open(t, o, 120, 40), func() {}) })
	})
}

// hostile are strings that attack a terminal or a layout.
func hostile(t testing.TB) []string {
	var out []string
	lines := bufio.NewScanner(bytes.NewReader(testfiles.Read(t, "hostile-text.jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		j, err := store.ParseJSON(lines.Text())
		must(t, err)
		doc, err := store.ParseDoc(j)
		must(t, err)
		for i := range doc.Len() {
			if s, ok := doc.JSON(i).Text(); ok {
				out = append(out, s)
			}
		}
	}
	if len(out) < 33 {
		t.Fatalf("%d hostile strings", len(out))
	}
	return out
}

// Whatever is in a store, frames hold their width and nothing of it reaches the
// terminal as anything else than text.
func TestHostileTextStaysText(t *testing.T) {
	ctx := context.Background()
	o := openMemory(t)
	attacks, written := hostile(t), 0
	_, err := o.Trees.CreateSession(ctx, "s", "session", nil)
	must(t, err)
	appendNode(t, o.Trees, "s", "root", "", "init", "root")
	for i, s := range attacks {
		n := store.Node{ID: fmt.Sprintf("%03d%s", i, s), ParentID: ptr("root"), Kind: "k" + s,
			Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote(s)}, store.Member{Key: s, Value: store.Quote(s)})}
		if n.Check() == nil {
			must(t, o.Trees.Append(ctx, "s", n))
		}
		if id := fmt.Sprintf("%03d%s", i, s); store.CheckID("id", id) == nil {
			_, err := o.Trees.CreateSession(ctx, id, "k"+s, nil)
			if err != nil { // a kind may be too long
				t.Log(err)
			}
		}
		commit := store.Commit{
			Execution: &store.Execution{ID: fmt.Sprintf("%03d%s", i, s), DefinitionID: s, Status: store.Status(s), Outcome: &s, Error: &s, ActivePath: &s,
				Context: store.ObjectOf(store.Member{Key: s, Value: store.Quote(s)})},
			Emits:  []store.Emit{{TargetID: &s, Event: store.Event{ID: s, Kind: s}}},
			Spawns: []store.Spawn{{ChildID: s, RootPath: s}},
			Timers: []store.TimerOp{{Action: store.Schedule, Path: s, FireAt: float64(noon.Unix() + int64(i))}},
			Trace: store.ObjectOf(store.Member{Key: "event_kind", Value: store.Quote(s)}, store.Member{Key: "to_path", Value: store.Quote(s)},
				store.Member{Key: "actions", Value: store.ArrayOf(store.Quote(s))}, store.Member{Key: "context_out", Value: store.ObjectOf(store.Member{Key: s, Value: store.Quote(s)})}),
		}
		if _, err := o.Executions.Commit(ctx, commit); err == nil {
			written++
		}
	}
	if written < len(attacks)/2 {
		t.Errorf("the store took %d of %d", written, len(attacks))
	}
	o.Info.Name, o.Info.Locator = attacks[len(attacks)/2], attacks[1]
	sizes := [][2]int{{40, 12}, {170, 45}}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		d := open(t, o, size[0], size[1])
		for range len(attacks) + 2 {
			d.press("j").screen()
		}
		d.press("2")
		for range len(attacks) + 2 {
			d.press("j").screen()
		}
		d.press("t").screen()
		d.settled().press("esc").press("a").screen()
		d.settled().press("esc").press("3").screen()
		d.press("1", "l")
		for range len(attacks) + 2 {
			d.press("j", "5").screen()
			d.press("4").screen()
			d.press("1")
		}
		d.press("s").screen()
		d.settled().press("esc").press("6", "w")
		for range 3 {
			for range len(attacks) + 2 {
				d.press("j").screen()
			}
			d.press("A").screen()
			d.settled().press("esc").press("f").screen()
			d.settled().press("esc").press("l")
		}
		d.press("i").screen()
		d.press("esc", "1", "l").screen()
	}
}
