package term

import (
	"strings"
	"testing"
)

func TestSanitise(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		width          int
	}{
		{"empty", "", "", 0},
		{"ascii", "plain text ~!", "plain text ~!", 13},
		{"letters", "Grün Ωμέγα Щука", "Grün Ωμέγα Щука", 15},
		{"wide", "测试 日本 한국", "测试 日本 한국", 14},
		{"private use", "\ue0a0 \U000f0001", "\ue0a0 \U000f0001", 3},
		{"escape", "\x1b[2J\x1b[H", "␛[2J␛[H", 7},
		{"osc", "\x1b]0;OWNED\a", "␛]0;OWNED␇", 10},
		{"c0", "\x00\x08\t\n\v\f\r\x1f", "␀␈␉␊␋␌␍␟", 8},
		{"del", "a\x7fb", "a␡b", 3},
		{"c1 as code point", "\u009b2J\u0085", "«U+009B»2J«U+0085»", 18},
		{"c1 as byte", "a\x9b2J", `a\x9B2J`, 7},
		{"not utf-8", "a\xc3(\xf0\x9f\x98\xed\xa0\x80", `a\xC3(\xF0\x9F\x98\xED\xA0\x80`, 30},
		{"replacement character", "\ufffd", "\ufffd", 1},
		{"bidi", "in\u202efdp.exe", "in«U+202E»fdp.exe", 17},
		{"isolates", "\u2066a\u2069\u200e\u061c", "«U+2066»a«U+2069»«U+200E»«U+061C»", 33},
		{"zero width", "a\u200b\u200c\u200d\ufeff\u2060b", "a«U+200B»«U+200C»«U+200D»«U+FEFF»«U+2060»b", 42},
		{"invisible", "\u00ad\u034f\u115f\u3164\uffa0\u180e", "«U+00AD»«U+034F»«U+115F»«U+3164»«U+FFA0»«U+180E»", 48},
		{"separators", "a\u2028b\u2029", "a«U+2028»b«U+2029»", 18},
		{"noncharacters", "\ufdd0\uffff\U0010fffe", "«U+FDD0»«U+FFFF»«U+10FFFE»", 26},
		{"tags", "\U0001f3f4\U000e0067\U000e0062\U000e007f!", "🏴«tag gb»!", 11},
		{"tag that opens", "\U000e0001\U000e0041", "«U+E0001»«tag A»", 16},
		{"combining", "e\u0301 a\u030a", "e\u0301 a\u030a", 3},
		{"four marks", "z" + strings.Repeat("\u0301", 4) + "a", "z" + strings.Repeat("\u0301", 4) + "a", 2},
		{"five marks", "z" + strings.Repeat("\u0301", 5) + "a", "z" + strings.Repeat("\u0301", 4) + "…a", 3},
		{"marks without a base", "\u0301a\n\u0301", "◌\u0301a␊◌\u0301", 4},
		{"hebrew with points", "שָׁלוֹם", "שָׁלוֹם", 4},
		{"emoji", "😀 ok", "😀 ok", 5},
		{"emoji style", "\u2764\ufe0f \u26a0\ufe0e \u00a9\ufe0f", "\u2764 \u26a0 \u00a9", 5},
		{"two emoji styles", "\u2764\ufe0f\ufe0f", "\u2764«U+FE0F»", 9},
		{"style of a letter", "a\ufe0f", "a«U+FE0F»", 9},
		{"ideographic variation", "葛\U000e0100", "葛«U+E0100»", 11},
		{"keycap", "1\ufe0f\u20e3", "1\u20e3", 1},
		{"joined emoji", "👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈", "👨‿👩‿👧 🏳‿🌈", 13},
		{"skin tone", "🧑🏽\u200d🚀", "🧑«U+1F3FD»‿🚀", 14},
		{"skin tone alone", "🏽", "«U+1F3FD»", 9},
		{"flag", "🇫🇷🇩🇪", "🇫🇷🇩🇪", 4},
		{"half a flag", "🇫🇷🇫", "🇫🇷«U+1F1EB»", 11},
		{"hangul jamo", "\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국", 4},
		{"hangul leads", "\u1100\u1100", "\u1100‿\u1100‿", 6},
		{"hangul vowel alone", "\u1161", "«U+1161»", 8},
		{"thai am", "น้ำ", "น\u0e49\u0e4d\u0e32", 2},
		{"lao am", "ຄຳ", "ຄ\u0ecd\u0eb2", 2},
		{"spacing vowel", "नि", "न«U+093F»", 9},
		{"conjunct", "स्ते", "स्‿ते", 3},
		{"open end", "स्", "स्‿", 2},
		{"prefix letter", "\u0d4ea", "«U+0D4E»a", 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Sanitise(c.in)
			if got.String() != c.want || got.Width() != c.width {
				t.Errorf("Sanitise(%+q) = %+q, width %d, want %+q, width %d", c.in, got, got.Width(), c.want, c.width)
			}
			if b := SanitiseBytes([]byte(c.in)); b != got {
				t.Errorf("SanitiseBytes(%+q) = %+q, want %+q", c.in, b, got)
			}
			if l := Lit(c.in); l != got {
				t.Errorf("Lit(%+q) = %+q, want %+q", c.in, l, got)
			}
		})
	}
}

