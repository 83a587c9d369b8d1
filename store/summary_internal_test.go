package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// blob draws what a row may hold: mostly what programs write, now and then with a
// member that is twice there, missing, of another kind or misspelt, or no JSON.
func blob(t *rapid.T) string {
	word := rapid.SampledFrom([]string{`"e"`, `"d"`, `"RUNNING"`, `"failed"`, `"Warte \"auf\" \ud83d\ude00 \ud800"`, `""`, `"ä"`, `null`, `3`, `"3"`, `3.0`, `-3`, `3e0`, `1234567890123456789`, `{}`, `{"status":"x"}`, `[]`, `[{}]`, `true`, `NaN`, `-Infinity`, `1784730012.482913`})
	usual := map[string]string{
		"id": `"e"`, "definition_id": `"d"`, "version": `3`, "status": `"SUSPENDED"`, "root_path": `"a.b"`, "outcome": `null`, "error": `null`, "active_path": `"Payment.Awaiting"`,
		"history": `{"":"x"}`, "context": `{"order": 1004, "status": "x"}`, "processed_events": `2`, "priority": `0`, "parent_id": `"p"`, "child_id": `null`,
		"definition_fqn": `null`, "deferred": `[]`, "children": `{}`, "invoke_seq": `{}`, "created_at": `1784730012.482913`, "updated_at": `1784730013`, "finished_at": `null`, "expires_at": `null`, "x": `[1, 2]`,
	}
	keys := []string{"id", "definition_id", "definition_fqn", "root_path", "status", "outcome", "error", "active_path", "history", "context", "processed_events", "version",
		"priority", "parent_id", "child_id", "deferred", "children", "invoke_seq", "created_at", "updated_at", "finished_at", "expires_at", "x"}
	comma, colon := ",", ":"
	if rapid.Bool().Draw(t, "spaced") {
		comma, colon = ", ", ": "
	}
	odd := rapid.IntRange(0, 3).Draw(t, "odd members")
	var members []string
	for _, key := range keys {
		value := usual[key]
		if odd > 0 && rapid.IntRange(0, 7).Draw(t, "at "+key) == 0 {
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				continue
			case 1:
				members = append(members, `"`+key+`"`+colon+word.Draw(t, "twice"))
			case 2:
				key = `\u00` + []string{"69", "73"}[len(key)%2] + key[1:]
			default:
				value = word.Draw(t, "value")
			}
		}
		members = append(members, `"`+key+`"`+colon+value)
	}
	text := "{" + strings.Join(members, comma) + "}"
	if rapid.IntRange(0, 4).Draw(t, "spoilt") == 0 {
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		text = text[:at] + rapid.SampledFrom([]string{"", " ", `"`, "\x00", "\xff", "}", `\`, "ä"}).Draw(t, "with") + text[min(len(text), at+rapid.IntRange(0, 1).Draw(t, "cut")):]
	}
	return text
}

// However a row is read, the summary is that of the slow way.
func TestQuickSummaryAgainstTheSlowOne(t *testing.T) {
	check := func(t interface {
		Errorf(string, ...any)
	}, text string) {
		want := slowSummary("e", "d", 3, text)
		data := []byte(text)
		row := SummaryOfRow("e", "d", 3, data)
		status, readable := StatusOfRow("e", "d", 3, data)
		for i := range data {
			data[i] = '#' // nothing of it is kept
		}
		for _, got := range []Summary{row, SummaryOfText("e", "d", 3, text)} {
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *RowError) bool {
				return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error() && string(a.Raw) == string(b.Raw))
			})); diff != "" {
				t.Errorf("%s\n%s", text, diff)
			}
		}
		if status != want.Status || readable != (want.Bad == nil) {
			t.Errorf("%s\nstatus %q, %v; want %q, %v", text, status, readable, want.Status, want.Bad == nil)
		}
	}
	rapid.Check(t, func(t *rapid.T) { check(t, blob(t)) })
	exe := Execution{ID: "e", DefinitionID: "d", Status: "waiting", Context: `{"a": [1, "ä\n"]}`, CreatedAt: "1784730012.482913"}
	plain, err := exe.Encode(3)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain, strings.ReplaceAll(strings.ReplaceAll(plain, ",", ", "), ":", ": ")} {
		if !new(quickRow).read("e", "d", 3, text) {
			t.Errorf("the quick way does not read %s", text)
		}
		check(t, text)
	}
	for _, text := range []string{``, `{}`, ` { } `, `{} x`, `null`, `[]`, `{"a":1}`, `{"status":"DONE"`, `{"status":"DONE",}`, `{"id":"e\\"}`, `{"context":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`} {
		check(t, text)
	}
}

func BenchmarkSummaryOfRow(b *testing.B) {
	data := []byte(`{"id":"order-00000001","definition_id":"order","definition_fqn":null,"root_path":"","status":"RUNNING","outcome":null,"error":null,"active_path":"Payment.Awaiting","history":{"":"Payment","Payment":"Payment.Awaiting"},"context":{"order":1004,"customer":"Ana Ruiz","total":455.3,"note":"` +
		strings.Repeat("x", 120) + `"},"processed_events":2,"version":3,"priority":0,"parent_id":null,"child_id":null,"deferred":[],"children":{},"invoke_seq":{}}`)
	b.SetBytes(int64(len(data)))
	b.Run("quick", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if s := SummaryOfRow("order-00000001", "order", 3, data); s.Bad != nil {
				b.Fatal(s.Bad)
			}
		}
	})
	b.Run("slow", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if s := slowSummary("order-00000001", "order", 3, string(data)); s.Bad != nil {
				b.Fatal(s.Bad)
			}
		}
	})
}
