package term

import (
	"strings"
	"testing"
)

var sink Text

func BenchmarkSanitise(b *testing.B) {
	for _, c := range []struct{ name, s string }{
		{"ascii", strings.Repeat("a title of a node ", 5)},
		{"cjk", strings.Repeat("测试日本", 10)},
		{"accents", strings.Repeat("Grüße, Щука, ", 6)},
		{"controls", strings.Repeat("a\x1b[31mb\u202ec", 8)},
		{"emoji", strings.Repeat("👨\u200d👩\u200d👧 ok ❤\ufe0f ", 6)},
		{"devanagari", strings.Repeat("हिन्दी में ", 8)},
		{"zalgo", "z" + strings.Repeat("\u0301", 10_000)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(c.s)))
			for b.Loop() {
				sink = Sanitise(c.s)
			}
		})
	}
}

// BenchmarkSanitiseN shows 200 cells of 16 MiB.
func BenchmarkSanitiseN(b *testing.B) {
	for _, c := range []struct{ name, unit string }{
		{"ascii", "a"}, {"cjk", "测"}, {"escapes", "\x1b"}, {"marks", "\u0301"}, {"not-utf8", "\xff"}, {"virama", "क्"},
	} {
		s := strings.Repeat(c.unit, 16<<20/len(c.unit))
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = SanitiseN(s, 200)
			}
		})
	}
}

func BenchmarkFit(b *testing.B) {
	for _, c := range []struct{ name, s string }{
		{"ascii", strings.Repeat("node ", 40)}, {"cjk", strings.Repeat("测试", 40)},
	} {
		t := Sanitise(c.s)
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = t.Fit(60, "…")
			}
		})
	}
}

func BenchmarkLines(b *testing.B) {
	s := strings.Repeat("a line\tof a body\n", 1000)
	b.ReportAllocs()
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		for _, l := range Lines(s) {
			sink = l
		}
	}
}
