package ui

import (
	"maps"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store/query"
)

// views are the filters with names that fit the focused list: those of the settings
// first.
func (m *Model) views(s query.Subject) []query.View {
	var out []query.View
	seen := map[string]bool{}
	add := func(v query.View) {
		if v.Subject == s && !seen[v.Name] {
			seen[v.Name] = true
			out = append(out, v)
		}
	}
	for _, v := range m.made.settings.ListViews {
		add(v)
	}
	for _, name := range slices.Sorted(maps.Keys(m.made.settings.Views)) {
		// One without a subject is for every list that has its fields.
		if q, err := query.Parse(m.made.settings.Views[name], s); err == nil {
			add(query.View{Name: name, Subject: s, Filter: q})
		}
	}
	for _, v := range query.BuiltinViews(s) {
		add(v)
	}
	return out
}

// openViews lists the views of the focused list; enter shows one.
func openViews(m *Model, _ string) tea.Cmd {
	b := m.barOf(m.focus)
	all := m.views(b.subject)
	m.pickFrom(&picker{
		title: term.Lit("Views of the " + b.subject.Entries()), prompt: "a view", empty: "no view is called that",
		list: func(m *Model, typed string) []pick {
			var out []pick
			if b.on() && strings.TrimSpace(typed) == "" {
				out = append(out, pick{id: "\x00", text: term.Lit("everything"), tail: term.Lit("clears the filter"), run: b.clear})
			}
			for _, v := range ranked(all, typed, func(v query.View) []string { return []string{v.Name, v.Filter.Text()} }) {
				tail := m.term.SanitiseN(v.Filter.Text(), 200)
				if v.Sort.By != "" {
					tail = tail.Plus(term.Lit("  by " + v.Sort.String()))
				}
				out = append(out, pick{id: v.Name, text: m.term.SanitiseN(v.Name, 100), tail: tail, run: func(m *Model) tea.Cmd { return m.showView(b, v) }})
			}
			return out
		},
	}, "")
	return nil
}

// showView filters a list by a view.
func (m *Model) showView(b *filterBar, v query.View) tea.Cmd {
	b.close(m)
	q := v.Filter
	if q.Empty() {
		q = nil
	}
	said := "view " + v.Name
	cmd := b.set(m, q)
	if v.Sort.By != "" {
		sorted, ok := m.sortBy(b, v.Sort)
		if cmd = tea.Batch(cmd, sorted); !ok {
			said += "; the order stays, this list has no other"
		}
	}
	m.say(said)
	return cmd
}
