// Package pi reads the session files of the pi coding agent, versions 1 to 3, and of
// the programs that write the same with lines of their own.
//
// A file is a tree by design: every line has an id and the id of its parent. The
// first line is a header, which becomes the root; the last entry is where the program
// would go on.
package pi

import (
	"fmt"
	"path/filepath"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// Kind is the kind of these sessions.
const Kind = "pi"

// Format is the format, for a reader of lines.
func Format() *foreign.LineFormat {
	return &foreign.LineFormat{
		Name: "pi", Sniff: sniff, Head: head, Record: isRecord, Describe: describe, Withhold: withhold, Chain: true,
		New: func(_ string, t *foreign.Tree) foreign.LineScanner {
			return &scanner{tree: t, moved: map[string]string{}, labels: map[string]string{}}
		},
	}
}

// sniff looks for the header, before which there may be a line with a title, and
// after which entries must look like entries.
func sniff(first []store.JSON) bool {
	for i, j := range first {
		if i == 3 {
			break
		}
		if isHeader(j) {
			return true
		}
	}
	return false
}

func isHeader(j store.JSON) bool {
	id, ok := j.Get("id").Text()
	return text(j, "type") == "session" && ok && id != "" && j.Get("message").IsNull() && j.Get("parentId").IsNull()
}

func isRecord(j store.JSON) bool {
	if isHeader(j) {
		return true
	}
	// The blocks of a message have a type as well, but no place in time.
	return text(j, "type") != "" && (!j.Get("timestamp").IsNull() || text(j, "id") != "")
}

// withhold leaves of a record that may name an account what makes it a link of the
// chain.
func withhold(j store.JSON) store.JSON {
	if text(j, "type") != "credential_pin" {
		return j
	}
	members := []store.Member{{Key: "type", Value: j.Get("type")}}
	for _, key := range []string{"id", "parentId", "timestamp"} {
		if v := j.Get(key); v != "" {
			members = append(members, store.Member{Key: key, Value: v})
		}
	}
	return store.ObjectOf(append(members, store.Member{Key: "withheld", Value: "true"})...)
}

// text is a member that is a string, or "".
func text(j store.JSON, path ...string) string { return foreign.TextAt(j, path...) }

func head(path string, first []store.JSON) foreign.Head {
	h := foreign.Head{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Kind: Kind}
	for _, j := range first {
		switch {
		case isHeader(j):
			h.ID, h.Project = text(j, "id"), text(j, "cwd")
			if t := text(j, "title"); t != "" {
				h.Title = t
			}
		case text(j, "type") == "title", text(j, "type") == "session_info":
			for _, key := range []string{"title", "name"} {
				if t := text(j, key); t != "" {
					h.Title = foreign.Title(t)
				}
			}
		case h.Title == "" && text(j, "message", "role") == "user":
			h.Title = foreign.Title(foreign.Content(j.At("message", "content")))
		}
	}
	return h
}

// scanner takes the entries of one file.
type scanner struct {
	tree    *foreign.Tree
	header  bool // it was there
	r       foreign.Report
	title   string            // the last name that was given
	prompt  string            // the first thing that was said
	moved   map[string]string // by the id of a line that moved the head: where to
	target  string            // of the last such line, if nothing came after it
	pointed bool
	last    int32 // the node of the last entry
	labels  map[string]string
	order   []string // ids with labels, as they came
	lines   int      // entries, for ids of those that have none

	entry, message, usage foreign.Fields
}

// Add implements foreign.LineScanner.
func (s *scanner) Add(e foreign.Entry) {
	s.lines++
	if e.JSON == "" {
		s.add(e.Record(foreign.LineID(e.Place)), "", false)
		return
	}
	f := &s.entry
	f.Of(e.JSON)
	kind := f.Text("type")
	switch {
	case kind == "session" && isHeader(e.JSON):
		s.head(e)
		return
	case kind == "leaf":
		s.target, s.pointed = f.Kept("targetId"), true
		s.moved[f.Kept("id")] = s.target
		s.r.Other("leaf")
		return
	case kind == "title" && f.Get("parentId").IsNull():
		if t := f.Kept("title"); t != "" {
			s.title = t
		}
		s.r.Other("title")
		return
	case kind == "" && f.Get("message").IsNull():
		s.r.Other("unknown")
		return
	case kind == "session_info":
		s.title = f.Kept("name")
	case kind == "label":
		s.label(f.Kept("targetId"), f.Kept("label"))
	}
	if m := f.Get("message"); m.Kind() == store.Object {
		s.message.Of(m)
		s.said(e.JSON)
	}
	id := f.Text("id")
	if id == "" {
		id = fmt.Sprintf("line-%d", s.lines)
	}
	parent, named := f.Get("parentId").Text()
	s.add(e.Record(id), parent, named)
}

// head takes the header, of which the first counts.
func (s *scanner) head(e foreign.Entry) {
	if s.header {
		s.r.Other("session") // written again by mistake
		return
	}
	f := &s.entry
	s.header = true
	s.tree.SetHeader(foreign.Record{ID: f.Kept("id"), Kind: "session", Title: foreign.Title(f.Text("cwd")), Place: e.Place, Time: foreign.Time(f.Get("timestamp"))})
	if t := f.Kept("title"); t != "" {
		s.title = t
	}
}

// add adds a node. What hangs below a line that only moved the head hangs below what it
// moved to. Entries without any link follow each other.
func (s *scanner) add(rec foreign.Record, parent string, named bool) {
	if named {
		parent, named = s.behind(parent)
	}
	if named {
		rec.Parent = &parent
	}
	s.target, s.pointed = "", false
	s.last = s.tree.Add(rec)
}

// behind follows an id through the lines that only moved the head to what they moved
// it to; ok is false where that is nothing. What was followed once is not followed
// again: such lines may lead to each other by the hundred thousand.
func (s *scanner) behind(id string) (to string, ok bool) {
	to = id
	var passed []string
	for {
		next, moved := s.moved[to]
		switch {
		case !moved:
			for _, p := range passed {
				s.moved[p] = to
			}
			return to, true
		case next == "":
			for _, p := range passed {
				s.moved[p] = ""
			}
			return "", false
		case len(passed) > len(s.moved):
			// They lead in a circle, and so nowhere: what names one of them is an orphan.
			for _, p := range passed {
				delete(s.moved, p)
			}
			return id, true
		}
		passed = append(passed, to)
		to = next
	}
}

// said notes what is to be known of a message for the session.
func (s *scanner) said(j store.JSON) {
	m := &s.message
	if s.prompt == "" && m.Text("role") == "user" {
		rec := foreign.Record{}
		describe(&rec, j)
		s.prompt = rec.Title
	}
	if u := m.Get("usage"); u.Kind() == store.Object {
		s.usage.Of(u)
		s.cost(m.Text("model"))
	}
}

// cost adds what a message cost.
func (s *scanner) cost(model string) {
	u, t := &s.usage, &s.r.Totals
	t.Messages++
	for _, sum := range []struct {
		key string
		n   *int64
	}{{"input", &t.Input}, {"output", &t.Output}, {"cacheRead", &t.CacheRead}, {"cacheWrite", &t.CacheWrite}} {
		if v, ok := u.Get(sum.key).Int64(); ok {
			*sum.n += v
		}
	}
	if cost, ok := u.Get("cost").Get("total").Float64(); ok {
		t.Cost += cost
	}
	t.Model(model)
}

// label gives a node a name, or takes it away.
func (s *scanner) label(target, name string) {
	if _, known := s.labels[target]; !known && target != "" {
		s.order = append(s.order, target)
	}
	s.labels[target] = name
}

// About implements foreign.LineScanner.
func (s *scanner) About() foreign.About {
	a := foreign.About{Title: s.title, Active: -1, Report: s.r, Labels: map[int32][]string{}}
	if a.Title == "" {
		a.Title = s.prompt
	}
	switch {
	case s.pointed:
		if n, ok := s.tree.Latest(s.target); ok {
			a.Active = n
		}
	case s.tree.Count() > 0:
		a.Active = s.last
	}
	for _, target := range s.order {
		if name := s.labels[target]; name != "" {
			if n, ok := s.tree.Latest(target); ok {
				a.Labels[n] = append(a.Labels[n], name)
			}
		}
	}
	return a
}
