package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"

	"treering/internal/term"
	"treering/store"
)

// pty is a terminal that answers what it is asked, after a delay as at the end of a
// slow line.
type pty struct {
	t      *testing.T
	master *os.File
	tty    *os.File
	before unix.Termios
	wire   *wire
	mute   bool
	delay  time.Duration
	idle   sync.WaitGroup // answers under way
}

func openPTY(t *testing.T, w, h uint16, delay time.Duration, mute bool) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must(t, err)
	must(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	must(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: h, Col: w}))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	must(t, err)
	p := &pty{t: t, master: master, tty: tty, before: *before, wire: &wire{written: make(chan struct{}, 1)}, delay: delay, mute: mute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.listen()
	}()
	t.Cleanup(func() {
		for _, f := range []*os.File{tty, master} {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
		<-done
	})
	return p
}

// questions are what a terminal is asked, and what ours says.
var questions = map[string]string{
	"\x1b[c":              "\x1b[?62;22c",
	"\x1b]11;?\x07":       "\x1b]11;rgb:0000/0000/0000\x07",
	"\x1b]11;?\x1b\\":     "\x1b]11;rgb:0000/0000/0000\x1b\\",
	"\x1b[?2026$p":        "\x1b[?2026;2$y",
	"\x1b[?2027$p":        "\x1b[?2027;2$y",
	"\x1b[?u":             "\x1b[?0u",
	"\x1b[6n":             "\x1b[3;3R",
	"\x1b[>0q":            "\x1bP>|ours 1\x1b\\",
	"\x1bP+q524742\x1b\\": "\x1bP0+r\x1b\\",
}

var question = regexp.MustCompile(`\x1b\[c|\x1b\]11;\?(\x07|\x1b\\)|\x1b\[\?20\d\d\$p|\x1b\[\?u|\x1b\[6n|\x1b\[>0q|\x1bP\+q[^\x1b]*\x1b\\`)

func (p *pty) listen() {
	b := make([]byte, 1<<16)
	for {
		n, err := p.master.Read(b)
		if err != nil {
			return // the test closed it
		}
		if !p.mute {
			for _, q := range question.FindAllString(string(b[:n]), -1) {
				p.idle.Add(1)
				time.AfterFunc(p.delay, func() {
					defer p.idle.Done()
					if _, err := io.WriteString(p.master, questions[q]); err != nil && !errors.Is(err, os.ErrClosed) {
						p.t.Error(err)
					}
				})
			}
		}
		if _, err := p.wire.Write(b[:n]); err != nil {
			p.t.Error(err)
		}
	}
}

// waits until the terminal was sent a text.
func (p *pty) waits(text string) {
	p.t.Helper()
	deadline := time.After(20 * time.Second)
	for !strings.Contains(p.wire.String(), text) {
		select {
		case <-p.wire.written:
		case <-deadline:
			p.t.Fatalf("%q was not written: %q", text, p.wire.String())
		}
	}
}

func (p *pty) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		p.t.Fatal(err)
	}
}

var (
	switched = regexp.MustCompile(`\x1b\[\?([\d;]+)([hl])`)
	kitty    = regexp.MustCompile(`\x1b\[([<>])\d*u`)
	modify   = regexp.MustCompile(`\x1b\[>4(?:;\d)?m`)
)

