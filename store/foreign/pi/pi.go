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
	return &foreign.LineFormat{Name: "pi", Sniff: sniff, Head: head, New: func(path string) foreign.LineScanner { return newScanner(path) }, Record: isRecord}
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
	path   string
	header *foreign.Record
	recs   []foreign.Record
	r      foreign.Report

	title   string            // the last name that was given
	prompt  string            // the first thing that was said
	moved   map[string]string // by the id of a line that moved the head: where to
	target  string            // of the last such line, if nothing came after it
	pointed bool
	index   map[string]int // the latest entry of an id
	labels  map[string]string
	order   []string // ids with labels, as they came
	lines   int      // entries, for ids of those that have none
	last    string   // id of the entry before, for files without links
}

func newScanner(path string) *scanner {
	return &scanner{path: path, moved: map[string]string{}, index: map[string]int{}, labels: map[string]string{}}
}

// Add implements foreign.LineScanner.
func (s *scanner) Add(j store.JSON, at foreign.Place, size int64) {
	s.lines++
	if j == "" {
		s.entry(foreign.Record{ID: fmt.Sprintf("line-%d", at.Line), Kind: "line", Title: fmt.Sprintf("%d MB, not loaded", size>>20), Place: at, Flags: foreign.TooLong, Sum: uint64(at.Offset)}, "", false)
		return
	}
	kind := text(j, "type")
	switch {
	case isHeader(j):
		if s.header == nil {
			s.header = &foreign.Record{ID: text(j, "id"), Kind: "session", Title: foreign.Title(text(j, "cwd")), Place: at, Time: foreign.Time(j.Get("timestamp"))}
			if t := text(j, "title"); t != "" {
				s.title = t
			}
		} else {
			s.r.Other("session") // written again by mistake
		}
		return
	case kind == "leaf":
		target := text(j, "targetId")
		s.moved[text(j, "id")] = target
		s.target, s.pointed = target, true
		s.r.Other("leaf")
		return
	case kind == "title" && j.Get("parentId").IsNull():
		if t := text(j, "title"); t != "" {
			s.title = t
		}
		s.r.Other("title")
		return
	case kind == "credential_pin":
		// It may name an account. It is a link of the chain all the same.
		j = store.ObjectOf(store.Member{Key: "type", Value: store.Quote(kind)}, store.Member{Key: "id", Value: j.Get("id")},
			store.Member{Key: "parentId", Value: j.Get("parentId")}, store.Member{Key: "timestamp", Value: j.Get("timestamp")})
	case kind == "" && j.Get("message").IsNull():
		s.r.Other("unknown")
		return
	}
	rec := foreign.Record{ID: text(j, "id"), Kind: kind, Place: at, Time: foreign.Time(j.Get("timestamp")), Sum: foreign.SumOf(string(j))}
	_, named := j.Get("parentId").Text()
	parent := text(j, "parentId")
	if rec.ID == "" {
		rec.ID = fmt.Sprintf("line-%d", s.lines)
	}
	describe(&rec, j)
	s.usage(j)
	switch kind {
	case "session_info":
		s.title = text(j, "name")
	case "label":
		s.label(text(j, "targetId"), text(j, "label"))
	case "message":
		if s.prompt == "" && rec.Role == "user" {
			s.prompt = rec.Title
		}
	}
	s.entry(rec, parent, named)
}

// entry adds a node. What hangs below a line that only moved the head hangs below
// what it moved to. Entries without any link follow each other.
func (s *scanner) entry(rec foreign.Record, parent string, named bool) {
	if named {
		parent, named = s.behind(parent)
	}
	if named {
		rec.Parent = &parent
	}
	s.target, s.pointed = "", false
	s.index[rec.ID] = len(s.recs)
	s.recs = append(s.recs, rec)
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

// usage adds what a message cost.
func (s *scanner) usage(j store.JSON) {
	m := j.Get("message")
	u := m.Get("usage")
	if u.Kind() != store.Object {
		return
	}
	t := &s.r.Totals
	t.Messages++
	for key, n := range map[string]*int64{"input": &t.Input, "output": &t.Output, "cacheRead": &t.CacheRead, "cacheWrite": &t.CacheWrite} {
		if v, ok := u.Get(key).Int64(); ok {
			*n += v
		}
	}
	if cost, ok := u.At("cost", "total").Float64(); ok {
		t.Cost += cost
	}
	if model := text(m, "model"); model != "" {
		if t.Models == nil {
			t.Models = map[string]int64{}
		}
		t.Models[model]++
	}
}

// label gives a node a name, or takes it away.
func (s *scanner) label(target, name string) {
	if _, known := s.labels[target]; !known && target != "" {
		s.order = append(s.order, target)
	}
	s.labels[target] = name
}

// Scan implements foreign.LineScanner.
func (s *scanner) Scan() *foreign.Scan {
	out := &foreign.Scan{Records: s.recs[:len(s.recs):len(s.recs)], Source: "pi", Chain: true, Title: s.title, Active: len(s.recs) - 1, Report: s.r, Labels: map[int][]string{}}
	if out.Title == "" {
		out.Title = s.prompt
	}
	if s.header != nil {
		h := *s.header
		if out.Title != "" {
			h.Title = foreign.Title(out.Title)
		}
		out.Header = &h
	}
	if s.pointed {
		out.Active = -1
		if i, ok := s.index[s.target]; ok {
			out.Active = i
		}
	}
	for _, target := range s.order {
		if i, ok := s.index[target]; ok && s.labels[target] != "" {
			out.Labels[i] = append(out.Labels[i], s.labels[target])
		}
	}
	return out
}
