package term

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
	"pgregory.net/rapid"
)

// An emulator that is given a text has its cursor right behind it, on the same
// line, and shows nothing but the text.
func TestTextOnAnEmulator(t *testing.T) {
	const columns = 400
	rapid.Check(t, func(t *rapid.T) {
		text := Sanitise(hostile().Draw(t, "s")).Truncate(columns-1, "…")
		screen := vt.NewEmulator(columns, 2)
		if _, err := screen.WriteString(text.String()); err != nil {
			t.Fatal(err)
		}
		if at := screen.CursorPosition(); at.X != text.Width() || at.Y != 0 {
			t.Fatalf("%+q is %d wide, but the cursor is at %v", text, text.Width(), at)
		}
		if _, err := screen.WriteString("|"); err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(screen.String(), "\n")
		if got := strings.TrimRight(first, " "); got != text.String()+"|" {
			t.Fatalf("the screen shows %+q, want %+q and a bar", got, text)
		}
	})
}
