package cli

import (
	"strings"

	mcobra "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man",
		Short:   "Print the man page",
		Example: `treering man | man -l -`,
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			page, err := mcobra.NewManPage(1, cmd.Root())
			if err != nil {
				return err
			}
			page = page.WithLongDescription(rootHelp).
				WithSection("Environment", environmentHelp).
				WithSection("Files", filesHelp).
				WithSection("Exit status", strings.ReplaceAll(exitHelp, "\n", "\n\n"))
			// Short names come out with two dashes, which no command takes.
			return a.out.raw(strings.ReplaceAll(page.Build(roff.NewDocument()), `\fB--s --store\fP`, `\fB-s --store\fP`))
		},
	}
}
