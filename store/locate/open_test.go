package locate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
)

// seen is every name in a directory with its content and modification time.
func seen(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		content := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			content = string(b)
		}
		all[e.Name()] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), content)
	}
	return all
}

func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := seen(t, dir)
	for name, was := range before {
		if after[name] != was {
			t.Errorf("%s changed", name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("%s was made", name)
		}
	}
}

// execute runs SQL on a database that is not open otherwise.
func execute(t *testing.T, path, sql string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(conn, sql, nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t *testing.T, locator string, o Options) *Opened {
	t.Helper()
	opened, err := Open(t.Context(), locator, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return opened
}

func count(t *testing.T, o *Opened) int64 {
	t.Helper()
	counts, err := o.Executions.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return counts.Executions
}

func TestOpenForeignFiles(t *testing.T) {
	for _, tt := range []struct {
		file       string
		prefix     string
		executions int64
		journal    string
	}{
		{"harel-shop.db", "", 81, "wal"},
		{"harel-shop-prefixed.db", "harel", 81, "wal"},
		{"harel-monitor-demo.db", "", 7, "wal"},
		{"harel-bad-values.db", "", 25, "rollback"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			path := testfiles.Copy(t, tt.file)
			before := seen(t, filepath.Dir(path))
			o, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if n := count(t, o); n != tt.executions {
				t.Errorf("%d executions, want %d", n, tt.executions)
			}
			if err := o.Count(t.Context()); err != nil {
				t.Fatal(err)
			}
			if o.Trees != nil || o.Info.TreeTables || o.Info.Sessions != nil {
				t.Error("it has no session trees")
			}
			i := o.Info
			if i.Writable || i.Ours || i.Backend != "sqlite" || i.Name != tt.file || i.Path != path || i.JournalMode != tt.journal {
				t.Errorf("Info = %+v", i)
			}
			if !strings.HasPrefix(i.How, "read-only") || i.Why == "" {
				t.Errorf("open %q because %q", i.How, i.Why)
			}
			if len(i.Sets) != 1 || i.Sets[0].Prefix != tt.prefix || !i.Sets[0].Open || i.Sets[0].Executions == nil || *i.Sets[0].Executions != tt.executions {
				t.Errorf("Sets = %+v", i.Sets)
			}
			if _, err := o.Executions.AckOutbox(t.Context(), 1); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("a write = %v, want ErrReadOnly", err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
			unchanged(t, filepath.Dir(path), before)
		})
	}
}

func TestOpenForeignForWriting(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop-prefixed.db")
	o := mustOpen(t, path, Options{ReadWrite: true})
	if !o.Info.Writable || o.Info.Ours || o.Info.How != "read-write" || o.Info.Why != "writing was asked for" {
		t.Errorf("Info = %+v", o.Info)
	}
	pending, err := o.Executions.PendingOutbox(t.Context())
	if err != nil || len(pending) != 3 {
		t.Fatalf("PendingOutbox = %v, %v", pending, err)
	}
	if removed, err := o.Executions.AckOutbox(t.Context(), pending[0].Seq); err != nil || !removed {
		t.Errorf("AckOutbox = %t, %v", removed, err)
	}
	if o.Trees != nil {
		t.Error("tree tables were added without Create")
	}
}

func TestOpenAddsALackingContract(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	before := seen(t, filepath.Dir(path))
	o, err := Open(t.Context(), path, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if o.Info.Writable || o.Trees != nil {
		t.Error("Create without ReadWrite touches somebody else's file")
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	unchanged(t, filepath.Dir(path), before)

	// It is said before, and who hears it can still say no.
	no := errors.New("no")
	var said []string
	adding := func(what []string) error {
		said = what
		return no
	}
	if _, err := Open(t.Context(), path, Options{Create: true, ReadWrite: true, Adding: adding}); !errors.Is(err, no) {
		t.Errorf("Open = %v", err)
	}
	unchanged(t, filepath.Dir(path), before)
	if want := []string{"session trees"}; !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}

	no = nil
	o = mustOpen(t, path, Options{Create: true, ReadWrite: true, Adding: adding})
	if o.Trees == nil || !o.Info.TreeTables || o.Info.Ours {
		t.Fatalf("Info = %+v", o.Info)
	}
	said = nil
	mustOpen(t, path, Options{Create: true, ReadWrite: true, Adding: adding})
	if said != nil {
		t.Errorf("nothing is lacking, and it says %q", said)
	}
	if _, err := o.Trees.CreateSession(t.Context(), "s", "session", nil); err != nil {
		t.Error(err)
	}
	if n := count(t, o); n != 81 {
		t.Errorf("%d executions, want 81", n)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new ?#%.db")
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrStoreNotFound) {
		t.Fatalf("Open of nothing = %v", err)
	}
	if _, err := Open(t.Context(), path, Options{ReadWrite: true}); !errors.Is(err, store.ErrStoreNotFound) {
		t.Fatalf("Open of nothing for writing = %v", err)
	}
	if _, err := Open(t.Context(), path, Options{ReadOnly: true}); !errors.Is(err, store.ErrStoreNotFound) {
		t.Fatalf("Open of nothing for reading only = %v", err)
	}
	unchanged(t, dir, map[string]string{})

	o := mustOpen(t, path, Options{Create: true})
	if !o.Info.Ours || !o.Info.Writable || o.Info.Why != "it was made just now" || o.Info.JournalMode != "wal" {
		t.Errorf("Info = %+v", o.Info)
	}
	if o.Info.SchemaInfo != "application_id 0x54524E47, user_version 1" {
		t.Errorf("SchemaInfo = %q", o.Info.SchemaInfo)
	}
	if _, err := o.Trees.CreateSession(t.Context(), "s", "session", nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Executions.Save(t.Context(), &store.Execution{ID: "e", DefinitionID: "d"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := o.Info.Sessions; s == nil || *s != 1 {
		t.Errorf("Sessions = %v", s)
	}
	if s := o.Info.Sets; len(s) != 1 || s[0].Prefix != "harel" || *s[0].Executions != 1 {
		t.Errorf("Sets = %+v", s)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := o.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}

	// A file of ours is open for writing without being asked.
	o = mustOpen(t, path, Options{})
	if !o.Info.Writable || o.Info.Why != "it was made by treering" {
		t.Errorf("Info = %+v", o.Info)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}

	// Unless it is to be left alone.
	before := seen(t, dir)
	o = mustOpen(t, path, Options{ReadOnly: true, ReadWrite: true})
	if o.Info.Writable || !strings.HasPrefix(o.Info.Why, "no writing was asked for; ") {
		t.Errorf("Info = %+v", o.Info)
	}
	if n := count(t, o); n != 1 {
		t.Errorf("%d executions, want 1", n)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	unchanged(t, dir, before)
}

func TestCreateOfAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{ReadWrite: true}); !errors.Is(err, store.ErrNotAStore) {
		t.Fatalf("Open of an empty file = %v", err)
	}
	o := mustOpen(t, path, Options{Create: true})
	if o.Executions == nil || o.Trees == nil {
		t.Error("it has not both contracts")
	}
}

func TestCreateUnderANameWithACredential(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, o := range []Options{{}, {Create: true}} {
		_, err := Open(t.Context(), "host=db password=secret", o)
		if !errors.Is(err, store.ErrStoreNotFound) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open = %v", err)
		}
	}
	unchanged(t, ".", map[string]string{})
}

func TestMemory(t *testing.T) {
	o := mustOpen(t, "memory:", Options{})
	if o.Executions == nil || o.Trees == nil || o.Watcher == nil || !o.Info.Writable || o.Info.Backend != "memory" {
		t.Errorf("Opened = %+v", o)
	}
	if _, err := o.Trees.CreateSession(t.Context(), "s", "session", nil); err != nil {
		t.Fatal(err)
	}
	if err := o.Executions.Save(t.Context(), &store.Execution{ID: "e", DefinitionID: "d"}); err != nil {
		t.Fatal(err)
	}
	if err := o.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if *o.Info.Sessions != 1 || *o.Info.Sets[0].Executions != 1 {
		t.Errorf("Info = %+v", o.Info)
	}
	// Each opening is a store of its own.
	other := mustOpen(t, "memory:", Options{})
	if n := count(t, other); n != 0 {
		t.Errorf("another memory store has %d executions", n)
	}
}

func TestSets(t *testing.T) {
	const tables = `
		CREATE TABLE %[1]sexecutions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL);
		CREATE TABLE %[1]soutbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT, event TEXT NOT NULL);`
	const row = `INSERT INTO %[1]sexecutions VALUES ('e', 'd', '{}', 1);`
	make := func(t *testing.T, sql ...string) string {
		path := filepath.Join(t.TempDir(), "several.db")
		execute(t, path, strings.Join(sql, "\n"))
		return path
	}
	legacy, prefixed := fmt.Sprintf(tables, ""), fmt.Sprintf(tables, "harel_")

	t.Run("one with rows", func(t *testing.T) {
		path := make(t, legacy, prefixed, fmt.Sprintf(row, "harel_"))
		o := mustOpen(t, path, Options{})
		if s := o.Info.Sets; len(s) != 2 || s[0].Open || !s[1].Open || *s[0].Executions != 0 || *s[1].Executions != 1 {
			t.Errorf("Sets = %+v", s)
		}
		if len(o.Info.Notes) == 0 || !strings.Contains(o.Info.Notes[0], "several sets") {
			t.Errorf("Notes = %q", o.Info.Notes)
		}
		// What is lacking is said.
		if m := o.Info.Sets[1].Missing; len(m) != 4 {
			t.Errorf("Missing = %q", m)
		}
	})
	t.Run("several with rows", func(t *testing.T) {
		path := make(t, legacy, prefixed, fmt.Sprintf(row, "harel_"), fmt.Sprintf(row, ""))
		_, err := Open(t.Context(), path, Options{})
		var several *AmbiguousSetError
		if !errors.As(err, &several) || len(several.Sets) != 2 || *several.Sets[1].Executions != 1 {
			t.Fatalf("Open = %v", err)
		}
		if text := err.Error(); !strings.Contains(text, `no prefix (1 execution), "harel" (1 execution)`) || strings.Contains(text, "\n") {
			t.Errorf("the error says %q", text)
		}
		for _, prefix := range []string{"", "harel", "harel_"} {
			o := mustOpen(t, path, Options{Prefix: &prefix})
			page, err := o.Executions.ListExecutions(t.Context(), store.ExecutionFilter{}, store.PageRequest{})
			if err != nil || len(page.Items) != 1 {
				t.Errorf("prefix %q: %v, %v", prefix, page, err)
			}
		}
		unknown := "other"
		if _, err := Open(t.Context(), path, Options{Prefix: &unknown}); err == nil || !strings.Contains(err.Error(), `"other"`) {
			t.Errorf("Open with an unknown prefix = %v", err)
		}
	})
}

func TestOpenWhatIsNoStore(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.db")
	if err := os.WriteFile(text, []byte("dear diary\n{\"type\":\"diary\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	database := func(name, sql string) string {
		path := filepath.Join(t.TempDir(), name)
		execute(t, path, sql)
		return path
	}
	lines := func(name string, all ...string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(strings.Join(all, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	other := filepath.Join(dir, "other.db")
	execute(t, other, `CREATE TABLE executions (name TEXT)`)
	for _, tt := range []struct{ name, path, says string }{
		{"a directory", empty, "it is a directory, and there are no session files in it"},
		{"text", text, "it is not a SQLite database"},
		{"another database", other, "it holds neither execution tables nor session trees; this version does not read it"},
		{"opencode", database("opencode.db", "CREATE TABLE session (id, project_id, parent_id); CREATE TABLE message (id, session_id); CREATE TABLE part (id, message_id, session_id)"),
			"it is an opencode database; this version does not read it"},
		{"OpenClaw", database("openclaw.db", "CREATE TABLE transcript_events (session_id, seq); CREATE TABLE session_nodes (session_key, current_session_id, parent_session_key)"),
			"it is a session database of OpenClaw; this version does not read it"},
		{"Gemini", lines("gemini.jsonl", `{"sessionId":"a","projectHash":"b","startTime":"c"}`, `{"id":"1","parentId":null,"type":"user"}`), "a Gemini CLI session: this version does not read it"},
		{"pi, version 4", lines("four.jsonl", `{"v":4,"kind":"header","id":"a"}`), "a pi session of version 4: this version does not read it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A name says nothing.
			path := tt.path
			if filepath.Dir(path) != dir && path != empty {
				path = filepath.Join(t.TempDir(), "a")
				if err := os.Rename(tt.path, path); err != nil {
					t.Fatal(err)
				}
			}
			before := seen(t, filepath.Dir(path))
			for _, o := range []Options{{}, {ReadWrite: true}, {Create: true}, {ReadOnly: true}} {
				_, err := Open(t.Context(), path, o)
				if !errors.Is(err, store.ErrNotAStore) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%+v: Open = %v, want %q", o, err, tt.says)
				}
			}
			unchanged(t, filepath.Dir(path), before)
		})
	}
}

func TestForeignLines(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`{"type":"session","id":"a","cwd":"/"}`, ""},
		{`{"type":"title","v":1,"title":"x","pad":"  "}`, "an oh-my-pi session that has only a title"},
		{`{"v":4,"kind":"header"}`, "a pi session of version 4"},
		{`{"sessionId":"a","projectHash":"b"}`, "a Gemini CLI session"},
		{`{"id":"a","parent_id":null}`, ""},
		{`{}`, ""},
	} {
		if got := foreignLine(store.JSON(tt.line)); got != tt.want {
			t.Errorf("foreignLine(%s) = %q, want %q", tt.line, got, tt.want)
		}
	}
}

// Tables of the trees' names with other columns are somebody else's, or of another
// version: seen, told, and left alone.
func TestOtherTreeTables(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	execute(t, path, "CREATE TABLE tree_nodes (tree TEXT, id TEXT, parent_id TEXT, kind TEXT, data TEXT); CREATE TABLE tree_sessions (id TEXT)")
	for _, o := range []Options{{}, {ReadWrite: true, Create: true, Adding: func(what []string) error {
		t.Errorf("%q are to be added", what)
		return nil
	}}} {
		opened := mustOpen(t, path, o)
		if opened.Trees != nil || opened.Info.TreeTables || !opened.Info.OtherTrees || len(opened.Info.Notes) != 1 {
			t.Errorf("Info = %+v", opened.Info)
		}
	}
}

func TestSurvey(t *testing.T) {
	path := testfiles.Copy(t, "harel-shop.db")
	execute(t, path, "CREATE TABLE other_executions AS SELECT * FROM executions LIMIT 2")
	if _, err := Open(t.Context(), path, Options{}); err == nil {
		t.Fatal("one of two sets was chosen")
	}
	o := mustOpen(t, path, Options{Survey: true})
	if err := o.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o.Executions != nil || len(o.Info.Sets) != 2 || o.Info.Sets[0].Open || o.Info.Sets[1].Open ||
		*o.Info.Sets[0].Executions != 81 || *o.Info.Sets[1].Executions != 2 || len(o.Info.Notes) != 1 {
		t.Errorf("Info = %+v", o.Info)
	}
}

func TestMemoryHasNoPrefix(t *testing.T) {
	prefix := "x"
	var wrong *LocatorError
	if _, err := Open(t.Context(), "memory:", Options{Prefix: &prefix}); !errors.As(err, &wrong) || !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Open = %v", err)
	}
}
