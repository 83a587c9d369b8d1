package ui

import (
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/ui/keymap"
)

// openHelp lists every intent with its keys. Typing finds them by text or by key.
func openHelp(m *Model, _ string) tea.Cmd {
	m.pickFrom(&picker{
		title: term.Lit("Keys"), prompt: "type a word or a key to find what it does; enter does it",
		empty: "nothing here has that text or that key",
		list:  helpPicks, findsKeys: true,
	}, "")
	return nil
}

// helpPicks are the intents: by where they apply, those of the focused pane
// first; or those that were looked for, whoever has that key first.
func helpPicks(m *Model, typed string) []pick {
	if strings.TrimSpace(typed) != "" {
		var out []pick
		for _, it := range m.keys.find(typed) {
			out = append(out, m.helpPick(it))
		}
		return out
	}
	var out []pick
	section := func(title string, want func(*intent) bool) {
		var rows []pick
		for i := range m.keys.table {
			if it := &m.keys.table[i]; want(it) {
				rows = append(rows, m.helpPick(it))
			}
		}
		if len(rows) > 0 {
			if len(out) > 0 {
				out = append(out, pick{})
			}
			out = append(append(out, pick{text: term.Lit(title), style: m.theme.Bold}), rows...)
		}
	}
	here := func(it *intent) bool { return it.Panes != nil && len(it.Panes) < 6 && it.appliesIn(m.focus) }
	section("In the "+paneNames[m.focus], here)
	section("Moving", func(it *intent) bool { return len(it.Panes) == 6 })
	section("Everywhere", func(it *intent) bool { return it.Panes == nil })
	section("Elsewhere", func(it *intent) bool { return it.Panes != nil && !it.appliesIn(m.focus) })
	return out
}

// helpPick is an intent with its keys, and why it cannot be used.
func (m *Model) helpPick(it *intent) pick {
	return pick{id: it.ID, key: m.chordNames(m.keysOf(it)), text: term.Lit(it.Long), note: m.hindrance(it),
		run: func(m *Model) tea.Cmd { return m.invoke(it) }}
}

func (m *Model) chordNames(chords []keymap.Chord) term.Text {
	keys := make([]term.Text, len(chords))
	for i, c := range chords {
		keys[i] = m.chordName(c)
	}
	sep := term.Spaces(1)
	if slices.ContainsFunc(chords, func(c keymap.Chord) bool { return len(c.Presses()) > 1 }) {
		sep = term.Lit(", ")
	}
	return term.Join(sep, keys...)
}

// hindrance is why an intent cannot be used here and now.
func (m *Model) hindrance(it *intent) term.Text {
	if it.appliesIn(m.focus) {
		return m.term.Sanitise(it.disabled(m))
	}
	names := make([]string, len(it.Panes))
	for i, p := range it.Panes {
		names[i] = paneNames[p]
	}
	return term.Lit("in " + strings.Join(names, ", "))
}

// find returns the intents that have a key, then those that have all words in
// their names, then those that have them in what they say.
func (k *keyState) find(typed string) []*intent {
	var byKey, byName, byText []*intent
	chord, _ := keymap.Parse(typed) // "", where it is none, is nobody's
	words := strings.Fields(strings.ToLower(typed))
	for i := range k.table {
		it := &k.table[i]
		keys := k.bound.Keys(it.ID)
		if slices.Contains(keys, chord) || slices.ContainsFunc(keys, func(c keymap.Chord) bool {
			return chord != "" && strings.HasPrefix(string(c), string(chord)+" ")
		}) {
			byKey = append(byKey, it)
			continue
		}
		has := func(texts ...string) bool {
			text := strings.ToLower(strings.Join(texts, "\n"))
			return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
		}
		switch keys := string(keymap.Join(chordTexts(keys)...)); {
		case has(it.ID, it.Short):
			byName = append(byName, it)
		case has(it.ID, it.Short, it.Long, it.Group, keys):
			byText = append(byText, it)
		}
	}
	return slices.Concat(byKey, byName, byText)
}

func chordTexts(chords []keymap.Chord) []string {
	out := make([]string, len(chords))
	for i, c := range chords {
		out[i] = string(c)
	}
	return out
}

// aboutStore says what is known of the store and of how it is open.
func aboutStore(m *Model) *overlay {
	o := &overlay{title: term.Lit("This store")}
	put := func(key, text string) {
		if text != "" {
			o.lines = append(o.lines, overlayLine{key: term.Lit(key), text: m.term.Sanitise(text)})
		}
	}
	in := m.info
	how, why := m.opened.How()
	put("locator", in.Locator)
	put("path", in.Path)
	if last := len(o.lines) - 1; in.Path != "" && term.KnowsLinks(m.env) && !m.plain {
		o.lines[last].link = term.FileLink(in.Path)
	}
	put("backend", in.Backend)
	put("open", how)
	put("because", why)
	if w, ok := m.opened.Watcher.(store.Waiter); ok {
		put("changes", w.Noticing())
	}
	put("journal", in.JournalMode)
	put("schema", in.SchemaInfo)
	for _, s := range in.Sets {
		text := "tables without a prefix"
		if s.Prefix != "" {
			text = s.Prefix + "_"
		}
		if s.Executions != nil {
			text += ", " + strconv.FormatInt(*s.Executions, 10) + " executions"
		}
		if s.Open {
			text += ", open"
		}
		if len(s.Missing) > 0 {
			text += "; missing: " + strings.Join(s.Missing, ", ")
		}
		put("executions", text)
	}
	if since, why := m.opened.Behind(); !since.IsZero() {
		put("old", "since "+m.clockOf(since, false)+": "+why)
	}
	if m.live.err != nil {
		put("lost", m.reason(m.live.err))
	}
	if err := m.again.err; err != nil && (m.live.err == nil || err.Error() != m.live.err.Error()) {
		put("unread", m.reason(err))
	}
	if m.counts.known {
		put("counts", m.counts.summary())
	}
	if m.ts != nil {
		put("sessions", "yes")
	} else {
		put("sessions", "none in this store")
	}
	put("transport", strings.Join(in.Transport, ", "))
	for _, n := range in.Notes {
		put("note", n)
	}
	for _, w := range m.tree.told.bad.lines {
		put("warning", w)
	}
	if more := m.tree.told.bad.count - int64(len(m.tree.told.bad.lines)); more > 0 {
		put("warning", "and "+strconv.FormatInt(more, 10)+" more")
	}
	put("settings", m.made.settings.Path)
	for _, c := range m.made.complaints {
		put("problem", c)
	}
	put("memory", m.memory.Path())
	return o
}
