// Package config reads the explorer's configuration, a TOML file that only its
// user writes.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"treering/store/locate"
	"treering/store/query"
	"treering/ui/keymap"
)

// Config is what the file says. Its zero value is that of an empty file.
type Config struct {
	Theme  string         // a theme's name; "" leaves the choice to the program
	ASCII  *bool          // draw with ASCII characters only; nil: as the locale says
	Mouse  *bool          // take the mouse; nil: yes
	Zone   *time.Location // how times are shown; nil: the local zone
	Editor string         // a command line; "" leaves it to VISUAL and EDITOR
	// Keys replaces the keys of intents, by the intents' ids; an empty list unbinds.
	Keys map[string][]string
	// Views are saved filters by their names, for every list that has their fields.
	Views map[string]string
	// ListViews are saved filters of one kind of list each.
	ListViews []query.View

	Path  string // where the file is, or would be; "" where there is no such place
	Found bool
}

// Problem is something in the file that was not understood. What is not
// understood counts as not set.
type Problem struct {
	Path         string
	Line, Column int    // from 1; 0 where it is about the whole file
	Key          string // the setting, with its tables; "" where it is none of one
	Text         string
}

func (p Problem) String() string {
	s := p.Path
	if p.Line > 0 {
		s += fmt.Sprintf(":%d:%d", p.Line, p.Column)
	}
	if p.Key != "" {
		s += ": " + p.Key
	}
	return s + ": " + p.Text
}

// maxFile bounds the file, in bytes.
const maxFile = 1 << 20

// Load reads the file of [locate.ConfigPath]. Without a file everything is as in
// an empty one. It never writes.
func Load(env locate.Environ) (Config, []Problem) {
	path, err := locate.ConfigPath(env)
	if err != nil {
		return Config{}, nil // nowhere to look is as good as nothing there
	}
	text, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Config{Path: path}, nil
	case err != nil:
		return Config{Path: path, Found: true}, []Problem{{Path: path, Text: reason(err) + "; the defaults are used"}}
	}
	c, problems := Parse(text)
	c.Path, c.Found = path, true
	for i := range problems {
		problems[i].Path = path
	}
	return c, problems
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("it is no file, or one of more than %d bytes", maxFile)
	}
	return os.ReadFile(path)
}

// reason is an error without the path, which is said anyway.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// Parse reads the text of a configuration. A text that is no TOML is one problem
// with its place, and counts as empty; a setting that is wrong is left out alone.
func Parse(text []byte) (Config, []Problem) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		p := Problem{Text: strings.TrimPrefix(err.Error(), "toml: ") + "; the defaults are used"}
		var wrong *toml.DecodeError
		if errors.As(err, &wrong) {
			p.Line, p.Column = wrong.Position()
		}
		return Config{}, []Problem{p}
	}
	r := reader{source: text, at: positions(text)}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		r.setting(key, all[key])
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return a.Line - b.Line })
	return r.c, r.problems
}

// settings are the names that the file may have at its top, for the one that was
// meant where another is there.
var settings = [...]string{"theme", "ascii", "mouse", "zone", "editor", "keys", "views", "view"}

type reader struct {
	source   []byte
	c        Config
	at       map[string]unstable.Position
	problems []Problem
}

