package cli

import (
	"io"
	"slices"
	"strings"
	"testing"

	"treering/store"
	"treering/store/locate"
	"treering/store/query"
)

// ids picks the first member of every line of JSON.
func ids(t *testing.T, lines string) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(lines) {
		for _, v := range store.JSON(line).Members() {
			text, ok := v.Text()
			if !ok {
				text = string(v)
			}
			all = append(all, text)
			break
		}
	}
	return strings.Join(all, " ")
}

func TestFilterTrees(t *testing.T) {
	w := ours(t, func(o *locate.Opened) {
		exampleTrees(t)(o)
		must(t, o.Trees.Append(t.Context(), "example", store.Node{ID: "n6", ParentID: text("n5"), Kind: "stage", Data: `{"ts":"2026-11-30T11:55:00Z"}`}))
	})
	for _, tt := range []struct{ filter, want string }{
		{"", "n1 n2 n3 n4 n5 n6"},
		{"kind:run", "n2 n3 n4 n5"},
		{"apt", "n2"},
		{"sec", "n4"},
		{"data.user.label=first", "n3"},
		{"data.big=12345678901234567890.1", "n5"},
		{"has:data.image_uuid or not kind:run", "n1 n6"},
		{"since:10m", "n6"},
		{"not since:10m", ""},
		{"depth>1", "n3 n4 n5 n6"},
		{"heads()", "n4 n6"},
		{"forks()", "n2"},
		{"roots()", "n1"},
		{"ancestors(n3)", "n1 n2 n3"},
		{"descendants(n3) kind:run", "n3 n5"},
		{"children:1", "n1 n3 n5"},
		{"parent:n2", "n3 n4"},
	} {
		same(t, tt.filter, ids(t, w.ok("nodes", "example", "--json", "--filter", tt.filter)), tt.want)
		same(t, "tree, "+tt.filter, strings.Join(sorted(ids(t, w.ok("tree", "example", "--json", "--filter", tt.filter))), " "), tt.want)
	}
	same(t, "children", ids(t, w.ok("children", "example", "n2", "--json", "--filter", "heads()")), "n4")
	same(t, "roots", ids(t, w.ok("children", "example", "--json", "--filter", "kind:run")), "")
	same(t, "history", ids(t, w.ok("history", "example", "n6", "--json", "--filter", "depth<3")), "n3 n2 n1")
	same(t, "limited", ids(t, w.ok("nodes", "example", "--json", "--filter", "kind:run", "--limit", "2")), "n2 n3")
	same(t, "table", w.ok("nodes", "example", "--filter", "n4"), "n4  n2  run  second\n")
	same(t, "raw", w.ok("nodes", "example", "--raw", "--filter", "id:n3"), `{"user":{"label":"first"}}`+"\n")
	same(t, "sessions", ids(t, w.ok("sessions", "--json", "--filter", "kind:session or upl")), "example uploads")
	same(t, "sessions of a kind", ids(t, w.ok("sessions", "--json", "--filter", "not kind:upload-cache")), "example")
	same(t, "a flag and a filter", ids(t, w.ok("sessions", "--json", "--kind", "session", "--filter", "kind:upload-cache")), "")
	same(t, "expiring", ids(t, w.ok("sessions", "--json", "--filter", "before:+1h")), "")

	// What is left out of a drawing is counted, and depths are what they were.
	same(t, "drawn", w.ok("tree", "example", "--filter", "id:n2 or id:n6"), ""+
		"○ run     apt-get update  n2  ~ 1 elided\n"+
		"● stage   n6  ~ 2 elided\n")
	same(t, "depths", w.ok("tree", "example", "--json", "--filter", "id:n6"), `{"id":"n6","parent_id":"n5","kind":"stage","depth":4,"title":"stage n6"}`+"\n")
	same(t, "nothing drawn", w.ok("tree", "example", "--filter", "zzz"), "")

	w.fails(exitNotFound, `node "gone" not found in session "example"`, "nodes", "example", "--filter", "ancestors(gone)")
	w.fails(exitNotFound, `node "gone" not found in session "example"`, "tree", "example", "--filter", "not descendants(gone)")
	w.fails(exitNotFound, `session "gone" not found`, "nodes", "gone", "--filter", "heads()")
}

func sorted(s string) []string {
	all := strings.Fields(s)
	slices.Sort(all)
	return all
}

