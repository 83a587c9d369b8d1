package langgraph

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"treering/internal/testfiles"
	"treering/store"
	"treering/store/foreign"
	"treering/store/sqlite"
	"treering/store/storetest"
)

func open(t testing.TB, path string) *foreign.Store {
	t.Helper()
	f, err := sqlite.OpenFile(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	s := foreign.NewStore(New(f), path)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func outline(t testing.TB, s *foreign.Store, session string) (out []store.Outline) {
	t.Helper()
	err := store.All(func(p store.PageRequest) (store.Page[store.Outline], error) {
		return s.ListOutline(t.Context(), session, p)
	},
		func(o store.Outline) error { out = append(out, o); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadingHalf(t *testing.T) {
	f, err := sqlite.OpenFile(t.Context(), sqlite.Options{Path: testfiles.Copy(t, "langgraph.sqlite")})
	if err != nil {
		t.Fatal(err)
	}
	storetest.TestTreeReading(t, foreign.NewStore(New(f), "langgraph"))
}

// A real database: 21 checkpoints, one root, two branch points within a namespace,
// sub-graphs grafted where their tasks ran.
func TestARealDatabase(t *testing.T) {
	s := open(t, testfiles.Copy(t, "langgraph.sqlite"))
	heads, err := s.Heads(t.Context())
	if err != nil || len(heads) != 2 {
		t.Fatalf("%+v, %v", heads, err)
	}
	lines := outline(t, s, "essay-1")
	space := func(id string) string {
		if i := strings.LastIndexByte(id, '/'); i >= 0 {
			return id[:i]
		}
		return ""
	}
	roots, active := 0, ""
	spaces := map[string]bool{}
	same := map[string]int{}
	for _, o := range lines {
		spaces[space(o.ID)] = true
		switch {
		case o.ParentID == nil:
			roots++
		case space(o.ID) == space(*o.ParentID):
			same[*o.ParentID]++
		case !o.FalseFork:
			t.Errorf("%s is grafted and not marked so", o.ID)
		}
		if o.Active {
			active = o.ID
		}
	}
	forks := 0
	for _, n := range same {
		if n > 1 {
			forks++
		}
	}
	if len(lines) != 21 || roots != 1 || forks != 2 || len(spaces) != 4 {
		t.Errorf("%d checkpoints, %d roots, %d branch points, %d namespaces", len(lines), roots, forks, len(spaces))
	}
	for _, o := range lines {
		if space(o.ID) == "" && o.ID > active {
			t.Errorf("the head is %s, but %s is later", active, o.ID)
		}
	}
	if !strings.HasPrefix(lines[0].Title, "step -1 input") {
		t.Errorf("the first is %q", lines[0].Title)
	}
	named := 0
	for _, o := range lines {
		if strings.Contains(o.Title, "plan · Plan number") {
			named++
		}
	}
	if named == 0 {
		t.Errorf("no title names what ran and what was said: %q", lines[2].Title)
	}
	n, err := s.Node(t.Context(), "essay-1", lines[1].ID)
	if err != nil || n.Data.At("raw", "checkpoint", "v") != "4" || n.Data.At("raw", "writes").Kind() != store.Array {
		t.Errorf("%.400s, %v", n.Data, err)
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x00", "0"}, {"\x7f", "127"}, {"\xff", "-1"}, {"\xe0", "-32"}, {"\xc0", "null"}, {"\xc2", "false"}, {"\xc3", "true"},
		{"\xcc\xff", "255"}, {"\xcd\x01\x00", "256"}, {"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{"\xd0\x80", "-128"}, {"\xd1\x80\x00", "-32768"}, {"\xd2\xff\xff\xff\xff", "-1"}, {"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"},
		{"\xca\x3f\xc0\x00\x00", "1.5"}, {"\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a", "0.1"}, {"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", "NaN"},
		{"\xa2hi", `"hi"`}, {"\xd9\x02hi", `"hi"`}, {"\xda\x00\x02hi", `"hi"`}, {"\xa1\xff", "\"\ufffd\""},
		{"\x92\x01\x02", "[1,2]"}, {"\xdc\x00\x01\x01", "[1]"}, {"\x81\xa1a\x01", `{"a":1}`}, {"\x81\x05\x01", `{"5":1}`}, {"\x81\x91\x01\x01", `{"[1]":1}`},
		{"\xde\x00\x01\xa1a\x01", `{"a":1}`},
		{"\xc4\x02\x00\xff", `{"bytes":2,"base64":"AP8="}`},
		{"\xc7\x09\x05\x93\xa1m\xa1C\x81\xa1x\x01", `{"$type":"m.C","value":{"x":1}}`},
		{"\xd4\x06\x01", `{"$type":"numpy.ndarray","value":1}`},
		{"\xd6\xff\x00\x00\x00\x01", `"1970-01-01T00:00:01Z"`},
		{"\xd4\x2a\x01", `{"$ext":42,"value":{"bytes":1,"base64":"AQ=="}}`},
	} {
		got, err := decode([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%q: %s, %v; want %s", c.in, got, err, c.want)
		}
	}
	for _, in := range []string{"", "\xc1", "\xa5hi", "\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff\x01\x01", "\xc6\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x05", "\x01\x01",
		strings.Repeat("\x91", 100_000) + "\x01"} {
		got, err := decode([]byte(in))
		var bad *malformedError
		if !errors.As(err, &bad) {
			t.Errorf("%.20q: %s, %v", in, got, err)
		}
	}
}

// Whatever the bytes are: an error, or JSON.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x81\xa1a\x92\x01\xc0"))
	f.Add([]byte("\xc7\x09\x05\x93\xa1m\xa1C\x81\xa1x\x01"))
	f.Fuzz(func(t *testing.T, in []byte) {
		j, err := decode(in)
		if err != nil {
			return
		}
		if _, err := store.ParseJSON(string(j)); err != nil {
			t.Fatalf("%v: %s", err, j)
		}
	})
}

// What cannot or must not be read still shows as a tree.
func TestOddCheckpoints(t *testing.T) {
	path := filepath.Join(t.TempDir(), "odd.db")
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite|zombie.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER, channel TEXT, type TEXT, value BLOB);
INSERT INTO checkpoints VALUES ('t', '', '1', NULL, 'msgpack+aes', x'0102', '{"source":"input","step":-1}');
INSERT INTO checkpoints VALUES ('t', '', '2', '1', 'pickle', x'80049500', '{"source":"loop","step":0,"writes":{"plan":1}}');
INSERT INTO checkpoints VALUES ('t', '', '3', '2', 'msgpack', x'dfffffffff', '{"source":"loop","step":1}');
INSERT INTO checkpoints VALUES ('t', '', '4', 'pruned', 'json', '{"v":1', 'not json');
INSERT INTO checkpoints VALUES ('t', 'n:1', '5', NULL, 'json', '{"v":1}', '{"source":"loop","step":-1,"parents":{"":"2"}}');
INSERT INTO checkpoints VALUES ('t', 'n:1|m:2', '6', NULL, 'json', '{"v":1}', '{"source":"loop","step":-1,"parents":{"n:1":"5"}}');
INSERT INTO writes VALUES ('t', '', '2', 'task', 0, 'x', 'null', NULL);`, nil)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	var got []string
	for _, o := range outline(t, s, "t") {
		l := o.ID
		if o.ParentID != nil {
			l += "<" + *o.ParentID
		}
		got = append(got, l+" "+o.Kind+": "+o.Title)
	}
	want := []string{
		"t:root root: t", "1<t:root input: step -1 input", "2<1 loop: step 0 plan", "3<2 loop: step 1 loop", "4<t:root checkpoint: step ? checkpoint",
		"n:1/5<2 loop: step -1 loop", "n:1|m:2/6<n:1/5 loop: step -1 loop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for id, want := range map[string]string{
		"1": `{"encrypted":"msgpack+aes","bytes":2}`, "2": `{"not read":"a pickle could run anything","bytes":4}`,
		"3": `{"unreadable":"msgpack: 4294967295 members are promised and 0 bytes are left at byte 5","type":"msgpack","stored":{"bytes":5,"base64":"3/////8="}}`,
	} {
		n, err := s.Node(t.Context(), "t", id)
		if err != nil || string(n.Data.At("raw", "checkpoint")) != want {
			t.Errorf("%s: %s, %v", id, n.Data.At("raw", "checkpoint"), err)
		}
	}
	r, _, err := s.Report(t.Context(), "t")
	if err != nil || r.Unreadable != 1 || r.Orphans != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTimesInIDs(t *testing.T) {
	if got := idTime("1f1ed03a-50b4-64e0-ffff-f51cd9825ee6"); math.Abs(got-1796073533.486) > 1 {
		t.Errorf("%.3f", got)
	}
	for _, id := range []string{"", "x", "00000000-0000-4000-8000-000000000000", "zzzzzzzz-zzzz-6zzz-8000-000000000000"} {
		if got := idTime(id); got != 0 {
			t.Errorf("%q: %v", id, got)
		}
	}
}

// The name of a thread may be no text, or stored as bytes: its checkpoints are shown all
// the same, each with what was written from it.
func TestThreadsWithoutAText(t *testing.T) {
	path := testfiles.Copy(t, "langgraph.sqlite")
	db, err := zombie.OpenConn(path, zombie.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{
		"UPDATE checkpoints SET thread_id = CAST(x'ff6573736179' AS TEXT) WHERE thread_id = 'essay-1'", "UPDATE writes SET thread_id = CAST(x'ff6573736179' AS TEXT) WHERE thread_id = 'essay-1'",
		"UPDATE checkpoints SET thread_id = CAST(thread_id AS BLOB) WHERE thread_id <> CAST(x'ff6573736179' AS TEXT)",
	} {
		if err := sqlitex.ExecuteTransient(db, query, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	heads, err := s.Heads(t.Context())
	if err != nil || len(heads) != 2 {
		t.Fatalf("%+v, %v", heads, err)
	}
	for _, h := range heads {
		lines := outline(t, s, h.ID)
		if len(lines) == 0 || h.ID == "\uFFFDessay" && len(lines) != 21 {
			t.Errorf("%q: %d checkpoints", h.ID, len(lines))
		}
		writes := 0
		for _, o := range lines {
			n, err := s.Node(t.Context(), h.ID, o.ID)
			if err != nil {
				t.Fatalf("%q, %q: %v", h.ID, o.ID, err)
			}
			if n.Data.At("raw", "writes") != "" {
				writes++
			}
		}
		if h.ID == "\uFFFDessay" && writes == 0 {
			t.Error("nothing was written")
		}
	}
}

// A thread is titled by what it was asked first, in whichever of the first checkpoints that is, and
// by nothing that would have to be run, deciphered or read at length.
func TestTitlesOfThreads(t *testing.T) {
	path := testfiles.Copy(t, "langgraph.sqlite")
	db, err := zombie.OpenConn(path, zombie.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	message := `{"channel_values": {"__start__": {"messages": [{"type": "human", "content": "earlier"}, {"role": "user", "content": "asked\nfor %s"}]}}}`
	for thread, row := range map[string][2]string{
		"input":     {"json", fmt.Sprintf(message, "this")},
		"fields":    {"json", `{"channel_values": {"__start__": {"topic": "tides", "words": 300}}}`},
		"number":    {"json", `{"channel_values": {"__start__": {"words": 300}}}`},
		"empty":     {"json", `{"channel_values": {}}`},
		"encrypted": {"json+aes", fmt.Sprintf(message, "that")},
		"pickle":    {"pickle", fmt.Sprintf(message, "that")},
		"damaged":   {"json", `{"channel_values"`},
		"long":      {"json", fmt.Sprintf(message, strings.Repeat("x", maxTitled))},
	} {
		err := sqlitex.ExecuteTransient(db, "INSERT INTO checkpoints (thread_id, checkpoint_id, type, checkpoint, metadata) VALUES (?, '1', ?, CAST(? AS BLOB), '{}')",
			&sqlitex.ExecOptions{Args: []any{thread, row[0], row[1]}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	heads, err := s.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range heads {
		got[h.ID] = h.Title
	}
	want := map[string]string{
		"essay-1": "Write about otters", "essay-2": "Write about tides", "input": "asked", "fields": "topic=tides", "number": "words=300",
		"empty": "", "encrypted": "", "pickle": "", "damaged": "", "long": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
