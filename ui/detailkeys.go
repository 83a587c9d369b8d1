package ui

import (
	tea "charm.land/bubbletea/v2"

	"treering/ui/jsondoc"
	"treering/ui/layout"
)

// detailIntents are what can be done with a document.
func detailIntents() []intent {
	here := []layout.Pane{layout.Detail}
	view := func(act func(*jsondoc.View)) func(*Model, string) tea.Cmd {
		return func(m *Model, _ string) tea.Cmd {
			act(&m.detail.view)
			m.detail.rev++
			return nil
		}
	}
	return []intent{
		{ID: "detail-fold", Keys: []string{"enter", "space"}, Panes: here, Short: "fold", Foot: 4, Long: "fold or unfold what the cursor is on",
			why: listed, do: foldDetail},
		{ID: "detail-inward", Keys: []string{"left", "h"}, Panes: here, Short: "fold", Long: "fold it, or to what it is in",
			why: listed, do: view((*jsondoc.View).Inward)},
		{ID: "detail-outward", Keys: []string{"right", "l"}, Panes: here, Short: "unfold", Long: "unfold it, or to what is in it",
			why: listed, do: view((*jsondoc.View).Outward)},
		{ID: "detail-less", Keys: []string{"-"}, Panes: here, Short: "a level less", Long: "fold everything by one level; at first to one level",
			why: listed, do: view(func(v *jsondoc.View) { v.Deeper(-1) })},
		{ID: "detail-more", Keys: []string{"+", "="}, Panes: here, Short: "a level more", Long: "unfold everything by one level",
			why: listed, do: view(func(v *jsondoc.View) { v.Deeper(1) })},
		{ID: "detail-unfold-all", Keys: []string{"*"}, Panes: here, Short: "unfold all", Long: "unfold everything, what is unchanged too",
			why: listed, do: view((*jsondoc.View).UnfoldAll)},
		{ID: "detail-raw", Keys: []string{"v"}, Panes: here, Short: "as stored", Foot: 9, Long: "values as they are stored, or to fold",
			why: listed, do: rawDetail},
		{ID: "detail-wrap", Keys: []string{"W"}, Panes: here, Short: "wrap", Foot: 9, Long: "wrap long lines, or cut them",
			why: listed, do: wrapDetail},
		{ID: "detail-left", Keys: []string{","}, Panes: here, Short: "to the left", Long: "show what is further left of lines that are not wrapped",
			why: aside, do: view(func(v *jsondoc.View) { v.Aside(-sidestep) })},
		{ID: "detail-right", Keys: []string{"."}, Panes: here, Short: "to the right", Long: "show what is further right of lines that are not wrapped",
			why: aside, do: view(func(v *jsondoc.View) { v.Aside(sidestep) })},
		{ID: "detail-find", Keys: []string{"/"}, Panes: here, Short: "find", Foot: 7, Long: "find a text in the detail; capital letters count where there are some",
			why: listed, do: startFind},
		{ID: "detail-find-next", Keys: []string{"n"}, Panes: here, Short: "next match", Long: "to the next match", why: searched, do: findNext(jsondoc.After)},
		{ID: "detail-find-previous", Keys: []string{"N"}, Panes: here, Short: "match before", Long: "to the match before", why: searched,
			do: findNext(jsondoc.Before)},
		{ID: "copy-value", Keys: []string{"Y"}, Panes: here, Short: "copy value", Foot: 10, Long: "copy the JSON value under the cursor", why: onValue,
			do: func(m *Model, _ string) tea.Cmd {
				j, path, _ := m.detail.view.Value()
				return m.copyText(string(j), "the value of "+clipped(pathName(path)))
			}},
		{ID: "copy-path", Keys: []string{"K"}, Panes: here, Short: "copy path", Long: "copy where the value under the cursor is, as data.items[3].name", why: onValue,
			do: func(m *Model, _ string) tea.Cmd {
				_, path, _ := m.detail.view.Value()
				return m.copyText(path, clipped(path))
			}},
		{ID: "pair", Keys: []string{"p"}, Panes: []layout.Pane{layout.Tree, layout.Detail}, Short: "its pair", Foot: 6,
			Long: "from an operation to its completion, or back", why: paired, do: toPair},
	}
}

// sidestep is how many cells a key scrolls aside.
const sidestep = 16

func foldDetail(m *Model, _ string) tea.Cmd {
	m.detail.rev++
	if !m.detail.view.Toggle() {
		m.refused("fold: nothing folds on this line")
	}
	return nil
}

func rawDetail(m *Model, _ string) tea.Cmd {
	v := &m.detail.view
	v.ShowRaw(!v.Raw())
	m.detail.rev++
	if v.Raw() {
		m.say("values as they are stored")
	} else {
		m.say("values by member")
	}
	return nil
}

func wrapDetail(m *Model, _ string) tea.Cmd {
	v := &m.detail.view
	v.Wrap(!v.Wrapped())
	m.detail.rev++
	if v.Wrapped() {
		m.say("long lines are wrapped")
	} else {
		m.say("long lines are cut; " + m.keyFor("detail-left") + " and " + m.keyFor("detail-right") + " move sideways")
	}
	return nil
}

// aside is why lines cannot be scrolled sideways.
func aside(m *Model) string {
	if m.detail.view.Wrapped() {
		return "lines are wrapped; " + m.keyFor("detail-wrap") + " cuts them"
	}
	return listed(m)
}

// onValue is why there is no value under the cursor.
func onValue(m *Model) string {
	if _, _, ok := m.detail.view.Value(); !ok {
		return "the cursor is on no JSON value"
	}
	return ""
}

func pathName(path string) string {
	if path == "" {
		return "the whole"
	}
	return path
}

// clipped is the end of a path that may be long, for a sentence.
func clipped(path string) string {
	const most = 60
	if r := []rune(path); len(r) > most {
		return "…" + string(r[len(r)-most:])
	}
	return path
}

// paired is why there is no other half to go to.
func paired(m *Model) string {
	if m.detail.pair == "" || m.detail.target.kind != ofNode {
		return "the node is no half of an operation and its completion"
	}
	return ""
}

func toPair(m *Model, _ string) tea.Cmd {
	id := m.detail.pair
	m.detail.release()
	cmd := m.tree.selectNode(m, id)
	if m.detail.target.id != id {
		m.refused("its pair: " + id + " is not among the nodes read so far")
	}
	return cmd
}