func TestFilterExecutions(t *testing.T) {
	w := ours(t, exampleExecutions(t))
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"executions", "--filter", "status:running"}, "order-1 order-1:P:0"},
		{[]string{"executions", "--filter", "status:running roots()"}, "order-1"},
		{[]string{"executions", "--filter", "status:done or parent:order-1"}, "order-1:P:0 order-2"},
		{[]string{"executions", "--filter", "definition:shop", "--status", "done"}, ""},
		{[]string{"executions", "--filter", "state:Fulfilment"}, "order-1"},
		{[]string{"executions", "--filter", "context.total=455.3"}, "order-1"},
		{[]string{"executions", "--filter", "not has:context.total"}, "order-1:P:0 order-2"},
		{[]string{"executions", "--filter", "since:1m"}, "order-1"}, // by the trace's last step
		{[]string{"executions", "--filter", "not has:time"}, "order-1:P:0 order-2"},
		{[]string{"executions", "--filter", "children>0"}, "order-1"},
		{[]string{"executions", "--filter", "descendants(order-1) depth:1"}, "order-1:P:0"},
		{[]string{"executions", "--filter", "version>=1 fulf"}, "order-1"},
		{[]string{"outbox", "--filter", "target:order-2"}, "1"},
		{[]string{"outbox", "--filter", "event:Audit or data.by=support"}, "1 2"},
		{[]string{"outbox", "--filter", "not has:target"}, "2"},
		{[]string{"outbox", "--filter", "seq<2"}, "1"},
		{[]string{"spawns", "--filter", "parent:order-1 path:P context.limit=Infinity"}, "1"},
		{[]string{"spawns", "--filter", "child:x"}, ""},
		{[]string{"timers", "--filter", "before:now"}, "order-1"},
		{[]string{"timers", "--filter", "path:Payment or path:Late", "--limit", "1"}, "order-1"},
		{[]string{"timers", "--filter", "execution:order-2"}, ""},
		{[]string{"timers", "--filter", "since:now", "--due"}, ""},
		{[]string{"trace", "order-1", "--filter", "event:Paid action:mail to:Fulfilment since:1h"}, "0"},
		{[]string{"trace", "order-1", "--filter", "context.x=1"}, ""},
	} {
		same(t, strings.Join(tt.args, " "), ids(t, w.ok(append(tt.args, "--json")...)), tt.want)
	}
	same(t, "both timers", w.ok("timers", "--filter", "before:+2h not path:@ttl"), ""+
		"1796039940.0   overdue by 1m00s  order-1  Late\n1796043600.25  due in 1h00m      order-1  Payment\n")
	w.fails(exitNotFound, `execution "gone" not found`, "executions", "--filter", "ancestors(gone)")
}

// A filter on files that harel made reads them and leaves them as they are.
func TestFilterForeignFiles(t *testing.T) {
	w := on(t, "harel-bad-values.db")
	before := seen(t, strings.TrimSuffix(w.store, "/harel-bad-values.db"))
	all, bad := ids(t, w.ok("executions", "--json")), ids(t, w.ok("executions", "--json", "--filter", "has:row_error"))
	if bad == "" || bad == all {
		t.Errorf("unreadable rows: %q of %q", bad, all)
	}
	both := strings.Fields(bad + " " + ids(t, w.ok("executions", "--json", "--filter", "not has:row_error")))
	same(t, "each once", strings.Join(sorted(strings.Join(both, " ")), " "), strings.Join(sorted(all), " "))
	for _, f := range []string{"context.x=1", "since:1000w", "status:running", "heads()", "depth>0", "zz"} {
		w.ok("executions", "--json", "--filter", f)
	}
	unchanged(t, strings.TrimSuffix(w.store, "/harel-bad-values.db"), before)
}

// What the store selects is what the matcher would: the same rows, with fewer read.
func TestFilterInTheStore(t *testing.T) {
	w := on(t, "harel-shop.db")
	for _, s := range store.Statuses() {
		same(t, string(s), w.ok("executions", "--json", "--filter", "status:"+strings.ToLower(string(s))), w.ok("executions", "--json", "--status", string(s)))
	}
	same(t, "roots", w.ok("executions", "--json", "--filter", "roots()"), w.ok("executions", "--json", "--roots"))
	same(t, "definition", w.ok("executions", "--json", "--filter", "definition:shop"), w.ok("executions", "--json", "--definition", "shop"))
	if lineCount(w.ok("executions", "--json", "--filter", "roots()")) == "0" {
		t.Error("there are no roots to compare")
	}
}