func TestSanitiseGrapheme(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
		width          int
	}{
		{"joined emoji", "👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 🧑🏽\u200d🚀", "👨\u200d👩\u200d👧 🏳\ufe0f\u200d🌈 🧑🏽\u200d🚀", 8},
		{"kiss", "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿", "👩🏽\u200d❤\ufe0f\u200d💋\u200d👨🏿", 2},
		{"emoji style", "\u2764\ufe0f\u2764", "\u2764\ufe0f\u2764", 3},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3", 2},
		{"conjunct and vowel sign", "हिन्दी", "हिन्दी", 2},
		{"thai am", "น้ำ", "น้ำ", 1},
		{"style of a letter", "a\ufe0f", "a«U+FE0F»", 9},
		{"joiner between letters", "a\u200db", "a«U+200D»b", 10},
		{"joiner at the end", "👨\u200d", "👨«U+200D»", 10},
		{"too long a family", strings.Repeat("👨\u200d", 40) + "👨", strings.Repeat("👨‿", 33) + strings.Repeat("👨\u200d", 7) + "👨", 101},
		{"half a flag", "🇫", "«U+1F1EB»", 9},
		{"bidi", "\u202e", "«U+202E»", 8},
		{"tags", "🏴\U000e0067\U000e007f", "🏴«tag g»", 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Profile{Rule: Grapheme}.Sanitise(c.in)
			if got.String() != c.want || got.Width() != c.width {
				t.Errorf("Sanitise(%+q) = %+q, width %d, want %+q, width %d", c.in, got, got.Width(), c.want, c.width)
			}
		})
	}
}

func TestSanitiseN(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"abcdef", 1, "…"},
		{"abcdef", 0, ""},
		{"abcdef", -1, ""},
		{"测试测试", 5, "测试…"},
		{"测试测试", 4, "测…"},
		{"\x1b\x1b\x1b", 2, "␛…"},
		{"\u202eabc", 4, "«U+…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		if got := SanitiseN(c.in, c.n); got.String() != c.want {
			t.Errorf("SanitiseN(%+q, %d) = %+q, want %+q", c.in, c.n, got, c.want)
		}
	}
}

// A cell costs a bounded number of bytes, whatever the string is made of.
func TestSanitiseNStopsEarly(t *testing.T) {
	const cells = 200
	for _, unit := range []string{"a", "\u0301", "e\u0301", "\u200b", "\xff", "क्", "\U000e0041", "👨\u200d", "\u1100", "😀\ufe0f", "测", "a\U000e007f"} {
		s := strings.Repeat(unit, 4<<20/len(unit))
		for _, rule := range []Rule{Wcwidth, Grapheme} {
			b := builder{rule: rule, limit: cells}
			if got, most := b.run(s), (cells+1)*(maxElided+maxRunes*4); got > most {
				t.Errorf("%v: %d cells of %+q took %d bytes, want %d at most", rule, cells, unit, got, most)
			}
		}
	}
}

func TestSanitiseAllocatesNothingForCleanText(t *testing.T) {
	for _, s := range []string{"plain text, nothing else", "Grün und Щука", "测试日本語한국어", "│ ├─ └─ ● …"} {
		var got Text
		if n := testing.AllocsPerRun(100, func() { got = Sanitise(s) }); n != 0 {
			t.Errorf("Sanitise(%q) allocates %v times, want none", s, n)
		}
		if got.String() != s {
			t.Errorf("Sanitise(%q) = %q", s, got)
		}
	}
}

func TestRuleString(t *testing.T) {
	if got := Wcwidth.String() + " " + Grapheme.String(); got != "wcwidth grapheme" {
		t.Errorf("rules are named %q", got)
	}
}
