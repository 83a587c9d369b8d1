//go:build !unix

package ui

import "os"

// jobControl is how a shell stops the program: here none does.
type jobControl struct{}

// endings are the signals that ask a program to end.
func endings() []os.Signal { return []os.Signal{os.Interrupt} }

func (*jobControl) listen(func() error, func(error)) {}
func (*jobControl) deaf()                            {}
func (*jobControl) stop() (stopped bool, err error)  { return false, nil }
