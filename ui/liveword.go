package ui

import (
	"errors"
	"time"

	"treering/internal/term"
	"treering/store"
	"treering/ui/paint"
)

// behindAfter is how old what was not looked at yet is when the header says so.
const behindAfter = time.Second

// liveWord is what the header says of how the store is followed, and of the system
// that runs on it.
func (m *Model) liveWord(w int) (term.Text, paint.Style) {
	t := m.theme
	short := w < 70
	since := func(word string, at time.Time) term.Text {
		return term.Lit(word + " since " + m.clockOf(at, short))
	}
	word, style := term.Lit("live"), t.Good
	switch at, locked := m.lockedSince(); {
	case m.live.off:
		return term.Lit("not followed, " + m.keyFor("reload") + " reads"), t.Warn
	case m.replaced(m.live.err):
		return term.Lit("replaced, " + m.keyFor("stores") + " opens it"), t.Error
	case locked && short:
		return since("locked", at), t.Error
	case locked:
		return since("waiting for a lock", at), t.Error
	case m.live.err != nil && short:
		return since("lost", m.live.lost), t.Error
	case m.live.err != nil:
		return since("disconnected", m.live.lost), t.Error
	case m.again.err != nil:
		return term.Lit("not all is read"), t.Error
	case !m.live.stale.IsZero() && short:
		return since("old", m.live.stale), t.Warn
	case !m.live.stale.IsZero():
		return since("may be old", m.live.stale), t.Warn
	case m.again.slow:
		return since("waiting for the store", m.again.asking), t.Warn
	case m.system.driver != nil:
		word, style = m.system.word(t)
	case !m.live.behind.IsZero() && m.now().Sub(m.live.behind) >= behindAfter:
		word, style = since("behind", m.live.behind), t.Warn
	}
	if m.trace.paused {
		word, style = word.Plus(term.Lit(", trace paused")), t.Warn
	}
	return word, style
}

// lockedSince is since when somebody else's lock is waited for.
func (m *Model) lockedSince() (at time.Time, locked bool) {
	if errors.Is(m.again.err, store.ErrBusy) {
		at, locked = m.again.since, true
	}
	if errors.Is(m.live.err, store.ErrBusy) && (!locked || m.live.lost.Before(at)) {
		at, locked = m.live.lost, true
	}
	return at, locked
}

// clockOf is a time of today, or the day too where it is another.
func (m *Model) clockOf(at time.Time, short bool) string {
	at, now := at.In(m.zone), m.now().In(m.zone)
	layout := "15:04:05"
	if short {
		layout = "15:04"
	}
	if at.YearDay() != now.YearDay() || at.Year() != now.Year() {
		layout = "2006-01-02 15:04"
	}
	return at.Format(layout)
}
