package locate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"treering/internal/testfiles"
	"treering/store"
)

// nodesOf reads all nodes of all sessions, with their bodies.
func nodesOf(t *testing.T, o *Opened) map[string][]store.Node {
	t.Helper()
	all := map[string][]store.Node{}
	err := store.All(func(p store.PageRequest) (store.Page[store.SessionInfo], error) {
		return o.Trees.ListSessions(t.Context(), store.SessionFilter{}, p)
	}, func(s store.SessionInfo) error {
		all[s.ID] = nil
		return store.All(func(p store.PageRequest) (store.Page[store.Node], error) {
			return o.Trees.ListNodes(t.Context(), s.ID, p)
		}, func(n store.Node) error {
			all[s.ID] = append(all[s.ID], n)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// forks counts the nodes with several children.
func forks(nodes []store.Node) (n int) {
	children := map[string]int{}
	for _, node := range nodes {
		if node.ParentID != nil {
			children[*node.ParentID]++
		}
	}
	for _, c := range children {
		if c > 1 {
			n++
		}
	}
	return n
}

// Session trees of other programs are found by their contents, whatever a file is
// called, and looking changes nothing.
func TestOpenSessionsOfOtherPrograms(t *testing.T) {
	for _, tt := range []struct {
		file, backend   string
		sessions, nodes int
		forks           []int // of the sessions, any order
	}{
		{"pi-session.jsonl", "pi", 1, 24, []int{2}}, // the header is one of them
		{"hostile-text.jsonl", "pi", 1, 35, nil},
		{"claude-compacted.jsonl", "claude-code", 1, 0, nil},
		{"claude-torn-lines.jsonl", "claude-code", 1, 5, nil},
		{"contree-cli.db", "contree", 3, 29, nil},
		{"contree-sdk-v1.db", "contree", 0, 0, nil},
		{"langgraph.sqlite", "langgraph", 2, 27, nil},
	} {
		t.Run(tt.file, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a name that says nothing")
			if err := os.Rename(testfiles.Copy(t, tt.file), path); err != nil {
				t.Fatal(err)
			}
			before := seen(t, filepath.Dir(path))
			for _, opts := range []Options{{}, {Create: true}, {ReadOnly: true, ReadWrite: true}} {
				o, err := Open(t.Context(), path, opts)
				if err != nil {
					t.Fatal(err)
				}
				i := o.Info
				if i.Writable || i.Ours || !i.Foreign || i.Backend != tt.backend || !strings.HasPrefix(i.How, "read-only") || i.Why != whyForeign || i.Path != path || !i.TreeTables {
					t.Errorf("%+v", i)
				}
				if o.Executions != nil || o.Watcher == nil || o.Foreign == nil {
					t.Error("what is there besides the trees")
				}
				all := nodesOf(t, o)
				nodes, forked := 0, 0
				for _, list := range all {
					nodes += len(list)
					forked += forks(list)
				}
				if tt.sessions > 0 && len(all) != tt.sessions || tt.nodes > 0 && nodes != tt.nodes {
					t.Errorf("%d sessions, %d nodes, %d branch points", len(all), nodes, forked)
				}
				if tt.forks != nil && forked != tt.forks[0] {
					t.Errorf("%d branch points", forked)
				}
				if err := o.Count(t.Context()); err != nil || *o.Info.Sessions != int64(len(all)) {
					t.Errorf("%v, %v", o.Info.Sessions, err)
				}
				if _, err := o.Trees.CreateSession(t.Context(), "x", "session", nil); !errors.Is(err, store.ErrReadOnly) {
					t.Errorf("a write = %v", err)
				}
				if err := errors.Join(o.Close(), o.Close()); err != nil {
					t.Error(err)
				}
			}
			for _, opts := range []Options{{ReadWrite: true}, {ReadWrite: true, Create: true, Adding: func(what []string) error {
				t.Errorf("%q are to be added", what)
				return nil
			}}} {
				if _, err := Open(t.Context(), path, opts); !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "treering import") {
					t.Errorf("%+v: %v", opts, err)
				}
			}
			unchanged(t, filepath.Dir(path), before)
		})
	}
}

func TestOpenByShape(t *testing.T) {
	dir := t.TempDir()
	db, lines := filepath.Join(dir, "mine.db"), filepath.Join(dir, "mine.jsonl")
	execute(t, db, `CREATE TABLE n (session_id, id, parent_id, kind, data); INSERT INTO n VALUES ('s', 'a', NULL, 'k', '{}')`)
	if err := os.WriteFile(lines, []byte(`{"id":1,"parent_id":null}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{db, lines} {
		before := seen(t, dir)
		o := mustOpen(t, path, Options{})
		if o.Info.Backend != "shape" || len(o.Info.Notes) != 1 || !strings.Contains(o.Info.Notes[0], "recognised by its shape") {
			t.Errorf("%+v", o.Info)
		}
		if all := nodesOf(t, o); len(all) != 1 {
			t.Errorf("%v", all)
		}
		unchanged(t, dir, before)
	}
}

// What harel wrote comes first, and so do tables of our own.
func TestExecutionsComeFirst(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	execute(t, path, `CREATE TABLE n (session_id, id, parent_id, kind, data)`)
	if o := mustOpen(t, path, Options{}); o.Executions == nil || o.Info.Foreign {
		t.Errorf("%+v", o.Info)
	}
}

const piHeader = `{"type":"session","version":3,"id":"%s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/srv/%s"}` + "\n"

func said(id, parent, what string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"%s"}}`+"\n", id, p, what)
}

// A folder is all session files below it, the newest first, with what each is about.
func TestOpenAFolder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(-age)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write("a/old.jsonl", fmt.Sprintf(piHeader, "old", "one")+said("u", "", "an old talk"), time.Hour)
	write("b/new.jsonl", fmt.Sprintf(piHeader, "new", "two")+said("u", "", "a new talk"), 0)
	write("b/copy.jsonl", fmt.Sprintf(piHeader, "new", "two")+said("u", "", "a new talk"), time.Minute)
	write("b/journal.jsonl", `{"step":1}`+"\n", 0)
	write("b/shape.jsonl", `{"id":1,"parent_id":null}`+"\n", 0)
	write("b/notes.txt", fmt.Sprintf(piHeader, "not", "seen"), 0)
	before := seen(t, filepath.Join(dir, "b"))
	o := mustOpen(t, dir, Options{})
	heads, err := o.Foreign.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range heads {
		got = append(got, strings.Join([]string{h.ID, h.Project, h.Title, h.Kind}, "|"))
	}
	// Of two with one id, the name goes by the path: it must not change with time.
	want := []string{"new#2|/srv/two|a new talk|pi", "new|/srv/two|a new talk|pi", "old|/srv/one|an old talk|pi"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if o.Info.Backend != folderBackend || len(o.Info.Notes) != 1 || !strings.HasPrefix(o.Info.Notes[0], "2 files are not shown") {
		t.Errorf("%+v", o.Info)
	}
	if _, err := Open(t.Context(), dir, Options{ReadWrite: true}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("%v", err)
	}
	unchanged(t, filepath.Join(dir, "b"), before)
	// One that comes later is seen.
	write("c/last.jsonl", fmt.Sprintf(piHeader, "last", "three"), -time.Hour)
	if heads, err = o.Foreign.Heads(t.Context()); err != nil || len(heads) != 4 || heads[0].ID != "last" || heads[0].Title != "" {
		t.Errorf("%+v, %v", heads, err)
	}
	// And so is its first prompt, once there is one.
	write("c/last.jsonl", fmt.Sprintf(piHeader, "last", "three")+said("u", "", "hello"), -2*time.Hour)
	if heads, err = o.Foreign.Heads(t.Context()); err != nil || heads[0].Title != "hello" {
		t.Errorf("%+v, %v", heads, err)
	}
}

// Listing reads the beginnings of the files and no more, and each once.
func TestAFolderOfAThousandSessions(t *testing.T) {
	dir := t.TempDir()
	body := said("u", "", "a talk") + strings.Repeat(said("v", "u", strings.Repeat("x", 500)), 100)
	for i := range 1000 {
		name := fmt.Sprintf("s%04d", i)
		if err := os.WriteFile(filepath.Join(dir, name+".jsonl"), []byte(fmt.Sprintf(piHeader, name, "p")+body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := cpu()
	o := mustOpen(t, dir, Options{})
	heads, err := o.Foreign.Heads(t.Context())
	if err != nil || len(heads) != 1000 || heads[0].Title != "a talk" {
		t.Fatalf("%d sessions, %v", len(heads), err)
	}
	t.Logf("opened and listed with %v of CPU", cpu()-start)
	start = cpu()
	if heads, err = o.Foreign.Heads(t.Context()); err != nil || len(heads) != 1000 {
		t.Fatalf("%d sessions, %v", len(heads), err)
	}
	t.Logf("listed again with %v of CPU", cpu()-start)
}

// What is written while the file is open is there as soon as it is whole, and not
// before.
func TestFollowingAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "live.jsonl")
	if err := os.WriteFile(path, []byte(fmt.Sprintf(piHeader, "live", "p")), 0o600); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, path, Options{})
	count := func() int64 {
		t.Helper()
		n, err := o.Trees.CountNodes(t.Context(), "live")
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	token := func() string {
		t.Helper()
		s, err := o.Watcher.ChangeToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const lines = 40
	next, written := make(chan struct{}), make(chan error)
	go func() {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		for i := 0; i < 2*lines; i++ {
			<-next
			line := said(fmt.Sprintf("n%d", i/2), fmt.Sprintf("n%d", i/2-1), "two  halves")
			if i < 2 {
				line = said("n0", "", "the first")
			}
			half := line[:len(line)/2]
			if i%2 == 1 {
				half = line[len(line)/2:]
			}
			if err == nil {
				_, err = f.WriteString(half)
			}
			written <- err
		}
		close(written)
		_ = f.Close()
	}()
	was := token()
	for i := range 2 * lines {
		next <- struct{}{}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		now := token()
		if now == was {
			t.Fatalf("piece %d was not noticed", i)
		}
		was = now
		if want := int64(1 + (i+1)/2); count() != want {
			t.Fatalf("after piece %d: %d nodes, want %d", i, count(), want)
		}
	}
	if token() != was {
		t.Error("reading it changed it")
	}
	nodes := nodesOf(t, o)["live"]
	if n := nodes[len(nodes)-1]; n.ID != "n39" || *n.ParentID != "n38" || n.Data.Get("title") != `"two halves"` {
		t.Errorf("%+v", n)
	}
	// One that is cut and written anew is another.
	if err := os.WriteFile(path, []byte(fmt.Sprintf(piHeader, "live", "p")+said("z", "", "again")), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 2 {
		t.Errorf("%d nodes after it was cut", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Trees.CountNodes(t.Context(), "live"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after it went away: %v", err)
	}
}

// Every readable record of a damaged file is shown, and every bad place is counted
// and named.
func TestBadLines(t *testing.T) {
	good := func(n int) string {
		return strings.TrimSuffix(said(fmt.Sprintf("n%d", n), map[bool]string{true: "", false: fmt.Sprintf("n%d", n-1)}[n == 0], "x"), "\n")
	}
	text := "\xef\xbb\xbf" + strings.TrimSuffix(fmt.Sprintf(piHeader, "bad", "p"), "\n") + "\r\n" + // a BOM, a carriage return
		good(0) + "\n" +
		good(1)[:40] + good(2) + "\n" + // torn, and the next run together with it
		"\n\x00\x00\x00" + good(3) + "\x00\n" + // a blank line; NULs around
		"\x00\x00\x00\x00\n  \t\n" + // nothing but NULs, nothing but blanks
		"[1,2,3]\n42\n\"text\"\nnull\n" + // values that are no objects
		strings.Replace(good(4), `"content":"x"`, "\"content\":\"a\u2028b\"", 1) + "\n" +
		strings.Replace(good(5), `"content":"x"`, "\"content\":\"a\xffb\"", 1) + "\n" +
		strings.Replace(good(6), `"content":"x"`, `"content":"\ud800"`, 1) + "\n" +
		strings.Replace(good(7), `"id":"n7"`, `"id":"n0","id":"n7"`, 1) + "\n" +
		good(8)[:30] // the tail, cut
	path := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := mustOpen(t, path, Options{})
	ids := map[string]bool{}
	for _, n := range nodesOf(t, o)["bad"] {
		ids[n.ID] = true
		if _, err := store.ParseJSON(string(n.Data)); err != nil {
			t.Errorf("%s: %v", n.ID, err)
		}
	}
	if len(ids) != 8 {
		t.Errorf("%d nodes: %v", len(ids), ids)
	}
	for _, id := range []string{"bad", "n0", "n2", "n3", "n4", "n5", "n6", "n7"} {
		if !ids[id] {
			t.Errorf("%s is not there", id)
		}
	}
	r, _, err := o.Foreign.Report(t.Context(), "bad")
	if err != nil {
		t.Fatal(err)
	}
	if r.Unreadable != 7 { // those of values, that which was torn, the zeros, the tail
		t.Errorf("%d unreadable lines, want 7", r.Unreadable)
	}
	places := map[int64]string{}
	for _, w := range r.Warnings {
		places[w.Place.Line] += w.Text + "; "
	}
	for _, line := range []int64{3, 6, 8, 9, 10, 11, 13, 16} {
		if places[line] == "" {
			t.Errorf("nothing is said of line %d: %v", line, places)
		}
	}
	if !strings.Contains(places[3], "1 records were found in it") && !strings.Contains(places[3], "found in it") {
		t.Errorf("line 3: %s", places[3])
	}
}

func TestOpeningIsWithdrawn(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(fmt.Sprintf(piHeader, "a", "p")), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, dir, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
