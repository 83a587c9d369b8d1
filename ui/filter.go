package ui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"treering/store"
	"treering/ui/field"
	"treering/ui/layout"
)

// maxFilter bounds a filter, in bytes.
const maxFilter = 1000

// editFilter opens the filter line.
func (n *navigator) editFilter(m *Model) {
	m.setFocus(layout.Navigator)
	n.before = n.filter.text
	n.input = field.New(n.filter.text, maxFilter)
	n.touch()
	m.screen.bars()
}

// filterKey edits the filter. It counts as it is typed; enter keeps it, esc puts
// back what was there.
func (n *navigator) filterKey(m *Model, name, text string) tea.Cmd {
	switch name {
	case "enter":
		return n.closeFilter(m, n.input.Text())
	case "esc":
		return n.closeFilter(m, n.before)
	case "down", "up", "tab":
		cmd := n.closeFilter(m, n.input.Text())
		if name == "down" {
			return tea.Batch(cmd, n.move(m, 1))
		}
		return cmd
	}
	if !n.input.Key(name) {
		if text == "" {
			return nil
		}
		return n.typed(m, text)
	}
	n.touch()
	return n.setFilter(m, n.input.Text())
}

func (n *navigator) typed(m *Model, text string) tea.Cmd {
	if !n.input.Insert(text) {
		m.refused("the filter is too long")
		return nil
	}
	n.touch()
	return n.setFilter(m, n.input.Text())
}

func (n *navigator) closeFilter(m *Model, text string) tea.Cmd {
	n.input = nil
	n.touch()
	m.screen.bars()
	return n.setFilter(m, text)
}

// navFilter is what the filter line says.
type navFilter struct {
	text       string
	status     []store.Status
	kinds      []string
	definition *string
	words      []string // lower case
	complaint  string   // what of it was not understood
	unfinished bool     // the complaint is about a last word without its value
}

// filterFields are the fields that a filter has.
const filterFields = "status:, kind:, definition:"

// parseFilter reads a filter. Its complaint says what of it is not understood; the
// rest counts. Since ids have colons too, what stands before one is a field only
// where it is a word of letters, and then searched for nevertheless.
func parseFilter(text string) (f navFilter) {
	f.text = strings.TrimSpace(text)
	for _, word := range strings.Fields(f.text) {
		key, value, ok := strings.Cut(word, ":")
		switch {
		case ok && key == "status" && value != "":
			f.status = append(f.status, store.Status(value))
		case ok && key == "kind" && value != "":
			f.kinds = append(f.kinds, value)
		case ok && key == "definition" && value != "":
			f.definition = &value
		case ok && (key == "status" || key == "kind" || key == "definition"):
			f.complaint = "a value is missing after " + key + ":"
			f.unfinished = strings.HasSuffix(text, word)
		default:
			if ok && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz") == "" {
				f.complaint, f.unfinished = key+": is no field and is looked for as text; fields: "+filterFields, false
			}
			f.words = append(f.words, strings.ToLower(word))
		}
	}
	return f
}

func (f navFilter) sessions() store.SessionFilter { return store.SessionFilter{Kinds: f.kinds} }

func (f navFilter) executions() store.ExecutionFilter {
	return store.ExecutionFilter{Status: f.status, DefinitionID: f.definition}
}

// atStore reports whether the store does a part of the filtering.
func (f navFilter) atStore() bool {
	return f.status != nil || f.kinds != nil || f.definition != nil
}

// selects decides on the words, on what the list shows of an execution.
func (f navFilter) selects(s store.Summary) bool {
	texts := []string{s.ID, s.DefinitionID, string(s.Status)}
	for _, p := range []*string{s.Outcome, s.ActivePath, s.Error} {
		if p != nil {
			texts = append(texts, *p)
		}
	}
	return f.has(texts...)
}

// has reports whether every word is somewhere in the texts.
func (f navFilter) has(texts ...string) bool {
	all := strings.ToLower(strings.Join(texts, "\n"))
	for _, w := range f.words {
		if !strings.Contains(all, w) {
			return false
		}
	}
	return true
}
