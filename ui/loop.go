package ui

import (
	"os/exec"
	"reflect"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
)

// loop stands between the event loop and the model. It sees to it that the
// terminal is whole when the program leaves it, whatever the reason: a panic in
// Update, in View, in a command or in a goroutine of ours becomes an ending like
// any other, and no ending comes before the terminal has answered what it was
// asked, since later answers would be typed into the shell.
type loop struct {
	model tea.Model
	send  func(tea.Msg) // from any goroutine; set before the loop runs
	// job is how the process is stopped and goes on, as far as the system has that.
	job      jobControl
	terminal handover
	meter    *meter

	err  error // why it ends, where nobody quit
	dead bool  // the model panicked: nothing of it is called any more
	view tea.View

	// Answers. Init asks for the terminal's identity behind all other questions,
	// and once more when that is answered: the first may have been on its way before
	// the renderer asked, with its first frame, what it wants to know.
	answers bool // there is a terminal that answers
	missing int  // answers that are still to come
	asked   time.Time
	now     func() time.Time
	leaving tea.Msg // what waits for the answers: a quit or a suspension
}

// patience is how long an answer is waited for. A terminal at the end of a slow
// line needs that; one that gives none delays a quit right after the start by it.
const patience = time.Second

// ending says from outside that the program is to end, and why.
type ending struct{ err error }

// overdue says that patience is at its end.
type overdue struct{}

// held takes the place of a quit or a suspension that has to wait.
type held struct{}

func (l *loop) Init() tea.Cmd {
	cmd := l.guard(l.model.Init())
	if l.answers {
		l.missing = 2
		cmd = tea.Batch(cmd, l.ask(""))
	}
	return cmd
}

// ask asks the terminal something, and then for its identity.
func (l *loop) ask(what string) tea.Cmd {
	l.asked = l.now()
	return tea.Raw(what + term.RequestIdentity)
}

// settled reports whether nothing more is to come from the terminal but keys.
func (l *loop) settled() bool { return l.missing == 0 || l.now().Sub(l.asked) >= patience }

// filter holds back what would leave the terminal too early. It runs on the loop's
// goroutine, before Update.
func (l *loop) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg.(type) {
	case tea.QuitMsg:
	case tea.SuspendMsg:
		if l.settled() {
			l.suspend()
			return nil
		}
	default:
		return msg
	}
	if l.settled() {
		return msg
	}
	l.leaving = msg
	return held{}
}

// suspend puts the program in the background until it is told to go on. The loop's
// own way to do so may wait for ever, and may come back without a screen.
func (l *loop) suspend() {
	term.Go(func() {
		err := l.terminal.give()
		stopped := false
		if err == nil {
			stopped, err = l.job.stop()
		}
		if terr := l.terminal.take(); err == nil {
			err = terr
		}
		if err != nil {
			l.send(ending{err})
			return
		}
		l.send(tea.ResumeMsg{})
		if !stopped {
			l.send(unstoppable{})
		}
	}, func(err error) { l.send(ending{err}) })
}

func (l *loop) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case ending:
		return l, l.end(msg.err)
	case held:
		return l, tea.Tick(patience-l.now().Sub(l.asked), func(time.Time) tea.Msg { return overdue{} })
	case overdue:
		l.missing = 0
		return l, l.leave()
	case tea.ResumeMsg:
		return l, l.again()
	case tookBack:
		return l, tea.Batch(l.again(), func() tea.Msg { return msg.told })
	}
	if identity(msg) && l.missing > 0 {
		if l.missing--; l.missing > 0 {
			return l, l.ask("")
		}
		return l, l.leave()
	}
	if l.dead {
		return l, nil
	}
	if l.leaving != nil {
		switch msg.(type) {
		case tea.KeyPressMsg, tea.PasteMsg, tea.MouseMsg:
			return l, nil // they were for whoever comes after
		}
	}
	return l, l.update(msg)
}

// again asks anew, after another program had the terminal: the renderer switched off
// that it counts by clusters, and counts on it nevertheless.
func (l *loop) again() tea.Cmd {
	if !l.answers {
		return nil
	}
	l.missing = 1
	return l.ask(term.RequestGraphemes)
}

// tookBack says that the terminal is ours again after another program had it, and
// what that one's end means.
type tookBack struct{ told tea.Msg }

// execute gives the terminal to a program for a while.
func execute(cmd *exec.Cmd, ended tea.ExecCallback) tea.Cmd {
	return tea.ExecProcess(cmd, func(err error) tea.Msg { return tookBack{ended(err)} })
}

// update hands a message to the model.
func (l *loop) update(msg tea.Msg) (cmd tea.Cmd) {
	defer func() {
		if v := recover(); v != nil {
			l.dead = true
			cmd = l.end(term.Caught(v))
		}
	}()
	began := l.meter.begin()
	_, cmd = l.model.Update(msg)
	l.meter.updated(began)
	return l.guard(cmd)
}

// View is the model's; after a panic it is what it was last.
func (l *loop) View() (v tea.View) {
	if l.dead {
		return l.view
	}
	defer func() {
		if r := recover(); r != nil {
			l.dead = true
			err := term.Caught(r)
			// The loop is not listening while it draws.
			term.Go(func() { l.send(ending{err}) }, func(error) {})
			v = l.view
		}
	}()
	began := l.meter.begin()
	l.view = l.model.View()
	l.meter.viewed(began)
	return l.view
}

// end ends the program for a reason.
func (l *loop) end(err error) tea.Cmd {
	if l.err == nil {
		l.err = err
	}
	return tea.Quit
}

// leave goes on with what was held back.
func (l *loop) leave() tea.Cmd {
	msg := l.leaving
	l.leaving = nil
	if msg == nil {
		return nil
	}
	return func() tea.Msg { return msg }
}

// guard makes a panic in a command, or in one of those that it brings, an ending.
func (l *loop) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if v := recover(); v != nil {
				msg = ending{term.Caught(v)}
			}
		}()
		msg = cmd()
		// Batches, and sequences, whose type is not exported, are lists of commands.
		v := reflect.ValueOf(msg)
		if !v.IsValid() || v.Kind() != reflect.Slice || v.Type().Elem() != reflect.TypeFor[tea.Cmd]() {
			return msg
		}
		guarded := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			inner, ok := v.Index(i).Interface().(tea.Cmd)
			if ok && inner != nil {
				guarded.Index(i).Set(reflect.ValueOf(l.guard(inner)))
			}
		}
		return guarded.Interface()
	}
}

// identity reports whether a message is the terminal's answer to who it is. It
// comes as a type of the input reader's: a list of numbers, as nothing else does.
func identity(msg tea.Msg) bool {
	t := reflect.TypeOf(msg)
	return t != nil && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int
}

// unstoppable says that the process was to stop and did not.
type unstoppable struct{}

func (unstoppable) apply(m *Model) tea.Cmd {
	m.refused("no shell is here that could bring the explorer back from the background")
	return nil
}
