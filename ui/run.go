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
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/store/locate"
	"treering/tracefeed"
)

// Options say what to explore and where.
type Options struct {
	// Opened is the store. Run does not close it.
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
	// ASCII draws with ASCII characters only. It is also chosen where the locale says
	// that the terminal knows no others.
	ASCII bool
}

// framesPerSecond is how often the screen is written at most: a key waits half
// as long for its frame as with the usual 60.
const framesPerSecond = 120

// Run shows the explorer until the user quits or ctx is done. It returns nil
// after a quit, and an error that matches context.Canceled where the context or a
// signal (interrupt, terminate, hang-up) ended it.
func Run(ctx context.Context, o Options) error {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // abandons what the commands still wait for
	if seen, ok := o.Opened.Executions.(store.Observed); ok {
		defer seen.Observe()()
	}
	c := config{opened: o.Opened, env: o.Env, now: o.Now, zone: o.Zone, ascii: o.ASCII || !speaksUnicode(o.Env)}
	if o.Opened.Watcher != nil {
		c.poll = tracefeed.NewPoll(o.Opened.Watcher, tracefeed.PollOptions{Now: o.Now})
		c.poll.Prime(ctx)
	}
	opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithEnvironment(o.Env), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler()}
	if o.Input != nil {
		opts = append(opts, tea.WithInput(o.Input))
	}
	if o.Output != nil {
		opts = append(opts, tea.WithOutput(o.Output))
	}
	p := tea.NewProgram(newModel(ctx, c), opts...)

	// All signals that ask a program to end have one answer, whatever is open: the
	// terminal is put back, and the error says that it was no quit.
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ending)
	go func() {
		select {
		case <-ending:
			cancel()
		case <-ctx.Done():
		}
	}()

	title := titleOf(o.Output, o.Env)
	defer title.restore()
	_, err := p.Run()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, tea.ErrProgramPanic):
		return fmt.Errorf("the explorer stopped on an error of its own: %w", err)
	}
	return fmt.Errorf("the explorer stopped: %w", err)
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
