package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"treering/internal/testfiles"
	"treering/store"
)

// strict checks that every line is strict JSON, safe to print, and valid UTF-8.
func strict(t *testing.T, what, out string) []store.JSON {
	t.Helper()
	var all []store.JSON
	for l := range strings.Lines(out) {
		l = strings.TrimSuffix(l, "\n")
		if !json.Valid([]byte(l)) {
			// encoding/json stops at 10,000 levels.
			if _, err := store.ParseStrictJSON(l); err != nil {
				t.Errorf("%s: %v: %.200s", what, err, l)
			}
		}
		for _, r := range l {
			if r < 0x20 || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Errorf("%s: %U in %.200s", what, r, l)
			}
		}
		all = append(all, store.JSON(l))
	}
	return all
}

func TestRealFiles(t *testing.T) {
	for _, tt := range []struct {
		file                                               string
		executions, roots, running, timers, outbox, spawns int
	}{
		{file: "harel-shop.db", executions: 81, roots: 41, running: 45, timers: 21},
		{file: "harel-shop-prefixed.db", executions: 81, roots: 41, running: 45, timers: 21, outbox: 3, spawns: 2},
		{file: "harel-bad-values.db", executions: 25, roots: 25, running: 15, timers: 10, outbox: 3, spawns: 2},
	} {
		t.Run(tt.file, func(t *testing.T) {
			w := on(t, tt.file)
			before := seen(t, filepath.Dir(w.store))
			for _, l := range []struct {
				args []string
				want int
			}{
				{[]string{"executions"}, tt.executions},
				{[]string{"executions", "--roots"}, tt.roots},
				{[]string{"executions", "--status", "running"}, tt.running},
				{[]string{"timers"}, tt.timers},
				{[]string{"outbox"}, tt.outbox},
				{[]string{"spawns"}, tt.spawns},
			} {
				out := w.ok(append(l.args, "--json")...)
				if n := len(strict(t, strings.Join(l.args, " "), out)); n != l.want {
					t.Errorf("%q: %d lines, want %d", l.args, n, l.want)
				}
				if n := strings.Count(w.ok(l.args...), "\n"); n != l.want {
					t.Errorf("%q, plain: %d lines, want %d", l.args, n, l.want)
				}
			}
			for _, s := range strict(t, "executions", w.ok("executions", "--json")) {
				id, _ := s.Get("id").Text()
				one := strict(t, id, w.ok("execution", id, "--json"))
				if len(one) != 1 {
					t.Fatalf("execution %q: %d lines", id, len(one))
				}
				if bad := s.Get("row_error"); one[0].Get("row_error") != bad || one[0].Get("raw") != s.Get("raw") {
					t.Errorf("execution %q: %s in the list, %s alone", id, bad, one[0].Get("row_error"))
				}
				if out := w.ok("execution", id); out == "" {
					t.Errorf("execution %q shows nothing", id)
				}
			}
			unchanged(t, filepath.Dir(w.store), before)
		})
	}
}

func TestRealTraceRing(t *testing.T) {
	w := on(t, "harel-shop.db")
	steps := strict(t, "trace", w.ok("trace", "order-long", "--json"))
	if len(steps) != 200 {
		t.Fatalf("%d steps, want 200", len(steps))
	}
	for i, s := range steps {
		if got := string(s.Get("index")); got != fmt.Sprint(250+i) {
			t.Fatalf("step %d has index %s", i, got)
		}
	}
	same(t, "keys", strings.Join(keys(steps[0]), " "), "index event_kind event_data from_path to_path actions context_out timestamp")
	same(t, "limited", lineCount(w.ok("trace", "order-long", "--json", "--limit", "7")), "7")
}

// --raw prints what is stored, byte for byte.
func TestRealFilesRaw(t *testing.T) {
	w := on(t, "harel-shop.db")
	stored := columnOf(t, w.store, "SELECT entry FROM trace WHERE execution_id = 'order-long' ORDER BY idx")
	if got := w.ok("trace", "order-long", "--raw"); got != strings.Join(stored, "\n")+"\n" {
		t.Error("trace --raw differs from what is stored")
	}
	stored = columnOf(t, w.store, "SELECT data FROM executions ORDER BY id")
	if got := w.ok("executions", "--raw"); got != strings.Join(stored, "\n")+"\n" {
		t.Error("executions --raw differs from what is stored")
	}
}

func keys(j store.JSON) []string {
	var all []string
	for k := range j.Members() {
		all = append(all, k)
	}
	return all
}

