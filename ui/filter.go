package ui

import (
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/store/query"
	"treering/ui/field"
	"treering/ui/layout"
	"treering/ui/when"
)

// maxFilter bounds a filter, in bytes.
const maxFilter = 4000

// filterBar is the filter of one list. It counts as it is typed: while there is a
// mistake in it, the one before it counts on.
type filterBar struct {
	subject query.Subject
	query   *query.Query // that counts; nil: everything is shown
	mistake *query.Error // in what is typed
	asked   bool         // enter was pressed, so that an unfinished text is a mistake too
	input   *field.Field // while it is typed
	offers  offers
	words   vocabulary // seen since it was opened: what is typed may leave no row to see any in

	changed func(m *Model) tea.Cmd          // another query counts
	drawn   func()                          // the bar shows something else
	seen    func(m *Model) query.Vocabulary // in the rows so far
}

// offers are completions that a key goes through.
type offers struct {
	base   string // what was typed
	list   []query.Completion
	at     int
	taking bool // one of them is in the field
}

// on reports whether something is filtered.
func (b *filterBar) on() bool { return b.query != nil }

// text is the filter that counts.
func (b *filterBar) text() string {
	if b.query == nil {
		return ""
	}
	return b.query.Text()
}

// barOf is the filter of the list in a pane; nil where there is none.
func (m *Model) barOf(p layout.Pane) *filterBar {
	switch p {
	case layout.Navigator:
		return m.nav.bar()
	case layout.Tree, layout.Ancestry:
		return &m.tree.filter.bar
	case layout.Trace:
		return &m.trace.bar
	case layout.Queues:
		return m.queues.bar()
	default: // the detail pane has a search of its own
		return nil
	}
}

// typing is the filter that is being typed; nil where none is.
func (m *Model) typing() *filterBar {
	if b := m.barOf(m.focus); b != nil && b.input != nil && m.focus != layout.Ancestry {
		return b
	}
	return nil
}

// filterable says why the focused list cannot be filtered; "" where it can.
func filterable(m *Model) string {
	switch m.focus {
	case layout.Navigator:
		if len(m.nav.views) == 0 {
			return "nothing is listed here"
		}
	case layout.Tree, layout.Ancestry:
		if m.tree.of.kind == nothing {
			return "nothing is selected"
		}
	case layout.Queues:
		if m.queues.tab == transportTab {
			return "the transport has no filter; " + m.keyFor("whole-store") + " lists one queue or all"
		}
		return executionsOnly(m)
	case layout.Trace:
		return executionsOnly(m)
	default: // it has no list
	}
	return ""
}

// editFilter opens the filter line of the focused list.
func editFilter(m *Model, _ string) tea.Cmd {
	if m.focus == layout.Ancestry {
		m.setFocus(layout.Tree)
	}
	b := m.barOf(m.focus)
	b.input, b.words = field.New(b.text(), maxFilter), vocabulary{}
	b.offer(m)
	b.drawn()
	m.screen.bars()
	return nil
}

// key edits the filter. enter keeps it, esc clears it; tab goes through what could
// stand at the cursor.
func (b *filterBar) key(m *Model, name, text string) tea.Cmd {
	b.drawn()
	switch name {
	case "enter":
		if b.mistake != nil {
			b.asked = true
			return nil
		}
		b.close(m)
		return nil
	case "esc":
		b.close(m)
		return b.set(m, nil)
	case "down", "up":
		b.close(m)
		list, _ := m.focused()
		if name == "down" {
			return list.move(m, 1)
		}
		return nil
	case "tab":
		return b.complete(m, 1)
	case "shift+tab":
		return b.complete(m, -1)
	}
	if !b.input.Key(name) {
		if text == "" {
			return nil
		}
		return b.typed(m, text)
	}
	return b.edited(m)
}

// typed adds a text at the cursor.
func (b *filterBar) typed(m *Model, text string) tea.Cmd {
	b.drawn()
	// A paste may have several lines; in a filter they are blanks.
	if !b.input.Insert(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, text)) {
		m.refused("the filter is too long")
		return nil
	}
	return b.edited(m)
}

