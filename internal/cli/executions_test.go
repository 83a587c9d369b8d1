package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"treering/store"
	"treering/store/locate"
)

func lineCount(s string) string { return strconv.Itoa(strings.Count(s, "\n")) }

func TestExecutions(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	const (
		parent = `{"id":"order-1","definition_id":"shop","status":"RUNNING","outcome":null,"active_path":"Fulfilment","version":1,"parent_id":null,"finished_at":null}` + "\n"
		child  = `{"id":"order-1:P:0","definition_id":"shop","status":"RUNNING","outcome":null,"active_path":null,"version":1,"parent_id":"order-1","finished_at":null}` + "\n"
		done   = `{"id":"order-2","definition_id":"other","status":"DONE","outcome":"success","active_path":null,"version":1,"parent_id":null,"finished_at":1796040000.25}` + "\n"
	)
	same(t, "all", w.ok("executions", "--json"), parent+child+done)
	same(t, "limited", w.ok("executions", "--json", "--limit", "2"), parent+child)
	same(t, "status", w.ok("executions", "--json", "--status", "done"), done)
	same(t, "two", w.ok("executions", "--json", "--status", "DONE", "--status", "RUNNING"), parent+child+done)
	same(t, "unknown status", w.ok("executions", "--json", "--status", "HIBERNATING"), "")
	same(t, "definition", w.ok("executions", "--json", "--definition", "shop"), parent+child)
	same(t, "roots", w.ok("executions", "--json", "--roots"), parent+done)
	same(t, "all of it", w.ok("executions", "--json", "--roots", "--status", "running", "--definition", "shop"), parent)
	same(t, "plain", w.ok("executions", "--roots"), ""+
		"order-1  shop   RUNNING  -        Fulfilment  1  -  -\n"+
		"order-2  other  DONE     success  -           1  -  2026-11-30 12:00:00Z\n")
	w.fails(exitUsage, "holds no", "-s", on(t, "harel-shop.db").store, "sessions")
}

func TestExecution(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	stored := w.ok("execution", "order-1", "--raw")
	if !strings.HasPrefix(stored, `{"id":"order-1","definition_id":"shop",`) || !strings.Contains(stored, `"context":{"total":455.30}`) {
		t.Errorf("stored: %s", stored)
	}
	same(t, "json is what is stored", w.ok("execution", "order-1", "--json"), stored)
	same(t, "raw list", w.ok("executions", "--raw", "--limit", "1"), stored)
	same(t, "plain", w.ok("execution", "order-1"), ""+
		"execution   order-1\n"+
		"definition  shop\n"+
		"status      RUNNING\n"+
		"outcome     none\n"+
		"state       Fulfilment\n"+
		"version     1\n"+
		"parent      none: a root\n"+
		"expires     2026-11-30 14:00:00Z\n"+
		"child       order-1:P:0  not finished\n"+
		"child       never-made  not finished\n"+
		"context\n{\n  \"total\": 455.30\n}\n")
	w.fails(exitNotFound, `execution "gone" not found`, "execution", "gone")
}

func TestTrace(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	same(t, "json", w.ok("trace", "order-1", "--json"), `{"index":0,"event_kind":"Paid","from_path":"Payment","to_path":"Fulfilment",`+
		`"actions":["reserve","mail"],"context_out":{"x":"NaN"},"timestamp":1796040000.5,"non_json":true}`+"\n")
	same(t, "raw", w.ok("trace", "order-1", "--raw"), `{"event_kind":"Paid","from_path":"Payment","to_path":"Fulfilment",`+
		`"actions":["reserve","mail"],"context_out":{"x":NaN},"timestamp":1796040000.5}`+"\n")
	same(t, "plain", w.ok("trace", "order-1"), "0  2026-11-30 12:00:00Z  Paid  Payment  Fulfilment  reserve, mail\n")
	same(t, "no steps", w.ok("trace", "order-2"), "")
	w.fails(exitNotFound, `execution "gone" not found`, "trace", "gone")
}

