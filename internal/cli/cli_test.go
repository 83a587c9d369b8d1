package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/locate"
)

// runMain makes the test binary the program itself.
const runMain = "TREERING_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		os.Exit(Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
	}
	os.Exit(m.Run())
}

// noon is the time at which commands run in tests, unless a test says otherwise.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// world is a place to run commands in: a home of its own and a store.
type world struct {
	t     *testing.T
	home  string
	store string // -s of every command, if not ""
	stdin io.Reader
	now   time.Time
	ctx   context.Context
	env   string // one more variable
	says  string // what a command that succeeds says on stderr
}

func newWorld(t *testing.T) *world {
	return &world{t: t, home: t.TempDir(), stdin: strings.NewReader(""), now: noon, ctx: t.Context()}
}

// on is a world whose store is a copy of a real file.
func on(t *testing.T, file string) *world {
	w := newWorld(t)
	w.store = testfiles.Copy(t, file)
	return w
}

// ours is a world with a new store of ours, filled by fill.
func ours(t *testing.T, fill func(*locate.Opened)) *world {
	t.Helper()
	w := newWorld(t)
	w.store = filepath.Join(t.TempDir(), "ours.db")
	o, err := locate.Open(t.Context(), w.store, locate.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	if fill != nil {
		fill(o)
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// result is what a command left behind.
type result struct {
	code     int
	out, err string
}

var oneErrorLine = regexp.MustCompile(`^treering: [^\n\x00-\x1f\x7f]+\n$`)

// run runs a command line. An error is one line, and only an error is any.
func (w *world) run(args ...string) result {
	w.t.Helper()
	if w.store != "" {
		args = append([]string{"-s", w.store}, args...)
	}
	return w.plain(args...)
}

// plain is run without the store.
func (w *world) plain(args ...string) result {
	w.t.Helper()
	var out, errs bytes.Buffer
	a := &app{
		stdin: w.stdin, stdout: &out, stderr: &errs,
		env: locate.Environ{"HOME=" + w.home, "LANG=C.UTF-8", w.env},
		now: func() time.Time { return w.now },
	}
	r := result{code: a.run(w.ctx, args)}
	r.out, r.err = out.String(), errs.String()
	silent := r.code == exitDone || r.code == exitFound // what check found is its output
	if silent && r.err != w.says || !silent && r.err == "" {
		w.t.Errorf("%q: code %d, but stderr says %q", args, r.code, r.err)
	}
	if r.err != "" && !oneErrorLine.MatchString(r.err) {
		w.t.Errorf("%q: the error is not one line: %q", args, r.err)
	}
	return r
}

// ok runs a command that has to succeed and returns what it printed.
func (w *world) ok(args ...string) string {
	w.t.Helper()
	r := w.run(args...)
	if r.code != exitDone {
		w.t.Fatalf("%q: code %d, %s", args, r.code, r.err)
	}
	return r.out
}

// fails runs a command that has to fail with the code, and say something.
func (w *world) fails(code int, says string, args ...string) {
	w.t.Helper()
	r := w.run(args...)
	if r.code != code {
		w.t.Errorf("%q: code %d, want %d; it says %q", args, r.code, code, r.err)
	}
	if !strings.Contains(r.err, says) {
		w.t.Errorf("%q says %q, want %q in it", args, r.err, says)
	}
}

// same compares text and shows both.
func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// seen is every name below a directory with its content.
func seen(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func unchanged(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	after := seen(t, dir)
	for path, was := range before {
		if now, ok := after[path]; !ok || now != was {
			t.Errorf("%s changed", path)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s was made", path)
		}
	}
}

// execute runs SQL on a store that is not open, past the contract.
func execute(t *testing.T, path, sql string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	must(t, err)
	must(t, sqlitex.ExecuteScript(conn, sql, nil))
	must(t, conn.Close())
}

// columnOf reads the first column of every row.
func columnOf(t *testing.T, path, sql string) []string {
	t.Helper()
	conn, err := sqlite.OpenConn("file:"+path+"?immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	must(t, err)
	var all []string
	must(t, sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		all = append(all, stmt.ColumnText(0))
		return nil
	}}))
	must(t, conn.Close())
	return all
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) clock() time.Time { return w.now }

func text(s string) *string { return &s }

// exampleTrees fills a store with one branching session and one of another kind.
func exampleTrees(t *testing.T) func(*locate.Opened) {
	return func(o *locate.Opened) {
		ctx, ts := t.Context(), o.Trees
		_, err := ts.CreateSession(ctx, "example", "session", nil)
		must(t, err)
		_, err = ts.CreateSession(ctx, "uploads", "upload-cache", nil)
		must(t, err)
		for _, n := range []store.Node{
			{ID: "n1", Kind: "init", Data: `{"image_uuid":"base-image"}`},
			{ID: "n2", ParentID: text("n1"), Kind: "run", Data: `{"command":"apt-get update"}`},
			{ID: "n3", ParentID: text("n2"), Kind: "run", Data: `{"user":{"label":"first"}}`},
			{ID: "n4", ParentID: text("n2"), Kind: "run", Data: `{"title":"\n second \nmore"}`},
			{ID: "n5", ParentID: text("n3"), Kind: "run", Data: `{"big":12345678901234567890.10,"html":"<&>"}`},
		} {
			must(t, ts.Append(ctx, "example", n))
		}
	}
}

// exampleExecutions fills a store with a parent, its child, queues and a trace.
func exampleExecutions(t *testing.T) func(*locate.Opened) {
	return func(o *locate.Opened) {
		ctx, es := t.Context(), o.Executions
		parent := &store.Execution{
			ID: "order-1", DefinitionID: "shop", Status: store.Running, ActivePath: text("Fulfilment"),
			Context:   `{"total":455.30}`,
			ExpiresAt: store.JSON(store.FormatFireAt(epoch(noon) + 7200)),
		}
		parent.SetChildStates([]store.ChildState{{ID: "order-1:P:0", RootPath: "P"}, {ID: "never-made", RootPath: "Q"}})
		_, err := es.Commit(ctx, store.Commit{
			Execution: parent,
			Emits: []store.Emit{
				{TargetID: text("order-2"), Event: store.Event{ID: "ev1", Kind: "Cancel", Data: `{"by":"support"}`}},
				{Event: store.Event{ID: "ev2", Kind: "Audit"}},
			},
			Timers: []store.TimerOp{
				{Action: store.Schedule, Path: "Payment", FireAt: epoch(noon) + 3600.25},
				{Action: store.Schedule, Path: "Late", FireAt: epoch(noon) - 60},
				{Action: store.Schedule, Path: "@ttl", FireAt: epoch(noon) + 7200},
			},
			Spawns: []store.Spawn{{ChildID: "order-1:P:0", RootPath: "P", Context: `{"limit":Infinity}`}},
			Trace:  `{"event_kind":"Paid","from_path":"Payment","to_path":"Fulfilment","actions":["reserve","mail"],"context_out":{"x":NaN},"timestamp":1796040000.5}`,
		})
		must(t, err)
		must(t, es.Save(ctx, &store.Execution{
			ID: "order-1:P:0", DefinitionID: "shop", Status: store.Running, ParentID: text("order-1"), RootPath: "P",
		}))
		must(t, es.Save(ctx, &store.Execution{
			ID: "order-2", DefinitionID: "other", Status: store.Done, Outcome: text("success"), FinishedAt: "1796040000.25",
		}))
	}
}
