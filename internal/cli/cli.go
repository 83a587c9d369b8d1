// Package cli is the command line: one file a command, their flags and output
// formats, and the exit codes.
package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

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
	a.keys.given(args, a.env)
	a.out = newOutput(ctx, a.stdout)
	root := a.rootCommand()
	root.SetArgs(args)
	var helpErr error
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { helpErr = a.help(ctx, cmd) })
	err := root.ExecuteContext(ctx)
	if !a.running {
		err = typed(err)
	}
	// What failed first says more.
	if err == nil {
		err = helpErr
	}
	if ferr := a.out.flush(); err == nil {
		err = ferr
	}
	if isClosedPipe(err) { // past a.out
		err = errOutputClosed
	}
	if a.endless && errors.Is(err, context.Canceled) {
		err = nil
	}
	code := exitCode(err)
	if code != exitDone && code != exitFound {
		report(a.stderr, err, a.keys.hide)
	}
	return code
}

// typed sorts an error from before a command's own work: a refused value, output
// that cannot be written, or something in what was typed.
func typed(err error) error {
	var refused *store.ValueError
	var written *fs.PathError
	if err == nil || errors.Is(err, errOutputClosed) || errors.As(err, &refused) || errors.As(err, &written) {
		return err
	}
	return &codedError{exitUsage, err}
}