func TestTraceLine(t *testing.T) {
	var l line
	traceLine(&l, store.TraceEntry{Index: 7, Entry: `{"index":3,"a":1,"b":2,"a":{"c":null}}`})
	same(t, "own index and repeated keys", string(l.end()), `{"index":7,"a":{"c":null},"b":2}`)
	l = line{}
	traceLine(&l, store.TraceEntry{Index: 7, Bad: &store.RowError{Err: store.ErrNotObject, Raw: []byte("[]")}})
	same(t, "bad", string(l.end()), `{"index":7,"row_error":"not a JSON object","raw":"[]"}`)
}

func TestQueues(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	const (
		ev1 = `{"id":"ev1","kind":"Cancel","created_time":null,"received_time":null,"data":{"by":"support"}}`
		ev2 = `{"id":"ev2","kind":"Audit","created_time":null,"received_time":null,"data":{}}`
	)
	same(t, "outbox", w.ok("outbox", "--json"), `{"seq":1,"target_id":"order-2","event":`+ev1+"}\n"+`{"seq":2,"target_id":null,"event":`+ev2+"}\n")
	same(t, "outbox, raw", w.ok("outbox", "--raw"), ev1+"\n"+ev2+"\n")
	same(t, "outbox, plain", w.ok("outbox"), "1  order-2  Cancel  ev1  {\"by\":\"support\"}\n2  -        Audit   ev2  {}\n")
	same(t, "spawns", w.ok("spawns", "--json"), `{"seq":1,"parent_id":"order-1","child_id":"order-1:P:0","root_path":"P","context":{"limit":"Infinity"},"non_json":true}`+"\n")
	same(t, "spawns, raw", w.ok("spawns", "--raw"), `{"limit":Infinity}`+"\n")
	same(t, "spawns, plain", w.ok("spawns"), `1  order-1  order-1:P:0  P  {"limit":Infinity}`+"\n")
	same(t, "timers", w.ok("timers", "--json"), ""+
		`{"execution_id":"order-1","path":"Late","fire_at":1796039940.0}`+"\n"+
		`{"execution_id":"order-1","path":"Payment","fire_at":1796043600.25}`+"\n"+
		`{"execution_id":"order-1","path":"@ttl","fire_at":1796047200.0}`+"\n")
	same(t, "due", w.ok("timers", "--due"), "1796039940.0  overdue by 1m00s  order-1  Late\n")
	w.now = noon.Add(-time.Hour)
	same(t, "none due", w.ok("timers", "--due"), "")

	same(t, "ack", w.ok("ack", "outbox", "1"), "acknowledged outbox entry 1\n")
	w.fails(exitNotFound, "outbox entry 1 is already gone", "ack", "outbox", "1")
	same(t, "ack, json", w.ok("ack", "spawn", "1", "--json"), `{"queue":"spawn","seq":1,"acknowledged":true}`+"\n")
	w.fails(exitNotFound, "spawn 1 is already gone", "ack", "spawn", "1")
	same(t, "outbox after", lineCount(w.ok("outbox")), "1")
	same(t, "spawns after", w.ok("spawns"), "")
}