// whole fails unless the terminal is as it was: its line discipline, its modes, and
// nothing in its input that a shell would read.
func (p *pty) whole() {
	p.t.Helper()
	if _, err := io.WriteString(p.tty, "THE END"); err != nil {
		p.t.Fatal(err)
	}
	p.waits("THE END")
	p.idle.Wait()
	after, err := unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS)
	must(p.t, err)
	if *after != p.before {
		p.t.Errorf("the line discipline was %+v and is %+v", p.before, *after)
	}
	raw := *after
	raw.Lflag &^= unix.ICANON
	must(p.t, unix.IoctlSetTermios(int(p.tty.Fd()), unix.TCSETS, &raw))
	if n, err := unix.IoctlGetInt(int(p.tty.Fd()), unix.TIOCINQ); err != nil || n != 0 {
		b := make([]byte, max(n, 1))
		if n > 0 {
			if _, err := p.tty.Read(b); err != nil {
				p.t.Error(err)
			}
		}
		p.t.Errorf("the shell would read %q (%v)", b, err)
	}
	record := p.wire.String()
	modes := map[string]bool{"25": true}
	for _, m := range switched.FindAllStringSubmatch(record, -1) {
		for mode := range strings.SplitSeq(m[1], ";") {
			modes[mode] = m[2] == "h"
		}
	}
	for mode, on := range modes {
		if on != (mode == "25" || mode == "7") { // the cursor is seen, lines wrap
			p.t.Errorf("mode %s is left %v: ...%q", mode, on, record[max(len(record)-300, 0):])
		}
	}
	pushed := 0
	for _, m := range kitty.FindAllStringSubmatch(record, -1) {
		if m[1] == ">" {
			pushed++
		} else {
			pushed--
		}
	}
	if pushed > 0 {
		p.t.Errorf("%d keyboard modes are left", pushed)
	}
	if all := modify.FindAllString(record, -1); len(all) > 0 && all[len(all)-1] != "\x1b[>4m" && all[len(all)-1] != "\x1b[>4;0m" {
		p.t.Errorf("the keys are left modified: %q", all)
	}
	if a, b := strings.Count(record, "\x1b[22;2t"), strings.Count(record, "\x1b[23;2t"); a != 1 || b != 1 {
		p.t.Errorf("the title was kept %d times and given back %d times", a, b)
	}
}

// plays runs a model, or the explorer where there is none, and returns what Run does.
func (p *pty) plays(ctx context.Context, model tea.Model) <-chan error {
	p.t.Helper()
	o := Options{Opened: seeded(p.t), Input: p.tty, Output: p.tty, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}}.filled()
	done := make(chan error, 1)
	go func() {
		if model == nil {
			done <- Run(ctx, o)
		} else {
			done <- o.play(ctx, context.WithoutCancel(ctx), model, nil)
		}
	}()
	return done
}

// A quit right after the start, or any time after it, leaves no answer of the
// terminal to the shell, however slow the line is.
func TestAQuitLeavesNoAnswersBehind(t *testing.T) {
	for _, c := range []struct {
		delay, wait time.Duration
		mute        bool
	}{
		{}, {delay: 30 * time.Millisecond}, {delay: 150 * time.Millisecond}, {delay: 400 * time.Millisecond}, {delay: 60 * time.Millisecond, wait: 100 * time.Millisecond}, {mute: true},
	} {
		t.Run(fmt.Sprintf("%v after %v, mute %v", c.delay, c.wait, c.mute), func(t *testing.T) {
			p := openPTY(t, 80, 24, c.delay, c.mute)
			p.types("q") // before it has even started
			done := p.plays(t.Context(), nil)
			if c.wait > 0 {
				time.Sleep(c.wait)
				p.types("q")
			}
			if err := ends(t, done); err != nil {
				t.Fatal(err)
			}
			p.whole()
		})
	}
}

// boom is a model that panics where it is told to.
type boom struct {
	at    string
	shown bool
}

func (b *boom) Init() tea.Cmd {
	crash := func() tea.Msg { panic("here \x1b[2J it is") }
	fine := func() tea.Msg { return nil }
	switch b.at {
	case "Init's command":
		return crash
	case "a batch":
		return tea.Batch(fine, tea.Batch(fine, crash))
	case "a sequence":
		return tea.Sequence(fine, tea.Batch(fine, tea.Sequence(fine, crash)))
	}
	return fine
}

