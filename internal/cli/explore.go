package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"treering/internal/term"
	"treering/store"
	"treering/store/locate"
	"treering/ui"
)

// explore opens the explorer on the store that the arguments name.
func (a *app) explore(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if err := a.checkScreen(); err != nil {
		return err
	}
	if len(args) == 1 {
		if a.storeGiven {
			return usagef("the store is named twice, %q and with -s %q", args[0], a.store)
		}
		a.store, a.storeGiven = args[0], true
	}
	if !a.screen.plain && !a.interactive() {
		if len(args) == 1 && !exists(args[0]) {
			if found, _, err := cmd.Find(args); err == nil && found != cmd { // it came after --
				return usagef("there is no file %q; without -- it is a command", args[0])
			}
			if like := suggestions(cmd, args[0]); like != "" {
				return usagef("%q is neither a command nor a file; is it %s?", args[0], like)
			}
		}
		return usagef("the explorer needs a terminal, or --plain; treering --help lists the commands that do not")
	}
	o, err := a.open(ctx, exploring)
	var several *locate.AmbiguousSetError
	if errors.As(err, &several) && a.interactive() {
		if err := a.askForSet(ctx, several); err != nil {
			return err
		}
		o, err = a.open(ctx, exploring)
	}
	if err != nil {
		if len(args) == 1 && errors.Is(err, store.ErrStoreNotFound) {
			if like := suggestions(cmd, args[0]); like != "" {
				return fmt.Errorf("%w; or is it the command %s?", err, like)
			}
		}
		return err
	}
	return errors.Join(a.runExplorer(ctx, a.explorerOptions(o)), o.Close())
}

// suggestions are the commands that may have been meant, for the end of a sentence.
func suggestions(cmd *cobra.Command, typed string) string {
	if typed == "" { // which begins every name
		return ""
	}
	return strings.Join(cmd.SuggestionsFor(typed), " or ")
}

// interactive reports whether there is a person at a terminal.
func (a *app) interactive() bool {
	in, ok := a.stdin.(*os.File)
	return ok && a.out.terminal && term.IsTerminal(in)
}

// dumb reports whether the terminal cannot place text.
func (a *app) dumb() bool { return term.Dumb(a.env) }

// runExplorer runs the explorer, by lines where that is asked for or the terminal
// knows nothing else.
func (a *app) runExplorer(ctx context.Context, o ui.Options) error {
	if a.screen.plain || a.dumb() {
		return ui.RunPlain(ctx, o)
	}
	return ui.Run(ctx, o)
}

// askForSet asks which of several sets of execution tables to open.
func (a *app) askForSet(ctx context.Context, several *locate.AmbiguousSetError) error {
	if err := a.out.linef("%s holds several sets of execution tables:", several.Locator); err != nil {
		return err
	}
	for i, s := range several.Sets {
		if err := a.out.linef("%s  %s", strconv.Itoa(i+1), describeSet(s)); err != nil {
			return err
		}
	}
	if err := a.out.raw("Which one? "); err != nil {
		return err
	}
	if err := a.out.flush(); err != nil {
		return err
	}
	var answer string
	err := interruptible(ctx, func() (err error) {
		answer, err = bufio.NewReader(a.stdin).ReadString('\n')
		return err
	})
	n, perr := strconv.Atoi(strings.TrimSpace(answer))
	switch {
	case ctx.Err() != nil:
		return err
	case perr != nil || n < 1 || n > len(several.Sets):
		return &openError{several}
	}
	a.prefix, a.prefixGiven = several.Sets[n-1].Prefix, true
	return nil
}
