package keymap

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Scope is where a key counts: one of the panes, by its number.
type Scope int

// Row is one intent of the table.
type Row struct {
	ID     string
	Keys   []string // the defaults, as [Parse] reads them; the first is the one shown
	Scopes []Scope  // nil: everywhere
}

// Place is a scope and what it is called in problems.
type Place struct {
	Scope Scope
	Name  string
}

// Problem is something that is wrong with a key map.
type Problem struct {
	ID      string // the intent; a name that is none where it is unknown
	Rival   string // the intent that has the key; "" where that is not the problem
	Key     string // as written; "" where the intent itself is the problem
	Text    string // in a sentence, with what was made of it
	Warning bool   // the key works all the same
}

func (p Problem) String() string { return p.Text }

// Map is what keys mean. It does not change.
type Map struct {
	bound  map[Scope]map[Chord]string
	prefix map[Scope]map[Chord]bool
	keys   map[string][]Chord
}

// Build makes the map of a table, with the keys of some intents replaced: a remap
// to an empty list unbinds. On one key of one scope there is one intent: the
// remapped one before one with its default, then the one that comes first in the
// table. What lost a key, and everything else that is wrong, is in the problems.
func Build(rows []Row, places []Place, remap map[string][]string) (*Map, []Problem) {
	b := builder{
		m:      &Map{bound: map[Scope]map[Chord]string{}, prefix: map[Scope]map[Chord]bool{}, keys: map[string][]Chord{}},
		places: places,
	}
	for _, p := range places {
		b.m.bound[p.Scope], b.m.prefix[p.Scope] = map[Chord]string{}, map[Chord]bool{}
	}
	names := make([]string, len(rows))
	for i, r := range rows {
		names[i] = r.ID
	}
	for _, id := range slices.Sorted(maps.Keys(remap)) {
		if !slices.Contains(names, id) {
			text := fmt.Sprintf("there is no intent %q", id)
			if like := Nearest(id, names); like != "" {
				text += fmt.Sprintf("; is it %q?", like)
			}
			b.problems = append(b.problems, Problem{ID: id, Text: text})
		}
	}
	for _, r := range rows {
		if keys, ok := remap[r.ID]; ok {
			b.bind(r, keys, true)
		}
	}
	for _, r := range rows {
		if _, ok := remap[r.ID]; !ok {
			b.bind(r, r.Keys, false)
		}
	}
	return b.m, b.problems
}

type builder struct {
	m        *Map
	places   []Place
	problems []Problem
}

func (b *builder) bind(r Row, keys []string, remapped bool) {
	for _, key := range keys {
		chord, err := Parse(key)
		if err != nil {
			b.problems = append(b.problems, Problem{ID: r.ID, Key: key, Text: r.ID + ": " + err.Error()})
			continue
		}
		if remapped {
			if text, warning := hindered(r.ID, chord); text != "" {
				b.problems = append(b.problems, Problem{ID: r.ID, Key: key, Text: r.ID + ": " + text, Warning: warning})
				if !warning {
					continue
				}
			}
		}
		b.place(r, chord)
	}
	if len(keys) > 0 && len(b.m.keys[r.ID]) == 0 {
		b.problems = append(b.problems, Problem{ID: r.ID, Text: r.ID + " has no key left; the palette runs it"})
	}
}

// place binds a chord wherever the row applies and nothing else has it.
func (b *builder) place(r Row, c Chord) {
	lost := map[string][]string{} // what stands in the way: in these places
	rivals := map[string]string{}
	placed, tried := false, 0
	for _, p := range b.places {
		if r.Scopes != nil && !slices.Contains(r.Scopes, p.Scope) {
			continue
		}
		tried++
		if by, id := b.rival(p.Scope, r.ID, c); id != "" {
			what := describe(c, by, r.ID, id)
			lost[what], rivals[what] = append(lost[what], p.Name), id
			continue
		}
		placed = true
		b.m.bound[p.Scope][c] = r.ID
		presses := c.Presses()
		for n := 1; n < len(presses); n++ {
			b.m.prefix[p.Scope][Join(presses[:n]...)] = true
		}
	}
	if placed && !slices.Contains(b.m.keys[r.ID], c) {
		b.m.keys[r.ID] = append(b.m.keys[r.ID], c)
	}
	for _, what := range slices.Sorted(maps.Keys(lost)) {
		where := "in the " + strings.Join(lost[what], ", ")
		if len(lost[what]) == len(b.places) {
			where = "everywhere"
		}
		b.problems = append(b.problems, Problem{ID: r.ID, Rival: rivals[what], Key: string(c), Text: what + " " + where})
	}
}

