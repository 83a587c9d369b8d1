package term

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

func TestASCIISpellsWhatItCannotShow(t *testing.T) {
	p := Profile{ASCII: true}
	for in, want := range map[string]string{
		"plain ~ text":  "plain ~ text",
		"":              "",
		"caf\u00e9":     `caf\u00E9`,
		"\x1b[2J":       `\x1B[2J`,
		"tab\there":     `tab\x09here`,
		"\xff\u009b2J":  `\xFF\u009B2J`,
		"\U0001f600":    `\U0001F600`,
		"\ufffd":        `\uFFFD`,
		"e\u0301\u202e": `e\u0301\u202E`,
		"\x7f\x00":      `\x7F\x00`,
	} {
		if got := p.Sanitise(in); got.String() != want || got.Width() != len(want) {
			t.Errorf("%+q is %q in %d cells, want %q", in, got, got.Width(), want)
		}
	}
	if got := p.SanitiseN("abc\u00e9", 6).String(); got != `abc\u~` {
		t.Errorf("cut: %q", got)
	}
}

// Whatever comes, an ASCII profile gives printable ASCII, and a cut one is what
// the whole begins with.
func TestASCIIIsPrintableASCII(t *testing.T) {
	p := Profile{ASCII: true, Rule: Grapheme}
	rapid.Check(t, func(t *rapid.T) {
		s := hostile().Draw(t, "s")
		all := []Text{p.Sanitise(s), p.SanitiseN(s, rapid.IntRange(0, 40).Draw(t, "cells"))}
		for _, text := range append(all, p.Lines(s)...) {
			if text.Width() != len(text.String()) {
				t.Fatalf("%q is %d wide", text, text.Width())
			}
			for _, c := range []byte(text.String()) {
				if c < 0x20 || c > 0x7e {
					t.Fatalf("%+q gives %q", s, text)
				}
			}
		}
		if head, _ := strings.CutSuffix(all[1].String(), asciiElided); !strings.HasPrefix(all[0].String(), head) {
			t.Fatalf("%q is no beginning of %q", all[1], all[0])
		}
	})
}

// The last filter keeps width and sequences, and lets only ASCII through.
func TestStyledASCIIKeepsWidthAndSequences(t *testing.T) {
	if got, want := StyledASCII("\x1b[1m├─ a…\x1b[m │ é 测 →"), "\x1b[1m+- a~\x1b[m | ? ?? >"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := "\x1b[31m" + Sanitise(hostile().Draw(t, "s")).String() + "\x1b[m\n" + Sanitise(hostile().Draw(t, "more")).String()
		got := StyledASCII(s)
		if strings.ContainsFunc(got, func(r rune) bool { return r >= 0x80 }) {
			t.Fatalf("%q of %q", got, s)
		}
		was, is := bytes.Split([]byte(s), []byte{'\n'}), bytes.Split([]byte(got), []byte{'\n'})
		if len(was) != len(is) {
			t.Fatalf("%d lines of %d", len(is), len(was))
		}
		for i := range was {
			if a, b := ansi.StringWidth(string(was[i])), ansi.StringWidth(string(is[i])); a != b {
				t.Fatalf("%d cells of %d: %q of %q", b, a, got, s)
			}
		}
		if a, b := strings.Count(s, "\x1b"), strings.Count(got, "\x1b"); a != b {
			t.Fatalf("%d sequences of %d", b, a)
		}
	})
}
