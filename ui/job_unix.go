//go:build unix

package ui

import (
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"treering/internal/term"
)

// jobControl is how a shell stops the program and has it go on.
type jobControl struct {
	goOn    chan os.Signal
	own     atomic.Bool   // the program stops itself
	resumed chan struct{} // it went on
}

// endings are the signals that ask a program to end.
func endings() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// listen has the terminal set up again after the program was stopped from elsewhere
// and goes on: whoever had the terminal meanwhile left it as it suits them.
//
// A request to stop is not listened for. Go does not give a signal back its effect
// once it was, and the program could not be stopped at all from then on.
func (j *jobControl) listen(again func() error, failed func(error)) {
	goOn := make(chan os.Signal, 1)
	j.goOn, j.resumed = goOn, make(chan struct{}, 1)
	signal.Notify(goOn, syscall.SIGCONT)
	term.Go(func() {
		for range goOn {
			if j.own.Load() {
				select {
				case j.resumed <- struct{}{}:
				default:
				}
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

// stopTime is how long the system has to stop the program, and to say that it goes
// on.
const stopTime = 250 * time.Millisecond

// stop stops the program, and all that runs with it as one job, until it is told to
// go on. Where no shell could tell it the system does not stop it: that is reported.
func (j *jobControl) stop() (stopped bool, err error) {
	j.own.Store(true)
	defer j.own.Store(false)
	select {
	case <-j.resumed: // from before
	default:
	}
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return false, fmt.Errorf("stop: %w", err)
	}
	// Where it stopped, both have passed when it goes on, and the second says so.
	for range 2 {
		select {
		case <-j.resumed:
			return true, nil
		case <-time.After(stopTime):
		}
	}
	return false, nil
}
