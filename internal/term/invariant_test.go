package term

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// check reports what a Text must never be, in words, and "" if it is fine.
func check(t Text, rule Rule) string {
	s := t.String()
	if !utf8.ValidString(s) {
		return "not valid UTF-8"
	}
	for _, r := range s {
		joiner := rule == Grapheme && (r == zwj || r == emojiVS)
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || !joiner && (unicode.Is(unicode.Cf, r) || hidden(r)) {
			return "holds a control or an invisible character"
		}
		if unicode.Is(unicode.Bidi_Control, r) {
			return "holds a bidi control"
		}
	}
	if w := ansi.StringWidth(s); w != t.Width() {
		return "its width is not that of the grapheme rule"
	}
	if w := ansi.StringWidthWc(s); rule == Wcwidth && w != t.Width() {
		return "its width is not that of the wcwidth rule"
	}
	rest, marks := s, 0
	for rest != "" {
		c, w := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		if rule == Wcwidth && w != ansi.StringWidthWc(c) {
			return "a character has two widths"
		}
		if w < 1 {
			return "a character has no cell"
		}
		marks = 0
		for _, r := range c {
			if unicode.In(r, unicode.Mn, unicode.Me) && r != emojiVS {
				marks++
			}
		}
		if marks > maxMarks {
			return "a character carries too many marks"
		}
		rest = rest[len(c):]
	}
	return ""
}

// nasty are the building blocks of hostile strings.
var nasty = []string{
	"a", " ", "~", "1", "#", "é", "e\u0301", "测", "가", "\u1100", "\u1161", "\u11a8", "\ua960", "\ud7b0", "\u0301", "\u20e3", "\u0e33", "\u0eb3", "\u0e19",
	"क", "्", "ि", "ः", "ക", "\u0d4d", "\u0d4e", "\u0600", "\u06dd", "\U000111c2", "\u1039", "ﷺ", "ا", "ל",
	"😀", "👨", "👩", "❤", "🏳", "🏴", "🏽", "🚀", "⌚", "©", "🇫", "🇷", "\u200d", "\ufe0f", "\ufe0e", "\ufe00", "\U000e0100",
	"\U000e0067", "\U000e007f", "\U000e0001", "\x00", "\t", "\n", "\r", "\x1b", "\x1b[2J", "\x7f", "\u0085", "\u009b", "\x9b", "\xff", "\xc3", "\xf0\x9f",
	"\u200b", "\u200c", "\u200e", "\u202e", "\u2066", "\u2028", "\ufeff", "\u00ad", "\u034f", "\u115f", "\u3164", "\uffff", "\ufdd0", "\ue000", "\U0010ffff", "\u0378", "\U0001fae9", "\u0897",
	"‿", "…", "◌", "«", "\ufffd",
}

func hostile() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(
			rapid.SampledFrom(nasty), rapid.SampledFrom(nasty), rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
			rapid.Map(rapid.Int32Range(0, unicode.MaxRune), func(r int32) string { return string(r) }),
		), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func profile(t *rapid.T) Profile {
	return Profile{Rule: rapid.SampledFrom([]Rule{Wcwidth, Grapheme}).Draw(t, "rule")}
}

func TestEveryTextIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := profile(t), hostile().Draw(t, "s")
		text := p.Sanitise(s)
		if wrong := check(text, p.Rule); wrong != "" {
			t.Fatalf("%v: Sanitise(%+q) = %+q, width %d: %s", p.Rule, s, text, text.Width(), wrong)
		}
		if again := p.Sanitise(text.String()); again != text {
			t.Fatalf("%v: Sanitise(%+q) = %+q, but sanitising that gives %+q", p.Rule, s, text, again)
		}
	})
}

// Texts may be put beside each other in any order, with plain strings of the
// program's own between them, and each keeps its width.
func TestTextsDoNotMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile(t)
		texts := rapid.SliceOfN(hostile(), 0, 5).Draw(t, "strings")
		var all Text
		for _, s := range texts {
			text := p.Sanitise(s)
			want := all.Width() + text.Width()
			if n := rapid.IntRange(0, 1+text.Width()).Draw(t, "cut"); rapid.Bool().Draw(t, "cuts") {
				text = text.Truncate(n, "")
				want = all.Width() + text.Width()
			}
			all = all.Plus(text)
			if all.Width() != want {
				t.Fatalf("%+q is %d wide, want %d", all, all.Width(), want)
			}
			if wrong := check(all, p.Rule); wrong != "" {
				t.Fatalf("%v: %+q: %s", p.Rule, all, wrong)
			}
		}
	})
}

