package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"treering/internal/term"
	"treering/store/locate"
	settings "treering/ui/config"
	"treering/ui/paint"
	"treering/ui/state"
)

// Options say what to explore and where.
type Options struct {
	// Opened is the store. Run closes it only where another takes its place.
	Opened *locate.Opened
	// Input and Output are the terminal. nil means the process's own.
	Input  io.Reader
	Output io.Writer
	// Env is the environment as os.Environ returns it; nil means the process's own.
	Env []string
	// Now is the explorer's clock, nil the system's; Zone is how times are shown, nil
	// the local zone.
	Now  func() time.Time
	Zone *time.Location
	// ASCII draws with ASCII characters only. It is also chosen by the settings, and
	// where these say nothing, where the locale says that the terminal knows no others.
	ASCII bool
	// Theme is the name of a theme, one of [paint.Choices]; "" is auto.
	Theme string
	// Settings are the user's, and Problems what of them was not understood.
	Settings settings.Config
	Problems []settings.Problem
	// State is what is remembered from one start to the next, and Notes what is to
	// be said of it; nil keeps nothing.
	State *state.State
	Notes []string
	// Passing: the store is gone when the explorer ends, and is not remembered.
	Passing bool
	// Driver is the system that runs on the store, for acting through; nil where none
	// does. It is not closed.
	Driver Driver
	// Story is told of the store, scene by scene; nil: none.
	Story Story
	// Open opens another store; nil where none can be. Run closes what it opened,
	// and Opened too when another takes its place.
	Open Opener
}

// framesPerSecond is how often the screen is written at most: a key waits half
// as long for its frame as with the usual 60.
const framesPerSecond = 120

// Run shows the explorer until the user quits or ctx is done. It returns nil
// after a quit, an error that matches context.Canceled where the context or a
// signal (interrupt, terminate, hang-up) ended it, a [*paint.UnknownThemeError] for
// a theme that there is not, and one that matches [*term.PanicError] where a mistake
// in the program did. The terminal is as it was before, whatever is returned.
func Run(ctx context.Context, o Options) error {
	o = o.filled()
	scheme, asks, err := paint.Choose(paint.Choice(o.Theme), o.Env)
	if err != nil {
		return err
	}
	// The program is asked to end, and puts the terminal back; only what its commands
	// wait for is cancelled from here.
	parent := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	defer cancel() // abandons what the commands still wait for
	c := o.config()
	c.scheme, c.asks = scheme, asks
	c.execute, c.meter = execute, &meter{}
	e := newExplorer(ctx, c, o.Open, arrive(parent, o.Opened, o.Now))
	return errors.Join(o.play(parent, ctx, e, c.meter), e.end())
}

// play runs a model in the terminal until it quits or is told to end by a signal or
// by asked. ctx is what it is made under.
func (o Options) play(asked, ctx context.Context, model tea.Model, meter *meter) error {
	l := &loop{model: model, meter: meter, answers: answers(o.Input), now: time.Now}
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithEnvironment(o.Env), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler(),
		tea.WithFilter(l.filter), tea.WithColorProfile(o.profile()),
	}
	if o.Input != nil {
		opts = append(opts, tea.WithInput(o.Input))
	}
	out := o.Output
	if out == nil {
		out = os.Stdout
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(file) {
		l.terminal.out = &screenOut{File: file, meter: meter}
		out = l.terminal.out
	}
	p := tea.NewProgram(l, append(opts, tea.WithOutput(out))...)
	l.send, l.terminal.p = p.Send, p
	l.job.listen(func() error {
		if err := l.terminal.give(); err != nil {
			return err
		}
		return l.terminal.take()
	}, func(err error) { p.Send(ending{err}) })
	defer l.job.deaf()
	defer attend(asked, p)()

	title := titleOf(o.Output, o.Env)
	defer title.restore()
	_, err := p.Run()
	if l.err != nil {
		err = l.err
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*term.PanicError)), errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the explorer stopped on a mistake of its own: %w", err)
	}
	return fmt.Errorf("the explorer stopped: %w", err)
}

// stuckAfter is how long the program has to end when it was asked to. It needs a
// fraction of it, unless it hangs.
const stuckAfter = 3 * time.Second

// attend has a program end when the context is done or a signal says so: all signals
// that ask a program to end have one answer, whatever is open. The function that it
// returns ends that.
func attend(ctx context.Context, p *tea.Program) func() {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, endings()...)
	term.Go(func() {
		var why error
		select {
		case s := <-signals:
			why = fmt.Errorf("%v: %w", s, context.Canceled)
		case <-ctx.Done():
			why = ctx.Err()
		case <-over:
			return
		}
		hung := time.AfterFunc(stuckAfter, p.Kill)
		p.Send(ending{why})
		<-over
		hung.Stop()
	}, func(error) { p.Kill() })
	return func() {
		signal.Stop(signals)
		close(over)
	}
}

// filled returns the options with what they leave open.
func (o Options) filled() Options {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	return o
}

func (o Options) config() config {
	c := config{opened: o.Opened, env: o.Env, now: o.Now, zone: o.Zone, ascii: o.ascii(),
		settings: o.Settings, memory: o.State, passing: o.Passing, driver: o.Driver, story: o.Story}
	for _, p := range o.Problems {
		c.complaints = append(c.complaints, p.String())
	}
	for _, p := range KeyProblems(o.Settings) {
		c.complaints = append(c.complaints, p.String())
	}
	c.complaints = append(c.complaints, o.Notes...)
	return c
}

// ascii reports whether to draw with ASCII characters only: where that is asked
// for, and without a word of it where the locale knows no others.
func (o Options) ascii() bool {
	if o.ASCII || o.Settings.ASCII == nil {
		return o.ASCII || !speaksUnicode(o.Env)
	}
	return *o.Settings.ASCII
}

// profile is how many colours the terminal is sent: as many as it has, where a theme
// was chosen, else no more than the environment wants.
func (o Options) profile() colorprofile.Profile {
	depth := term.TerminalDepth(o.Env)
	if o.Theme == "" || paint.Choice(o.Theme) == paint.Auto {
		depth = term.ColourDepth(o.Env)
	}
	switch depth {
	case term.TrueColour:
		return colorprofile.TrueColor
	case term.EightBit:
		return colorprofile.ANSI256
	case term.SixteenColours:
		return colorprofile.ANSI
	default:
		return colorprofile.ASCII
	}
}

// answers reports whether the input is a terminal, which answers what it is asked.
func answers(in io.Reader) bool {
	if in == nil {
		in = os.Stdin
	}
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(f)
}

// savedTitle is the title that the window had before.
type savedTitle struct{ of io.Writer }

// titleOf has the terminal keep the window's title. Terminals that do not know
// the sequence, which has been xterm's for long, take no notice of it.
func titleOf(out io.Writer, env []string) savedTitle {
	if out == nil {
		out = os.Stdout
	}
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(file) || slices.Contains(env, "TERM=dumb") || slices.Contains(env, "TERM=linux") {
		return savedTitle{}
	}
	return savedTitle{out}.send("\x1b[22;2t")
}

func (s savedTitle) restore() { s.send("\x1b[23;2t") }

func (s savedTitle) send(seq string) savedTitle {
	if s.of != nil {
		// A terminal that cannot be written has no title to care for.
		_, _ = io.WriteString(s.of, seq)
	}
	return s
}

// speaksUnicode reports whether the locale says that more than ASCII can be
// shown. Where it says nothing, it can.
func speaksUnicode(env []string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], name+"="); ok && v != "" {
				v = strings.ToLower(v)
				return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
			}
		}
	}
	return true
}