func TestBadValues(t *testing.T) {
	w := on(t, "harel-bad-values.db")
	byID := map[string]store.JSON{}
	for _, s := range strict(t, "executions", w.ok("executions", "--json")) {
		id, _ := s.Get("id").Text()
		byID[id] = s
	}
	for id, want := range map[string]string{
		"ok-1": `{"id":"ok-1","definition_id":"Kettle","status":"RUNNING","outcome":null,"active_path":"/Kettle/Heating","version":1,"parent_id":null,"finished_at":null}`,
		"json-array": `{"id":"json-array","definition_id":"Kettle","status":null,"outcome":null,"active_path":null,"version":1,"parent_id":null,"finished_at":null,` +
			`"row_error":"execution: not a JSON object but an array","raw":"[1,2]"}`,
		"bad-utf8": `{"id":"bad-utf8","definition_id":"Kettle","status":null,"outcome":null,"active_path":null,"version":1,"parent_id":null,"finished_at":null,` +
			`"row_error":"execution: not JSON: invalid UTF-8 at byte 7","raw":{"base64":"eyJpZCI6Iv/+In0="}}`,
		"raw\x00nul": `{"id":"raw\u0000nul","definition_id":"Kettle","status":"RUNNING","outcome":null,"active_path":"/Kettle/Heating","version":1,"parent_id":null,"finished_at":null}`,
	} {
		same(t, id, string(byID[id]), want)
	}
	same(t, "a version that is no number", string(byID["version-text"].Get("version")), "null")
	same(t, "an infinite timer", string(strict(t, "timers", w.ok("timers", "--json"))[8]),
		`{"execution_id":"ok-1","path":"/inf","fire_at":"Infinity","non_json":true}`)

	for _, id := range []string{"json-array", "bad-utf8", "version-text"} {
		same(t, id+" by itself", string(strict(t, id, w.ok("execution", id, "--json"))[0]), string(byID[id]))
	}

	// Each is openable by its id.
	nan := strict(t, "nan", w.ok("execution", "nan", "--json"))[0]
	if nan.Get("non_json") != "true" || !strings.Contains(string(nan), `"NaN"`) {
		t.Errorf("nan: %s", nan)
	}
	if raw := w.ok("execution", "nan", "--raw"); !strings.Contains(raw, "NaN") || strings.Contains(raw, `"NaN"`) {
		t.Errorf("nan, raw: %s", raw)
	}
	drift := strict(t, "drift", w.ok("execution", "version-mismatch", "--json"))[0]
	same(t, "drift", string(drift.Get("drift")), `[{"column":"version","stored":"4","json":"9"}]`)
	same(t, "the column counts", string(drift.Get("version")), "4")
	if out := w.ok("execution", "json-null"); !strings.Contains(out, "status      ?\n") || !strings.HasSuffix(out, "stored\nnull\n") {
		t.Errorf("json-null: %s", out)
	}
	deep := w.ok("execution", "deep", "--raw")
	if n := strings.Count(deep, "["); n < 12000 {
		t.Errorf("deep has %d brackets", n)
	}
	w.fails(exitNotFound, `execution "raw-nul" not found`, "execution", "raw-nul")
}

func TestBigNumbersKeepTheirDigits(t *testing.T) {
	w := on(t, "harel-bad-values.db")
	for _, id := range []string{"big-int", "big-int-2"} {
		stored := columnOf(t, w.store, "SELECT data FROM executions WHERE id = '"+id+"'")[0]
		same(t, id+", raw", w.ok("execution", id, "--raw"), stored+"\n")
		got := store.JSON(w.ok("execution", id, "--json")).Get("context")
		if want, _ := store.Strict(store.JSON(stored).Get("context")); got != want {
			t.Errorf("%s: context %s, want %s", id, got, want)
		}
	}
}

func TestSessionTreesOfOtherPrograms(t *testing.T) {
	for file, backend := range map[string]string{
		"contree-cli.db": "contree", "contree-sdk-v1.db": "contree", "langgraph.sqlite": "langgraph", "pi-session.jsonl": "pi", "claude-compacted.jsonl": "claude-code",
	} {
		w := newWorld(t)
		w.store = testfiles.Copy(t, file)
		before := seen(t, filepath.Dir(w.store))
		sessions := strict(t, file, w.ok("sessions", "--json"))
		if len(sessions) == 0 {
			t.Errorf("%s: no sessions", file)
		}
		for _, s := range sessions {
			id, _ := s.Get("session_id").Text()
			if out := w.ok("tree", id); out == "" {
				t.Errorf("%s: session %s shows nothing", file, id)
			}
			strict(t, id, w.ok("nodes", id, "--json"))
		}
		info := strict(t, file, w.ok("info", "--json"))[0]
		same(t, file, string(info.Get("backend")), `"`+backend+`"`)
		w.fails(exitUsage, "treering import", "session", "create", "x")
		w.fails(exitUsage, "treering import", "--rw", "session", "create", "x")
		w.fails(exitUsage, "holds no executions, but sessions of another program", "executions")
		unchanged(t, filepath.Dir(w.store), before)
	}
}
