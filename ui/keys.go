package ui

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/keymap"
	"treering/ui/layout"
)

// keyState is what keys mean, and the beginning of a chord that was pressed.
type keyState struct {
	table    []intent
	byID     map[string]*intent
	bound    *keymap.Map
	problems []keymap.Problem
	pending  []string // presses of a chord that goes on
}

// places are the scopes of keys: the panes.
func places() []keymap.Place {
	var out []keymap.Place
	for _, p := range layout.Panes() {
		out = append(out, keymap.Place{Scope: keymap.Scope(p), Name: paneNames[p]})
	}
	return out
}

// keyRows is a table of intents as a key map is made of it.
func keyRows(table []intent) []keymap.Row {
	out := make([]keymap.Row, len(table))
	for i, it := range table {
		out[i] = keymap.Row{ID: it.ID, Keys: it.Keys}
		for _, p := range it.Panes {
			out[i].Scopes = append(out[i].Scopes, keymap.Scope(p))
		}
	}
	return out
}

// lastKeys are those that lead to the palette where the settings leave it none.
var lastKeys = [...]string{":", "f2", "f3", "f4", "f5"}

// bind makes the key map of a table, with the keys of some intents replaced. ctrl+c
// quits whatever they say. The palette is never without a key: it leads to what has
// none.
func bind(table []intent, remap map[string][]string) keyState {
	k := keyState{table: table, byID: map[string]*intent{}}
	if keys, ok := remap["quit"]; ok && !slices.Contains(keys, "ctrl+c") {
		remap = maps.Clone(remap)
		remap["quit"] = append(slices.Clone(keys), "ctrl+c")
	}
	rows := keyRows(table)
	k.bound, k.problems = keymap.Build(rows, places(), remap)
	wanted := map[keymap.Chord]bool{} // by the settings
	for _, keys := range remap {
		for _, key := range keys {
			if c, err := keymap.Parse(key); err == nil {
				wanted[c] = true
			}
		}
	}
	for i := 0; i < len(lastKeys) && len(k.bound.Keys("palette")) == 0; i++ {
		if wanted[keymap.Chord(lastKeys[i])] {
			continue
		}
		again := map[string][]string{}
		maps.Copy(again, remap)
		again["palette"] = []string{lastKeys[i]}
		bound, problems := keymap.Build(rows, places(), again)
		if len(bound.Keys("palette")) == 0 {
			continue
		}
		left := slices.DeleteFunc(k.problems, func(p keymap.Problem) bool { return p.ID == "palette" && p.Key == "" })
		for _, p := range left {
			if !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
		k.bound, k.problems = bound, append(problems, keymap.Problem{ID: "palette",
			Text: "palette has no key left; it is on " + strconv.Quote(lastKeys[i]) + " all the same, since it runs what has none"})
	}
	for i := range table {
		k.byID[table[i].ID] = &table[i]
	}
	return k
}

func (it *intent) appliesIn(p layout.Pane) bool {
	return it.Panes == nil || slices.Contains(it.Panes, p)
}

// namesOf are the names by which a key press may be bound: its own, and where the
// layout has no Latin letters, that of the letter on a US keyboard.
func namesOf(msg tea.KeyPressMsg) []string {
	name := msg.String()
	out := []string{name}
	if msg.BaseCode != 0 && (msg.Mod == 0 || msg.Mod == tea.ModShift) {
		base := msg.BaseCode
		if msg.Mod == tea.ModShift {
			base = unicode.ToUpper(base)
		}
		out = append(out, string(base))
	}
	if letter, ok := keymap.Latin(name); ok {
		out = append(out, letter)
	}
	return out
}

// lookup says which intent the presses mean in the focused pane, or that they
// begin a chord.
func (m *Model) lookup(presses ...string) (it *intent, more bool) {
	id, more := m.keys.bound.Lookup(keymap.Scope(m.focus), presses...)
	return m.keys.byID[id], more
}

// press does what a key, or the chord that ends with it, is bound to.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	before := m.keys.pending
	m.keys.pending = nil
	names := namesOf(msg)
	for _, name := range names {
		it, more := m.lookup(append(slices.Clone(before), name)...)
		switch {
		case more:
			m.keys.pending = append(slices.Clone(before), name)
			m.unsay()
			return nil
		case it != nil:
			if it.Repeat && len(before) > 0 {
				m.keys.pending = before
			}
			return m.do(it, name)
		}
	}
	switch {
	case len(before) == 0:
		m.refused(m.noKey(names[0]))
	case names[0] != "esc": // which leaves the chord
		m.refused(strings.Join(append(before, names[0]), " ") + " is no key here; " + m.keyFor("help") + " lists them")
	}
	return nil
}