func (b *boom) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(tea.KeyPressMsg); ok {
		switch b.at {
		case "Update":
			panic(errors.New("here \x1b[2J it is"))
		case "a command":
			return b, func() tea.Msg { panic(fmt.Sprintf("here %s it is", "\x1b[2J")) }
		case "View":
			b.shown = true
		}
	}
	return b, nil
}

func (b *boom) View() tea.View {
	if b.shown {
		panic("here \x1b[2J it is")
	}
	v := tea.NewView("ready")
	v.AltScreen, v.MouseMode, v.ReportFocus = true, tea.MouseModeCellMotion, true
	return v
}

func TestAPanicAnywhereLeavesTheTerminalWhole(t *testing.T) {
	for _, at := range []string{"Update", "View", "a command", "Init's command", "a batch", "a sequence"} {
		t.Run(at, func(t *testing.T) {
			p := openPTY(t, 80, 24, 20*time.Millisecond, false)
			done := p.plays(t.Context(), &boom{at: at})
			switch at {
			case "Update", "View", "a command":
				p.waits("ready")
				p.types("x")
			}
			err := ends(t, done)
			var panicked *term.PanicError
			if !errors.As(err, &panicked) || !strings.Contains(err.Error(), "here") || !strings.Contains(panicked.Stack, "pty_linux_test.go") {
				t.Fatalf("%v", err)
			}
			p.whole()
			if strings.Contains(p.wire.String(), "[2J it is") || strings.Contains(p.wire.String(), "goroutine") {
				t.Errorf("what it panicked with is on the screen: %q", p.wire.String())
			}
		})
	}
}

func TestSignalsAndContextsLeaveTheTerminalWhole(t *testing.T) {
	for _, early := range []bool{false, true} {
		for _, sig := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
			t.Run(fmt.Sprintf("%v early %v", sig, early), func(t *testing.T) {
				p := openPTY(t, 80, 24, 50*time.Millisecond, false)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := p.plays(ctx, nil)
				if p.waits("\x1b[?1049h"); !early {
					p.waits("example")
					p.types("a") // a dialog may be open
				}
				if sig == 0 {
					cancel()
				} else {
					must(t, syscall.Kill(os.Getpid(), sig))
				}
				if err := ends(t, done); !errors.Is(err, context.Canceled) {
					t.Fatalf("%v", err)
				}
				p.whole()
			})
		}
	}
}

// A goroutine of ours that panics tells, and does not take the process along.
func TestAGoroutineThatPanicsTells(t *testing.T) {
	told := make(chan error, 1)
	term.Go(func() { panic("in the background") }, func(err error) { told <- err })
	var panicked *term.PanicError
	if err := <-told; !errors.As(err, &panicked) || panicked.Value != "in the background" || !bytes.Contains([]byte(panicked.Stack), []byte("TestAGoroutineThatPanicsTells")) {
		t.Errorf("%v", err)
	}
}

// quiet returns once nothing is sent for a moment.
func (p *pty) quiet() {
	for {
		select {
		case <-p.wire.written:
		case <-time.After(25 * time.Millisecond):
			return
		}
	}
}

