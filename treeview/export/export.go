// Package export writes session trees and executions in formats that other
// programs read: JSON with everything in it, Markdown for people, Mermaid and
// DOT for graphs, SVG for a picture, and the session files of pi.
//
// A [Doc] is read from a store once and can be written any number of times. All
// texts of the store are escaped for the format they go into, and in every format
// but JSON and pi's they are sanitised too, so that a file shown on a terminal cannot
// drive it.
package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"treering/internal/term"
	"treering/store"
)

// Format is what an export is written as.
type Format string

// The formats.
const (
	JSON     Format = "json"
	Markdown Format = "markdown"
	Mermaid  Format = "mermaid"
	DOT      Format = "dot"
	SVG      Format = "svg"
	Pi       Format = "pi" // a session file of the pi coding agent
)

// Formats lists them all.
func Formats() []Format { return []Format{JSON, Markdown, Mermaid, DOT, SVG, Pi} }

// FormatError is the name of a format that there is not.
type FormatError struct{ Name string }

func (e *FormatError) Error() string {
	names := make([]string, 0, len(Formats()))
	for _, f := range Formats() {
		names = append(names, string(f))
	}
	return fmt.Sprintf("%q is no format; there are %s", e.Name, strings.Join(names, ", "))
}

// ParseFormat reads a format's name, or the extension of its files. Anything else
// is a *[FormatError].
func ParseFormat(name string) (Format, error) {
	for _, f := range Formats() {
		if name := strings.ToLower(name); name == string(f) || name == f.Extension() {
			return f, nil
		}
	}
	return "", &FormatError{name}
}

// Extension is what the names of such files end with, without the dot.
func (f Format) Extension() string {
	switch f {
	case Markdown:
		return "md"
	case Mermaid:
		return "mmd"
	case Pi:
		return "jsonl"
	default:
		return string(f)
	}
}

// Subject says what a document is about.
type Subject uint8

// The subjects.
const (
	Session    Subject = iota // a session tree: the items are its nodes
	Executions                // an execution and its descendants
)

// Doc is what is written.
type Doc struct {
	Subject Subject
	Name    string            // id of the session, or of the execution
	Session store.SessionInfo // of a session
	Items   []Item            // parents before their children, siblings in order
	LeftOut int               // nodes of the session that are not among the items
}

// Item is one node of the drawing.
type Item struct {
	ID     string
	Parent int // its place among the items; -1: it is drawn as a root
	Level  int // of indent: it grows at branch points, or in a family at each generation
	Kind   string
	Title  string
	Labels []string // names and marks
	// Elided is how many ancestors between it and Parent are left out.
	Elided int
	Note   string // what is wrong with it, or ""
	Leaf   bool

	Node   *store.Node // nil: a parent that is named, but not there
	Member *Member
}

// Member is an execution with what belongs to it.
type Member struct {
	Summary store.Summary
	Exe     *store.Execution // nil where only the summary is known
	Trace   []store.TraceEntry
	Outbox  []store.OutboxEntry // to it
	Spawns  []store.SpawnEntry  // by it
	Timers  []store.Timer
}

// Options say how to write.
type Options struct {
	// WithoutData leaves out what nodes and contexts hold. JSON then has null in
	// their place.
	WithoutData bool
	// States draws the transitions that the traces hold, instead of the tree. It is
	// for Mermaid and DOT.
	States bool
}

// ErrNotDrawn is a format that cannot show what was asked for.
var ErrNotDrawn = fmt.Errorf("not drawn")

// Report says what was written.
type Report struct {
	Items    int
	WithData bool
	Warnings []string
}

// Write writes the document. An error is the writer's own, or ErrNotDrawn.
func Write(w io.Writer, f Format, d *Doc, o Options) (Report, error) {
	p := &printer{w: bufio.NewWriterSize(w, 1<<16), doc: d, o: o}
	p.report = Report{Items: len(d.Items), WithData: !o.WithoutData && (f == JSON || f == Markdown || f == Pi)}
	if o.States {
		switch {
		case d.Subject != Executions:
			return p.report, fmt.Errorf("%w: a session has no states, only executions have", ErrNotDrawn)
		case f == Mermaid:
			p.mermaidStates()
		case f == DOT:
			p.dotStates()
		default:
			return p.report, fmt.Errorf("%w: states are drawn as %s or %s, not as %s", ErrNotDrawn, Mermaid, DOT, f)
		}
		return p.report, p.end()
	}
	switch f {
	case JSON:
		p.json()
	case Markdown:
		p.markdown()
	case Mermaid:
		p.mermaid()
	case DOT:
		p.dot()
	case SVG:
		p.svg()
	case Pi:
		if err := p.pi(); err != nil {
			return p.report, err
		}
	default:
		return p.report, &FormatError{string(f)}
	}
	return p.report, p.end()
}

// printer keeps the first error, which its buffer does for it.
type printer struct {
	w      *bufio.Writer
	doc    *Doc
	o      Options
	report Report
}

func (p *printer) end() error { return p.w.Flush() }

// put writes texts that are already escaped. An error stays in the buffer and
// comes out of Flush.
func (p *printer) put(texts ...string) {
	for _, s := range texts {
		_, _ = p.w.WriteString(s)
	}
}

func (p *printer) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(p.w, format, args...)
}

func (p *printer) warn(format string, args ...any) {
	p.report.Warnings = append(p.report.Warnings, fmt.Sprintf(format, args...))
}

// maxLabel is how long a title in a drawing is, in cells.
const maxLabel = 80

// label is a text of the store as drawings show it: one safe line.
func label(s string) string { return term.SanitiseN(s, maxLabel).String() }

// whole is a text of the store in full, as one safe line.
func whole(s string) string { return term.Sanitise(s).String() }

// caption is what a drawing calls an item, a line each.
func (it *Item) caption() []string {
	first := strings.TrimSpace(label(it.Kind) + "  " + label(it.Title))
	lines := []string{first}
	if len(it.Labels) > 0 {
		lines = append(lines, "["+label(strings.Join(it.Labels, ", "))+"]")
	}
	if it.Note != "" {
		lines = append(lines, label(it.Note))
	}
	return lines
}

// elided says what is left out above an item.
func elided(n int) string { return fmt.Sprintf("~ %d elided", n) }

// states are the transitions that the traces hold: how often each was taken.
type transition struct {
	from, to, event string
	count           int
}

func (d *Doc) transitions() (all []transition, states []string) {
	at := map[transition]int{}
	seen := map[string]bool{}
	state := func(s string) string {
		if !seen[s] {
			seen[s] = true
			states = append(states, s)
		}
		return s
	}
	for i := range d.Items {
		m := d.Items[i].Member
		if m == nil {
			continue
		}
		for _, e := range m.Trace {
			step := e.Step()
			if e.Bad != nil || step.To == nil {
				continue
			}
			t := transition{to: state(*step.To), event: step.EventKind}
			if step.KindUnknown {
				t.event = ""
			}
			if step.From != nil {
				t.from = state(*step.From)
			}
			n, ok := at[t]
			if !ok {
				n = len(all)
				at[t] = n
				all = append(all, t)
			}
			all[n].count++
		}
	}
	return all, states
}

// caption is what stands beside an arrow.
func (t transition) caption() string {
	s := label(t.event)
	if t.count > 1 {
		s = strings.TrimSpace(fmt.Sprintf("%s x%d", s, t.count))
	}
	return s
}

// place is the number of a state, for its name in a drawing.
func place(states []string, s string) int { return slices.Index(states, s) }
