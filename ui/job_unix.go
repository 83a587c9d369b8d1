//go:build unix

package ui

import (
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
)

// jobControl is how a shell stops the program and has it go on.
type jobControl struct {
	goOn chan os.Signal
	own  atomic.Bool // the program is stopping itself
}

// endings are the signals that ask a program to end.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// nudge is after what time a program that was not stopped goes on.
const nudge = 400 * time.Millisecond

// listen has the terminal set up again after the program was stopped from elsewhere
// and goes on: whoever had the terminal meanwhile left it as it suits them.
//
// A request to stop is not listened for. Go does not give a signal back its effect
// once it was, and the program could not be stopped at all from then on.
func (j *jobControl) listen(again func() error, failed func(error)) {
	goOn := make(chan os.Signal, 1)
	j.goOn = goOn
	signal.Notify(goOn, syscall.SIGCONT)
	term.Go(func() {
		for range goOn {
			if j.own.Load() {
				continue
			}
			if err := again(); err != nil {
				failed(err)
			}
		}
	}, failed)
}

// deaf ends that.
func (j *jobControl) deaf() {
	signal.Stop(j.goOn)
	close(j.goOn)
}

// stopping is called right before the process stops itself. Where no shell could
// have it go on the system does not stop it, and nothing would ever wake the wait
// for that: it is told to go on here.
func (j *jobControl) stopping(send func(tea.Msg)) {
	j.own.Store(true)
	began := time.Now()
	term.Go(func() {
		time.Sleep(nudge)
		if !j.own.Load() {
			return
		}
		alive := time.Since(began) < 2*nudge
		if err := syscall.Kill(os.Getpid(), syscall.SIGCONT); err == nil && alive {
			send(unstoppable{})
		}
	}, func(err error) { send(ending{err}) })
}

// resumed is called once it goes on.
func (j *jobControl) resumed() { j.own.Store(false) }
