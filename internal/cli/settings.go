package cli

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
	"treering/ui"
	"treering/ui/config"
	"treering/ui/paint"
	"treering/ui/state"
)

// settings reads the user's, and all that is wrong with them.
func (a *app) settings() (config.Config, []config.Problem) {
	c, problems := config.Load(a.env)
	if c.Theme != "" && !slices.Contains(paint.Choices(), c.Theme) {
		p := config.Problem{Path: c.Path, Key: "theme", Text: (&paint.UnknownThemeError{Name: c.Theme}).Error()}
		p.Line, p.Column = config.At(c.Path, "theme")
		problems = append(problems, p)
		c.Theme = ""
	}
	return c, problems
}

// explorerOptions are what the explorer is started with on a store.
func (a *app) explorerOptions(o *locate.Opened) ui.Options {
	c, problems := a.settings()
	memory, notes := state.Open(a.env)
	opts := ui.Options{
		Opened: o, Input: a.stdin, Output: a.stdout, Env: a.env, Now: a.now, Zone: c.Zone, Theme: c.Theme,
		ASCII: a.screen.ascii, Settings: c, Problems: problems, State: memory, Notes: notes, Open: a.openOther,
	}
	if a.screen.theme != "" {
		opts.Theme = a.screen.theme
	}
	return opts
}

// openOther opens another store from inside the explorer. The flags were for the
// first: what another program made is read only.
func (a *app) openOther(ctx context.Context, locator string, prefix *string) (*locate.Opened, error) {
	if rest, ok := strings.CutPrefix(locator, "~"+string(filepath.Separator)); ok && !exists(locator) {
		home, err := os.UserHomeDir()
		if at := a.env.Get("HOME"); at != "" {
			home, err = at, nil
		}
		if err != nil {
			return nil, err
		}
		locator = filepath.Join(home, rest)
	}
	a.keys.add(locator)
	o, err := locate.Open(ctx, a.keys.whole(locator), locate.Options{Prefix: prefix})
	if err != nil {
		return nil, err
	}
	return explorable(o)
}

func (a *app) configCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Say where the configuration and what is remembered are, and what is in force",
		Long: "Say where the configuration and what is remembered are, and which settings are in force.\n\n" + configHelp +
			"\n\nWhat is wrong in the file is said with its line and column, and counts as not set; the file itself is never written.",
		Example: `treering config
treering config --json`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			c, problems := a.settings()
			problems = append(problems, ui.KeyProblems(c)...)
			return a.showConfig(c, problems)
		},
	}
}