// A record of all that the program sends holds nothing but its own sequences,
// whatever is stored and wherever one goes.
func TestARecordHoldsOurOwnSequencesOnly(t *testing.T) {
	for _, c := range []struct {
		w, h     uint16
		clusters bool // the terminal counts by clusters, and says so
		env      []string
	}{
		{80, 24, false, []string{"TERM=xterm-256color", "LANG=C.UTF-8", "SSH_TTY=x"}},
		{200, 60, false, []string{"TERM=xterm-256color", "LANG=C"}},
		{80, 24, true, []string{"TERM=xterm", "LANG=C.UTF-8", "COLORTERM=truecolor"}},
		{200, 60, true, []string{"TERM=xterm-256color", "LANG=C.UTF-8"}},
		{80, 24, false, []string{"TERM=xterm", "LANG=C.UTF-8", "NO_COLOR=1"}},
	} {
		t.Run(fmt.Sprintf("%dx%d %v %s", c.w, c.h, c.clusters, strings.Join(c.env, " ")), func(t *testing.T) {
			p := openPTY(t, c.w, c.h, 0, false)
			o := Options{Opened: hostileStore(t), Input: p.tty, Output: p.tty, Env: c.env, Zone: time.UTC, Theme: "dark"}
			done := make(chan error, 1)
			go func() { done <- Run(t.Context(), o) }()
			p.waits("Sess")
			if c.clusters {
				p.types("\x1b[?2027;2$y")
			}
			for _, key := range everywhere {
				switch key {
				case "y": // what is copied is a sequence of ours, with the data in base64
					continue
				case "esc":
					p.quiet()
					time.Sleep(grace) // dialogs take no key at first
					key = "\x1b"
				case "enter":
					key = "\r"
				case "space":
					key = " "
				case "pgdown":
					key = "\x1b[6~"
				}
				p.types(key)
				if key == "\x1b" { // with the next one it would be another key
					time.Sleep(100 * time.Millisecond)
				}
				p.quiet()
			}
			p.types("\x03")
			must(t, ends(t, done))
			p.whole()
			ourSequences(t, []byte(p.wire.String()))
			if !strings.Contains(p.wire.String(), "\x1b]8;;file:///srv/osc8_link:%20%1B%5D8%3B%3B") {
				t.Error("the path of the store is no link")
			}
		})
	}
}

// settles waits until nothing is sent any more, and returns how much was sent.
func (p *pty) settles() int {
	p.t.Helper()
	for {
		before := len(p.wire.String())
		select {
		case <-p.wire.written:
		case <-time.After(200 * time.Millisecond):
		}
		if after := len(p.wire.String()); after == before {
			return after
		}
	}
}

// What is sent follows what changed: a fraction of a screen for a row, little more
// for a list that scrolls by one, and nothing while nothing happens.
func TestBytesFollowWhatChanges(t *testing.T) {
	for _, size := range [][2]uint16{{80, 24}, {200, 60}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			p := openPTY(t, size[0], size[1], 0, false)
			o := openMemory(t)
			for i := range 300 {
				must(t, o.Executions.Save(context.Background(), &store.Execution{ID: fmt.Sprintf("order-%03d", i), DefinitionID: "shop", Status: store.Running}))
			}
			done := make(chan error, 1)
			go func() {
				done <- Run(t.Context(), Options{Opened: o, Input: p.tty, Output: p.tty, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}, Zone: time.UTC})
			}()
			p.waits("order-000")
			screen := p.settles()
			sent := func(what string, least, most int, act func()) {
				t.Helper()
				before := p.settles()
				act()
				n := p.settles() - before
				t.Logf("%s: %d bytes; the first screen: %d", what, n, screen)
				if n < least || n > most {
					t.Errorf("%s took %d bytes, want %d to %d", what, n, least, most)
				}
			}
			if idle := func() int { before := p.settles(); time.Sleep(time.Second); return p.settles() - before }(); idle != 0 {
				t.Errorf("%d bytes while nothing happened: %q", idle, p.wire.String()[screen:])
			}
			sent("one row of another process's", 1, screen/8, func() {
				e, err := o.Executions.Load(context.Background(), "order-005")
				must(t, err)
				e.Status = store.Suspended
				must(t, o.Executions.Save(context.Background(), e))
				p.waits("SUSPENDED")
			})
			p.types("z") // the list alone
			p.types(strings.Repeat("j", int(size[1])-4))
			p.settles()
			p.types("jjj")
			sent("a scroll by one line", 1, screen/4, func() { p.types("j") })
			sent("a key that does nothing", 0, screen/8, func() { p.types("\x1b[200~x\x1b[201~") })
			p.types("q")
			must(t, ends(t, done))
			p.whole()
		})
	}
}
