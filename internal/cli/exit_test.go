package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/internal/demo"
	"treering/store"
	"treering/store/locate"
)

func TestExitCodeOfEveryKindOfError(t *testing.T) {
	found := int64(2)
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"none", nil, 0},
		{"nobody reads", errOutputClosed, 0},
		{"nobody reads, wrapped", fmt.Errorf("list: %w", errOutputClosed), 0},
		{"empty id", &store.ValueError{Field: "node id", Err: store.ErrEmptyID}, 1},
		{"too long", &store.ValueError{Field: "data", Err: store.ErrTooLong}, 1},
		{"not text", &store.ValueError{Field: "kind", Err: store.ErrNotText}, 1},
		{"not an object", &store.ValueError{Field: "data", Err: store.ErrNotObject}, 1},
		{"too many ids", &store.ValueError{Field: "node ids", Err: store.ErrTooManyIDs}, 1},
		{"bad ttl", store.CheckTTL(store.Seconds(-1)), 1},
		{"bad time", &store.ValueError{Field: "fire_at", Err: store.ErrBadTime}, 1},
		{"bad limit", &store.ValueError{Field: "limit", Err: store.ErrBadLimit}, 1},
		{"bad row", &store.RowError{Table: "executions", Key: "x", Err: store.ErrNotObject}, 1},
		{"bad cursor", store.ErrBadCursor, 1},
		{"busy", store.ErrBusy, 1},
		{"the source keeps changing", store.ErrSourceChanged, 1},
		{"a missing table", store.ErrMissingTable, 1},
		{"closed", store.ErrClosed, 1},
		{"cancelled", context.Canceled, 1},
		{"outcome unknown", store.OutcomeUnknown(context.Canceled), 1},
		{"anything else", errors.New("disk on fire"), 1},
		{"what was typed", usagef("no such flag"), 2},
		{"a store that is not there", &openError{store.ErrStoreNotFound}, 2},
		{"a store that is none", &openError{store.ErrNotAStore}, 2},
		{"a store that is not built", &openError{store.ErrNotBuilt}, 2},
		{"a store that may not be read", &openError{fs.ErrPermission}, 2},
		{"a store that is busy at opening", &openError{store.ErrBusy}, 2},
		{"a store with several sets", &openError{&locate.AmbiguousSetError{}}, 2},
		{"a prefix that is not there", &openError{store.ErrNotFound}, 2},
		{"read-only", store.ErrReadOnly, 2},
		{"no session", &store.NotFoundError{What: "session", ID: "s"}, 3},
		{"no parent", &store.NotFoundError{What: "parent", ID: "p", In: "s"}, 3},
		{"a gone entry", notFoundf("outbox entry 1 is already gone"), 3},
		{"a lost race", &store.ConflictError{ID: "x", Expected: 1, Found: &found}, 4},
		{"a changed node", &store.NodeConflictError{Session: "s", Node: "n", Reason: store.ReasonData}, 4},
		{"another kind", &store.KindMismatchError{Session: "s", Stored: "a", Given: "b"}, 4},
		{"a wrong state", &store.StateError{ID: "x", Command: "suspend", Status: store.Done}, 4},
		{"a state in words", conflictf("due already"), 4},
		{"the demo twice", &codedError{exitConflict, demo.ErrPresent}, 4},
	} {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"plain", errors.New("no"), "treering: no\n"},
		{"several lines", errors.Join(errors.New("one"), errors.New("two\n\n three ")), "treering: one; two; three\n"},
		{"text that attacks", errors.New("a\x1b[2Jb\u202ec"), "treering: a␛[2Jb«U+202E»c\n"},
		{"interrupted", fmt.Errorf("read: %w", context.Canceled), "treering: interrupted\n"},
		{"interrupted too late", store.OutcomeUnknown(context.Canceled),
			"treering: outcome unknown: the write was handed over before the wait ended (context canceled); reload before trying again\n"},
	} {
		var b bytes.Buffer
		report(&b, tt.err, shown)
		same(t, tt.name, b.String(), tt.want)
	}
	var b bytes.Buffer
	report(&b, errors.New(strings.Repeat("x", 1<<20)), shown)
	if n := b.Len(); n > 2*maxErrorCells {
		t.Errorf("a long error is %d bytes", n)
	}
}

