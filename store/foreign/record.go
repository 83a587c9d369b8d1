// Package foreign reads the session trees that other programs write, as they are:
// nothing is written to a source or next to it, no record is dropped without being
// counted, and no reader fails because a writer is in the middle of a line.
//
// A reader of one format, in a package of its own below this one, turns a source into
// records in the order in which they are stored. [Build] makes one rooted tree out of
// any such records. [Store] serves the trees of a [Reader] as a read-only
// store.TreeStore whose bodies are read when they are asked for.
package foreign

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"treering/store"
)

// Record is one node of a session as its reader found it. Its texts are foreign.
type Record struct {
	// ID is as stored, or one that the reader made up from the place of the record.
	// It need not be unique.
	ID string
	// Parent is the id of the parent as stored; nil where none is named.
	Parent *string
	Kind   string
	// Title is what a list shows, at most [MaxTitle] code points, one line.
	Title string
	// Place is where the body is.
	Place Place
	// Sum tells two payloads apart.
	Sum uint64
	// Time is when it was written, in epoch seconds; 0 where unknown.
	Time float64
	// Role is who speaks: "user", "assistant", "tool", "system" or "".
	Role string
	// Flags are facts that lists and filters want without reading the body.
	Flags Flags
}

// MaxTitle is how much of a title is kept, in code points.
const MaxTitle = 120

// Flags are facts about a record.
type Flags uint16

const (
	// Failed marks an error: a tool that failed, a message that was cut off.
	Failed Flags = 1 << iota
	// Side marks what does not belong to the main line: a sub-agent, a sub-graph.
	Side
	// FalseFork marks a record that is stored as a sibling of what it goes on from or
	// belongs to, such as the results of tools that ran at once. It is no branch.
	FalseFork
	// Quiet marks records that a reader of the conversation skips: labels, progress,
	// usage.
	Quiet
	// Prompt marks what a person asked.
	Prompt
	// TooLong marks a record that was not loaded: its body says only how long it is.
	TooLong
	// Assumed marks a record that names no parent, where its format writes one with
	// every record: it was given the one before it.
	Assumed
	// Seam marks where a context was cut off and goes on from a summary.
	Seam
)

// Place is where a record's body is in its source.
type Place struct {
	File   int32 // of the files that a session is in
	Offset int64 // of the first byte of the line; or the row's rowid
	Length int64 // in bytes, without the line's end; 0 for a row
	Line   int64 // counted from 1; 0 for a row
	Part   int32 // of the records in a line that holds several, from 0
}

// String names a place for people.
func (p Place) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("line %d, byte %d", p.Line, p.Offset)
	}
	return fmt.Sprintf("row %d", p.Offset)
}

// Warning is something in a source that is not as it should be.
type Warning struct {
	Place Place
	Table string // "" for a file of lines
	ID    string // of the record, or ""
	Text  string
}

// maxWarnings bounds how many warnings are kept; all are counted.
const maxWarnings = 200

// Report counts what was found. A reader fills in what it sees, [Build] the rest.
type Report struct {
	Records    int64                 // that became nodes
	Duplicates int64                 // stored again unchanged, and shown once
	Renamed    int64                 // other contents under an id that was taken, shown as ID#2
	Orphans    int64                 // their parent is not there
	Cycles     int64                 // cut
	Roots      int64                 // without a parent, the header apart
	Chained    int64                 // linked in the order of storage, because no link in the source resolves
	Unreadable int64                 // lines or rows that are no records: torn, not JSON, not an object
	Skipped    int64                 // records that are no nodes, by design of the format
	Others     map[string]int64      // of those, by what they are
	Last       map[string]store.JSON // of each of those the last, where it is short
	Totals     Totals
	Warnings   []Warning
	Dropped    int64 // warnings that are counted only
}

// Totals are what a session says it used, each message counted once.
type Totals struct {
	Messages, Input, Output, CacheRead, CacheWrite int64   // tokens, but for the messages
	Cost                                           float64 // in the currency that the program counts in
	Models                                         map[string]int64
}

// maxModels bounds how many models are told apart.
const maxModels = 1000

// Model counts a message of a model.
func (t *Totals) Model(name string) {
	if name == "" {
		return
	}
	if t.Models == nil {
		t.Models = map[string]int64{}
	}
	if _, known := t.Models[name]; !known {
		if len(t.Models) >= maxModels {
			return
		}
		name = strings.Clone(name)
	}
	t.Models[name]++
}

// Clone returns a report that shares nothing with this one.
func (r Report) Clone() Report {
	r.Others, r.Last, r.Totals.Models = maps.Clone(r.Others), maps.Clone(r.Last), maps.Clone(r.Totals.Models)
	r.Warnings = slices.Clone(r.Warnings)
	return r
}

// Warn adds a warning.
func (r *Report) Warn(w Warning) {
	if len(r.Warnings) >= maxWarnings {
		r.Dropped++
		return
	}
	r.Warnings = append(r.Warnings, w)
}

// maxOthers bounds how many kinds of records are told apart that are no nodes.
const maxOthers = 200

// maxLast is the longest of such records, in bytes, that is kept.
const maxLast = 2 << 10

// Other counts a record of a kind that is no node, and keeps the last of each.
func (r *Report) Other(kind string, record store.JSON) {
	r.Skipped++
	if r.Others == nil {
		r.Others, r.Last = map[string]int64{}, map[string]store.JSON{}
	}
	if _, known := r.Others[kind]; !known {
		if len(r.Others) >= maxOthers {
			kind = "of other kinds"
		}
		kind = strings.Clone(kind)
	}
	r.Others[kind]++
	if record != "" && len(record) <= maxLast {
		r.Last[kind] = store.JSON(strings.Clone(string(record)))
	}
}

// others is the last record of each kind that is no node, as data.
func (r *Report) others() (store.Member, bool) {
	var members []store.Member
	for _, kind := range slices.Sorted(maps.Keys(r.Last)) {
		members = append(members, store.Member{Key: strings.ToValidUTF8(kind, "\uFFFD"), Value: r.Last[kind]})
	}
	return store.Member{Key: "others", Value: store.ObjectOf(members...)}, members != nil
}

// Head is what is known of a session without reading it.
type Head struct {
	ID      string
	Kind    string // "pi", "claude", "codex", "langgraph", "session", "docker-build"
	Title   string
	Named   bool    // the title is the one now, whatever stands elsewhere
	Project string  // the folder that it is about
	Updated float64 // epoch seconds, 0 unknown
	Parent  string  // the session that it was made from or for, "" none
	Path    string
	Size    int64  // in bytes, -1 unknown
	Part    string // the reader's own: which part of the source it is
}

// Info is the contract's view of it.
func (h Head) Info() store.SessionInfo { return store.SessionInfo{ID: h.ID, Kind: h.Kind} }