// do does what is wanted, or says why it cannot be done.
func (m *Model) do(it *intent, key string) tea.Cmd {
	if reason := it.disabled(m); reason != "" {
		m.refused(it.Short + ": " + reason)
		return nil
	}
	return it.do(m, key)
}

// invoke does what was chosen in a list of all intents: where it is for other
// panes than the focused one, in the first of those.
func (m *Model) invoke(it *intent) tea.Cmd {
	if it.appliesIn(m.focus) {
		return m.do(it, "")
	}
	there := m.focusOn(it.Panes[0])
	return tea.Batch(there, m.do(it, ""))
}

// anywhere does what keys do whatever is open: ctrl+c always quits, and what is
// bound to a key that types nothing suspends.
func (m *Model) anywhere(msg tea.KeyPressMsg) (tea.Cmd, bool) {
	name := msg.String()
	if name == "ctrl+c" {
		return m.quit(), true
	}
	if it, _ := m.lookup(name); it != nil && it.ID == "suspend-program" && keymap.Chord(name).Modified() {
		return m.do(it, name), true
	}
	return nil, false
}

// keyFor is the key of an intent, for a sentence.
func (m *Model) keyFor(id string) string {
	keys := m.keys.bound.KeysIn(keymap.Scope(m.focus), id)
	if len(keys) == 0 {
		keys = m.keys.bound.Keys(id)
	}
	if len(keys) > 0 || id == "palette" { // which has one
		return string(keys[0])
	}
	return m.keyFor("palette") + " " + id
}

// keysOf are the keys of an intent that are shown: those that count in the focused
// pane, or where it is for other panes, all.
func (m *Model) keysOf(it *intent) []keymap.Chord {
	if it.appliesIn(m.focus) {
		return m.keys.bound.KeysIn(keymap.Scope(m.focus), it.ID)
	}
	return m.keys.bound.Keys(it.ID)
}

// noKey says what a key that does nothing here would do elsewhere.
func (m *Model) noKey(name string) string {
	for i := range m.keys.table {
		it := &m.keys.table[i]
		if it.Panes != nil && slices.Contains(m.keys.bound.Keys(it.ID), keymap.Chord(name)) {
			return it.Short + ": not in the " + paneNames[m.focus] + "; it is for the " + m.paneList(it.Panes)
		}
	}
	return name + " is no key here; " + m.keyFor("help") + " lists them"
}

var paneNames = [...]string{layout.Navigator: "navigator", layout.Tree: "tree", layout.Ancestry: "ancestry", layout.Detail: "detail",
	layout.Trace: "trace", layout.Queues: "queues"}

// paneList names panes, with the keys that lead to them.
func (m *Model) paneList(panes []layout.Pane) string {
	parts := make([]string, len(panes))
	for i, p := range panes {
		parts[i] = paneNames[p] + " (" + m.keyFor("focus-"+paneNames[p]) + ")"
	}
	return strings.Join(parts, ", ")
}

// chordName is how a chord is shown.
func (m *Model) chordName(c keymap.Chord) term.Text {
	var parts []term.Text
	for _, p := range c.Presses() {
		parts = append(parts, m.keyName(p))
	}
	return term.Join(term.Spaces(1), parts...)
}

// keyName is how one press is shown.
func (m *Model) keyName(key string) term.Text {
	if !m.ascii {
		switch key {
		case "up":
			return term.Lit("↑")
		case "down":
			return term.Lit("↓")
		case "left":
			return term.Lit("←")
		case "right":
			return term.Lit("→")
		}
	}
	return term.Lit(key)
}

