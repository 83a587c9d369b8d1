package ui

import (
	"strings"

	"treering/internal/term"
	"treering/store"
	"treering/ui/paint"
	"treering/ui/when"
)

// emptyLines say why a list has no rows, and what to do about it.
func (n *navigator) emptyLines(m *Model, w int, started bool, err error, what string) []string {
	switch {
	case err != nil:
		return m.unreadLines(w, err)
	case !started || !n.chosen:
		return paragraph(w, m.theme.Dim, term.Lit("reading…"))
	case n.bar().on():
		return paragraph(w, m.theme.Dim, term.Lit("no "+what+" matches"), term.Lit("esc clears the filter"))
	case what == "session":
		return paragraph(w, m.theme.Dim, term.Lit("no sessions yet"),
			term.Lit("+ or treering session create makes one; treering demo shows what this looks like full"))
	}
	return paragraph(w, m.theme.Dim, term.Lit("no executions yet"),
		term.Lit("they come from the program that runs them, or from treering commit"))
}

// paragraph wraps texts to a width.
func paragraph(w int, s paint.Style, texts ...term.Text) []string {
	var out []string
	for _, t := range texts {
		for _, part := range lines(t, w-2) {
			out = append(out, paint.NewLine(w, "").Gap(1).Put(s, part).String())
		}
	}
	return out
}

// lines breaks a sentence to a width. The blank that a line was broken at is
// left out.
func lines(t term.Text, w int) []term.Text {
	out := t.Wrap(max(w, 1))
	for i := 1; i < len(out); i++ {
		if strings.HasPrefix(out[i].String(), " ") {
			out[i] = out[i].Cut(1, out[i].Width())
		}
	}
	return out
}

// rowStart begins a row: selected rows have a mark, and in the focused pane
// they are of one piece.
func rowStart(m *Model, w int, look look) *paint.Line {
	switch look {
	case selected:
		return paint.NewLine(w, m.theme.Selected).Plain(m.theme.Mark)
	case marked:
		return paint.NewLine(w, "").Put(m.theme.Bold, m.theme.Mark)
	default:
		return paint.NewLine(w, "").Plain(m.theme.NoMark)
	}
}

func drawSession(m *Model, w int, s store.SessionInfo, look look) string {
	l := rowStart(m, w, look)
	var right term.Text
	if s.ExpiresAt != nil {
		if left := m.until(*s.ExpiresAt); left > 0 {
			right = term.Lit("  " + when.Distance(left, false) + " left")
		} else {
			right = term.Lit("  expired")
		}
	}
	kind := m.term.SanitiseN(s.Kind, 14)
	room := max(w-3-kind.Width()-right.Width(), 8)
	if title, project := m.sessionTitle(s.ID); title.Empty() {
		l.Plain(m.term.Sanitise(s.ID).TruncateMiddle(room, "…"))
	} else {
		// What it is about has the room; where it was is said if there is some left.
		l.Plain(title.Truncate(room, "…"))
		if left := room - title.Width() - 2; left >= 8 {
			l.Gap(2).Put(m.theme.Dim, project.TruncateMiddle(left, "…"))
		}
	}
	l.To(w-1-kind.Width()-right.Width()).Put(m.theme.Dim, kind).Put(m.theme.Warn, right)
	return l.String()
}

// statusWidth is the column of a status: the longest of the engine's words.
const statusWidth = len(store.Cancelling)

// statusText is an execution's status as a word.
func statusText(p term.Profile, s store.Summary) term.Text {
	return p.SanitiseN(statusWord(s), maxStatus)
}

// maxStatus is how much of a status is shown, in cells.
const maxStatus = 16

func statusWord(s store.Summary) string {
	if s.Bad != nil && s.Status == "" {
		return "unreadable"
	}
	return string(s.Status)
}

func drawExecution(m *Model, w int, s store.Summary, look look) string {
	l := rowGlow(m, w, look, m.glowOf(glowExecution(s.ID)))
	status := statusText(m.term, s)
	rest := term.Text{}
	if w >= 58 {
		rest = execNote(m.term, s)
	}
	idWidth := w - 3 - statusWidth
	if !rest.Empty() {
		idWidth = max(min(idWidth-16, 34), 20)
	}
	marked := 0
	if at := label(m.marks.on(subject{kind: execution}, s.ID)); !at.Empty() {
		l.Put(m.theme.Bold, at)
		marked = at.Width()
	}
	flawed := s.Bad != nil || len(s.Drift) > 0
	l.Plain(m.term.Sanitise(s.ID).TruncateMiddle(idWidth-marked-flawRoom(flawed), "…"))
	if flawed {
		l.To(1+idWidth).Put(m.theme.Error, term.Lit("!"))
	}
	l.To(2+idWidth).Put(m.theme.Status(s.Status), status)
	if !rest.Empty() {
		l.To(2+idWidth+statusWidth+1).Put(m.theme.Dim, rest)
	}
	return l.String()
}

// flawRoom is what the id of a row that drifts or cannot be read whole leaves free:
// the blank before the mark, which stands before the status.
func flawRoom(flawed bool) int {
	if flawed {
		return 1
	}
	return 0
}

// execNote is what is said of an execution besides its status.
func execNote(p term.Profile, s store.Summary) term.Text {
	var parts []term.Text
	if s.Outcome != nil && *s.Outcome != "" {
		parts = append(parts, p.SanitiseN(*s.Outcome, 40))
	}
	if s.ActivePath != nil && *s.ActivePath != "" {
		parts = append(parts, p.SanitiseN(*s.ActivePath, 80))
	}
	return term.Join(term.Spaces(1), parts...)
}