func (a *app) showConfig(c config.Config, problems []config.Problem) error {
	statePath := ""
	if dir, err := locate.StateDir(a.env); err == nil {
		statePath = filepath.Join(dir, state.File)
	}
	theme, zone := c.Theme, "local"
	if theme == "" {
		theme = string(paint.Auto)
	}
	if c.Zone != nil {
		zone = c.Zone.String()
	}
	if a.json {
		return a.configLine(c, problems, statePath, theme, zone)
	}
	found := func(path string) string {
		switch {
		case path == "":
			return "nowhere: neither HOME nor a variable for it is set"
		case !exists(path):
			return path + " (not there)"
		}
		return path
	}
	flag := func(b *bool, unset string) string {
		switch {
		case b == nil:
			return unset
		case *b:
			return "true"
		}
		return "false"
	}
	editor := c.Editor
	if editor == "" {
		editor = "as VISUAL or EDITOR say"
	}
	rows := [][]string{
		{"configuration", found(c.Path)}, {"memory", found(statePath)}, {"theme", theme}, {"ascii", flag(c.ASCII, "as the locale says")},
		{"mouse", flag(c.Mouse, "true")}, {"zone", zone}, {"editor", editor},
	}
	for _, id := range slices.Sorted(maps.Keys(c.Keys)) {
		rows = append(rows, []string{"keys." + id, strings.Join(c.Keys[id], ", ")})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Views)) {
		rows = append(rows, []string{"views." + name, c.Views[name]})
	}
	for _, v := range c.ListViews {
		text := v.Subject.String() + ", " + v.Filter.Text()
		if v.Sort.By != "" {
			text += ", by " + v.Sort.String()
		}
		rows = append(rows, []string{"view." + v.Name, text})
	}
	for _, p := range problems {
		rows = append(rows, []string{"problem", p.String()})
	}
	for _, r := range rows {
		if err := a.out.linef("%-15s %s", r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) configLine(c config.Config, problems []config.Problem, statePath, theme, zone string) error {
	object := func(put func(*line)) store.JSON {
		var l line
		put(&l)
		return store.JSON(l.end())
	}
	keys := object(func(l *line) {
		for _, id := range slices.Sorted(maps.Keys(c.Keys)) {
			l.texts(id, c.Keys[id])
		}
	})
	views := object(func(l *line) {
		for _, name := range slices.Sorted(maps.Keys(c.Views)) {
			l.text(name, c.Views[name])
		}
	})
	lists := make([]store.JSON, len(c.ListViews))
	for i, v := range c.ListViews {
		lists[i] = object(func(l *line) {
			l.text("name", v.Name)
			l.text("subject", v.Subject.String())
			l.text("filter", v.Filter.Text())
			l.text("sort", v.Sort.String())
		})
	}
	list := make([]store.JSON, len(problems))
	for i, p := range problems {
		list[i] = problemJSON(p)
	}
	var l line
	place := func(k, path string) {
		if path == "" {
			l.null(k)
			return
		}
		l.text(k, path)
	}
	place("config", c.Path)
	l.boolean("found", c.Found)
	place("state", statePath)
	l.text("theme", theme)
	for _, f := range []struct {
		key string
		v   *bool
	}{{"ascii", c.ASCII}, {"mouse", c.Mouse}} {
		if f.v == nil {
			l.null(f.key)
		} else {
			l.boolean(f.key, *f.v)
		}
	}
	l.text("zone", zone)
	place("editor", c.Editor)
	l.json("keys", keys).json("views", views).json("view", store.ArrayOf(lists...)).json("problems", store.ArrayOf(list...))
	return a.out.jsonLine(&l)
}

func problemJSON(p config.Problem) store.JSON {
	var l line
	l.text("path", p.Path).integer("line", int64(p.Line)).integer("column", int64(p.Column)).text("key", p.Key).text("text", p.Text)
	return store.JSON(l.end())
}

func (a *app) keysCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "List the explorer's keys as they are in force, and what is wrong with them",
		Long: "List what the explorer can do, with the keys that are in force. The names in the column INTENT are those that [keys] in the configuration takes; " +
			"conflicts and keys that cannot be are said on standard error, and with --json in objects with a member problem.",
		Example: `treering keys
treering keys --json | jq -r 'select(.intent == "zoom").keys[]'`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error {
			c, problems := a.settings()
			problems = append(problems, ui.KeyProblems(c)...)
			t := a.out.table("", "INTENT", "KEYS", "WHERE", "WHAT")
			for _, k := range ui.KeyTable(c) {
				where := strings.Join(k.Panes, ", ")
				switch len(k.Panes) {
				case 0, 6:
					where = "everywhere"
				}
				if a.json {
					var l line
					l.text("intent", k.ID).texts("keys", k.Keys).texts("usual", k.Usual)
					if k.Panes == nil {
						l.null("panes")
					} else {
						l.texts("panes", k.Panes)
					}
					if err := a.out.jsonLine(l.text("what", k.Text).boolean("writes", k.Write)); err != nil {
						return err
					}
					continue
				}
				if err := t.row(k.ID, strings.Join(k.Keys, ", "), where, k.Text); err != nil {
					return err
				}
			}
			if !a.json {
				if err := t.end(); err != nil {
					return err
				}
			}
			return a.sayProblems(problems)
		},
	}
}

// sayProblems says what is wrong with the settings beside a list.
func (a *app) sayProblems(problems []config.Problem) error {
	for _, p := range problems {
		if a.json {
			var l line
			if err := a.out.jsonLine(l.json("problem", problemJSON(p))); err != nil {
				return err
			}
			continue
		}
		a.tell(p.String())
	}
	return nil
}
