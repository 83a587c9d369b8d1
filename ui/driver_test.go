package ui

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"treering/internal/term"
	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
	"treering/ui/layout"
)

// driver plays the explorer without a terminal: it hands messages to Update and
// runs every command to its end, one after the other, until nothing is left to
// do. Time stands still but for advance.
type driver struct {
	t      testing.TB
	m      *Model
	e      *explorer // nil where there is one store only
	now    time.Time
	timers []timer
	raw    []string // what was sent to the terminal past the renderer
	quit   bool
}

type timer struct {
	at   time.Time
	fire func() tea.Msg
}

// noon is when tests take place.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// open starts the explorer on an open store.
func open(t testing.TB, o *locate.Opened, w, h int) *driver {
	t.Helper()
	return openWith(t, o, config{}, w, h)
}

// openWith starts it with what c says of looks.
func openWith(t testing.TB, o *locate.Opened, c config, w, h int) *driver {
	t.Helper()
	d := &driver{t: t, now: noon}
	o.Info.Locator = "shop.db"
	if seen, ok := o.Executions.(store.Observed); ok {
		t.Cleanup(seen.Observe())
	}
	c.opened, c.env, c.zone = o, []string{"TERM=xterm"}, time.UTC
	c.now = func() time.Time { return d.now }
	c.after = func(wait time.Duration, f func() tea.Msg) tea.Cmd {
		return func() tea.Msg { return timer{d.now.Add(wait), f} }
	}
	d.m = newModel(t.Context(), c)
	d.m.live.off = false // there is no poll here; changed says when there is news
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: w, Height: h})
	return d
}