// edited makes what is typed count.
func (b *filterBar) edited(m *Model) tea.Cmd {
	b.offers, b.asked = offers{}, false
	cmd := b.parse(m, b.input.Text())
	b.offer(m)
	return cmd
}

// parse makes a text count, unless there is a mistake in it.
func (b *filterBar) parse(m *Model, text string) tea.Cmd {
	b.drawn()
	q, err := query.Parse(text, b.subject)
	b.mistake = nil
	if err != nil {
		if !errors.As(err, &b.mistake) {
			m.refused(err.Error())
		}
		return nil
	}
	if q.Empty() {
		q = nil
	}
	return b.set(m, q)
}

// filterBy filters the focused list by a text that is whole, "" for none.
func (m *Model) filterBy(text string) tea.Cmd {
	b := m.barOf(m.focus)
	if reason := filterable(m); reason != "" || b == nil {
		m.refused("filter: " + reason)
		return nil
	}
	cmd := b.parse(m, text)
	switch {
	case b.mistake != nil:
		m.refused("the filter: " + b.mistake.Error())
		b.mistake = nil
	case b.on():
		m.say("the filter is " + b.text())
	default:
		m.say("the filter is off")
	}
	return cmd
}

// set makes a query count, nil for none.
func (b *filterBar) set(m *Model, q *query.Query) tea.Cmd {
	b.mistake, b.asked = nil, false
	was := b.query
	if b.query = q; (was == nil) == (q == nil) && (q == nil || was.String() == q.String()) {
		return nil
	}
	b.drawn()
	return b.changed(m)
}

// close ends the typing. What counts is the last text without a mistake.
func (b *filterBar) close(m *Model) {
	b.input, b.mistake, b.asked, b.offers = nil, nil, false, offers{}
	b.drawn()
	m.screen.bars()
}

// clear shows everything.
func (b *filterBar) clear(m *Model) tea.Cmd {
	b.close(m)
	return b.set(m, nil)
}

// offer finds what could stand at the cursor.
func (b *filterBar) offer(m *Model) {
	for name, values := range b.seen(m).Values {
		for _, v := range values {
			b.words.add(name, v)
		}
	}
	b.offers = offers{base: b.input.Text()}
	b.offers.list = slices.DeleteFunc(query.Complete(b.offers.base, b.input.Cursor(), b.subject, b.words.words()), func(c query.Completion) bool {
		return c.Kind == query.CompleteOperator || b.offers.base[c.From:c.To] == c.Text
	})
}

// complete puts the next completion, or the one before, in place of what is typed.
func (b *filterBar) complete(m *Model, by int) tea.Cmd {
	o := b.offers
	n := len(o.list)
	if n == 0 {
		return nil
	}
	switch {
	case o.taking:
		o.at = (o.at + by + n) % n
	case by < 0:
		o.at = n - 1
	}
	o.taking = true
	c := o.list[o.at]
	if !b.input.SetAt(o.base[:c.From]+c.Text+o.base[c.To:], c.From+len(c.Text)) {
		m.refused("the filter is too long")
		return nil
	}
	b.asked = false
	cmd := b.parse(m, b.input.Text())
	// The only one is taken for good: what can follow it is offered then.
	if n == 1 {
		b.offer(m)
	} else {
		b.offers = o
	}
	return cmd
}

// vocabulary collects the values of fields, up to so many of each.
type vocabulary map[string][]string

// maxSeen is how many values of a field are offered, lookedFor in how many rows they
// are looked for: this is done at every key.
const (
	maxSeen   = 50
	lookedFor = 500
)

func (v vocabulary) add(field, value string) {
	if value != "" && len(value) <= 200 && len(v[field]) < maxSeen && !slices.Contains(v[field], value) {
		v[field] = append(v[field], value)
	}
}

func (v vocabulary) words() query.Vocabulary { return query.Vocabulary{Values: v} }

// queryEnv is what queries are bound to that are about no tree.
func (m *Model) queryEnv() query.Env { return query.Env{Now: when.Seconds(m.now())} }
