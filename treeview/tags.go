package treeview

import (
	"maps"
	"slices"

	"treering/internal/term"
)

// tags are what a user pins to nodes, by id: marks, one node each, and names of
// branches.
type tags struct {
	marks map[rune]string   // ids by mark
	names map[string]string // ids by name
	byID  map[string]tag
}

// tag is what is pinned to one node.
type tag struct {
	marks []rune
	names []string
}

// nodes are those that have any, as far as they are there.
func (t *tags) nodes(x *Index) []Ref {
	var out []Ref
	for id := range t.byID {
		if r, ok := x.Find(id); ok {
			out = append(out, r)
		}
	}
	return out
}

func (t *tags) collect() {
	t.byID = map[string]tag{}
	for _, m := range slices.Sorted(maps.Keys(t.marks)) {
		at := t.byID[t.marks[m]]
		at.marks = append(at.marks, m)
		t.byID[t.marks[m]] = at
	}
	for _, name := range slices.Sorted(maps.Keys(t.names)) {
		at := t.byID[t.names[name]]
		at.names = append(at.names, name)
		t.byID[t.names[name]] = at
	}
}

// SetMark puts a mark, a letter as a rule, on the node of that id, and takes it
// from where it was. An empty id only takes it away.
func (w *Widget) SetMark(mark rune, id string) {
	if w.tags.marks == nil {
		w.tags.marks = map[rune]string{}
	}
	if id == "" {
		delete(w.tags.marks, mark)
	} else {
		w.tags.marks[mark] = id
	}
	w.retag()
}

// Mark returns the id of the node with that mark, "" for none. It may not be in
// the tree.
func (w *Widget) Mark(mark rune) string { return w.tags.marks[mark] }

// SetNames replaces the names of branches: ids by name.
func (w *Widget) SetNames(names map[string]string) {
	w.tags.names = maps.Clone(names)
	w.retag()
}

func (w *Widget) retag() {
	w.tags.collect()
	w.version++
	for _, r := range w.tags.nodes(w.flat.x) {
		if !w.flat.Visible(r) { // it may be in a folded run, where nothing with a tag stays
			w.Refresh()
			return
		}
	}
}

// Tags returns the marks and names of a node, sorted.
func (w *Widget) Tags(r Ref) (marks []rune, names []string) {
	if len(w.tags.byID) == 0 {
		return nil, nil
	}
	t := w.tags.byID[w.flat.x.ID(r)]
	return t.marks, t.names
}

// maxName is how many cells of a branch's name are shown.
const maxName = 24

// TagText is how a row shows its node's names and marks, with two blanks before
// each: "  [main]  A". It is empty for most nodes.
func (w *Widget) TagText(r Ref, p term.Profile) term.Text {
	var t term.Text
	marks, names := w.Tags(r)
	for _, name := range names {
		t = t.Plus(term.Lit("  ["), p.SanitiseN(name, maxName), term.Lit("]"))
	}
	for _, m := range marks {
		t = t.Plus(term.Spaces(2), p.Sanitise(string(m)))
	}
	return t
}