// shown hides nothing.
func shown(text string) string { return text }

// What is typed wrong is code 2, whichever layer notices.
func TestUsage(t *testing.T) {
	w := ours(t, exampleTrees(t))
	for _, tt := range []struct {
		says string
		args []string
	}{
		{"unknown flag: --nope", []string{"sessions", "--nope"}},
		{"--kind needs a value: KIND", []string{"sessions", "--kind"}},
		{`--limit takes a whole number, not "x"`, []string{"sessions", "--limit", "x"}},
		{"treering: nodes needs SESSION", []string{"nodes"}},
		{"treering: history needs NODE", []string{"history", "example"}},
		{"treering: node needs SESSION and NODE", []string{"node"}},
		{`treering: sessions does not take "x"`, []string{"sessions", "x"}},
		{`treering: session has no command "rename"; it has create, delete, ttl`, []string{"session", "rename"}},
		{"treering: session needs a command: create, delete, ttl", []string{"session"}},
		{`"later" is no time to live`, []string{"session", "create", "x", "--ttl", "later"}},
		{`"1h2x" is no time to live`, []string{"session", "ttl", "example", "1h2x"}},
		{"unknown shorthand flag", []string{"session", "ttl", "example", "-x"}},
		{"append needs --kind", []string{"append", "example", "--root", "--data", "{}"}},
		{"append needs --parent or --root", []string{"append", "example", "--kind", "run", "--data", "{}"}},
		{"append takes --parent or --root, not both", []string{"append", "example", "--root", "--parent", "n1", "--kind", "run", "--data", "{}"}},
		{"--data is not JSON", []string{"append", "example", "--parent", "n1", "--kind", "run", "--data", "{"}},
		{"--data is not JSON", []string{"append", "example", "--parent", "n1", "--kind", "run", "--data", ""}},
		{"read --data: open ", []string{"append", "example", "--parent", "n1", "--kind", "run", "--data", "@" + w.home + "/missing"}},
		{"read commits: open ", []string{"commit", w.home + "/missing"}},
		{`treering: ack takes outbox or spawn, not "inbox"`, []string{"ack", "inbox", "1"}},
		{`"one" is no SEQ`, []string{"ack", "outbox", "one"}},
		{"fire needs --at", []string{"fire", "x", "p"}},
		{`--at "soon" is no time`, []string{"fire", "x", "p", "--at", "soon"}},
		{"needs --expired, or an EXECUTION", []string{"purge"}},
		{"needs --version", []string{"purge", "x"}},
		{"not both", []string{"purge", "x", "--expired"}},
		{"--raw and --json exclude each other", []string{"nodes", "example", "--raw", "--json"}},
		{`there is no command "nope" to explain`, []string{"help", "nope"}},
		{`there is no command "session nope" to explain`, []string{"help", "session", "nope"}},
		{"append needs --data and --kind", []string{"append", "example", "--root"}},
		{"--data is not JSON: NaN", []string{"append", "example", "--parent", "n1", "--kind", "run", "--data", `{"a":[-Infinity]}`}},
		{`"1_000" is no time to live`, []string{"session", "ttl", "example", "1_000"}},
		{`--at "0x1p3" is no time`, []string{"fire", "x", "p", "--at", "0x1p3"}},
		{"executions takes one --definition, not 2", []string{"executions", "--definition", "a", "--definition", "b"}},
		{`treering: completion has no command "tcsh"`, []string{"completion", "tcsh"}},
		{`no execution tables with prefix "other"`, []string{"executions", "--prefix", "other"}},
	} {
		w.fails(exitUsage, tt.says, tt.args...)
	}
	w.store = ""
	w.fails(exitUsage, `"shop.db" is not a command; to run one on the store "shop.db" write: treering -s STORE COMMAND`, "shop.db", "executions")
	w.fails(exitUsage, `"exections" is neither a command nor a file; is it execution or executions?`, "exections")
	w.fails(exitUsage, `there is no file "sessions"; without -- it is a command`, "--", "sessions")
	w.fails(exitUsage, "the locator is empty", "-s", "", "sessions")
	w.fails(exitUsage, "there is no prefix to choose", "-s", "memory:", "--prefix", "x", "sessions")
	w.fails(exitUsage, "--prefix goes with -s or --into", "demo", "--prefix", "x")
	w.fails(exitUsage, `the store is named twice, "a" and with -s "b"`, "a", "-s", "b")
	w.fails(exitUsage, "the explorer needs a terminal")
	w.fails(exitUsage, "the explorer needs a terminal", "memory:")
	unchanged(t, w.home, map[string]string{})
}

