package ui

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"treering/internal/term"
	"treering/ui/paint"
)

// meter measures the loop while somebody looks. Bytes are written by the renderer's
// goroutine; the rest belongs to the loop's. A nil meter measures nothing.
type meter struct {
	on       atomic.Bool
	bytes    atomic.Int64
	messages int64
	update   []time.Duration // since the last reading
	view     []time.Duration
}

// maxMeasured bounds what is remembered between two readings.
const maxMeasured = 1 << 16

func (t *meter) begin() time.Time {
	if t == nil || !t.on.Load() {
		return time.Time{}
	}
	return time.Now()
}

func (t *meter) updated(began time.Time) {
	if !began.IsZero() && len(t.update) < maxMeasured {
		t.messages++
		t.update = append(t.update, time.Since(began))
	}
}

func (t *meter) viewed(began time.Time) {
	if !began.IsZero() && len(t.view) < maxMeasured {
		t.view = append(t.view, time.Since(began))
	}
}

func (t *meter) wrote(n int) {
	if t != nil && t.on.Load() {
		t.bytes.Add(int64(n))
	}
}

// hudState is the line that shows what was measured in the last second.
type hudState struct {
	on   bool
	gen  int
	text string
}

// toggleHUD shows the line, or hides it.
func toggleHUD(m *Model, _ string) tea.Cmd {
	if m.meter == nil {
		m.refused("timings: nothing measures here")
		return nil
	}
	h := &m.hud
	h.on, h.text = !h.on, "measuring"
	h.gen++
	m.meter.on.Store(h.on)
	m.meter.read(time.Second)
	m.screen.bars()
	return m.measure()
}

// measure reads the meter in a second.
func (m *Model) measure() tea.Cmd {
	if !m.hud.on {
		return nil
	}
	gen, began := m.hud.gen, m.now()
	return m.later(time.Second, func(m *Model) tea.Cmd {
		if m.hud.gen != gen {
			return nil
		}
		m.hud.text = m.meter.read(m.now().Sub(began))
		m.screen.bars()
		return m.measure()
	})
}

// read says what was measured, and begins anew.
func (t *meter) read(in time.Duration) string {
	seconds := max(in.Seconds(), 1e-3)
	text := "Update p50 " + quantiles(t.update) + "  View p50 " + quantiles(t.view) +
		"  " + strconv.FormatFloat(float64(t.messages)/seconds, 'f', 0, 64) + " messages/s" +
		"  " + strconv.FormatFloat(float64(t.bytes.Swap(0))/seconds, 'f', 0, 64) + " bytes/s"
	t.messages, t.update, t.view = 0, t.update[:0], t.view[:0]
	return text
}

// quantiles is the median, and the time that one of a hundred exceeds.
func quantiles(took []time.Duration) string {
	if len(took) == 0 {
		return "- p99 -"
	}
	slices.Sort(took)
	at := func(percent int) string {
		return took[min(len(took)*percent/100, len(took)-1)].Round(time.Microsecond).String()
	}
	return at(50) + " p99 " + at(99)
}

func (m *Model) hudLine(w int) string {
	return paint.NewLine(w, "").Gap(1).Put(m.theme.Dim, term.Sanitise(m.hud.text).Truncate(max(w-2, 1), "…")).String()
}
