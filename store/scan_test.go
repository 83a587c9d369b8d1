package store

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSkipPlainAgainstOneByteAtATime(t *testing.T) {
	alphabet := []byte{'"', '\\', 0, 0x1f, 0x20, 0x21, '#', '[', ']', 'a', 0x7f, 0x80, 0x9f, 0xa2, 0xdc, 0xff}
	rapid.Check(t, func(t *rapid.T) {
		// Mostly plain, so that the interesting byte stands at every place of a word.
		raw := rapid.SliceOfN(rapid.SampledFrom([]byte{'a', ' ', 0x7f, 0xc3}), 0, 40).Draw(t, "text")
		for range rapid.IntRange(0, 4).Draw(t, "spots") {
			if len(raw) > 0 {
				raw[rapid.IntRange(0, len(raw)-1).Draw(t, "at")] = rapid.SampledFrom(alphabet).Draw(t, "byte")
			}
		}
		text := string(raw)
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		want := from
		for want < len(text) && text[want] != '"' && text[want] != '\\' && text[want] >= 0x20 {
			want++
		}
		if got := skipPlain(text, from); got != want {
			t.Fatalf("skipPlain(%q, %d) = %d, want %d", text, from, got, want)
		}
	})
}

func BenchmarkParseJSON(b *testing.B) {
	const step = `{"event_kind": "PaymentAuthorized", "event_data": {"auth": "A-19"}, "from_path": "Checkout.Payment", "to_path": "Checkout.Confirm", "actions": ["shop.pay.capture", "shop.mail.receipt"], "context_out": {"user": "ana", "total": 49.9, "auth": "A-19"}, "timestamp": 1784730012.482913}`
	b.SetBytes(int64(len(step)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseJSON(step); err != nil {
			b.Fatal(err)
		}
	}
}

// jsonText draws JSON as programs write it, now and then with a spoilt byte.
func jsonText(t *rapid.T) string {
	piece := rapid.SampledFrom([]string{
		`{`, `}`, `[`, `]`, `,`, `, `, `:`, `: `, " ", "\n", `"`, `\`, `"a"`, `"status"`, `"a longer key than eight bytes"`, `"ä"`, `"\u00e4"`, `"\n"`,
		`"tab	"`, "\"\xff\"", "\"eight by\xc3\"", `1`, `-0`, `01`, `1.5e+3`, `1.`, `1e`, `-`, `-Infinity`, `Infinity`, `NaN`, `nul`, `null`, `true`, `false`, `x`,
	})
	value := rapid.SampledFrom([]string{`{}`, `[]`, `{ }`, `[ ]`, `1`, `-2.50e-3`, `"x"`, `"exactly8"`, `"more than sixteen bytes \" and a quote"`, `"Ü ß"`, `null`, `true`, `NaN`, `-Infinity`})
	var build func(depth int) string
	build = func(depth int) string {
		space := rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space")
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
		case depth > 4 || kind < 2:
			return value.Draw(t, "value")
		case kind == 2:
			text := "[" + space
			for i := range rapid.IntRange(0, 3).Draw(t, "elements") {
				if i > 0 {
					text += space + "," + space
				}
				text += build(depth + 1)
			}
			return text + space + "]"
		default:
			text := "{" + space
			for i := range rapid.IntRange(0, 3).Draw(t, "members") {
				if i > 0 {
					text += space + "," + space
				}
				text += rapid.SampledFrom([]string{`"a"`, `"definition_id"`, `"\u0061"`, `"ä"`}).Draw(t, "key") + space + ":" + space + build(depth+1)
			}
			return text + space + "}"
		}
	}
	text := build(0)
	for range rapid.IntRange(0, 2).Draw(t, "faults") {
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		cut := rapid.IntRange(at, min(len(text), at+2)).Draw(t, "cut")
		text = text[:at] + piece.Draw(t, "piece") + text[cut:]
	}
	return text
}

// Where the fast scan gives an end it is the scanner's, and it gives one wherever
// there is one that is not too deep.
func TestValueEndAgainstTheScanner(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		sc := scanner{src: text}
		want, err := sc.value(0)
		if err != nil || !utf8.ValidString(text[:want]) {
			want = -1
		}
		if text == "" || text[0] <= ' ' {
			return // it is called where a value begins
		}
		if got := valueEnd(text, 0); got != want {
			t.Fatalf("valueEnd(%q) = %d, want %d", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, jsonText(t)) })
	for _, pad := range []string{"", "x", "seven 7", "eight  8", "fifteen chars 5", "sixteen chars  6"} {
		for b := range 256 {
			check(t, `{"`+pad+string([]byte{byte(b)})+`tail of the text":"`+pad+string([]byte{byte(b)})+`"}`)
			check(t, `["`+pad+string([]byte{byte(b)})+`"]`)
			check(t, `["`+pad+`\`+string([]byte{byte(b)})+`1234"]`)
		}
	}
	for _, digits := range []string{"", "1", "12.5", "1234567", "12345678", "123456789.12345678e12345678"} {
		for b := range 256 {
			check(t, `[`+digits+string([]byte{byte(b)})+`0000000000]`)
		}
	}
	for _, brackets := range []string{"[]", "{}"} {
		for _, depth := range []int{1, fastDepth, fastDepth + 1, 20000} {
			open, shut := brackets[:1], brackets[1:]
			if open == "{" {
				open = `{"a":`
			}
			text := strings.Repeat(open, depth) + "1" + strings.Repeat(shut, depth)
			want := len(text)
			if depth > fastDepth {
				want = -1
			}
			if got := valueEnd(text, 0); got != want {
				t.Errorf("%d of %s: %d, want %d", depth, brackets, got, want)
			}
			if _, err := ParseJSON(text); err != nil {
				t.Errorf("%d of %s: %v", depth, brackets, err)
			}
		}
	}
}

func FuzzValueEnd(f *testing.F) {
	f.Add(`{"a":[1,-2.5e3,"x\n",{"b":null}],"c":NaN}`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) != text || text == "" {
			return
		}
		sc := scanner{src: text}
		want, err := sc.value(0)
		if err != nil || !utf8.ValidString(text[:want]) {
			want = -1
		}
		if got := valueEnd(text, 0); got != want && (got >= 0 || strings.Count(text, "[")+strings.Count(text, "{") <= fastDepth) {
			t.Fatalf("valueEnd(%q) = %d, want %d", text, got, want)
		}
	})
}
