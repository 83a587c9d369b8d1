package term

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWritePlain(t *testing.T) {
	for _, c := range []struct{ in, terminal string }{
		{"", ""},
		{"one line", "one line"},
		{"a\nb\n", "a\nb\n"},
		{"a\r\n\n", "a\n\n"},
		{"\x1b[2J\tx\n\u202e", "␛[2J    x\n«U+202E»"},
		{"👨\u200d👩 नि", "👨\u200d👩 नि"},
	} {
		var raw, safe bytes.Buffer
		if err := errors.Join(WritePlain(&raw, false, c.in), WritePlain(&safe, true, c.in)); err != nil {
			t.Fatal(err)
		}
		if raw.String() != c.in {
			t.Errorf("to a pipe %q became %q", c.in, &raw)
		}
		if safe.String() != c.terminal {
			t.Errorf("to a terminal %q became %q, want %q", c.in, &safe, c.terminal)
		}
	}
}

// However a text is cut into writes, the same comes out.
func TestSafeWriterIsWritePlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := hostile().Draw(t, "s")
		terminal := rapid.Bool().Draw(t, "terminal")
		var got, want bytes.Buffer
		if err := WritePlain(&want, terminal, s); err != nil {
			t.Fatal(err)
		}
		w := NewSafeWriter(&got, terminal)
		for rest := []byte(s); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if m, err := w.Write(rest[:n]); m != n || err != nil {
				t.Fatalf("Write of %d bytes = %d, %v", n, m, err)
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("in pieces %+q became %+q, want %+q", s, &got, &want)
		}
	})
}

func TestSafeWriterDoesNotHoldALongLine(t *testing.T) {
	var got bytes.Buffer
	w := NewSafeWriter(&got, true)
	line := []byte(strings.Repeat("测", maxLine/3+1))
	if _, err := w.Write(line[:len(line)-1]); err != nil {
		t.Fatal(err)
	}
	if got.Len() != len(line)-3 {
		t.Errorf("%d bytes written of %d, want all but the rune that is cut", got.Len(), len(line)-1)
	}
	if _, err := w.Write(line[len(line)-1:]); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), line) {
		t.Error("a line longer than the buffer was changed")
	}
}

func TestWholeRunes(t *testing.T) {
	for _, c := range []struct {
		in   string
		want int
	}{{"", 0}, {"a", 1}, {"a\r", 1}, {"测", 3}, {"a\xe6\xb5", 1}, {"a\x80\x80\x80\x80\x80", 6}, {"a\xff", 2}} {
		if got := wholeRunes([]byte(c.in)); got != c.want {
			t.Errorf("wholeRunes(%q) = %d, want %d", c.in, got, c.want)
		}
	}
}

type brokenPipe struct{}

var errBroken = errors.New("broken")

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestWritersPassErrorsOn(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		if err := WritePlain(brokenPipe{}, terminal, "x"); !errors.Is(err, errBroken) {
			t.Errorf("WritePlain = %v", err)
		}
		if _, err := NewSafeWriter(brokenPipe{}, terminal).Write([]byte("x\n")); !errors.Is(err, errBroken) {
			t.Errorf("Write = %v", err)
		}
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if IsTerminal(f) || IsTerminal(nil) {
		t.Error("a file and no file at all must not be terminals")
	}
	if _, _, err := Size(f); err == nil || !strings.Contains(err.Error(), f.Name()) {
		t.Errorf("Size of a file = %v, want an error that names it", err)
	}
	if _, _, err := Size(nil); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("Size of nothing = %v", err)
	}
}

func TestNoColor(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want bool
	}{
		{nil, false},
		{[]string{"NO_COLOR=1"}, true},
		{[]string{"NO_COLOR="}, false},
		{[]string{"NO_COLOR=1", "NO_COLOR="}, false},
		{[]string{"XNO_COLOR=1", "NO_COLORS=1"}, false},
	} {
		if got := NoColor(c.env); got != c.want {
			t.Errorf("NoColor(%q) = %v, want %v", c.env, got, c.want)
		}
	}
}

func TestTitle(t *testing.T) {
	if got := Title("shop\x1b]0;OWNED\a\n"); got != "shop␛]0;OWNED␇␊" {
		t.Errorf("Title = %q", got)
	}
	if got := Sanitise(Title(strings.Repeat("x", 1000))).Width(); got != maxTitle {
		t.Errorf("a long title is %d wide, want %d", got, maxTitle)
	}
}

func TestStyled(t *testing.T) {
	const s = "\x1b[1mabc\x1b[m测"
	if got := StyledWidth(s); got != 5 {
		t.Errorf("StyledWidth = %d, want 5", got)
	}
	if got := StyledTruncate(s, 3, "…"); Unstyled(got) != "ab…" || !strings.HasPrefix(got, "\x1b[1mab") || !strings.Contains(got, "\x1b[m") {
		t.Errorf("StyledTruncate = %q", got)
	}
	if got := StyledCut(s, 1, 3); Unstyled(got) != "bc" || !strings.Contains(got, "\x1b[1m") {
		t.Errorf("StyledCut = %q", got)
	}
}

func TestColourDepth(t *testing.T) {
	for env, want := range map[string]Depth{
		"TERM=xterm":                         SixteenColours,
		"TERM=xterm-256color":                EightBit,
		"TERM=xterm COLORTERM=truecolor":     TrueColour,
		"TERM=xterm-kitty":                   TrueColour,
		"TERM=xterm-direct":                  TrueColour,
		"TERM=tmux-256color":                 EightBit,
		"TERM=screen COLORTERM=truecolor":    EightBit,
		"TERM=xterm TMUX=/x COLORTERM=24bit": EightBit,
		"TERM=vt100":                         NoColours,
		"TERM=xterm-mono":                    NoColours,
		"TERM=dumb COLORTERM=truecolor":      NoColours,
		"TERM=xterm NO_COLOR=0":              NoColours,
		"TERM=xterm CLICOLOR=0":              NoColours,
		"TERM=xterm CLICOLOR=1":              SixteenColours,
		"TERM=vt100 CLICOLOR_FORCE=1":        SixteenColours,
	} {
		if got := ColourDepth(strings.Fields(env)); got != want {
			t.Errorf("%s: %d, want %d", env, got, want)
		}
	}
}

func TestLightBackground(t *testing.T) {
	for env, want := range map[string]bool{"": false, "COLORFGBG=0;15": true, "COLORFGBG=15;0": false, "COLORFGBG=0;7": true, "COLORFGBG=12;8": false, "COLORFGBG=x": false, "COLORFGBG=0;default": false} {
		if got := LightBackground(strings.Fields(env)); got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

// A line that is cut through a character of two cells keeps its width: what a box
// leaves to see of the lines below it does not move.
func TestALineIsCutThroughAWideCharacter(t *testing.T) {
	s := "a\x1b[1m\u4e2d\u6587\x1b[m👍z" // cells: a 1-2 3-4 5-6 z
	for _, c := range []struct {
		left, right int
		want        string
	}{{0, 2, "a "}, {2, 4, "  "}, {2, 5, " \u6587"}, {3, 6, "\u6587 "}, {6, 8, " z"}, {0, 8, "a\u4e2d\u6587👍z"}, {3, 20, "\u6587👍z"}, {4, 4, ""}} {
		if got := Unstyled(StyledCut(s, c.left, c.right)); got != c.want {
			t.Errorf("%d to %d: %q, want %q", c.left, c.right, got, c.want)
		}
	}
}
