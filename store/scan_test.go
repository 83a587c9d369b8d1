package store

import (
	"testing"

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
