package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/exp/golden"

	"treering/internal/demo"
	"treering/store"
	"treering/store/locate"
)

// plainly runs a script of lines and returns what was written.
func plainly(t *testing.T, o *locate.Opened, env string, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := RunPlain(ctx, Options{
		Opened: o, Input: strings.NewReader(strings.Join(lines, "\n") + "\n"), Output: &out, Env: strings.Fields(env), Zone: time.UTC,
		Now: func() time.Time { return noon },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

// untold is a store that does not tell of changes, so that what is written does not
// depend on when they are noticed.
func untold(o *locate.Opened) *locate.Opened {
	o.Watcher = nil
	o.Info.Locator = "shop.db"
	return o
}

func TestPlain(t *testing.T) {
	for name, lines := range map[string][]string{
		"tree":       {"2", "down", "j 2", "list", "list 3", "open", "1", "where"},
		"executions": {"next-view", "down", "2", "down", "5", "[", "[", "4", "read", "6", "w", "next-view", "list", "l", "first"},
		"refused":    {"zoom", "wider", "bogus", "fire", "[", "J nobody"},
		"filter":     {"l", "filter status:failed", "filter", "/", "status:running", "filter bad:word", "filter"},
		"goto":       {"goto order-2", "goto nobody", "goto n3", "1", "goto example", "goto n3"},
		"leave":      {"2", "a", "esc", "t", "esc", "quit", "down"},
	} {
		t.Run(name, func(t *testing.T) {
			golden.RequireEqual(t, maskIDs(plainly(t, untold(seeded(t)), "LANG=C.UTF-8", lines...)))
		})
	}
}

func TestPlainExplainsItself(t *testing.T) {
	out := plainly(t, untold(seeded(t)), "LANG=C.UTF-8", "help", "about", ":", "1")
	for _, want := range []string{"filter TEXT: ", "down: one row down; key down", "previous-step: ", "not now: no execution is selected", "This store\nlocator, shop.db\n", "up down page-up", "no change\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not written:\n%s", want, out)
		}
	}
	if strings.Contains(out, "zoom:") {
		t.Error("what is for a screen is explained")
	}
}

// A story goes on by enter, or by an empty line, and other lines take part in it.
func TestPlainTellsAStory(t *testing.T) {
	o := untold(openMemory(t))
	sys := demo.NewSystem(o.Executions, o.Trees, demo.SystemOptions{Seed: 1})
	t.Cleanup(sys.Close)
	sys.Pause()
	var out bytes.Buffer
	err := RunPlain(t.Context(), Options{
		Opened: o, Input: strings.NewReader("help\nenter\n\nup\nnext\n"), Output: &out, Env: []string{"LANG=C.UTF-8"}, Zone: time.UTC,
		Now: func() time.Time { return noon }, Driver: sys, Story: tale{demo.NewStory(o.Executions, o.Trees, sys)},
	})
	must(t, err)
	for _, want := range []string{"1/15 A session is a tree", "an empty line: the next scene", "2/15 Each step", "3/15 Two ideas", "4/15 "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not written:\n%s", want, out.String())
		}
	}
}

// A write is asked for line by line, and what stands in the way is said.
func TestPlainWrites(t *testing.T) {
	o := untold(seeded(t))
	out := plainly(t, o, "LANG=C.UTF-8", "2", "last", "append", `{"title":`, "", "shift+tab", `{"title":"by lines"}`, "note", "y", "1", "l", "suspend", "what", "yes", "6", "w", "acknowledge", "no", "acknowledge", "y")
	for _, want := range []string{"Append a node", `data, {"title":"by lines"}`, "kind, note", "appended ", "by lines", "Suspend", "is SUSPENDED, version", "nothing was written", "acknowledged"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not written:\n%s", want, out)
		}
	}
	page, err := o.Trees.ListNodes(t.Context(), "example", store.PageRequest{})
	must(t, err)
	n := page.Items[0] // ids of ours come first
	if n.Kind != "note" || string(n.Data) != `{"title":"by lines"}` {
		t.Errorf("appended: %+v", n)
	}
	if e, err := o.Executions.Load(t.Context(), "order-1"); err != nil || !e.Status.Is(store.Suspended) {
		t.Errorf("%+v, %v", e, err)
	}
}

// In a text "enter" goes on with what is there, as an empty line does.
func TestPlainEnterKeepsWhatIsThere(t *testing.T) {
	o := untold(seeded(t))
	plainly(t, o, "LANG=C.UTF-8", "2", "last", "append", `{"title":"kept"}`, "enter", "enter", "y")
	page, err := o.Trees.ListNodes(t.Context(), "example", store.PageRequest{})
	must(t, err)
	if n := page.Items[0]; n.Kind == "enter" || string(n.Data) != `{"title":"kept"}` {
		t.Errorf("appended: %+v", n)
	}
}

// Every intent can be asked for by its name from any pane, and is answered.
func TestPlainAnswersEveryIntent(t *testing.T) {
	for _, it := range intents() {
		t.Run(it.ID, func(t *testing.T) {
			for _, pane := range []string{"1", "2", "3", "4", "5", "6"} {
				out := plainly(t, untold(seeded(t)), "LANG=C.UTF-8", "l", pane, "commands", it.ID)
				_, answer, ok := strings.Cut(out, "up down page-up")
				_, answer, _ = strings.Cut(answer, "\n")
				if !ok || it.ID != "quit" && strings.TrimSpace(answer) == "" {
					t.Errorf("from pane %s it is not answered: %s", pane, out)
				}
			}
		})
	}
}

// Nothing is written but lines of text, whatever is stored.
func TestPlainIsText(t *testing.T) {
	for _, env := range []string{"LANG=C.UTF-8", "LANG=C"} {
		var lines []string
		for _, key := range everywhere {
			if key == "Q" || key == "R" {
				continue
			}
			lines = append(lines, key)
			if strings.Contains("123456", key) {
				lines = append(lines, "list", "read")
			}
		}
		out := plainly(t, untold(hostileStore(t)), env, lines...)
		if len(out) < 20_000 {
			t.Errorf("only %d bytes", len(out))
		}
		for _, r := range out {
			if r != '\n' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r)) || env == "LANG=C" && r > 0x7e {
				t.Fatalf("%s: %U is written", env, r)
			}
		}
	}
}

// What others write is told as it comes.
func TestPlainTellsWhatOthersWrite(t *testing.T) {
	o := openMemory(t)
	must(t, o.Executions.Save(t.Context(), &store.Execution{ID: "order-1", DefinitionID: "shop", Status: store.Running}))
	r, w := io.Pipe()
	out := &wire{written: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() {
		done <- RunPlain(t.Context(), Options{Opened: o, Input: r, Output: out, Env: []string{"LANG=C.UTF-8"}})
	}()
	p := &program{t: t, out: out, in: w, done: done}
	p.waits("order-1, RUNNING")
	must(t, o.Executions.Save(t.Context(), &store.Execution{ID: "order-1", DefinitionID: "shop", Status: store.Failed, Version: 1}))
	p.waits("order-1, FAILED")
	must(t, w.Close()) // the end of the input is no error
	must(t, ends(t, done))
}

func TestPlainEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := io.Pipe()
	out := &wire{written: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- RunPlain(ctx, Options{Opened: seeded(t), Input: r, Output: out}) }()
	<-out.written
	cancel()
	if err := ends(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
