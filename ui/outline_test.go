package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"treering/store/locate"
)

func piFile(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "talk.jsonl")
	text := `{"type":"session","version":3,"id":"talk","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/demo"}` + "\n" + strings.Join(lines, "\n") + "\n"
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func piUser(id, parent, said string) string {
	if parent != "null" {
		parent = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"%s"}}`, id, parent, said)
}

// The tree of another program's session is drawn from its outline: with its labels,
// its head, under the cursor, and what is wrong with it.
func TestASessionOfAnotherProgram(t *testing.T) {
	path := piFile(t, piUser("z", "null", "begin"), piUser("b", "z", "the first way"), piUser("c", "z", "a third way"), piUser("a", "z", "the other way"), `[1]`,
		`{"type":"label","id":"l","parentId":"a","timestamp":"2026-03-01T10:00:02.000Z","targetId":"a","label":"mine"}`,
		`{"type":"message","id":"t","parentId":"l","timestamp":"2026-03-01T10:00:03.000Z","message":{"role":"toolResult","toolName":"bash","content":"no rule","isError":true}}`)
	o, err := locate.Open(t.Context(), path, locate.Options{})
	must(t, err)
	d := open(t, o, 120, 40)
	d.shows("begin", "1 warning", "[mine]", "[head]", "read-only").press("2")
	if got := d.node(); got != "t" {
		t.Errorf("the cursor is on %q, not on the head", got)
	}
	// What leads to the head is first, then siblings in the order in which they were written.
	if got := strings.Join(d.rows(), " "); got != "talk z a l t b c" {
		t.Errorf("rows %s", got)
	}
	d.press("i").shows("line 6, byte", "not a JSON object").press("esc")
	// What is appended is seen, and moves the head, but not the cursor.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(piUser("n", "t", "go on") + "\n")
	must(t, err)
	must(t, f.Close())
	d.changed().shows("go on  [head]")
	if got := d.node(); got != "t" {
		t.Errorf("the cursor went to %q", got)
	}
}

// What is appended may say where earlier nodes belong: the tree is read anew.
func TestNodesOfAnotherProgramMove(t *testing.T) {
	for name, before := range map[string][]string{
		"a parent that comes late": {piUser("a", "null", "one"), piUser("b", "a", "two"), piUser("c", "late", "three")},
		"the first link of a file": {piUser("a", "null", "one"), piUser("b", "null", "two")},
	} {
		t.Run(name, func(t *testing.T) {
			path := piFile(t, before...)
			o, err := locate.Open(t.Context(), path, locate.Options{})
			must(t, err)
			d := open(t, o, 120, 40)
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteString(piUser("late", "b", "it is here") + "\n")
			must(t, err)
			must(t, f.Close())
			d.changed().shows("it is here").hides("more parent")
			x := d.m.tree.widget.Index()
			got := map[string]string{}
			for r := range x.Walk() {
				got[x.ID(r)] = x.ID(x.Parent(r))
			}
			want := map[string]string{"talk": "", "a": "talk", "b": "a", "late": "b", "c": "late"}
			if len(before) == 2 {
				want = map[string]string{"talk": "", "a": "talk", "b": "talk", "late": "b"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
