package export

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"treering/internal/term"
	"treering/store"
)

// markdown writes for people: the tree as a drawing, and below it what the nodes hold.
func (p *printer) markdown() {
	if p.doc.Subject == Session {
		p.markdownSession()
		return
	}
	p.markdownExecutions()
}

func (p *printer) markdownSession() {
	d := p.doc
	p.put("# ", prose(d.Name), "\n\n")
	p.printf("%s, %s", prose(d.Session.Kind), counted(p.nodes(), "node"))
	if d.LeftOut > 0 {
		p.printf(" of %d", p.nodes()+d.LeftOut)
	}
	if d.Session.ExpiresAt != nil {
		p.put(", expires ", clock(*d.Session.ExpiresAt))
	}
	p.put("\n\n")
	p.drawing()
	if p.o.WithoutData {
		return
	}
	p.put("\n## Nodes\n")
	for i := range d.Items {
		it := &d.Items[i]
		if it.Node == nil {
			continue
		}
		p.put("\n### ", prose(strings.TrimSpace(it.Kind+" "+it.Title)), "\n\n")
		p.put("- id: ", code(it.ID), "\n- parent: ")
		if it.Node.ParentID != nil {
			p.put(code(*it.Node.ParentID))
		} else {
			p.put("none, the root")
		}
		p.put("\n\n")
		p.block(it.Node.Data)
	}
}

// nodes is how many items are nodes of the session.
func (p *printer) nodes() int {
	n := 0
	for i := range p.doc.Items {
		if p.doc.Items[i].Node != nil {
			n++
		}
	}
	return n
}

// drawing draws the items between fences: a list could not tell a child from a
// sibling where straight runs do not indent.
func (p *printer) drawing() {
	items := p.doc.Items
	if len(items) == 0 {
		return
	}
	last := make([]int, len(items)) // by item: its last child
	for i := range items {
		if up := items[i].Parent; up >= 0 {
			last[up] = i
		}
	}
	before := make([]lanes, len(items)) // by item: the lanes of what hangs below it
	lines := make([]string, len(items))
	ticks := 3
	for i := range items {
		it := &items[i]
		var gutter lanes
		if it.Parent >= 0 {
			gutter = before[it.Parent]
			before[i] = gutter
			if it.Level > items[it.Parent].Level {
				if last[it.Parent] == i {
					gutter, before[i] = gutter.with("╰─"), before[i].with("  ")
				} else {
					gutter, before[i] = gutter.with("├─"), before[i].with("│ ")
				}
			}
		}
		mark := "○ "
		if it.Leaf {
			mark = "● "
		}
		if it.Elided > 0 {
			mark += elided(it.Elided) + "  "
		}
		lines[i] = gutter.String() + mark + strings.Join(it.caption(), "  ")
		if !strings.HasPrefix(it.Title, it.ID) {
			lines[i] += "  " + whole(it.ID)
		}
		ticks = max(ticks, longest(lines[i], '`')+1)
	}
	fence := strings.Repeat("`", ticks)
	p.put(fence, "text\n", strings.Join(lines, "\n"), "\n", fence, "\n")
}

// maxLanes is how many lanes of a line are drawn. Where each fork lies in another one
// there are as many as nodes, and the drawing would grow with their square.
const maxLanes = 32

// lanes are what is drawn before an item: the innermost ones behind the number of the
// others.
type lanes struct {
	hidden, shown int
	text          string
}

func (l lanes) with(lane string) lanes {
	if l.shown == maxLanes {
		_, first := utf8.DecodeRuneInString(l.text)
		_, second := utf8.DecodeRuneInString(l.text[first:])
		return lanes{l.hidden + 1, l.shown, l.text[first+second:] + lane}
	}
	return lanes{l.hidden, l.shown + 1, l.text + lane}
}

func (l lanes) String() string {
	if l.hidden == 0 {
		return l.text
	}
	return fmt.Sprintf("+%d %s", l.hidden, l.text)
}

func (p *printer) markdownExecutions() {
	d := p.doc
	p.put("# ", prose(d.Name), "\n\n", counted(len(d.Items), "execution"), "\n\n")
	p.drawing()
	for i := range d.Items {
		p.markdownMember(d.Items[i].Member)
	}
}