// openFile starts the explorer on a copy of a file of the test data.
func openFile(t testing.TB, name string, o locate.Options, w, h int) *driver {
	t.Helper()
	opened, err := locate.Open(t.Context(), testfiles.Copy(t, name), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return open(t, opened, w, h)
}

// openMemory opens an empty store in memory.
func openMemory(t testing.TB) *locate.Opened {
	t.Helper()
	o, err := locate.Open(t.Context(), "memory:", locate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func (d *driver) send(msgs ...tea.Msg) *driver {
	d.t.Helper()
	for _, msg := range msgs {
		switch msg := msg.(type) {
		case nil:
			continue
		case tea.QuitMsg:
			d.quit = true
			continue
		case tea.RawMsg:
			d.raw = append(d.raw, fmt.Sprint(msg.Msg))
			continue
		case timer:
			d.timers = append(d.timers, msg)
			continue
		}
		var cmd tea.Cmd
		if d.e != nil {
			_, cmd = d.e.Update(msg)
			d.m = d.e.m
		} else {
			_, cmd = d.m.Update(msg)
		}
		d.m.View()
		d.run(cmd)
	}
	return d
}

// run runs a command, and what comes of it.
func (d *driver) run(cmd tea.Cmd) {
	d.t.Helper()
	if cmd == nil {
		return
	}
	msg := cmd()
	// Batches, and sequences, whose type is not exported, are lists of commands.
	if v := reflect.ValueOf(msg); v.IsValid() && v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
		for i := range v.Len() {
			d.run(v.Index(i).Interface().(tea.Cmd))
		}
		return
	}
	d.send(msg)
}

// press presses keys by their names: "j", "enter", "ctrl+d", "space".
func (d *driver) press(keys ...string) *driver {
	d.t.Helper()
	for _, k := range keys {
		d.send(keyMsg(k))
	}
	return d
}

// typed types a text, key by key.
func (d *driver) typed(text string) *driver {
	d.t.Helper()
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
	return d
}

func keyMsg(name string) tea.KeyPressMsg {
	codes := map[string]rune{
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
		"tab": tea.KeyTab, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "space": tea.KeySpace,
		"backspace": tea.KeyBackspace,
	}
	var msg tea.KeyPressMsg
	rest := name
	for prefix, mod := range map[string]tea.KeyMod{"ctrl+": tea.ModCtrl, "shift+": tea.ModShift} {
		if after, ok := strings.CutPrefix(rest, prefix); ok {
			msg.Mod, rest = mod, after
		}
	}
	if code, ok := codes[rest]; ok {
		msg.Code = code
		if rest == "space" {
			msg.Text = " "
		}
		return msg
	}
	r := []rune(rest)
	msg.Code = r[0]
	if msg.Mod == 0 {
		msg.Text = rest
	}
	return msg
}

// advance lets time pass, and what was set for later happen.
func (d *driver) advance(by time.Duration) *driver {
	d.t.Helper()
	end := d.now.Add(by)
	for {
		slices.SortStableFunc(d.timers, func(a, b timer) int { return a.at.Compare(b.at) })
		if len(d.timers) == 0 || d.timers[0].at.After(end) {
			break
		}
		next := d.timers[0]
		d.timers = d.timers[1:]
		d.now = next.at
		d.send(next.fire())
	}
	d.now = end
	return d
}

// changed is what the follower says when somebody wrote.
func (d *driver) changed() *driver {
	d.t.Helper()
	d.send(storeNews{Changed: true})
	return d
}

// screen is the present frame, checked: as many lines as the window has, each as
// wide as the window, and nothing in it that moves a cursor or changes a mode.
func (d *driver) screen() string {
	d.t.Helper()
	content := d.m.View().Content
	if d.m.width == 0 || d.m.height == 0 {
		return content
	}
	lines := strings.Split(content, "\n")
	if len(lines) != d.m.height {
		d.t.Fatalf("%d lines in a window of %d", len(lines), d.m.height)
	}
	if rest := ours.ReplaceAllString(content, ""); strings.ContainsRune(rest, 0x1b) {
		d.t.Fatalf("a sequence that is no style is on the screen: %q", rest)
	}
	for i, line := range lines {
		if w := term.StyledWidth(line); w != d.m.width {
			d.t.Fatalf("line %d is %d wide in a window of %d: %q", i, w, d.m.width, line)
		}
		for _, r := range term.Unstyled(line) {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				d.t.Fatalf("line %d has the control %U: %q", i, r, line)
			}
		}
	}
	return content
}

// ours are the sequences that styles are made of, and links to files.
var ours = regexp.MustCompile(`\x1b\[[0-9;]*m|\x1b\]8;;(file://[!-~]*)?\x07`)

// text is the screen without styles.
func (d *driver) text() string {
	d.t.Helper()
	lines := strings.Split(term.Unstyled(d.screen()), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// in renders the screen as a terminal of that profile gets it.
func (d *driver) in(p colorprofile.Profile) []byte {
	d.t.Helper()
	var b bytes.Buffer
	w := colorprofile.Writer{Forward: &b, Profile: p}
	if _, err := w.WriteString(d.screen() + "\n"); err != nil {
		d.t.Fatal(err)
	}
	return b.Bytes()
}

// shows fails unless every text is somewhere on the screen.
func (d *driver) shows(texts ...string) *driver {
	d.t.Helper()
	screen := d.text()
	for _, s := range texts {
		if !strings.Contains(screen, s) {
			d.t.Fatalf("%q is not on the screen:\n%s", s, screen)
		}
	}
	return d
}

// hides fails if one of the texts is on the screen.
func (d *driver) hides(texts ...string) *driver {
	d.t.Helper()
	screen := d.text()
	for _, s := range texts {
		if strings.Contains(screen, s) {
			d.t.Fatalf("%q is on the screen:\n%s", s, screen)
		}
	}
	return d
}

// says fails unless the status line says that.
func (d *driver) says(text string) *driver {
	d.t.Helper()
	if got := d.m.status.text.String(); !strings.Contains(got, text) {
		d.t.Fatalf("the status line says %q, want %q\n%s", got, text, d.text())
	}
	return d
}

// focusedOn fails unless that pane has the focus.
func (d *driver) focusedOn(p layout.Pane) *driver {
	d.t.Helper()
	if d.m.focus != p {
		d.t.Fatalf("pane %d has the focus, want %d\n%s", d.m.focus, p, d.text())
	}
	return d
}

// node is the tree's node under the cursor.
func (d *driver) node() string {
	d.t.Helper()
	id, ok := d.m.tree.selectedNode()
	if !ok {
		d.t.Fatalf("no node is selected\n%s", d.text())
	}
	return id
}

// must fails the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seedTree makes a session with a root, a run of two, and a fork.
func seedTree(t testing.TB, ts store.TreeStore, session string) {
	t.Helper()
	ctx := context.Background()
	_, err := ts.CreateSession(ctx, session, "session", nil)
	must(t, err)
	for _, n := range []struct{ id, parent, kind, title string }{
		{"n0", "", "init", "base-image"},
		{"n1", "n0", "run", "apt-get update"},
		{"n2", "n1", "run", "make CFLAGS=-O3"},
		{"n3", "n2", "run", "make bench"},
		{"n4", "n1", "run", "make -j2"},
	} {
		appendNode(t, ts, session, n.id, n.parent, n.kind, n.title)
	}
}

func appendNode(t testing.TB, ts store.TreeStore, session, id, parent, kind, title string) {
	t.Helper()
	n := store.Node{ID: id, Kind: kind, Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote(title)})}
	if parent != "" {
		n.ParentID = &parent
	}
	must(t, ts.Append(context.Background(), session, n))
}

func ptr[T any](v T) *T { return &v }

// seedExecutions makes an order that waits for two regions, one of them failed,
// with a trace, and an entry in each queue.
func seedExecutions(t testing.TB, es store.ExecutionStore) {
	t.Helper()
	ctx := context.Background()
	order := &store.Execution{ID: "order-1", DefinitionID: "shop", Status: store.Running, ActivePath: ptr("Fulfilment"), Context: `{"total":455.3}`}
	order.SetChildStates([]store.ChildState{{ID: "order-1:Fulfilment.Billing:0", RootPath: "Fulfilment.Billing"}, {ID: "order-1:Fulfilment.Picking:0", RootPath: "Fulfilment.Picking"}})
	at := func(seconds int) string { return fmt.Sprint(noon.Unix() - 60 + int64(seconds)) }
	steps := []store.JSON{
		store.JSON(`{"event_kind":"Start","event_data":{},"from_path":null,"to_path":"Cart","actions":[],"context_out":{"total":0},"timestamp":` + at(0) + `}`),
		store.JSON(`{"event_kind":"Checkout","event_data":{"card":"v"},"from_path":"Cart","to_path":"Payment","actions":["reserve"],"context_out":{"total":450},"timestamp":` + at(1) + `.5}`),
		store.JSON(`{"event_kind":"Start","event_data":{},"from_path":"Payment","to_path":"Fulfilment","actions":[],"context_out":{"total":455.3,"paid":true},"timestamp":` + at(2) + `}`),
	}
	for i, s := range steps {
		c := store.Commit{Execution: order, Trace: s}
		if i == 2 {
			c.Timers = []store.TimerOp{{Action: store.Schedule, Path: "Fulfilment", FireAt: float64(noon.Unix() + 3600)}}
			c.Emits = []store.Emit{{TargetID: ptr("order-2"), Event: store.Event{ID: "ev-1", Kind: "Audit"}}, {Event: store.Event{ID: "ev-2", Kind: "Lost"}}}
			c.Spawns = []store.Spawn{{ChildID: "order-1:Refund:0", RootPath: "", Context: `{"sum":1}`}}
		}
		_, err := es.Commit(ctx, c)
		must(t, err)
	}
	for _, c := range []struct {
		id     string
		status store.Status
		root   string
	}{{"order-1:Fulfilment.Billing:0", store.Failed, "Fulfilment.Billing"}, {"order-1:Fulfilment.Picking:0", store.Done, "Fulfilment.Picking"}} {
		e := &store.Execution{ID: c.id, DefinitionID: "shop", Status: c.status, RootPath: c.root, ParentID: ptr("order-1"), ChildID: &c.id}
		if c.status.Is(store.Failed) {
			e.Error = ptr("CardError: declined")
		}
		must(t, es.Save(ctx, e))
	}
	must(t, es.Save(ctx, &store.Execution{ID: "order-2", DefinitionID: "shop", Status: store.Suspended, ActivePath: ptr("Cart")}))
	_, err := es.Commit(ctx, store.Commit{
		Execution: &store.Execution{ID: "order-3", DefinitionID: "shop", Status: store.Running, ExpiresAt: store.JSON(fmt.Sprint(noon.Unix() + 600))},
		Timers: []store.TimerOp{
			{Action: store.Schedule, Path: "__ttl__", FireAt: float64(noon.Unix() + 600)},
			{Action: store.Schedule, Path: "Payment", FireAt: float64(noon.Unix() - 120)},
		},
	})
	must(t, err)
}

// seeded is a store in memory with both.
func seeded(t testing.TB) *locate.Opened {
	t.Helper()
	o := openMemory(t)
	if seen, ok := o.Executions.(store.Observed); ok {
		t.Cleanup(seen.Observe())
	}
	seedTree(t, o.Trees, "example")
	must(t, func() error {
		_, err := o.Trees.CreateSession(context.Background(), "web-image", "docker-build", nil)
		return err
	}())
	seedExecutions(t, o.Executions)
	return o
}

// maskIDs replaces fresh ids, which differ from run to run.
func maskIDs(s string) string {
	return regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]+`).ReplaceAllStringFunc(s, func(id string) string {
		return strings.Repeat("#", len(id))
	})
}

func (d *driver) paste(text string) *driver {
	d.t.Helper()
	d.send(tea.PasteMsg{Content: text})
	return d
}

// flatten runs a command and returns what comes of it, without handing it on.
func flatten(cmd tea.Cmd) []tea.Msg {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if v := reflect.ValueOf(msg); v.IsValid() && v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
		var out []tea.Msg
		for i := range v.Len() {
			out = append(out, flatten(v.Index(i).Interface().(tea.Cmd))...)
		}
		return out
	}
	return []tea.Msg{msg}
}