func TestCutsKeepTheInvariant(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := profile(t)
		text := p.Sanitise(hostile().Draw(t, "s"))
		w := rapid.IntRange(-1, text.Width()+2).Draw(t, "w")
		tail := rapid.SampledFrom([]string{"", "…", "...", "测"}).Draw(t, "tail")
		left := rapid.IntRange(-1, text.Width()+2).Draw(t, "left")
		for name, got := range map[string]Text{
			"Truncate": text.Truncate(w, tail), "TruncateLeft": text.TruncateLeft(w, tail),
			"TruncateMiddle": text.TruncateMiddle(w, tail), "Fit": text.Fit(w, tail), "Cut": text.Cut(left, w),
		} {
			if wrong := check(got, p.Rule); wrong != "" {
				t.Fatalf("%v: %+q.%s(%d, %q) = %+q: %s", p.Rule, text, name, w, tail, got, wrong)
			}
			if got.Width() > max(w, 0) {
				t.Fatalf("%+q.%s(%d, %q) = %+q is %d wide", text, name, w, tail, got, got.Width())
			}
		}
		if got := text.Fit(w, tail); got.Width() != max(w, 0) {
			t.Fatalf("%+q.Fit(%d, %q) = %+q is %d wide", text, w, tail, got, got.Width())
		}
		if got, want := text.Cut(left, w).Width(), max(0, min(w, text.Width())-max(left, 0)); got != want {
			t.Fatalf("%+q.Cut(%d, %d) is %d wide, want %d", text, left, w, got, want)
		}
		width := 0
		for _, line := range text.Wrap(max(w, 2)) {
			if wrong := check(line, p.Rule); wrong != "" || line.Width() > max(w, 2) {
				t.Fatalf("%v: %+q.Wrap(%d) has line %+q, %d wide: %s", p.Rule, text, w, line, line.Width(), wrong)
			}
			width += line.Width()
		}
		if width != text.Width() {
			t.Fatalf("%+q.Wrap(%d) is %d wide in all, want %d", text, w, width, text.Width())
		}
	})
}

func TestSanitiseNIsTruncate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := profile(t), hostile().Draw(t, "s")
		n := rapid.IntRange(0, 40).Draw(t, "n")
		if got, want := p.SanitiseN(s, n), p.Sanitise(s).Truncate(n, "…"); got != want {
			t.Fatalf("%v: SanitiseN(%+q, %d) = %+q, want %+q", p.Rule, s, n, got, want)
		}
	})
}

func TestLinesAreSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := profile(t), hostile().Draw(t, "s")
		lines := p.Lines(s)
		for _, line := range lines {
			if wrong := check(line, p.Rule); wrong != "" {
				t.Fatalf("%v: Lines(%+q) has %+q: %s", p.Rule, s, line, wrong)
			}
		}
		want := strings.Count(s, "\n")
		if s != "" && !strings.HasSuffix(s, "\n") {
			want++
		}
		if len(lines) != want {
			t.Fatalf("Lines(%+q) has %d lines, want %d", s, len(lines), want)
		}
	})
}

// Every code point alone, and on a letter, makes a safe text.
func TestEveryCodePoint(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r == 0xd800 {
			r = 0xe000
		}
		for _, s := range []string{string(r), "a" + string(r)} {
			text := Sanitise(s)
			if wrong := check(text, Wcwidth); wrong != "" {
				t.Fatalf("Sanitise(%+q) = %+q, width %d: %s", s, text, text.Width(), wrong)
			}
		}
	}
}

// The shortcut table holds only runes that the long way keeps as they are,
// alone and between any two others of the table's kind.
func TestPlainRanges(t *testing.T) {
	if ambiguousWide {
		t.Skip("the table is not used with wide ambiguous characters")
	}
	last := rune(0x7f)
	n := 0
	for _, span := range plainRanges {
		if span[0] <= last || span[1] < span[0] {
			t.Fatalf("range %04X..%04X is out of order", span[0], span[1])
		}
		last = span[1]
		for r := span[0]; r <= span[1]; r++ {
			n++
			s := string(r)
			w := ansi.StringWidth(s)
			if w < 1 || w != ansi.StringWidthWc(s) || hidden(r) || regional(r) || !starter(r) || open(s) {
				t.Errorf("U+%04X is not plain", r)
			}
			if joins("क्", r) != joins("क्", 'क') && joins("क्", r) {
				t.Errorf("U+%04X joins a virama in a way that open does not ask for", r)
			}
		}
	}
	t.Logf("%d plain runes", n)
}

// With ambiguous characters two cells wide, as East Asian users may ask for,
// the same holds. The widths are fixed when a process starts, so the properties
// are checked in another one.
func TestWideAmbiguousCharacters(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the test binary again")
	}
	if os.Getenv("RUNEWIDTH_EASTASIAN") != "" {
		t.Skip("this is the other process, or the user's choice")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^(TestEveryTextIsSafe|TestTextsDoNotMerge|TestCutsKeepTheInvariant|TestEveryCodePoint)$", "-test.count=1")
	cmd.Env = append(os.Environ(), "RUNEWIDTH_EASTASIAN=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("with RUNEWIDTH_EASTASIAN=1: %v\n%s", err, out)
	}
}

func FuzzSanitise(f *testing.F) {
	for _, s := range nasty {
		f.Add(s, "a"+s+s, 3)
	}
	f.Fuzz(func(t *testing.T, s, more string, n int) {
		for _, rule := range []Rule{Wcwidth, Grapheme} {
			p := Profile{Rule: rule}
			a, b := p.Sanitise(s), p.Sanitise(more)
			for _, text := range []Text{a, b, a.Plus(b), a.Truncate(n, "").Plus(b), a.Plus(b.TruncateLeft(n, ""))} {
				if wrong := check(text, rule); wrong != "" {
					t.Fatalf("%v: %+q from %+q and %+q: %s", rule, text, s, more, wrong)
				}
			}
			if n < 1000 {
				if got, want := p.SanitiseN(s, n), a.Truncate(n, "…"); got != want {
					t.Fatalf("%v: SanitiseN(%+q, %d) = %+q, want %+q", rule, s, n, got, want)
				}
			}
		}
	})
}

func FuzzLines(f *testing.F) {
	for _, s := range nasty {
		f.Add(s + "\n\t" + s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, line := range Lines(s) {
			if wrong := check(line, Wcwidth); wrong != "" {
				t.Fatalf("Lines(%+q) has %+q: %s", s, line, wrong)
			}
		}
	})
}