func (p *printer) markdownMember(m *Member) {
	s := m.Summary
	p.put("\n## ", prose(s.ID), "\n\n| | |\n| --- | --- |\n")
	row := func(name, value string) { p.put("| ", name, " | ", prose(value), " |\n") }
	row("definition", s.DefinitionID)
	status := string(s.Status)
	if status == "" {
		status = "?"
	}
	row("status", status)
	for _, o := range []struct {
		name  string
		value *string
	}{{"state", s.ActivePath}, {"outcome", s.Outcome}, {"error", s.Error}, {"parent", s.ParentID}} {
		if o.value != nil {
			row(o.name, *o.value)
		}
	}
	row("version", strconv.FormatInt(s.Version, 10))
	for _, at := range []struct {
		name  string
		value store.JSON
	}{{"created", s.CreatedAt}, {"updated", s.UpdatedAt}, {"finished", s.FinishedAt}, {"expires", s.ExpiresAt}} {
		if t, ok := at.value.Float64(); ok {
			row(at.name, clock(t))
		}
	}
	for _, drift := range s.Drift {
		row("drift", drift.String())
	}
	if s.Bad != nil {
		row("row error", s.Bad.Err.Error())
	}
	if m.Exe != nil && !p.o.WithoutData {
		p.put("\nContext\n\n")
		p.block(m.Exe.Context)
	}
	if len(m.Trace) > 0 {
		p.put("\n| step | time | event | from | to | actions |\n| ---: | --- | --- | --- | --- | --- |\n")
		for _, t := range m.Trace {
			p.step(t)
		}
	}
	for _, t := range m.Timers {
		p.put("\n- timer ", code(t.Path), " at ", clock(t.FireAt))
	}
	for _, e := range m.Outbox {
		p.put("\n- outbox ", strconv.FormatInt(e.Seq, 10), ": ", prose(e.Event.Kind))
	}
	for _, e := range m.Spawns {
		p.put("\n- spawn ", strconv.FormatInt(e.Seq, 10), ": ", code(e.ChildID), " at ", code(e.RootPath))
	}
	if len(m.Timers)+len(m.Outbox)+len(m.Spawns) > 0 {
		p.put("\n")
	}
}

func (p *printer) step(t store.TraceEntry) {
	if t.Bad != nil {
		p.put("| ", strconv.FormatInt(t.Index, 10), " | ", prose(t.Bad.Err.Error()), " | | | | |\n")
		return
	}
	s := t.Step()
	at := ""
	if sec, ok := s.Timestamp.Float64(); ok {
		at = clock(sec)
	}
	event := s.EventKind
	if s.KindUnknown {
		event = "(not recorded)"
	}
	p.put("| ", strconv.FormatInt(t.Index, 10), " | ", at, " | ", prose(event), " | ", prose(deref(s.From)), " | ", prose(deref(s.To)),
		" | ", prose(strings.Join(s.Actions, ", ")), " |\n")
}

// block writes a value between fences that are longer than any it holds.
func (p *printer) block(j store.JSON) {
	var text strings.Builder
	// A builder takes everything, so it is the value that could not be indented.
	if _, err := store.Indent(&text, store.EscapeControls(j), 24, 0); err != nil {
		p.warn("a value is left out: %v", err)
		return
	}
	fence := strings.Repeat("`", max(3, longest(text.String(), '`')+1))
	p.put(fence, "json\n")
	for line := range strings.Lines(text.String()) {
		p.put(whole(strings.TrimRight(line, "\n")), "\n")
	}
	p.put(fence, "\n")
}

// prose is a text of the store within a line of Markdown.
func prose(s string) string {
	var b strings.Builder
	for _, r := range whole(s) {
		if strings.ContainsRune("\\`*_{}[]<>#|~$&@", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code is a text of the store as it is, between backticks that it does not hold.
func code(s string) string {
	text := strings.ReplaceAll(whole(s), "|", "¦") // a bar would end the cell of a table
	if text == "" {
		return "(empty)"
	}
	ticks := strings.Repeat("`", longest(text, '`')+1)
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	return ticks + pad + text + pad + ticks
}

// longest is the length of the longest run of a character.
func longest(s string, c byte) int {
	best, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		best = max(best, run)
	}
	return best
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// clock is a time in UTC: an export is read elsewhere.
func clock(sec float64) string {
	if sec != sec || sec > 253402300799 || sec < -62135596800 {
		return term.Sanitise(store.FormatFireAt(sec)).String()
	}
	whole := int64(sec)
	return time.Unix(whole, int64((sec-float64(whole))*1e9)).UTC().Format("2006-01-02 15:04:05.000Z")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
