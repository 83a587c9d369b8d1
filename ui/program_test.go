package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"treering/store"
	"treering/store/locate"
)

// wire is what a program writes to its terminal.
type wire struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{}
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Write(p)
	select {
	case w.written <- struct{}{}:
	default:
	}
	return len(p), nil
}

// clear forgets what was written so far.
func (w *wire) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.b.Reset()
}

func (w *wire) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// program is the explorer in the real event loop, without a terminal.
type program struct {
	t    *testing.T
	p    *tea.Program
	out  *wire
	in   *io.PipeWriter
	done chan error
}

func start(t *testing.T, o *locate.Opened) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	feed := newFeed(o, time.Now)
	feed.Prime(ctx)
	m := newModel(ctx, config{opened: o, now: time.Now, zone: time.UTC, feed: feed})
	r, w := io.Pipe()
	pr := &program{t: t, out: &wire{written: make(chan struct{}, 1)}, in: w, done: make(chan error, 1)}
	pr.p = tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(r), tea.WithOutput(pr.out), tea.WithEnvironment([]string{"TERM=xterm-256color", "SSH_TTY=x"}),
		tea.WithWindowSize(100, 30), tea.WithColorProfile(colorprofile.ASCII), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond))
	go func() {
		_, err := pr.p.Run()
		pr.done <- err
	}()
	t.Cleanup(cancel)
	return pr
}

// waits until the terminal was sent a text.
func (p *program) waits(text string) {
	p.t.Helper()
	deadline := time.After(20 * time.Second)
	for !strings.Contains(p.out.String(), text) {
		select {
		case <-p.out.written:
		case err := <-p.done:
			p.t.Fatalf("the program ended: %v", err)
		case <-deadline:
			p.t.Fatalf("%q was not written: %q", text, p.out.String())
		}
	}
}

func (p *program) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) quits() {
	p.t.Helper()
	p.types("q")
	select {
	case err := <-p.done:
		if err != nil {
			p.t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		p.t.Fatal("the program does not end")
	}
}

func TestTheProgramShowsWhatOthersWriteAndIsSilentOtherwise(t *testing.T) {
	o := openMemory(t)
	// Nothing with a time that passes: nothing may be written then.
	must(t, o.Executions.Save(context.Background(), &store.Execution{ID: "order-1", DefinitionID: "shop", Status: store.Running}))
	p := start(t, o)
	p.waits("order-1")
	p.waits("1 execution")
	must(t, o.Executions.Save(context.Background(), &store.Execution{ID: "order-2-from-elsewhere", DefinitionID: "shop", Status: store.Failed}))
	p.waits("order-2-from-elsewhere")
	p.waits("FAILED")
	// Let what is under way end, and what glows; then count.
	quiet := func() int {
		for {
			before := len(p.out.String())
			select {
			case <-p.out.written:
			case <-time.After(2 * glowFor):
			}
			if after := len(p.out.String()); after == before {
				return after
			}
		}
	}
	at := quiet()
	select {
	case <-p.out.written:
		t.Errorf("%d bytes were written while nothing happened: %q", len(p.out.String())-at, p.out.String()[at:])
	case <-time.After(time.Second):
	}
	p.quits()
	if s := p.out.String(); !strings.Contains(s, "\x1b[?1049h") || !strings.HasSuffix(strings.TrimRight(s[strings.LastIndex(s, "\x1b[?1049l"):], "\r\n"), "\x1b[?25h") && !strings.Contains(s[strings.LastIndex(s, "\x1b[?1049l"):], "\x1b[?25h") {
		t.Errorf("the screen is not given back: %q", s[max(len(s)-200, 0):])
	}
}

func TestManyKeysAtOnce(t *testing.T) {
	o := seeded(t)
	p := start(t, o)
	p.waits("example")
	p.types(strings.Repeat("jk", 100) + "l2jjj4")
	p.waits("Detail")
	p.quits()
}

func TestAnEndedContextEndsTheProgram(t *testing.T) {
	o := openMemory(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := io.Pipe()
	out := &wire{written: make(chan struct{}, 1)}
	done := make(chan error, 1)
	go func() { done <- Run(ctx, Options{Opened: o, Input: r, Output: out, Env: []string{"TERM=xterm"}}) }()
	<-out.written
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the program does not end")
	}
}

func TestLocalesChooseTheCharacters(t *testing.T) {
	for env, want := range map[string]bool{
		"": true, "LANG=C.UTF-8": true, "LANG=de_DE.utf8": true, "LANG=C": false, "LC_ALL=POSIX LANG=C.UTF-8": false, "LC_ALL= LANG=en_US.UTF-8": true,
	} {
		if got := speaksUnicode(strings.Fields(env)); got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

// ends waits for a program to end.
func ends(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end")
		return nil
	}
}