func TestStoresThatCannotBeOpened(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	before := seen(t, dir)
	for _, tt := range []struct{ says, store string }{
		{"it does not exist; check the spelling; --create makes a new store", dir + "/missing.db"},
		{"it is a directory", dir},
		{"no kind of store has that scheme", "mysql://ana:secret@db/shop"},
		{"takes no options", "file:" + dir + "/a.db?mode=ro"},
	} {
		w.store = tt.store
		for _, args := range [][]string{{"sessions"}, {"executions"}, {"info"}, {"tree", "x"}, {"session", "create", "x"}} {
			w.fails(exitUsage, tt.says, args...)
		}
	}
	unchanged(t, dir, before)
}

// A write to somebody else's file needs --rw.
func TestWritesNeedRW(t *testing.T) {
	w := on(t, "harel-shop-prefixed.db")
	before := seen(t, w.store)
	for _, args := range [][]string{
		{"ack", "outbox", "26"},
		{"ack", "spawn", "41"},
		{"suspend", "order-0000"},
		{"fire", "order-0002", "Payment.Retrying", "--at", "1"},
		{"purge", "order-0000", "--version", "1"},
		{"commit"},
	} {
		w.fails(exitUsage, "is open read-only: it is in WAL mode and at rest", args...)
		w.fails(exitUsage, "; --rw opens it for writing", args...)
	}
	w.fails(exitUsage, "holds no session trees; a command that writes adds their tables, with --rw --create", "sessions")
	unchanged(t, w.store, before)

	same(t, "ack with --rw", w.ok("--rw", "ack", "outbox", "26"), "acknowledged outbox entry 26\n")
	w.fails(exitNotFound, "outbox entry 26 is already gone", "--rw", "ack", "outbox", "26")
	// Reading adds nothing; writing says what it adds.
	before = seen(t, w.store)
	w.fails(exitUsage, "a command that writes adds their tables", "--rw", "--create", "sessions")
	w.ok("--rw", "--create", "executions", "--json")
	unchanged(t, w.store, before)
	w.says = `treering: adding the tables for session trees to "` + w.store + "\"\n"
	same(t, "a session in it", w.ok("--rw", "--create", "session", "create", "s", "--json"), `{"session_id":"s","kind":"session","expires_at":null}`+"\n")
	w.says = ""
	same(t, "another", w.ok("--rw", "--create", "session", "create", "t", "--json"), `{"session_id":"t","kind":"session","expires_at":null}`+"\n")
	same(t, "its executions", fmt.Sprint(strings.Count(w.ok("executions", "--json"), "\n")), "81")
}

// A refused value, and a change of what is not there, make no default store.
func TestRefusedWritesMakeNoStore(t *testing.T) {
	for _, tt := range []struct {
		code  int
		stdin string
		args  []string
	}{
		{exitFailed, "", []string{"append", "x", "--root", "--kind", "k", "--data", "[]"}},
		{exitFailed, "", []string{"session", "create", ""}},
		{exitFailed, "", []string{"session", "create", "x", "--kind", ""}},
		{exitFailed, "", []string{"session", "create", "x", "--ttl", "-1"}},
		{exitNotFound, "", []string{"append", "x", "--root", "--kind", "k", "--data", "{}"}},
		{exitNotFound, "", []string{"session", "delete", "x"}},
		{exitNotFound, "", []string{"session", "ttl", "x", "1"}},
		{exitNotFound, "", []string{"ack", "outbox", "1"}},
		{exitNotFound, "", []string{"fire", "x", "p", "--at", "1"}},
		{exitNotFound, "", []string{"suspend", "x"}},
		{exitNotFound, "", []string{"purge", "x", "--version", "1"}},
		{exitDone, "", []string{"purge", "--expired"}},
		{exitDone, "", []string{"commit"}},
		{exitUsage, "{", []string{"commit"}},
		{exitFailed, `{"execution":{"id":""}}`, []string{"commit"}},
	} {
		w := newWorld(t)
		w.stdin = strings.NewReader(tt.stdin)
		if r := w.run(tt.args...); r.code != tt.code {
			t.Errorf("%q: code %d, want %d; %s", tt.args, r.code, tt.code, r.err)
		}
		unchanged(t, w.home, map[string]string{})
	}
	w := newWorld(t)
	w.stdin = strings.NewReader(`{"execution":{"id":"x"}}`)
	same(t, "a commit makes it", w.ok("commit"), `{"version":1,"seqs":[]}`+"\n")
	same(t, "and is in it", lineCount(w.ok("executions", "--json")), "1")
}

