package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// oneOfAnnotation marks flags of which exactly one must be given.
const oneOfAnnotation = "treering_one_of"

// required marks flags as required; they exist, so it cannot fail.
func required(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// oneOf marks flags of which exactly one must be given; they exist, so it cannot fail.
func oneOf(cmd *cobra.Command, names ...string) {
	cmd.MarkFlagsOneRequired(names...)
	cmd.MarkFlagsMutuallyExclusive(names...)
	for _, name := range names {
		if err := cmd.Flags().SetAnnotation(name, oneOfAnnotation, names); err != nil {
			panic(err)
		}
	}
}

func flagNames(names []string, and string) string { return "--" + strings.Join(names, and+"--") }

// checkFlags says which required flags are missing, before cobra does in its own way.
func checkFlags(cmd *cobra.Command) error {
	var missing []string
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 && !f.Changed {
			missing = append(missing, f.Name)
		}
		names := f.Annotations[oneOfAnnotation]
		given := 0
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				given++
			}
		}
		switch {
		case len(names) == 0 || err != nil:
		case given == 0:
			err = usagef("%s needs %s", named(cmd), flagNames(names, " or "))
		case given > 1:
			err = usagef("%s takes %s, not both", named(cmd), flagNames(names, " or "))
		}
	})
	if len(missing) > 0 {
		return usagef("%s needs %s", named(cmd), flagNames(missing, " and "))
	}
	return err
}

// flagError words what pflag refuses.
func flagError(_ *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var lacking *pflag.ValueRequiredError
	switch {
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		takes := "true or false"
		if strings.HasPrefix(f.Value.Type(), "int") {
			takes = "a whole number"
		}
		return usagef("--%s takes %s, not %q", f.Name, takes, invalid.GetValue())
	case errors.As(err, &lacking):
		value, _ := pflag.UnquoteUsage(lacking.GetFlag())
		return usagef("--%s needs a value: %s", lacking.GetFlag().Name, value)
	}
	return &codedError{exitUsage, err}
}

// negativeNumber is flagError for a command with a number among its arguments: a
// negative one looks like a flag, but is a value, which refuse knows how to refuse.
func negativeNumber(refuse func(text string) error) func(*cobra.Command, error) error {
	return func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			if text := "-" + unknown.GetSpecifiedShortnames(); looksNegative.MatchString(text) {
				if refused := refuse(text); refused != nil {
					return refused
				}
			}
		}
		return flagError(cmd, err)
	}
}

var looksNegative = regexp.MustCompile(`^-(\.?[0-9]|[iI]nf)`)

// complete offers words for a flag that exists.
func complete(cmd *cobra.Command, flag string, words ...string) {
	completeWith(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func completeWith(cmd *cobra.Command, flag string, fn cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(err)
	}
}

// files leaves an argument to the shell, which knows files best.
func files(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// filesAfterAt offers the files that begin like what stands after an @, which a shell
// takes for a part of the name.
func filesAfterAt(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	path, ok := strings.CutPrefix(typed, "@")
	if !ok {
		return []cobra.Completion{"@", "-"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Join(".", dir))
	if filepath.IsAbs(dir) {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []cobra.Completion
	directive := cobra.ShellCompDirectiveNoFileComp
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), base) {
			continue
		}
		name := "@" + dir + e.Name()
		if e.IsDir() {
			name += string(filepath.Separator)
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		found = append(found, name)
	}
	return found, directive
}

// completeArguments leaves no argument to the shell that is no file: only the locator
// and the file of commits are.
func completeArguments(cmd *cobra.Command) {
	switch {
	case cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0:
	case !cmd.HasParent(), cmd.Name() == "commit":
		cmd.ValidArgsFunction = files
	default:
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, has := cmd.GetFlagCompletionFunc(f.Name); has || f.Name == "store" || f.Name == "into" || f.Value.Type() == "bool" {
			return
		}
		completeWith(cmd, f.Name, cobra.NoFileCompletions)
	})
	for _, sub := range cmd.Commands() {
		completeArguments(sub)
	}
}
