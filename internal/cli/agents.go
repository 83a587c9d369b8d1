package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"treering/store"
	"treering/store/locate"
)

func (a *app) agentsCommand() *cobra.Command {
	var program string
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List the sessions that other programs keep on this machine",
		Long: "List the sessions in the places where Claude Code, Codex, pi and its relatives, and contree keep them, the newest first. " +
			"CLAUDE_CONFIG_DIR, CODEX_HOME, PI_CODING_AGENT_DIR, PI_CODING_AGENT_SESSION_DIR, CONTREE_HOME and XDG_CONFIG_HOME are heeded. " +
			"Only beginnings of files are read, and nothing is written. The last column is what to open: treering PATH.",
		Example: `treering agents --program claude
treering agents --json --limit 20`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if program != "" && !slices.Contains(locate.AgentPrograms(), program) {
				return usagef("--program: %q is none; there are %s", program, strings.Join(locate.AgentPrograms(), ", "))
			}
			found, notes, err := locate.Agents(cmd.Context(), a.env, program)
			if err != nil {
				return err
			}
			for _, n := range notes {
				a.tell(n)
			}
			return list(a, a.agentPrinter(), items(found...))
		},
	}
	cmd.Flags().StringVar(&program, "program", "", "only sessions of this `PROGRAM`: "+strings.Join(locate.AgentPrograms(), ", "))
	complete(cmd, "program", locate.AgentPrograms()...)
	return cmd
}

func (a *app) agentPrinter() printer[locate.AgentSession] {
	return printer[locate.AgentSession]{
		empty: "no sessions of other programs are where they are usually kept",
		head:  []string{"PROGRAM", "CHANGED", "SIZE", "PROJECT", "TITLE", "SESSION", "PATH"},
		json: func(l *line, s locate.AgentSession) {
			l.text("program", s.Program).text("session_id", s.ID).text("kind", s.Kind)
			putText(l, "title", s.Title)
			putText(l, "project", s.Project)
			putTime(l, "updated_at", s.Updated)
			putText(l, "parent_session", s.Parent)
			putSize(l, s.Size)
			l.text("path", s.Path)
		},
		row: func(s locate.AgentSession) []string {
			return []string{s.Program, changed(s.Updated), bytesText(s.Size), s.Project, s.Title, s.ID, s.Path}
		},
	}
}

func putText(l *line, key, s string) {
	if s == "" {
		l.null(key)
	} else {
		l.text(key, s)
	}
}

func putTime(l *line, key string, t float64) {
	if t == 0 {
		l.null(key)
	} else {
		l.seconds(key, t)
	}
}

func putSize(l *line, n int64) {
	if n < 0 {
		l.null("bytes")
	} else {
		l.integer("bytes", n)
	}
}

// changed is when something was written last.
func changed(t float64) string {
	if t == 0 {
		return ""
	}
	return stamp(t)
}

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n < 0:
		return ""
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// foreignPrinter lists the sessions of other programs' stores with what is known of
// them besides.
func (a *app) foreignPrinter(o *locate.Opened) printer[store.SessionInfo] {
	plain := a.sessionPrinter()
	return printer[store.SessionInfo]{
		empty: plain.empty,
		head:  []string{"SESSION", "KIND", "CHANGED", "PROJECT", "TITLE"},
		json: func(l *line, s store.SessionInfo) {
			h, _ := o.Foreign.Known(s.ID)
			plain.json(l, s)
			putText(l, "title", h.Title)
			putText(l, "project", h.Project)
			putTime(l, "updated_at", h.Updated)
			putText(l, "parent_session", h.Parent)
			putSize(l, h.Size)
			putText(l, "path", h.Path)
		},
		row: func(s store.SessionInfo) []string {
			h, _ := o.Foreign.Known(s.ID)
			return []string{s.ID, s.Kind, changed(h.Updated), h.Project, h.Title}
		},
	}
}
