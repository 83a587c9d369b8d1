package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"treering/ui/paint"
)

// screenFlags are what the explorer's flags say of how it shows things.
type screenFlags struct {
	theme string
	ascii bool
	plain bool
}

// explorerFlags are the flags of the commands that open the explorer.
func (a *app) explorerFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.screen.theme, "theme", "", "colours of the explorer, a `THEME`: "+strings.Join(paint.Choices(), ", ")+
		"; auto has the terminal's sixteen, or none if NO_COLOR or CLICOLOR=0 asks for that")
	f.BoolVar(&a.screen.ascii, "ascii", false, "draw the explorer with ASCII characters only, and spell others; the default where the locale is not UTF-8")
	f.BoolVar(&a.screen.plain, "plain", false, "run the explorer by lines, for screen readers and scripts: a command or a key on every line, an answer by lines; the default where TERM is dumb")
	if err := cmd.RegisterFlagCompletionFunc("theme", cobra.FixedCompletions(paint.Choices(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is there
	}
}

// checkScreen refuses a theme that there is not, before a store is opened.
func (a *app) checkScreen() error {
	if a.screen.theme != "" && !slices.Contains(paint.Choices(), a.screen.theme) {
		return usagef("%w", &paint.UnknownThemeError{Name: a.screen.theme})
	}
	return nil
}