func TestFilterMistakes(t *testing.T) {
	w := ours(t, exampleTrees(t))
	for _, tt := range []struct {
		says string
		args []string
	}{
		{"--filter, at column 8: a value is missing after status:; status takes a word such as running, failed or done", []string{"executions", "--filter", "status:"}},
		{`--filter, at column 1: there is no field "kidn"; did you mean kind?`, []string{"nodes", "example", "--filter", "kidn:run"}},
		{"at column 1: kind is of sessions and nodes, and this is a list of timers", []string{"timers", "--filter", "kind:a"}},
		{"heads() is of nodes and executions, and this is a list of steps", []string{"trace", "x", "--filter", "heads()"}},
		{"quotes that are not closed", []string{"tree", "example", "--filter", "\"a\nb\x1b"}},
		{"one --filter is taken, not 2", []string{"sessions", "--filter", "a", "--filter", "b"}},
		{"--filter needs a value: QUERY", []string{"sessions", "--filter"}},
	} {
		w.fails(exitUsage, tt.says, tt.args...)
	}
	// A mistake is one before the store is opened.
	w.store = w.store + ".gone"
	w.fails(exitUsage, "there is no field", "outbox", "--filter", "x:y")
}

func TestFilterCounts(t *testing.T) {
	for _, tt := range []struct {
		shown, looked, noTime int
		want                  string
	}{
		{3, 81, 12, "3 of 81 looked at, 12 have no time"}, {0, 1, 1, "0 of 1 looked at, 1 has no time"}, {1, 1, 0, "1 of 1 looked at"},
	} {
		same(t, "counts", countsText(tt.shown, tt.looked, tt.noTime), tt.want)
	}
	s := &sifting[int]{match: func(i int) (query.Result, error) {
		return []query.Result{query.No, query.Yes, query.NoTime}[i%3], nil
	}}
	page, err := s.page(store.PageRequest{Limit: 2}, items(0, 1, 2, 3, 4, 5, 6, 7))
	if err != nil || len(page.Items) != 2 || s.shown != 2 || s.looked != 5 || s.noTime != 1 {
		t.Errorf("%v, %v: %+v", page.Items, err, s)
	}
	if _, err := (&sifting[int]{match: func(int) (query.Result, error) { return query.Yes, io.ErrUnexpectedEOF }}).page(store.PageRequest{}, items(1)); err == nil {
		t.Error("an error of a row is lost")
	}
}

func TestFilterHelp(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"sessions", "nodes", "children", "history", "tree", "executions", "trace", "outbox", "spawns", "timers"} {
		help := w.ok(command, "--help")
		for _, says := range []string{"Filters:", "--filter QUERY", "since:SPAN", "has:FIELD"} {
			if !strings.Contains(help, says) {
				t.Errorf("%s --help does not say %q: %s", command, says, help)
			}
		}
	}
	page := w.ok("man")
	for _, says := range []string{".SH FILTERS", "Of outbox entries:", "descendants(ID)", `\fB\-\-filter\fP \fIQUERY\fP`} {
		if !strings.Contains(page, says) {
			t.Errorf("the man page does not say %q", says)
		}
	}
}

// A tree of another program is drawn from its outline, where no filter asks for the
// data: the answer is the same as from whole nodes, in the order of storage.
func TestTreesFromOutlines(t *testing.T) {
	for _, name := range []string{"pi-session.jsonl", "claude-compacted.jsonl", "contree-cli.db", "langgraph.sqlite"} {
		w := on(t, name)
		for line := range strings.Lines(w.ok("sessions", "--json")) {
			id, _ := store.JSON(line).Get("session_id").Text()
			same(t, name, w.ok("tree", id, "--json"), w.ok("tree", id, "--json", "--filter", "has:data.x or not has:data.x"))
			same(t, name+", shape", strings.Join(sorted(ids(t, w.ok("nodes", id, "--json", "--filter", "forks()"))), " "), strings.Join(sorted(ids(t, w.ok("tree", id, "--json", "--filter", "forks()"))), " "))
		}
	}
	w := on(t, "pi-session.jsonl")
	same(t, "children", ids(t, w.ok("tree", "01a22e4b-9cf9-78d6-988e-666864c47a46", "--json", "--filter", "parent:01a22e4b-9cf9-78d6-988e-666864c47a46")), "2cdf994b 14e438bc")
}