func TestFire(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	timers := w.ok("timers", "--json")
	at := store.FormatFireAt(epoch(noon) + 3600.25)
	w.fails(exitNotFound, `execution "order-1" has no timer "Other"`, "fire", "order-1", "Other", "--at", at)
	w.fails(exitNotFound, `execution "gone" has no timer "Payment"`, "fire", "gone", "Payment", "--at", at)
	w.fails(exitConflict, "is armed for 1796043600.25 now, not 1796043600.0; nothing was fired", "fire", "order-1", "Payment", "--at", "1796043600")
	w.fails(exitConflict, "is due already, since 2026-11-30 11:59:00Z", "fire", "order-1", "Late", "--at", "1796039940")
	w.fails(exitConflict, "is its time to live", "fire", "order-1", "@ttl", "--at", "1796047200.0")
	w.fails(exitFailed, "--at: inf is not a time", "fire", "order-1", "Payment", "--at", "inf")
	w.fails(exitFailed, "--at: nan is not a time", "fire", "order-1", "Payment", "--at", "nan")
	same(t, "nothing was fired", w.ok("timers", "--json"), timers)

	same(t, "fire", w.ok("fire", "order-1", "Payment", "--at", at),
		"due now: Payment of order-1, armed for 2026-11-30 13:00:00Z before; its worker's next sweep fires it\n")
	same(t, "due", w.ok("timers", "--due", "--json"), ""+
		`{"execution_id":"order-1","path":"Late","fire_at":1796039940.0}`+"\n"+
		`{"execution_id":"order-1","path":"Payment","fire_at":1796040000.0}`+"\n")
	w.fails(exitConflict, "not 1796043600.25; nothing was fired", "fire", "order-1", "Payment", "--at", at)

	w = ours(t, exampleExecutions(t))
	same(t, "json", w.ok("fire", "order-1", "Payment", "--at", at, "--json"),
		`{"execution_id":"order-1","path":"Payment","fire_at":1796040000.0,"was":1796043600.25}`+"\n")
}

func TestControl(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	same(t, "suspend", w.ok("suspend", "order-1"), "order-1  RUNNING -> SUSPENDED, version 2\norder-1:P:0  RUNNING -> SUSPENDED, version 2\n")
	w.fails(exitConflict, `cannot suspend execution "order-1": it is SUSPENDED`, "suspend", "order-1")
	same(t, "resume", w.ok("resume", "order-1", "--json"), ""+
		`{"id":"order-1","from":"SUSPENDED","to":"RUNNING","version":3}`+"\n"+
		`{"id":"order-1:P:0","from":"SUSPENDED","to":"RUNNING","version":3}`+"\n")
	same(t, "suspend the child", w.ok("suspend", "order-1:P:0"), "order-1:P:0  RUNNING -> SUSPENDED, version 4\n")
	same(t, "terminate", w.ok("terminate", "order-1"), "order-1  RUNNING -> CANCELLED, version 4\norder-1:P:0  SUSPENDED -> CANCELLED, version 5\n")
	w.fails(exitConflict, `cannot terminate execution "order-2": it is DONE`, "terminate", "order-2")
	w.fails(exitConflict, `cannot resume execution "order-1": it is CANCELLED`, "resume", "order-1")
	w.fails(exitNotFound, `execution "gone" not found`, "suspend", "gone")
}

func TestCancel(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	before := w.ok("outbox", "--json")
	w.fails(exitConflict, `execution "order-1": expected version 7, found 1`, "cancel", "order-1", "--version", "7")
	same(t, "nothing was sent", w.ok("outbox", "--json"), before)
	same(t, "cancel", w.ok("cancel", "order-1", "--version", "1"),
		"order-1  RUNNING -> CANCELLING, version 2\norder-1:P:0  RUNNING -> CANCELLED, version 2\n")
	after := strings.TrimPrefix(w.ok("outbox", "--json"), before)
	if !strings.Contains(after, `"target_id":"order-1"`) || !strings.Contains(after, `"kind":"Cancel"`) || strings.Count(after, "\n") != 1 {
		t.Errorf("sent %s, want one Cancel to order-1", after)
	}
	w.fails(exitConflict, `cannot cancel execution "order-1": it is CANCELLING`, "cancel", "order-1")
	w.fails(exitConflict, `cannot cancel execution "order-2": it is DONE`, "cancel", "order-2")
}

