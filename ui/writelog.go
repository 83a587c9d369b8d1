package ui

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/store"
	"treering/treeview"
	"treering/ui/paint"
)

// writesState is what belongs to writing and outlives a dialog.
type writesState struct {
	log    writeLog
	drafts map[string][]string // what was typed into a form and not written, by form
	names  branchNames
}

// maxLogged is how many writes are remembered, maxLoggedBytes how long their
// commands may be together.
const (
	maxLogged      = 500
	maxLoggedBytes = 8 << 20
)

// writeLog is what this run of the explorer wrote, or tried to.
type writeLog struct {
	entries []*logEntry
	dropped int // older ones that are forgotten
	bytes   int // of their commands
}

// logEntry is one try of a write.
type logEntry struct {
	at      time.Time
	title   string
	target  []string // "session example"
	effect  []string
	command string
	said    string // what came of it; "" while that is not known
	state   logState
}

type logState uint8

const (
	underWay logState = iota
	happened
	inPart
	refusedWrite
	failedWrite
	unknownWrite
)

var logWords = [...]string{underWay: "writing", happened: "done", inPart: "in part", refusedWrite: "nothing", failedWrite: "failed", unknownWrite: "unknown"}

// begin notes a write that is about to be tried.
func (l *writeLog) begin(now time.Time, d *dialog) *logEntry {
	e := &logEntry{at: now, title: d.title.String(), command: d.command()}
	for _, r := range d.target {
		e.target = append(e.target, strings.TrimSpace(r.label.String()+" "+r.words()))
	}
	for _, r := range d.effect() {
		e.effect = append(e.effect, r.words())
	}
	l.entries = append(l.entries, e)
	l.bytes += len(e.command)
	for len(l.entries) > maxLogged || l.bytes > maxLoggedBytes && len(l.entries) > 1 {
		l.bytes -= len(l.entries[0].command)
		l.entries = slices.Delete(l.entries, 0, 1)
		l.dropped++
	}
	return e
}

// end notes what came of it, an error in the words given.
func (e *logEntry) end(o outcome, reason string) {
	switch {
	case errors.Is(o.err, store.ErrOutcomeUnknown):
		e.state, e.said = unknownWrite, reason
	case o.err != nil:
		e.state, e.said = failedWrite, reason
	case o.partly != "":
		e.state, e.said = inPart, o.partly
	case o.moot != "":
		e.state, e.said = refusedWrite, o.moot
	default:
		e.state, e.said = happened, o.done
	}
}

func (s logState) style(t *paint.Theme) paint.Style {
	switch s {
	case happened:
		return t.Good
	case refusedWrite:
		return t.Warn
	case failedWrite, unknownWrite, inPart:
		return t.Error
	default:
		return t.Info
	}
}

// text is an entry for the clipboard.
func (e *logEntry) text(zone *time.Location) string {
	var b strings.Builder
	b.WriteString(e.at.In(zone).Format(time.RFC3339) + "  " + e.title + "\n")
	for _, t := range e.target {
		b.WriteString("  " + t + "\n")
	}
	for _, t := range e.effect {
		b.WriteString("  effect: " + t + "\n")
	}
	b.WriteString("  " + logWords[e.state])
	if e.said != "" {
		b.WriteString(": " + e.said)
	}
	b.WriteString("\n")
	if e.command != "" {
		b.WriteString("  " + e.command + "\n")
	}
	return b.String()
}

func logged(m *Model) string {
	if len(m.writes.log.entries) == 0 {
		return "nothing was written since the explorer started"
	}
	return ""
}

// openLog lists the writes, the newest first. The one selected is shown whole.
func openLog(m *Model, _ string) tea.Cmd {
	l := &m.writes.log
	chosen := l.entries[len(l.entries)-1]
	index := func() int { // from the newest; of one that was dropped meanwhile, the last
		for i := range l.entries {
			if l.entries[len(l.entries)-1-i] == chosen {
				return i
			}
		}
		return len(l.entries) - 1
	}
	d := &dialog{title: term.Lit("Own writes")}
	d.tells = func() dialogRow {
		said := countText(len(l.entries), "write", "writes")
		if l.dropped > 0 {
			said = said.Plus(term.Lit("; " + treeview.Grouped(int64(l.dropped)) + " older are forgotten"))
		}
		return dialogRow{text: said, style: m.theme.Dim}
	}
	d.command = func() string { return "" }
	d.effect = func() []dialogRow {
		var rows []dialogRow
		at := index()
		for i := range l.entries {
			e := l.entries[len(l.entries)-1-i]
			mark := m.theme.NoMark
			if i == at {
				mark = m.theme.Mark
			}
			head := dialogRow{label: mark.Plus(term.Lit(e.at.In(m.zone).Format("15:04:05"))), style: e.state.style(m.theme)}
			if i != at {
				short := logWords[e.state]
				if e.said != "" {
					short += ": " + e.said
				}
				head.text = m.term.SanitiseN(e.title+", "+short, 300)
				head.short = true
				rows = append(rows, head)
				continue
			}
			head.raw, head.style, head.here = e.title, m.theme.Bold, true
			rows = append(rows, head)
			for _, t := range e.target {
				rows = append(rows, row("", t))
			}
			for _, t := range e.effect {
				r := row("", t)
				r.style = m.theme.Dim
				rows = append(rows, r)
			}
			said := row("", logWords[e.state])
			if e.said != "" {
				said = row("", logWords[e.state]+": "+e.said)
			}
			said.style = e.state.style(m.theme)
			rows = append(rows, said)
			if e.command != "" {
				r := row("", e.command)
				r.style, r.exact = m.theme.Dim, true
				rows = append(rows, r)
			}
			rows[len(rows)-1].here = true
		}
		return rows
	}
	move := func(by int) {
		i := min(max(index()+by, 0), len(l.entries)-1)
		chosen = l.entries[len(l.entries)-1-i]
		d.scroll.follow = true
	}
	d.keys = func(m *Model, name string) (tea.Cmd, bool) {
		switch name {
		case "up", "k":
			move(-1)
		case "down", "j":
			move(1)
		case "home", "g":
			move(-len(l.entries))
		case "end", "G":
			move(len(l.entries))
		case "y", "enter":
			switch why, none := strings.CutPrefix(chosen.command, noCommand); {
			case chosen.command == "":
				m.refused("copy: no command does that")
				return nil, true
			case none:
				m.refused("copy: no command does that: " + why)
				return nil, true
			}
			return m.copyText(chosen.command, "the command"), true
		case "Y":
			var b strings.Builder
			for _, e := range l.entries {
				b.WriteString(e.text(m.zone))
			}
			return m.copyText(b.String(), "the log, "+strconv.Itoa(len(l.entries))+" writes"), true
		case "q", "L":
			return d.leave(m), true
		default:
			return nil, false
		}
		m.screen.bars()
		return nil, true
	}
	d.more = func() []hint {
		return []hint{{term.Lit("y"), term.Lit("copy command")}, {term.Lit("Y"), term.Lit("copy all")}, {m.keyName("down"), term.Lit("older")}}
	}
	return m.ask(d)
}

// copyText puts a text into the clipboard.
func (m *Model) copyText(text, what string) tea.Cmd {
	return m.toClipboard("copy "+what, text, "copied "+what)
}