// hintKeys are the keys of intents that share a place in the footer: a range where
// they are digits in a row.
func (m *Model) hintKeys(group []*intent) term.Text {
	var parts []term.Text
	digits := true
	for i, it := range group {
		keys := m.keysOf(it)
		if len(keys) == 0 {
			continue
		}
		k := string(keys[0])
		digits = digits && len(k) == 1 && k[0] >= '0' && k[0] <= '9' && (i == 0 || len(parts) == 0 || k[0] == parts[len(parts)-1].String()[0]+1)
		parts = append(parts, m.chordName(keys[0]))
	}
	if digits && len(parts) > 2 {
		return parts[0].Plus(term.Lit("-"), parts[len(parts)-1])
	}
	return term.Join(term.Lit("/"), parts...)
}

// narrowHints is below which width the footer has room for little more than moving,
// and how to come to the rest.
const narrowHints = 60

// hints are the footer: what is most useful where the user is.
func (m *Model) hints() []hint {
	switch b := m.typing(); {
	case m.aid != nil:
		return m.aid.hints(m)
	case m.dialog != nil:
		return append(m.dialog.hints(m), m.aidHint(m.dialog.editing()))
	case m.overlay != nil:
		_, _, typed := m.overlay.aid(m)
		return append(m.overlay.hints(m), m.aidHint(typed))
	case b != nil:
		return []hint{{term.Lit("enter"), term.Lit("keep")}, {term.Lit("esc"), term.Lit("clear")}, {term.Lit("tab"), term.Lit("complete")}, m.aidHint(!b.input.Empty())}
	case m.finding():
		return []hint{{term.Lit("enter"), term.Lit("stay")}, {term.Lit("esc"), term.Lit("back")}, m.aidHint(!m.detail.find.input.Empty())}
	case len(m.keys.pending) > 0:
		return []hint{{m.chordName(keymap.Join(m.keys.pending...)), term.Lit("…")}, {term.Lit("esc"), term.Lit("leave it")}}
	}
	var shown []*intent
	narrow := m.width < narrowHints
	rank := func(it *intent) int {
		switch {
		case narrow && it.Group == "pane":
			return 3
		case narrow && it.Write: // there is room for what is needed first
			return it.Foot + 10
		}
		return it.Foot
	}
	for i := range m.keys.table {
		it := &m.keys.table[i]
		// What cannot be used is left to the help, which says why; writing keys of a
		// read-only store would only be in the way.
		if it.Foot > 0 && (narrow || it.Group != "move") && it.appliesIn(m.focus) && len(m.keysOf(it)) > 0 && it.disabled(m) == "" {
			shown = append(shown, it)
		}
	}
	slices.SortStableFunc(shown, func(a, b *intent) int { return rank(a) - rank(b) })
	out := make([]hint, 0, len(shown))
	for len(shown) > 0 {
		n := 1
		for shown[0].Group != "" && n < len(shown) && shown[n].Group == shown[0].Group {
			n++
		}
		text := shown[0].Short
		switch {
		case shown[0].Group != "":
			text = shown[0].Group
		case shown[0].ID == "copy":
			text = m.copyWord()
		}
		out = append(out, hint{m.hintKeys(shown[:n]), term.Lit(text)})
		shown = shown[n:]
	}
	return out
}

// aidHint is the key that shows the keys of what is open.
func (m *Model) aidHint(typed bool) hint {
	key := term.Lit(aidKey)
	if keys := m.keysOf(m.keys.byID["help"]); len(keys) > 0 && !typed {
		key = m.chordName(keys[0])
	}
	return hint{key, term.Lit("keys")}
}

// continuations are what may follow the keys of a chord that were pressed.
func (m *Model) continuations() []hint {
	var out []hint
	at := map[string]int{}
	for _, next := range m.keys.bound.After(keymap.Scope(m.focus), m.keys.pending...) {
		if next.ID == "" {
			out = append(out, hint{m.keyName(next.Press), term.Lit("…")})
			continue
		}
		if i, ok := at[next.ID]; ok {
			out[i].keys = out[i].keys.Plus(term.Spaces(1), m.keyName(next.Press))
			continue
		}
		at[next.ID] = len(out)
		out = append(out, hint{m.keyName(next.Press), term.Lit(m.keys.byID[next.ID].Short)})
	}
	return out
}