func describe(c, by Chord, loser, winner string) string {
	if c == by {
		return fmt.Sprintf("%s and %s are both on %q; %s keeps it", winner, loser, string(c), winner)
	}
	return fmt.Sprintf("%s on %q and %s on %q exclude each other; %s keeps its key", winner, string(by), loser, string(c), winner)
}

// rival returns the intent that stands in the way of a chord, and its own chord.
func (b *builder) rival(s Scope, id string, c Chord) (Chord, string) {
	bound := b.m.bound[s]
	if other, ok := bound[c]; ok && other != id {
		return c, other
	}
	for _, d := range slices.Sorted(maps.Keys(bound)) {
		if d.begins(c) || c.begins(d) {
			return d, bound[d]
		}
	}
	return "", ""
}

// hindered says why a key may not arrive; warning where it may all the same.
func hindered(id string, c Chord) (text string, warning bool) {
	for _, p := range c.Presses() {
		switch p {
		case "ctrl+c":
			if id != "quit" || len(c.Presses()) > 1 {
				return "ctrl+c always quits", false
			}
		case "ctrl+b":
			return "ctrl+b is tmux's prefix and arrives there only if it is pressed twice", true
		case "ctrl+i", "ctrl+m", "ctrl+[":
			same := map[string]string{"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "esc"}[p]
			return p + " is " + same + " in most terminals", true
		}
	}
	return "", false
}

// Lookup says what the presses mean in a scope: an intent, the beginning of
// longer chords, or neither.
func (m *Map) Lookup(s Scope, presses ...string) (id string, more bool) {
	c := Join(presses...)
	return m.bound[s][c], m.prefix[s][c]
}

// Keys are the chords of an intent, the one to show first; nil where it has none.
func (m *Map) Keys(id string) []Chord { return m.keys[id] }

// KeysIn are those of them that count in a scope.
func (m *Map) KeysIn(s Scope, id string) []Chord {
	var out []Chord
	for _, c := range m.keys[id] {
		if m.bound[s][c] == id {
			out = append(out, c)
		}
	}
	return out
}

// Next is a press that may follow a prefix.
type Next struct {
	Press string
	ID    string // the intent that it means; "" where more presses are to follow
	More  int    // how many chords go on from it
}

// After lists what may follow the presses, sorted by chord.
func (m *Map) After(s Scope, presses ...string) []Next {
	at := map[string]int{}
	var out []Next
	prefix := Join(presses...)
	for _, c := range slices.Sorted(maps.Keys(m.bound[s])) {
		if len(presses) > 0 && !prefix.begins(c) {
			continue
		}
		rest := c.Presses()[len(presses):]
		if len(rest) == 1 {
			out = append(out, Next{Press: rest[0], ID: m.bound[s][c]})
			continue
		}
		if _, ok := at[rest[0]]; !ok {
			at[rest[0]] = len(out)
			out = append(out, Next{Press: rest[0]})
		}
		out[at[rest[0]]].More++
	}
	return out
}

// Nearest is the name that was most likely meant; "" where none is near.
func Nearest(typed string, names []string) string {
	best, at := "", max(2, len(typed)/3)+1
	for _, name := range names {
		if d := distance(typed, name); d < at {
			best, at = name, d
		}
	}
	return best
}

// distance is how many bytes have to be put in, left out or replaced.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
