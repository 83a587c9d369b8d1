package term

import (
	"slices"
	"strings"
	"testing"
)

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in                       string
		w                        int
		end, start, middle, fits string
	}{
		{"abcdef", 9, "abcdef", "abcdef", "abcdef", "abcdef   "},
		{"abcdef", 6, "abcdef", "abcdef", "abcdef", "abcdef"},
		{"abcdef", 5, "abcd…", "…cdef", "ab…ef", "abcd…"},
		{"abcdef", 4, "abc…", "…def", "ab…f", "abc…"},
		{"abcdef", 1, "…", "…", "…", "…"},
		{"abcdef", 0, "", "", "", ""},
		{"abcdef", -3, "", "", "", ""},
		{"测试测试", 7, "测试测…", "…试测试", "测…试", "测试测…"},
		{"测试测试", 6, "测试…", "…测试", "测…试", "测试… "},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…", "…e\u0301", "e\u0301…", "e\u0301…"},
	} {
		in := Sanitise(c.in)
		if got := in.Truncate(c.w, "…").String(); got != c.end {
			t.Errorf("%q.Truncate(%d) = %q, want %q", c.in, c.w, got, c.end)
		}
		if got := in.TruncateLeft(c.w, "…").String(); got != c.start {
			t.Errorf("%q.TruncateLeft(%d) = %q, want %q", c.in, c.w, got, c.start)
		}
		if got := in.TruncateMiddle(c.w, "…").String(); got != c.middle {
			t.Errorf("%q.TruncateMiddle(%d) = %q, want %q", c.in, c.w, got, c.middle)
		}
		if got := in.Fit(c.w, "…").String(); got != c.fits {
			t.Errorf("%q.Fit(%d) = %q, want %q", c.in, c.w, got, c.fits)
		}
	}
}

func TestTruncateSanitisesItsTail(t *testing.T) {
	if got := Lit("abcdef").Truncate(4, "\x1b>").String(); got != "ab␛>" {
		t.Errorf("Truncate with a control in its tail = %q", got)
	}
}

// A cut must not leave a character at the end that merges with what follows.
func TestTruncateSealsTheCut(t *testing.T) {
	in := Profile{Rule: Grapheme}.Sanitise("न् xyz")
	if got := in.Truncate(1, "").String(); got != "‿" {
		t.Errorf("Truncate(1) = %+q, want a join not made", got)
	}
}

func TestPadAndSpaces(t *testing.T) {
	if got := Lit("测").Pad(4).String(); got != "测  " {
		t.Errorf("Pad = %q", got)
	}
	if got := Lit("测").PadLeft(4).String(); got != "  测" {
		t.Errorf("PadLeft = %q", got)
	}
	if got := Lit("long").Pad(2).PadLeft(3).String(); got != "long" {
		t.Errorf("Pad of a wider text = %q", got)
	}
	for _, n := range []int{-1, 0, 1, len(blanks), len(blanks) + 1} {
		want := strings.Repeat(" ", max(n, 0))
		if got := Spaces(n); got.String() != want || got.Width() != len(want) {
			t.Errorf("Spaces(%d) = %q, width %d", n, got, got.Width())
		}
	}
}

func TestPlusJoinRepeat(t *testing.T) {
	a, b := Lit("ab"), Lit("测")
	if got := a.Plus(b, a); got != Lit("ab测ab") {
		t.Errorf("Plus = %q, width %d", got, got.Width())
	}
	if got := a.Plus(); got != a {
		t.Errorf("Plus of nothing = %q", got)
	}
	if got := Join(Lit(", "), a, b, a); got != Lit("ab, 测, ab") {
		t.Errorf("Join = %q, width %d", got, got.Width())
	}
	if got := Join(Lit(", ")); !got.Empty() {
		t.Errorf("Join of nothing = %q", got)
	}
	if got := b.Repeat(3); got != Lit("测测测") {
		t.Errorf("Repeat = %q, width %d", got, got.Width())
	}
	if got := b.Repeat(-1); !got.Empty() {
		t.Errorf("Repeat(-1) = %q", got)
	}
	if !(Text{}).Empty() || Lit(" ").Empty() {
		t.Error("Empty must hold for the zero Text and not for a space")
	}
}

func TestCut(t *testing.T) {
	in := Lit("ab测试cd")
	for _, c := range []struct {
		left, right int
		want        string
	}{
		{0, 8, "ab测试cd"}, {-5, 99, "ab测试cd"}, {2, 4, "测"}, {3, 5, "  "}, {3, 6, " 试"}, {1, 5, "b测 "}, {6, 7, "c"}, {8, 9, ""}, {5, 2, ""},
	} {
		if got := in.Cut(c.left, c.right).String(); got != c.want {
			t.Errorf("Cut(%d, %d) = %q, want %q", c.left, c.right, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want []string
	}{
		{"", 5, []string{""}},
		{"short", 5, []string{"short"}},
		{"two words", 5, []string{"two ", "words"}},
		{"two words", 4, []string{"two ", "word", "s"}},
		{"two  words", 4, []string{"two ", " ", "word", "s"}},
		{"测试测", 3, []string{"测", "试", "测"}},
		{"a测b", 1, []string{"a", "…", "b"}},
		{"abc", 0, []string{"a", "b", "c"}},
	} {
		var got []string
		for _, l := range Sanitise(c.in).Wrap(c.w) {
			got = append(got, l.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q.Wrap(%d) = %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n", []string{""}},
		{"a", []string{"a"}},
		{"a\n", []string{"a"}},
		{"a\n\nb\r\nc\rd\r", []string{"a", "", "b", "c␍d␍"}},
		{"a\r\n", []string{"a"}},
		{"\tx\ty", []string{"        x       y"}},
		{"1234567\tx\n12345678\tx\n测\tx", []string{"1234567 x", "12345678        x", "测      x"}},
		{"\x1b[31m\n\u2028", []string{"␛[31m", "«U+2028»"}},
	} {
		var got []string
		for _, l := range Lines(c.in) {
			got = append(got, l.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("Lines(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestEachLineStops(t *testing.T) {
	n := 0
	for l := range (Profile{}).EachLine("a\nb\nc") {
		n++
		if l == Lit("b") {
			break
		}
	}
	if n != 2 {
		t.Errorf("EachLine yielded %d lines before the break, want 2", n)
	}
}