func (r *reader) complain(key, format string, args ...any) {
	// What a table lacks is where the table is.
	at, ok := r.at[key]
	for up := key; !ok && strings.Contains(up, "."); {
		up = up[:strings.LastIndexByte(up, '.')]
		at, ok = r.at[up]
	}
	r.problems = append(r.problems, Problem{Line: at.Line, Column: at.Column, Key: key, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) setting(key string, v any) {
	switch key {
	case "theme":
		r.text(key, v, &r.c.Theme)
	case "editor":
		r.text(key, v, &r.c.Editor)
	case "ascii":
		r.flag(key, v, &r.c.ASCII)
	case "mouse":
		r.flag(key, v, &r.c.Mouse)
	case "zone":
		var name string
		if !r.text(key, v, &name) {
			return
		}
		zone, err := Zone(name)
		if err != nil {
			r.complain(key, "%v", err)
			return
		}
		r.c.Zone = zone
	case "keys":
		r.keys(v)
	case "views":
		table, ok := v.(map[string]any)
		if !ok {
			r.complain(key, "is a table of names and filters: [views], then stuck = \"status:failed\"")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			var filter string
			if r.text("views."+name, table[name], &filter) {
				if r.c.Views == nil {
					r.c.Views = map[string]string{}
				}
				r.c.Views[name] = filter
			}
		}
	case "view":
		if _, ok := v.([]any); !ok {
			r.complain(key, "is a list of tables: [[view]], then name, subject and filter")
			return
		}
		r.listViews()
	default:
		if like := keymap.Nearest(key, settings[:]); like != "" {
			r.complain(key, "is no setting; is it %s?", like)
			return
		}
		r.complain(key, "is no setting; there are %s", strings.Join(settings[:], ", "))
	}
}

// listViews reads the [[view]] tables.
func (r *reader) listViews() {
	views, err := query.ParseViews(r.source)
	r.c.ListViews = views
	mistakes := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		mistakes = joined.Unwrap()
	}
	for _, err := range mistakes {
		var wrong *query.ViewError
		if errors.As(err, &wrong) {
			text := wrong.Message
			if wrong.Err != nil {
				text += wrong.Err.Error()
			}
			key := "view"
			if wrong.View != "" {
				key += "." + wrong.View
			}
			r.problems = append(r.problems, Problem{Line: wrong.Line, Column: 1, Key: key, Text: text})
		}
	}
}

// Zone returns a time zone by its name: local, utc, or one such as Europe/Paris.
func Zone(name string) (*time.Location, error) {
	switch strings.ToLower(name) {
	case "local":
		return time.Local, nil
	case "utc":
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return nil, fmt.Errorf("%q is no time zone known here; local, utc, or a name such as Europe/Paris", name)
	}
	return zone, nil
}

func (r *reader) text(key string, v any, into *string) bool {
	s, ok := v.(string)
	if !ok {
		r.complain(key, "is a text in quotes, not %s", kind(v))
		return false
	}
	*into = s
	return true
}

func (r *reader) flag(key string, v any, into **bool) {
	b, ok := v.(bool)
	if !ok {
		r.complain(key, "is true or false, not %s", kind(v))
		return
	}
	*into = &b
}

func (r *reader) keys(v any) {
	table, ok := v.(map[string]any)
	if !ok {
		r.complain("keys", `is a table of intents and keys: [keys], then zoom = ["x", "ctrl+x"]`)
		return
	}
	r.c.Keys = map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(table)) {
		key := "keys." + id
		list, ok := table[id].([]any)
		if one, single := table[id].(string); single {
			list, ok = []any{one}, true
		}
		if !ok {
			r.complain(key, `is a list of keys such as ["x", "ctrl+x", "g x"], not %s`, kind(table[id]))
			continue
		}
		keys, whole := []string{}, true
		for _, item := range list {
			s, ok := item.(string)
			if !ok {
				r.complain(key, "keys are texts in quotes, not %s", kind(item))
				whole = false
				break
			}
			keys = append(keys, s)
		}
		if whole {
			r.c.Keys[id] = keys
		}
	}
}

// kind names the type of a TOML value.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// At is where a setting, such as keys.zoom, is in the file, for problems that are
// found later; 0, 0 where it is not.
func At(path, key string) (line, column int) {
	text, err := read(path)
	if err != nil {
		return 0, 0
	}
	at := positions(text)[key]
	return at.Line, at.Column
}

// positions are the places of all settings in a text that is TOML.
func positions(text []byte) map[string]unstable.Position {
	out := map[string]unstable.Position{}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		name, first := "", true
		var at unstable.Position
		for it := e.Key(); it.Next(); {
			part := it.Node()
			if first {
				at, first = p.Shape(part.Raw).Start, false
			}
			name = joined(name, string(part.Data))
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = name
		case unstable.KeyValue:
			name = joined(table, name)
		default:
			continue
		}
		if _, ok := out[name]; !ok {
			out[name] = at
		}
	}
	return out
}

func joined(table, name string) string {
	if table == "" {
		return name
	}
	return table + "." + name
}
