package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/paint"
)

// RunPlain is [Run] without a screen: it reads commands line by line and writes
// lines, one for every change, with no sequence among them that steers a terminal.
// It suits screen readers, terminals that cannot place text, and scripts. It ends
// without an error at the end of its input.
func RunPlain(ctx context.Context, o Options) error {
	o = o.filled()
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := o.config()
	c.scheme, c.plain = paint.Mono, true
	c.after = func(wait time.Duration, f func() tea.Msg) tea.Cmd {
		return func() tea.Msg { return background{wait, f} }
	}
	c.execute = func(_ *exec.Cmd, ended tea.ExecCallback) tea.Cmd {
		return func() tea.Msg { return ended(errNoScreen) }
	}
	p := &plainRun{
		e: newExplorer(ctx, c, o.Open, arrive(ctx, o.Opened, o.Now)), ctx: ctx, out: bufio.NewWriter(o.Output), now: o.Now,
		asks: answers(o.Input), came: make(chan tea.Msg), typed: make(chan typedLine),
	}
	term.Go(func() { p.read(o.Input) }, p.broke)
	err := errors.Join(p.run(), p.out.Flush(), p.e.end())
	if err != nil {
		return fmt.Errorf("the explorer stopped: %w", err)
	}
	return nil
}

// errNoScreen is why no editor runs here.
var errNoScreen = errors.New("an editor needs a screen; type the text instead")

// typedLine is a line of the input, or its end.
type typedLine struct {
	text string
	at   time.Time
	err  error
}

// plainRun runs the model by lines.
type plainRun struct {
	e     *explorer
	now   func() time.Time
	ctx   context.Context
	out   *bufio.Writer
	asks  bool // somebody is at the other end: prompts are written
	came  chan tea.Msg
	typed chan typedLine

	flying int      // commands under way
	then   []string // keys to be pressed once there are none
	quit   bool
	err    error

	surface any      // what was described last
	lines   []string // how
	said    int      // status message that was written last
	heard   bool     // a line was read and nothing was written since
	prompt  string   // the one that stands there unanswered
}

// landed is what a command brought.
type landed struct{ msg tea.Msg }

// plainPatience is how long a line waits for what the one before it set going.
const plainPatience = 5 * time.Second

func (p *plainRun) run() error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endings()...)
	defer signal.Stop(signals)
	p.begin(p.e.Init())
	p.hand(tea.WindowSizeMsg{Width: plainWidth, Height: plainHeight})
	p.say("treering, " + p.e.m.info.Name + ", " + p.e.m.mode() + ". Type help for the commands, and a command or a key on every line.")
	impatient := time.NewTimer(plainPatience)
	defer impatient.Stop()
	late := false
	for !p.quit && p.err == nil {
		typed := p.typed
		if p.flying > 0 && !late {
			typed = nil
		}
		select {
		case <-p.ctx.Done():
			return p.ctx.Err()
		case s := <-signals:
			return fmt.Errorf("%v: %w", s, context.Canceled)
		case <-impatient.C:
			late = true
			if p.flying > 0 {
				p.say("still reading")
			}
		case msg := <-p.came:
			p.take(msg)
		case line := <-typed:
			p.prompt, p.heard = "", true
			switch {
			case errors.Is(line.err, io.EOF):
				return nil
			case line.err != nil:
				return fmt.Errorf("read a command: %w", line.err)
			}
			p.line(line)
			late = false
			impatient.Reset(plainPatience)
		}
		if p.flying == 0 && len(p.then) > 0 {
			keys := p.then
			p.then = nil
			p.press(keys...)
		}
		if p.flying == 0 {
			p.tell()
		}
		if err := p.out.Flush(); err != nil {
			return fmt.Errorf("write a line: %w", err)
		}
	}
	return p.err
}

// take applies what came in.
func (p *plainRun) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case landed:
		p.flying--
		p.hand(msg.msg)
	default:
		p.hand(msg)
	}
}

// hand gives a message to the model, and sees to those that are the event loop's.
func (p *plainRun) hand(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil, tea.RawMsg:
		return // nothing but text is written here
	case ending:
		p.err = msg.err
		return
	case tea.QuitMsg:
		p.quit = true
		return
	case tea.SuspendMsg:
		p.say("the terminal's own key puts this in the background")
		return
	case background:
		term.Go(func() {
			if msg.wait > 0 {
				time.Sleep(msg.wait)
			}
			p.bring(msg.do())
		}, p.broke)
		return
	}
	if v := reflect.ValueOf(msg); v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
		for i := range v.Len() {
			if cmd, ok := v.Index(i).Interface().(tea.Cmd); ok {
				p.begin(cmd)
			}
		}
		return
	}
	_, cmd := p.e.Update(msg)
	p.e.m.draw() // sizes are known by what was drawn
	if o, ok := msg.(owned); ok && p.flying == 0 && isTime(o.answer) {
		p.surface, p.lines = p.describe() // that time passes is no news
	}
	p.begin(cmd)
}

// begin starts a command.
func (p *plainRun) begin(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	p.flying++
	term.Go(func() { p.bring(landed{cmd()}) }, p.broke)
}

// bring hands something to the loop from elsewhere.
func (p *plainRun) bring(msg tea.Msg) {
	select {
	case p.came <- msg:
	case <-p.ctx.Done():
	}
}

func (p *plainRun) broke(err error) { p.bring(ending{err}) }

// isTime reports whether an answer only says that time passed.
func isTime(a answer) bool { _, ok := a.(timePassed); return ok }

// maxPlainLine bounds a line of the input, in bytes: it may be a node's data.
const maxPlainLine = 17 << 20

// read brings the lines of the input.
func (p *plainRun) read(in io.Reader) {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 1<<16), maxPlainLine)
	send := func(l typedLine) bool {
		select {
		case p.typed <- l:
			return true
		case <-p.ctx.Done():
			return false
		}
	}
	for s.Scan() {
		if !send(typedLine{text: s.Text(), at: p.now()}) {
			return
		}
	}
	err := s.Err()
	if err == nil {
		err = io.EOF
	}
	send(typedLine{err: err})
}