// What became of each descendant is said, and one failure fails the command.
func TestControlReport(t *testing.T) {
	report := []store.Controlled{
		{ID: "a", From: store.Running, To: store.Suspended, Version: 3},
		{ID: "b", From: store.Running, Err: &store.ConflictError{ID: "b", Expected: 1}},
		{ID: "c", Err: errors.New("disk on fire")},
	}
	for _, asJSON := range []bool{false, true} {
		var b strings.Builder
		a := &app{out: newOutput(t.Context(), &b), json: asJSON}
		err := a.showControlled(store.Suspend, report)
		if err == nil || exitCode(err) != exitConflict || !strings.HasPrefix(err.Error(), `suspend: 2 of 3 executions failed, the first: execution "b"`) {
			t.Errorf("the error is %v", err)
		}
		must(t, a.out.flush())
		want := "a  RUNNING -> SUSPENDED, version 3\nb  failed: execution \"b\": expected version 1, but it is not in the store\nc  failed: disk on fire\n"
		if asJSON {
			want = `{"id":"a","from":"RUNNING","to":"SUSPENDED","version":3}` + "\n" +
				`{"id":"b","from":"RUNNING","to":null,"version":null,"error":"execution \"b\": expected version 1, but it is not in the store"}` + "\n" +
				`{"id":"c","from":null,"to":null,"version":null,"error":"disk on fire"}` + "\n"
		}
		same(t, fmt.Sprintf("json %t", asJSON), b.String(), want)
	}
}

func TestPurgeExecution(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	w.fails(exitConflict, `execution "order-1": expected version 7, found 1`, "purge", "order-1", "--version", "7")
	w.fails(exitNotFound, `execution "gone" not found`, "purge", "gone", "--version", "1")
	same(t, "nothing was removed", lineCount(w.ok("executions")), "3")
	same(t, "purge", w.ok("purge", "order-1", "--version", "1"), "removed order-1 with all that was its own\n")
	same(t, "its timers", w.ok("timers"), "")
	same(t, "its spawns", w.ok("spawns"), "")
	w.fails(exitNotFound, `execution "order-1" not found`, "trace", "order-1")
	same(t, "json", w.ok("purge", "order-2", "--version", "1", "--json"), `{"id":"order-2","version":1,"purged":true}`+"\n")
	same(t, "the outbox entry to it", lineCount(w.ok("outbox")), "1")
	w.fails(exitNotFound, `execution "order-2" not found`, "purge", "order-2", "--version", "1")
}

func TestInfo(t *testing.T) {
	w := ours(t, func(o *locate.Opened) { exampleTrees(t)(o); exampleExecutions(t)(o) })
	got := store.JSON(w.ok("info", "--json"))
	for _, tt := range []struct{ key, want string }{
		{"locator", string(store.Quote(w.store))}, {"backend", `"sqlite"`}, {"name", `"ours.db"`}, {"path", string(store.Quote(w.store))},
		{"journal_mode", `"wal"`}, {"schema", `"application_id 0x54524E47, user_version 1"`}, {"ours", "true"}, {"writable", "false"},
		{"how", `"read-only (immutable)"`}, {"sets", `[{"prefix":"harel","executions":3,"open":true,"missing":[]}]`}, {"trees", "true"},
		{"sessions", "2"}, {"transport", "[]"}, {"notes", "[]"},
	} {
		if v := string(got.Get(tt.key)); v != tt.want {
			t.Errorf("%s = %s, want %s", tt.key, v, tt.want)
		}
	}
	same(t, "a credential", strings.TrimSpace(w.ok("-s", "memory:", "info")), ""+
		"store       memory:\nbackend     memory\n"+
		"open        read-write: it was made a moment ago and ends with this process\n"+
		"changes     noticed at once, since this process makes them\nexecutions  0, without a prefix, open\nsessions    0")
}

// Reading commands leave even a store of ours alone.
func TestReadingLeavesNothingBehind(t *testing.T) {
	w := ours(t, func(o *locate.Opened) { exampleTrees(t)(o); exampleExecutions(t)(o) })
	dir := strings.TrimSuffix(w.store, "/ours.db")
	before := seen(t, dir)
	for _, args := range [][]string{
		{"info"}, {"sessions"}, {"tree", "example"}, {"nodes", "example"}, {"node", "example", "n1"}, {"history", "example", "n5"},
		{"children", "example"}, {"executions"}, {"execution", "order-1"}, {"trace", "order-1"}, {"outbox"}, {"spawns"}, {"timers"},
		{"--rw", "executions"},
	} {
		w.ok(args...)
		unchanged(t, dir, before)
	}
}
