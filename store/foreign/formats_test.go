package foreign_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"treering/store"
	"treering/store/foreign"
	"treering/store/foreign/claude"
	"treering/store/foreign/codex"
	"treering/store/foreign/pi"
	"treering/store/foreign/shape"
)

// sample is a format with the lines of a session in it. They have a %s for more text.
type sample struct {
	format *foreign.LineFormat
	first  string
	line   func(i int) string
}

func samples() map[string]sample {
	return map[string]sample{
		"pi": {pi.Format(), `{"type":"session","version":3,"id":"S","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv"}`, func(i int) string {
			if i%8 == 7 {
				return fmt.Sprintf(`{"type":"label","id":"n%d","parentId":"n%d","targetId":"n%d","label":"here %d","timestamp":"2026-03-01T10:00:00.000Z","more":"%%s"}`, i, i-1, i-1, i)
			}
			return fmt.Sprintf(`{"type":"message","id":"n%d","parentId":"n%d","timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"said %d","model":"m%d","usage":{"input":1},"more":"%%s"}}`, i, i-1, i, i)
		}},
		"claude": {claude.Format(), `{"type":"summary","leafUuid":"n0","summary":"a summary"}`, func(i int) string {
			if i%2 == 1 {
				return fmt.Sprintf(`{"type":"assistant","uuid":"n%d","parentUuid":"n%d","sessionId":"S","message":{"id":"m%d","role":"assistant","model":"m%d","usage":{"input_tokens":1},"content":[{"type":"tool_use","name":"Task","input":{"prompt":"do %d"}}],"more":"%%s"}}`, i, i-1, i, i, i)
			}
			return fmt.Sprintf(`{"type":"user","uuid":"n%d","parentUuid":"n%d","sessionId":"S","message":{"role":"user","content":"said %d","more":"%%s"}}`, i, i-1, i)
		}},
		"codex": {codex.Format(), `{"timestamp":"2026-03-01T10:00:00.000Z","type":"session_meta","payload":{"id":"S","cwd":"/srv"}}`, func(i int) string {
			return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"said %d"}],"more":"%%s"}}`, i)
		}},
		"shape": {shape.Format(), `{"id":"n-1","parent_id":null,"kind":"first"}`, func(i int) string {
			return fmt.Sprintf(`{"id":"n%d","parent_id":"n%d","kind":"kind %d","title":"said %d","data":{"more":"%%s"}}`, i, i-1, i, i)
		}},
	}
}

func (s sample) open(path string) *foreign.Store {
	return foreign.NewStore(foreign.NewLineReader(foreign.OneFile(path), []*foreign.LineFormat{s.format}), path)
}

func outlined(t *testing.T, s *foreign.Store) (session string, lines []string) {
	t.Helper()
	heads, err := s.Heads(t.Context())
	if err != nil || len(heads) != 1 {
		t.Fatalf("%d sessions, %v", len(heads), err)
	}
	err = store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
		return s.ListOutline(t.Context(), heads[0].ID, p)
	}, func(o store.Outline) error {
		lines = append(lines, o.Kind+": "+o.Title)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return heads[0].ID, lines
}

// Empty lines, blanks and what a crash has left are no nodes; zeros are counted and
// named.
func TestLinesWithNothingInThem(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			var text strings.Builder
			text.WriteString(s.first + "\n")
			for i := range 3 {
				fmt.Fprintf(&text, s.line(i)+"\n", "x")
			}
			plain := text.String()
			write(t, path, plain)
			_, want := outlined(t, s.open(path))
			lines := strings.SplitAfter(plain, "\n")
			write(t, path, strings.Join(slices.Insert(lines, 2, "\n", "  \t\r\n", "\x00\x00\x00\x00\n", "\x00 \x00\n"), ""))
			opened := s.open(path)
			session, got := outlined(t, opened)
			if name == "codex" { // whose ids are the numbers of lines
				got, want = kinds(got), kinds(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
			r, _, err := opened.Report(t.Context(), session)
			if err != nil || r.Unreadable != 2 {
				t.Fatalf("%+v, %v", r, err)
			}
			var places []int64
			for _, w := range r.Warnings {
				if strings.Contains(w.Text, "zero") {
					places = append(places, w.Place.Line)
				}
			}
			if !slices.Equal(places, []int64{5, 6}) {
				t.Errorf("%+v", r.Warnings)
			}
		})
	}
}

func kinds(lines []string) (out []string) {
	for _, l := range lines {
		kind, _, _ := strings.Cut(l, ":")
		out = append(out, kind)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A program may write its session anew into the same file, and more than before.
func TestAFileThatIsWrittenAnew(t *testing.T) {
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			session := func(first string, text string, n int) string {
				var b strings.Builder
				b.WriteString(first + "\n")
				for i := range n {
					fmt.Fprintf(&b, s.line(i)+"\n", text)
				}
				return b.String()
			}
			write(t, path, session(s.first, strings.Repeat("long ago ", 2000), 20)) // more than is looked at for its format
			opened := s.open(path)
			if _, got := outlined(t, opened); len(got) < 20 {
				t.Fatalf("%q", got)
			}
			for _, anew := range []string{
				session(s.first, strings.Repeat("another ", 4000), 12),            // another behind the same beginning
				session(strings.Replace(s.first, "{", `{"v":9,`, 1), "short", 30), // shorter
				session(strings.Replace(s.first, "{", `{"v":8,`, 1), strings.Repeat("and more ", 5000), 14),
			} {
				write(t, path, anew)
				session, got := outlined(t, opened)
				_, want := outlined(t, s.open(path))
				if !slices.Equal(got, want) {
					t.Fatalf("%q, want %q", got, want)
				}
				err := store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
					return opened.ListNodes(t.Context(), session, p)
				},
					func(store.Node) error { return nil })
				if err != nil {
					t.Fatal(err)
				}
				r, _, err := opened.Report(t.Context(), session)
				if err != nil || r.Unreadable != 0 {
					t.Fatalf("%+v, %v", r, err)
				}
			}
		})
	}
}

// What is kept of a session is what its lists show, however long its lines are.
func TestLinesAreNotKept(t *testing.T) {
	const lines, each = 40, 1 << 20
	for name, s := range samples() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(f, s.first)
			more := bytes.Repeat([]byte("y"), each)
			for i := range lines {
				if _, err := fmt.Fprintf(f, s.line(i)+"\n", more); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			before := heap()
			opened := s.open(path)
			_, got := outlined(t, opened)
			if len(got) < lines {
				t.Fatalf("%d nodes", len(got))
			}
			// One line may be kept, and the buffer that lines are read into.
			if kept := heap() - before; kept > 6*each {
				t.Errorf("%d kB are kept of %d lines of %d kB", kept>>10, lines, each>>10)
			}
			runtime.KeepAlive(opened)
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what was in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A folder may be reached by a link.
func TestAFolderByALink(t *testing.T) {
	s := samples()["pi"]
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(real, "s.jsonl"), s.first+"\n")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(real, filepath.Join(real, "loop")); err != nil {
		t.Fatal(err)
	}
	opened := foreign.NewStore(foreign.NewLineReader(foreign.FilesBelow(link, ".jsonl"), []*foreign.LineFormat{s.format}), link)
	heads, err := opened.Heads(t.Context())
	if err != nil || len(heads) != 1 || heads[0].ID != "S" {
		t.Errorf("%+v, %v", heads, err)
	}
}

// What cannot be read in a folder hides nothing else, and is counted.
func TestAFolderWithWhatCannotBeRead(t *testing.T) {
	s := samples()["pi"]
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.jsonl"), s.first+"\n")
	write(t, filepath.Join(dir, "no.jsonl"), "{}\n")
	write(t, filepath.Join(dir, "shut.jsonl"), s.first+"\n")
	if err := os.Mkdir(filepath.Join(dir, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shut.jsonl", "b"} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
	}
	if _, err := os.ReadFile(filepath.Join(dir, "shut.jsonl")); err == nil {
		t.Skip("this user reads everything")
	}
	r := foreign.NewLineReader(foreign.FilesBelow(dir, ".jsonl"), []*foreign.LineFormat{s.format})
	heads, err := r.Sessions(t.Context())
	if left := r.Left(); err != nil || len(heads) != 1 || len(left.Unknown) != 1 || len(left.Shut) != 2 {
		t.Errorf("%+v, %v, %+v", heads, err, left)
	}
}
