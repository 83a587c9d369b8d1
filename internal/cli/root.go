package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
)

// rootCommand builds the whole command tree.
func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "treering [LOCATOR]",
		Short: "A terminal explorer for session trees and executions",
		Long:  rootHelp + "\n\nEnvironment:\n\n" + environmentHelp + "\n\nFiles here:\n\n" + a.placesHelp() + "\n\n" + configHelp + "\n\nExit codes:\n\n" + exitHelp,
		Example: `# the explorer on a file
treering shop.db
# the explorer on a seeded store
treering demo
# a list for a script
treering -s shop.db executions --status RUNNING --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%q is not a command; to run one on the store %q write: treering -s STORE COMMAND", args[0], args[0])
			}
			return nil
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.storeGiven, a.prefixGiven = cmd.Flags().Changed("store"), cmd.Flags().Changed("prefix")
			if err := checkFlags(cmd); err != nil {
				return err
			}
			if a.raw && a.json {
				return usagef("--raw and --json exclude each other")
			}
			_, err := store.PageRequest{Limit: a.limit}.Size()
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.explore(cmd, args) },
	}
	root.Version = thisBuild().String()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(a.stdin)
	root.SetOut(a.out)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)

	f := root.PersistentFlags()
	f.StringVarP(&a.store, "store", "s", "", "open this `STORE`, instead of $TREERING_STORE or the default one")
	f.BoolVar(&a.rw, "rw", false, "open for writing what another program made")
	f.BoolVar(&a.create, "create", false, "make the file if it is missing or empty; with --rw a command that writes adds tables that are lacking, and says so")
	f.StringVar(&a.prefix, "prefix", "", "the execution tables with this `PREFIX`, where a file holds several sets")
	f.IntVar(&a.limit, "limit", 0, "list no more than `N`; 0, the default, lists all")
	f.BoolVar(&a.json, "json", false, "one JSON object a line")
	f.BoolVar(&a.jsonArgs, "json-args", false, "read arguments and ids that begin with a double quote as JSON strings: some ids cannot be typed")

	a.explorerFlags(root)

	root.AddGroup(
		&cobra.Group{ID: "trees", Title: "session trees"},
		&cobra.Group{ID: "executions", Title: "executions"},
	)
	group := func(id string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.AddCommand(a.demoCommand(), a.infoCommand(), a.agentsCommand(), a.configCommand(), a.keysCommand(), a.versionCommand(), a.manCommand())
	group("trees", a.sessionsCommand(), a.sessionCommand(), a.treeCommand(), a.nodesCommand(), a.nodeCommand(),
		a.historyCommand(), a.childrenCommand(), a.appendCommand())
	group("executions", a.executionsCommand(), a.executionCommand(), a.traceCommand(), a.watchCommand(), a.outboxCommand(), a.spawnsCommand(),
		a.timersCommand(), a.transportCommand(), a.sendCommand(), a.commitCommand(), a.ackCommand(), a.fireCommand(), a.controlCommand(store.Suspend),
		a.controlCommand(store.Resume), a.controlCommand(store.CancelGently), a.controlCommand(store.Terminate))
	root.AddCommand(a.importCommand(), a.exportCommand(), a.checkCommand(), a.purgeCommand())
	root.SetHelpCommand(a.helpCommand())
	root.SuggestionsMinimumDistance = 2
	needsCommand(root, "completion")
	completeArguments(root)
	a.markRunning(root)
	return root
}

// markRunning notes when a command's own work begins: whatever cobra refuses before
// it is an error in what was typed.
func (a *app) markRunning(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			a.running = true
			args, err := a.decodeArgs(cmd, args)
			if err != nil {
				return err
			}
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		a.markRunning(sub)
	}
}

// needsCommand makes the completion command, which cobra adds, refuse a shell that
// it does not know, where cobra's own shows its help.
func needsCommand(root *cobra.Command, name string) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == name {
			cmd.Args, cmd.RunE = onlyBelow, onlyBelow
		}
	}
}

// onlyBelow is for commands that do nothing themselves.
func onlyBelow(cmd *cobra.Command, args []string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	if len(args) > 0 {
		return usagef("%s has no command %q; it has %s", named(cmd), args[0], strings.Join(names, ", "))
	}
	return usagef("%s needs a command: %s", named(cmd), strings.Join(names, ", "))
}

// helpCommand is cobra's, with an unknown topic as an error like any other.
func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q to explain", strings.Join(args, " "))
			}
			return topic.Help()
		},
	}
}

// named is a command's name in an error, which begins with the program's.
func named(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// exactly is cobra's check of the number of arguments, with their names.
func exactly(names ...string) cobra.PositionalArgs { return between(len(names), len(names), names...) }

func between(least, most int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s needs %s", named(cmd), strings.Join(names[len(args):least], " and "))
		case most >= 0 && len(args) > most:
			return usagef("%s does not take %q", named(cmd), args[most])
		}
		return nil
	}
}

// rawFlag adds --raw to a command.
func (a *app) rawFlag(cmd *cobra.Command, what string) *cobra.Command {
	cmd.Flags().BoolVar(&a.raw, "raw", false, "print "+what+" as stored, byte for byte")
	return cmd
}
