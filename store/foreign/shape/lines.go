// Package shape reads session trees that no program of a known name has written, told
// by their shape alone: tables with the columns {id or node_id, parent_id, kind, data}
// and one that names the session, and files of JSON lines, or lists in a JSON document,
// with the keys {id or node_id, parent_id or parentId}.
package shape

import (
	"path/filepath"
	"strings"

	"treering/store"
	"treering/store/foreign"
)

// Name is the name of the format; Note is what is to be said where it was found.
const (
	Name = "shape"
	Note = "recognised by its shape: which program wrote it is not known"
)

// Format is the format, for a reader of lines. It is the last to be asked.
func Format() *foreign.LineFormat {
	return &foreign.LineFormat{
		Name: Name, Sniff: sniff, Head: head, Record: isRecord, Describe: describeLine, Chain: true,
		New: func(_ string, t *foreign.Tree) foreign.LineScanner { return &scanner{tree: t} },
	}
}

// sniff wants links in most of the objects, one of them at least to another object.
func sniff(first []store.JSON) bool {
	linked := 0
	for _, j := range first {
		if isRecord(j) {
			linked++
		}
	}
	return linked > 0 && 2*linked >= len(first)
}

// isRecord reports whether an object has an id and says what its parent is, if only
// that there is none.
func isRecord(j store.JSON) bool {
	_, ok := ident(first(j, idKeys()))
	return ok && first(j, parentKeys()) != ""
}

// idKeys and parentKeys are what the members are called that name a record and its
// parent, in the order in which they are looked for. A table of checkpoints that was
// exported has names of its own.
func idKeys() []string     { return []string{"node_id", "id", "checkpoint_id"} }
func parentKeys() []string { return []string{"parent_id", "parentId", "parent_checkpoint_id"} }

// first is the first of the members that is there.
func first(j store.JSON, keys []string) store.JSON {
	for _, key := range keys {
		if v := j.Get(key); v != "" {
			return v
		}
	}
	return ""
}

// ident is an id: a text that is not empty, or a number.
func ident(j store.JSON) (string, bool) {
	switch j.Kind() {
	case store.String:
		s := foreign.TextAt(j)
		return s, s != ""
	case store.Number:
		return strings.Clone(string(j)), true
	default:
	}
	return "", false
}

func head(path string, first []store.JSON) foreign.Head {
	h := foreign.Head{ID: strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), Kind: "session"}
	for _, j := range first {
		if isRecord(j) {
			h.Title = title(j)
			break
		}
	}
	return h
}

// scanner takes the objects of one file.
type scanner struct {
	tree  *foreign.Tree
	r     foreign.Report
	title string
}

// Add implements foreign.LineScanner.
func (s *scanner) Add(e foreign.Entry) {
	j := e.JSON
	switch {
	case j == "" && !isRecord(e.Known):
		s.tree.Add(e.Record(foreign.LineID(e.Place)))
		return
	case j == "":
		j = e.Known
	case !isRecord(j):
		kind := kindOf(j)
		if kind == "" {
			kind = "unknown"
		}
		s.r.Other(kind, j)
		return
	}
	id, _ := ident(first(j, idKeys()))
	rec := e.Record(id)
	if p, ok := ident(first(j, parentKeys())); ok {
		rec.Parent = &p
	}
	if s.title == "" {
		shown := foreign.Record{ID: id}
		describeLine(&shown, j)
		s.title = shown.Title
	}
	s.tree.Add(rec)
}

// About implements foreign.LineScanner.
func (s *scanner) About() foreign.About {
	return foreign.About{Title: s.title, Active: -1, Report: s.r}
}

// describeLine sets what lists show of an object.
func describeLine(rec *foreign.Record, j store.JSON) {
	rec.Kind, rec.Title, rec.Role = kindOf(j), title(j), role(j)
	if failed(j) || failed(j.Get("data")) {
		rec.Flags |= foreign.Failed
	}
	for _, key := range []string{"timestamp", "created_at", "ts", "time"} {
		if rec.Time = foreign.Time(j.Get(key)); rec.Time != 0 {
			break
		}
	}
	describe(rec)
}

// failed reports whether data tells of a failure, as such records usually do.
func failed(data store.JSON) bool {
	if code, ok := data.Get("exit_code").Int64(); ok && code != 0 {
		return true
	}
	switch v := data.Get("error"); v {
	case "false", `""`, "0", "{}", "[]":
		return false
	default:
		return !v.IsNull()
	}
}

// describe fills in what a record has none of.
func describe(rec *foreign.Record) {
	if rec.Kind == "" {
		rec.Kind = "node"
	}
	if rec.Title == "" {
		rec.Title = foreign.Fallback(rec.Kind, rec.ID)
	}
}

func kindOf(j store.JSON) string {
	for _, key := range []string{"kind", "type"} {
		if s, ok := j.Get(key).Text(); ok && s != "" {
			return foreign.Title(s)
		}
	}
	return role(j)
}

func role(j store.JSON) string {
	for _, path := range [][]string{{"role"}, {"message", "role"}, {"data", "role"}} {
		switch s, _ := j.At(path...).Text(); s {
		case "user", "assistant", "tool", "system":
			return s
		}
	}
	return ""
}

// title looks where such records usually have a text, in the record and in its data.
func title(j store.JSON) string {
	for _, in := range []store.JSON{j, j.Get("data")} {
		for _, path := range [][]string{{"title"}, {"user", "label"}, {"label"}, {"command"}, {"summary"}, {"text"}} {
			if s, ok := in.At(path...).Text(); ok {
				if s = foreign.Title(s); s != "" {
					return s
				}
			}
		}
		for _, path := range [][]string{{"content"}, {"message", "content"}, {"message"}} {
			if s := foreign.Title(foreign.Content(in.At(path...))); s != "" {
				return s
			}
		}
	}
	return ""
}
