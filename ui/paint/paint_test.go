package paint

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"treering/internal/term"
)

// However a line is put together, it is exactly as wide as it was asked to be.
func TestLinesAreExactlyAsWideAsAskedFor(t *testing.T) {
	theme := Default(false)
	rapid.Check(t, func(t *rapid.T) {
		w := rapid.IntRange(0, 60).Draw(t, "width")
		base := rapid.SampledFrom([]Style{"", theme.Selected}).Draw(t, "base")
		l := NewLine(w, base)
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			text := term.Sanitise(rapid.String().Draw(t, "text"))
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				l.Plain(text)
			case 1:
				l.Put(theme.Good, text)
			case 2:
				l.To(rapid.IntRange(-5, 80).Draw(t, "column"))
			case 3:
				l.Fill(theme.Border, theme.Rule, rapid.IntRange(-5, 80).Draw(t, "column"))
			}
			if l.Used() > w || l.Left() != w-l.Used() {
				t.Fatalf("%d cells used of %d", l.Used(), w)
			}
		}
		s := l.String()
		if got := term.StyledWidth(s); got != w {
			t.Fatalf("%d cells wide, want %d: %q", got, w, s)
		}
		if on, offs := strings.Count(s, "\x1b[")-strings.Count(s, off), strings.Count(s, off); on > offs {
			t.Fatalf("a style is left on: %q", s)
		}
	})
}

func TestASelectedLineIsOfOnePiece(t *testing.T) {
	theme := Default(false)
	got := NewLine(8, theme.Selected).Put(theme.Good, term.Lit("ab")).Put(theme.Error, term.Lit("cd")).String()
	if want := "\x1b[7mabcd    \x1b[m"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
