package locate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// AgentSession is a session that was found where its program keeps them. Its texts are
// foreign.
type AgentSession struct {
	Program string // "claude", "pi", "oh-my-pi", "openclaw", "codex" or "contree"
	ID      string
	Kind    string
	Title   string
	Parent  string  // the session that it was forked from or works for, "" none
	Project string  // the folder that it is about
	Updated float64 // epoch seconds, 0 unknown
	Size    int64   // in bytes, -1 unknown
	Path    string  // what to open
}

// AgentPrograms are the names that [AgentSession] has for programs.
func AgentPrograms() []string {
	return []string{"claude", "codex", "contree", "oh-my-pi", "openclaw", "pi"}
}

// agentPlace is where a program keeps its sessions.
type agentPlace struct {
	program string
	dir     string
	below   bool   // in folders below as well
	pattern string // of the names
}

// agentPlaces are the places that the programs' own settings and custom name.
func agentPlaces(env Environ) (places []agentPlace) {
	home := env.Get("HOME")
	if home == "" {
		home = env.Get("USERPROFILE")
	}
	in := func(variable string, below ...string) string {
		if dir := env.Get(variable); variable != "" && dir != "" {
			return expanded(dir, home)
		}
		if home == "" {
			return ""
		}
		return filepath.Join(append([]string{home}, below...)...)
	}
	add := func(program, dir, pattern string, below bool, more ...string) {
		if dir != "" {
			places = append(places, agentPlace{program, filepath.Join(append([]string{dir}, more...)...), below, pattern})
		}
	}
	const lines, tables = "*.jsonl", "*.db"
	add("claude", in("CLAUDE_CONFIG_DIR", ".claude"), lines, true, "projects")
	codex := in("CODEX_HOME", ".codex")
	add("codex", codex, lines, true, "sessions")
	add("codex", codex, lines, true, "archived_sessions")
	pi := in("PI_CODING_AGENT_DIR", ".pi", "agent")
	if dir := env.Get("PI_CODING_AGENT_SESSION_DIR"); dir != "" {
		add("pi", in("PI_CODING_AGENT_SESSION_DIR"), lines, true)
	} else {
		add("pi", pi, lines, true, "sessions")
		if dir := sessionDir(pi); dir != "" {
			add("pi", expanded(dir, home), lines, true)
		}
	}
	add("pi", pi, lines, false) // where one version left them
	add("oh-my-pi", in("", ".omp", "agent"), lines, true, "sessions")
	add("openclaw", in("", ".openclaw", "agents"), lines, true)
	config := in("XDG_CONFIG_HOME", ".config")
	if dir := env.Get("CONTREE_HOME"); dir != "" {
		add("contree", in("CONTREE_HOME"), tables, false, "cli", "sessions")
	} else {
		add("contree", config, tables, false, "contree", "cli", "sessions")
	}
	for _, old := range []string{config, in("", ".config")} { // where earlier releases left them
		add("contree", old, "sessions-*.db", false, "contree")
		add("contree", old, tables, false, "contree-cli")
	}
	return places
}

func expanded(dir, home string) string {
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return dir
}

// sessionDir is where the settings of pi have it keep its sessions, "" where they say
// nothing of that.
func sessionDir(agentDir string) string {
	text, err := os.ReadFile(filepath.Join(agentDir, "settings.json"))
	if err != nil {
		return ""
	}
	settings, err := store.ParseJSON(string(text))
	if err != nil {
		return ""
	}
	dir, _ := settings.Get("sessionDir").Text()
	return dir
}

// Agents lists the sessions that are found in the well-known places of programs, the
// newest first; program picks one of them, "" all. Of a file its beginning is read, of
// a database the rows that name sessions. What cannot be read is left out and said in
// notes. Nothing is written anywhere.
func Agents(ctx context.Context, env Environ, program string) (sessions []AgentSession, notes []string, err error) {
	seen := map[string]bool{}
	for _, p := range agentPlaces(env) {
		if program != "" && p.program != program {
			continue
		}
		found, err := p.sessions(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, foreign.ErrFormat):
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s: %v", p.program, err))
		}
		for _, s := range found {
			if key := s.Path + "\x00" + s.ID; !seen[key] {
				seen[key] = true
				sessions = append(sessions, s)
			}
		}
	}
	slices.SortStableFunc(sessions, func(a, b AgentSession) int {
		switch {
		case a.Updated > b.Updated:
			return -1
		case a.Updated < b.Updated:
			return 1
		}
		return strings.Compare(a.Path+"\x00"+a.ID, b.Path+"\x00"+b.ID)
	})
	return sessions, notes, nil
}

// sessions lists what is in one place. It may return both sessions and an error.
func (p agentPlace) sessions(ctx context.Context) (all []AgentSession, err error) {
	add := func(heads []foreign.Head, path string) {
		for _, h := range heads {
			s := AgentSession{Program: p.program, ID: h.ID, Kind: h.Kind, Title: h.Title, Parent: h.Parent, Project: h.Project, Updated: h.Updated, Size: h.Size, Path: h.Path}
			if s.Path == "" {
				s.Path = path
			}
			all = append(all, s)
		}
	}
	if p.pattern == "*.jsonl" {
		find := foreign.FilesBelow(p.dir, ".jsonl")
		if !p.below {
			find = p.files
		}
		r := foreign.NewLineReader(find, lineFormats())
		heads, err := r.Sessions(ctx)
		add(heads, "")
		if shut := r.Left().Shut; err == nil && len(shut) > 0 {
			err = fmt.Errorf("not listed, because it cannot be read: %s", naming(shut, error.Error))
		}
		return all, errors.Join(err, r.Close())
	}
	files, err := p.files(ctx)
	for _, path := range files {
		heads, herr := headsOf(ctx, path)
		if herr != nil {
			err = errors.Join(err, herr)
			continue
		}
		add(heads, path)
	}
	return all, err
}

// files are those in the place itself.
func (p agentPlace) files(context.Context) (found []string, err error) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if ok, err := filepath.Match(p.pattern, e.Name()); ok && err == nil && !e.IsDir() {
			found = append(found, filepath.Join(p.dir, e.Name()))
		}
	}
	return found, nil
}

// headsOf lists the sessions of a database; one that is none of a program's has none.
func headsOf(ctx context.Context, path string) (heads []foreign.Head, err error) {
	opened, err := openTables(ctx, target{path: path, shown: path}, Options{ReadOnly: true})
	if errors.Is(err, store.ErrNotAStore) {
		return nil, nil
	}
	if err != nil || opened == nil {
		return nil, err
	}
	heads, err = opened.Foreign.Heads(ctx)
	return heads, errors.Join(err, opened.Close())
}
