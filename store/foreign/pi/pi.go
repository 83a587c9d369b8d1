// Package pi reads the session files of the pi coding agent, versions 1 to 3, and of
// the programs that write the same with lines of their own.
//
// A file is a tree by design: every line has an id and the id of its parent. The
// first line is a header, which becomes the root; the last entry is where the program
// would go on.
package pi

import (
	"cmp"
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
		Called: func(last []store.JSON) string {
			var n names
			for _, j := range last {
				n.take(j)
			}
			return n.given
		},
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

// Headerless is the format of files whose header is gone: their entries are told by
// what every one of them has. In a folder that takes in files that are parts of
// sessions, so it is for files that were named.
func Headerless() *foreign.LineFormat {
	f := Format()
	f.Sniff = func(first []store.JSON) bool {
		for _, j := range first {
			_, link := j.Get("parentId").Text()
			spoken := text(j, "type") == "message" && text(j, "message", "role") != ""
			if spoken && text(j, "id") != "" && (link || j.Get("parentId") == store.Null) {
				return true
			}
		}
		return false
	}
	return f
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
	var n names
	begun := false
	for _, j := range first {
		if isHeader(j) && !begun {
			begun = true
			h.ID, h.Project, h.Parent = text(j, "id"), text(j, "cwd"), source(j)
		}
		n.take(j)
	}
	h.Title, h.Named = n.title(), n.slot != ""
	return h
}

// source is the id of the session that one was forked from, of whose file the header
// names the path, or "". The path is one of the machine that wrote it.
func source(header store.JSON) string {
	from := text(header, "parentSession")
	if from == "" {
		from = text(header, "branchedFrom") // the first version
	}
	from = strings.TrimSuffix(from[strings.LastIndexAny(from, `/\`)+1:], ".jsonl")
	if _, id, ok := strings.Cut(from, "_"); ok {
		return id // a time stands before it
	}
	return from
}

// names are what a session was called, the strongest first.
type names struct {
	slot   string // in the line that is written anew in its place
	given  string // by the last line that gives a name
	header string
	prompt string // the first thing that was said
}

// take notes what an entry says about the name.
func (n *names) take(j store.JSON) {
	switch kind := text(j, "type"); {
	case kind == "session" && isHeader(j):
		if n.header == "" {
			n.header = foreign.Title(text(j, "title"))
		}
	case kind == "title" && j.Get("parentId").IsNull():
		n.slot = foreign.Title(text(j, "title"))
	case kind == "session_info":
		n.given = foreign.Title(text(j, "name"))
	case kind == "title_change":
		n.given = foreign.Title(text(j, "title"))
	case n.prompt == "" && text(j, "message", "role") == "user":
		rec := foreign.Record{}
		describe(&rec, j)
		n.prompt = rec.Title
	}
}

func (n *names) title() string {
	return cmp.Or(n.slot, n.given, n.header, n.prompt)
}

// scanner takes the entries of one file.
type scanner struct {
	tree    *foreign.Tree
	header  bool   // it was there
	from    string // the session that it was forked from
	r       foreign.Report
	names   names
	moved   map[string]string // by the id of a line that moved the head: where to
	target  string            // of the last such line, if nothing came after it
	pointed bool
	last    int32 // the node of the last entry
	labels  map[string]string
	order   []string // ids with labels, as they came

	entry, message, usage foreign.Fields
}

// Add implements foreign.LineScanner.
func (s *scanner) Add(e foreign.Entry) {
	f := &s.entry
	if e.JSON == "" {
		if f.Of(e.Known); f.Text("id") == "" {
			s.follow(e.Record(foreign.LineID(e.Place)))
			return
		}
		s.place(e)
		return
	}
	f.Of(e.JSON)
	kind := f.Text("type")
	switch {
	case kind == "session" && isHeader(e.JSON):
		s.head(e)
		return
	case kind == "leaf":
		s.target, s.pointed = f.Kept("targetId"), true
		if id := f.Kept("id"); id != "" {
			s.moved[id] = s.target
		}
		s.r.Other("leaf", e.JSON)
		return
	case kind == "title" && f.Get("parentId").IsNull():
		s.names.take(e.JSON)
		s.r.Other("title", e.JSON)
		return
	case kind == "" && f.Get("message").IsNull() && (f.Text("id") == "" || f.Get("parentId") == ""):
		s.r.Other("unknown", e.JSON)
		return
	case kind == "session_info", kind == "title_change":
		s.names.take(e.JSON)
	case kind == "label":
		s.label(f.Kept("targetId"), f.Kept("label"))
	}
	before := s.tree.Count()
	if s.place(e); s.tree.Count() > before { // or else it was written twice
		s.said(e.JSON, kind)
	}
}

// place adds the node of an entry where that says that it hangs.
func (s *scanner) place(e foreign.Entry) {
	f := &s.entry
	id := f.Text("id")
	if id == "" {
		id = foreign.LineID(e.Place)
	}
	rec := e.Record(id)
	switch parent, named := f.Get("parentId").Text(); {
	case f.Get("parentId") == "":
		s.follow(rec)
	case named && parent != "":
		s.below(rec, parent)
	default:
		s.add(rec)
	}
}

// said notes what is to be known of an entry for the session.
func (s *scanner) said(j store.JSON, kind string) {
	switch kind {
	case "usage", "model_usage", "compaction", "branch_summary":
		s.spent(s.entry.Get("usage"), s.entry.Text("model"), false)
	}
	if m := s.entry.Get("message"); m.Kind() == store.Object {
		s.message.Of(m)
		if s.names.prompt == "" && s.message.Text("role") == "user" {
			s.names.take(j)
		}
		s.spent(s.message.Get("usage"), s.message.Text("model"), true)
	}
}

// head takes the header, of which the first counts.
func (s *scanner) head(e foreign.Entry) {
	if s.header {
		s.r.Other("session", e.JSON) // written again by mistake
		return
	}
	f := &s.entry
	s.header, s.from = true, source(e.JSON)
	s.names.take(e.JSON)
	s.tree.SetHeader(foreign.Record{ID: f.Kept("id"), Kind: "session", Title: foreign.Title(f.Text("cwd")), Place: e.Place, Time: foreign.Time(f.Get("timestamp"))})
}

// below adds a node that names its parent. What hangs below a line that only moved the
// head hangs below what it moved to.
func (s *scanner) below(rec foreign.Record, parent string) {
	if to, ok := s.behind(parent); ok {
		rec.Parent = &to
	}
	s.add(rec)
}

// follow adds a node that does not say what its parent is: it comes from before there
// were parents, and goes on from where the program was.
func (s *scanner) follow(rec foreign.Record) {
	to := ""
	switch {
	case s.pointed:
		to = s.target
	case s.tree.Count() > 0:
		to = s.tree.ID(s.last)
	}
	if to != "" {
		rec.Flags |= foreign.Assumed
		s.below(rec, to)
		return
	}
	s.add(rec)
}

func (s *scanner) add(rec foreign.Record) {
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

// spent adds what a call of a model cost.
func (s *scanner) spent(usage store.JSON, model string, message bool) {
	if usage.Kind() != store.Object {
		return
	}
	s.usage.Of(usage)
	u, t := &s.usage, &s.r.Totals
	if message {
		t.Messages++
		t.Model(model)
	}
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
	a := foreign.About{Title: s.names.title(), Active: -1, Report: s.r, Labels: map[int32][]string{}}
	if s.from != "" {
		a.Facts = append(a.Facts, store.Member{Key: "from_session", Value: store.Quote(s.from)})
	}
	switch to, ok := s.behind(s.target); {
	case s.pointed && s.target == "" || s.pointed && !ok:
		if s.header {
			a.Active = s.tree.Root() // before the first message
		}
	case s.pointed:
		if n, ok := s.tree.Latest(to); ok {
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
