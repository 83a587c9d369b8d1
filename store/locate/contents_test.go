package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/store"
)

// What a file is, is found by what is in it, whatever of that is spoilt.
func TestOpenByContents(t *testing.T) {
	header := fmt.Sprintf(piHeader, "S", "demo")
	talk := said("a", "", "one") + said("b", "a", "two")
	claude := `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"S","message":{"role":"user","content":"one"}}` + "\n" +
		`{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"S","message":{"role":"assistant","content":[{"type":"text","text":"two"}]}}` + "\n"
	codex := `{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"T","cwd":"/srv"}}` + "\n" +
		`{"timestamp":"2026-03-01T10:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}}` + "\n"
	shaped := `{"id":"a","parent_id":null,"kind":"note","data":{"title":"one"}}` + "\n" + `{"id":"b","parent_id":"a","kind":"note","data":{}}` + "\n"
	list := func(lines string) string {
		return "[" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",\n  ") + "]\n"
	}
	long := `{"type":"user","uuid":"u0","parentUuid":null,"sessionId":"S","message":{"role":"user","content":"` + strings.Repeat("x", 3<<20) + `"}}` + "\n"
	for _, c := range []struct {
		name, text, backend string
		nodes, bad          int
	}{
		{"pi", header + talk, "pi", 3, 0},
		{"pi with a byte order mark and carriage returns", "\xef\xbb\xbf" + strings.ReplaceAll(header+talk, "\n", "\r\n"), "pi", 3, 0},
		{"pi behind zeros", strings.Repeat("\x00", 4096) + header + talk, "pi", 3, 0},
		{"pi, the header run together with an entry", strings.TrimSpace(header) + talk, "pi", 3, 1},
		{"pi, the header torn", header[:40] + "\n" + talk, "pi", 2, 1},
		{"pi, cut in the middle of an entry", header + talk + `{"type":"message","id":"c","par`, "pi", 3, 1},
		{"claude", claude, "claude-code", 2, 0},
		{"claude behind a line of megabytes", long + claude, "claude-code", 4, 0},
		{"claude as a list", list(claude), "claude-code", 2, 0},
		{"claude as one line", strings.ReplaceAll(claude, "\n", ""), "claude-code", 2, 1},
		{"codex", codex, "codex", 2, 0},
		{"by shape", shaped, "shape", 2, 0},
		{"by shape, a list", list(shaped), "shape", 2, 0},
		{"by shape, a list in one line", strings.ReplaceAll(list(shaped), "\n", ""), "shape", 2, 0},
		{"by shape, a list in a document", `{"version": 1, "more": {"a": [1, 2]}, "nodes": ` + list(shaped) + "}", "shape", 2, 0},
		{"by shape, a list with other things", `[ {"id": 1, "parent_id": null}, 17, "text", [1], {"id": 2, "parent_id": 1}, null ]`, "shape", 2, 4},
		{"by shape, a list that is cut", `[{"id": 1, "parent_id": null}, {"id": 2, "parent_id": 1}, {"id": 3, "par`, "shape", 2, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "any.name")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			o := mustOpen(t, path, Options{})
			for _, all := range nodesOf(t, o) {
				if o.Info.Backend != c.backend || len(all) != c.nodes {
					t.Errorf("%s with %d nodes", o.Info.Backend, len(all))
				}
			}
			heads, err := o.Foreign.Heads(t.Context())
			if err != nil || len(heads) != 1 {
				t.Fatalf("%+v, %v", heads, err)
			}
			r, _, err := o.Foreign.Report(t.Context(), heads[0].ID)
			if err != nil || int(r.Unreadable) != c.bad {
				t.Errorf("%+v, %v", r, err)
			}
			for _, w := range r.Warnings {
				if w.Place.Line == 0 {
					t.Errorf("%+v has no place", w)
				}
			}
		})
	}
	for name, text := range map[string]string{
		"words": "just some words\n", "numbers": "1\n2\n3\n", "a list": "[1,2,3]\n", "an object": `{"a":1}` + "\n", "a list of others": `[{"a":1},{"a":2}]`,
		"pi 4": `{"v":4,"kind":"header","id":"x","createdAt":1}` + "\n", "Gemini": `{"sessionId":"a","projectHash":"b","startTime":"c"}` + "\n" + `{"id":"1","type":"user","content":"x"}` + "\n",
		"brackets": strings.Repeat("[", 1<<20), "braces": strings.Repeat(`{"`, 1<<20),
	} {
		path := filepath.Join(t.TempDir(), "any.name")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrNotAStore) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
