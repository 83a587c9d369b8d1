// Package cli is the command line: one file a command, their flags and output
// formats, and the exit codes.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
)

// Main runs the program with the arguments after its name and returns its exit
// code. What goes wrong is one line on stderr. An interrupt ends the command, a
// second one the process.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	defer keepPipeErrors()()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: locate.Environ(env), now: time.Now}
	return a.run(ctx, args)
}

// run executes one command line.
func (a *app) run(ctx context.Context, args []string) int {
	a.out = newOutput(ctx, a.stdout)
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { a.help(ctx, cmd) })
	err := root.ExecuteContext(ctx)
	if ferr := a.out.flush(); err == nil {
		err = ferr
	} // what failed first says more
	if isClosedPipe(err) { // from under cobra, which writes past a.out
		err = errOutputClosed
	}
	if !a.running {
		err = typed(err)
	}
	code := exitCode(err)
	if code != exitDone {
		report(a.stderr, err)
	}
	return code
}

// help shows a command's help as fang draws it. Nothing else goes through fang: for
// the colours of an error it would ask the terminal what its background is, and the
// answer may come after the program has ended.
func (a *app) help(ctx context.Context, cmd *cobra.Command) {
	again := a.rootCommand()
	again.SetArgs(append(strings.Fields(cmd.CommandPath())[1:], "--help"))
	// A help text that nobody reads is no error; nothing else can fail here.
	_ = fang.Execute(ctx, again, fang.WithVersion(again.Version), fang.WithoutManpage(), fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
}

// typed sorts an error from before a command's own work: a refused value, or
// something in what was typed.
func typed(err error) error {
	var refused *store.ValueError
	if err == nil || errors.Is(err, errOutputClosed) || errors.As(err, &refused) {
		return err
	}
	return &codedError{exitUsage, err}
}