// A store that --create cannot make is not said to be one.
func TestLinkToNowhere(t *testing.T) {
	w := newWorld(t)
	w.store = filepath.Join(w.home, "link.db")
	must(t, os.Symlink(filepath.Join(w.home, "nowhere", "x.db"), w.store))
	if r := w.run("sessions"); r.code != exitUsage || strings.Contains(r.err, "--create") {
		t.Errorf("%d %s", r.code, r.err)
	}
}

// Tables of the trees' names with other columns are told as what they are.
func TestTreeTablesOfAnotherVersion(t *testing.T) {
	w := on(t, "harel-shop.db")
	execute(t, w.store, "CREATE TABLE tree_sessions (id TEXT); CREATE TABLE tree_nodes (tree TEXT, id TEXT, parent_id TEXT, kind TEXT, data TEXT)")
	for _, args := range [][]string{{"sessions"}, {"--rw", "--create", "session", "create", "x"}} {
		w.fails(exitUsage, "not with the columns that this version knows", args...)
	}
	if out := w.ok("info"); !strings.Contains(out, "sessions    none that this version reads\n") || !strings.Contains(out, "not with the columns") {
		t.Errorf("info: %s", out)
	}
}

func TestDirectoryAsInput(t *testing.T) {
	w := ours(t, exampleTrees(t))
	w.fails(exitUsage, "is a directory", "commit", w.home)
	w.fails(exitUsage, "is a directory", "append", "example", "--parent", "n1", "--kind", "k", "--data", "@"+w.home)
	w.stdin = strings.NewReader(`{"execution":{"id":"` + strings.Repeat("x", maxInput) + `"}}`)
	w.fails(exitFailed, fmt.Sprintf("treering: standard input, line 1: commit: is longer than %d bytes", maxInput), "commit")
}

// A negative number among the arguments is a value, not a flag.
func TestNegativeNumbers(t *testing.T) {
	w := ours(t, exampleTrees(t))
	for _, n := range []string{"-0", "-0.0", "-1", "-.5", "-1h"} {
		w.fails(exitFailed, "is not a time to live", "session", "ttl", "example", n)
		w.fails(exitFailed, "is not a time to live", "session", "ttl", "example", "--", n)
		w.fails(exitFailed, "is not a time to live", "session", "create", "x", "--ttl", n)
	}
	w.fails(exitFailed, "SEQ: -1 is negative", "ack", "outbox", "-1")
	w.fails(exitFailed, "SEQ: -1 is negative", "ack", "spawn", "--", "-1")
	w.fails(exitNotFound, "outbox entry 4 is already gone", "ack", "outbox", "+4")
}

// Without a terminal the explorer runs by lines, where that is asked for.
func TestPlainExplorer(t *testing.T) {
	w := ours(t, exampleTrees(t))
	w.fails(exitUsage, "needs a terminal, or --plain")
	w.stdin = strings.NewReader("2\ndown\nquit\n")
	out := w.ok("--plain")
	if !strings.Contains(out, "example") || strings.ContainsRune(out, 0x1b) {
		t.Errorf("%q", out)
	}
	w.stdin = strings.NewReader("")
	w.ok("--plain") // the end of the input is no error
	w.fails(exitUsage, `there is no theme "pink"; the themes are auto, dark, light, 16, mono`, "--theme", "pink")
}
