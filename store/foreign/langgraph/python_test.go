package langgraph

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	zombie "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// packed writes msgpack: texts, small numbers, lists, maps as pairs, and extensions.
type packed []byte

func (p packed) text(s string) packed { return append(append(p, 0xd9, byte(len(s))), s...) }
func (p packed) number(n byte) packed { return append(p, n) }
func (p packed) list(n byte) packed   { return append(p, 0x90|n) }
func (p packed) object(n byte) packed { return append(p, 0x80|n) }
func (p packed) ext(code byte, of packed) packed {
	return append(append(p, 0xc8, byte(len(of)>>8), byte(len(of)), code), of...)
}

// message is a message of LangChain as Python's saver packs it.
func message(class, content string) packed {
	return packed{}.list(4).text("langchain_core.messages").text(class).object(1).text("content").text(content).text("model_validate_json")
}

// checkpoint is a state: what was said last, and which version each node has seen.
func checkpoint(said string, seen ...string) []byte {
	p := packed{}.object(4).text("v").number(4).text("id").text("x")
	p = p.text("channel_values").object(2).text("messages").list(1).ext(extPydantic2, message("HumanMessage", said)).text("branch:to:next").number(0)
	p = p.text("versions_seen").object(byte(len(seen)))
	for i, node := range seen {
		p = p.text(node).object(1).text("start").number(byte(i + 1))
	}
	return p
}

// What Python's saver writes: metadata in JSON whatever the type of the state, states in
// msgpack with the classes of LangChain, forks, copies, sub-graphs that one task calls
// more than once, and tasks that failed.
func TestPython(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite|zombie.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `
CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id));
CREATE TABLE writes (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL, type TEXT, value BLOB, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id, task_id, idx));
INSERT INTO writes VALUES ('t', '', '2', 'task', -1, '__error__', 'msgpack', x'a4626f6f6d');`, nil)
	for _, row := range []struct {
		ns, id, parent, meta string
		state                []byte
	}{
		{"", "1", "", `{"source":"input","step":-1,"parents":{}}`, checkpoint("hello", "__input__")},
		{"", "2", "1", `{"source":"loop","step":0,"parents":{},"run_id":"r"}`, checkpoint("hello", "__input__", "plan")},
		{"", "3", "1", `{"source":"fork","step":1,"parents":{}}`, checkpoint("hello", "__input__")},
		{"", "4", "3", `{"source":"loop","step":2,"parents":{}}`, checkpoint("again", "__input__", "plan", "write")},
		{"", "5", "3", `{"source":"update","step":2,"parents":{}}`, []byte{0xc0}},
		{"n:a", "6", "", `{"source":"input","step":-1,"parents":{"":"4"}}`, checkpoint("inner")},
		{"n:a|1", "7", "", `{"source":"input","step":-1,"parents":{"":"4"}}`, checkpoint("inner once more")},
	} {
		err = errors.Join(err, sqlitex.Execute(conn, "INSERT INTO checkpoints VALUES ('t', ?, ?, nullif(?, ''), 'msgpack', ?, ?)",
			&sqlitex.ExecOptions{Args: []any{row.ns, row.id, row.parent, row.state, []byte(row.meta)}}))
	}
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
		l += fmt.Sprintf(" %s: %s", o.Kind, o.Title)
		for mark, set := range map[string]bool{" !": o.Failed, " ~": o.FalseFork, " *": o.Active} {
			if set {
				l += mark
			}
		}
		got = append(got, l)
	}
	want := []string{
		"1 input: step -1 input · hello", "2<1 loop: step 0 plan · hello !", "3<1 fork: step 1 fork · hello", "4<3 loop: step 2 plan, write · again", "5<3 update: step 2 update *",
		"n:a/6<4 input: step -1 input · inner ~", "n:a|1/7<4 input: step -1 input · inner once more ~",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	n, err := s.Node(t.Context(), "t", "4")
	if err != nil || n.Data.At("raw", "ran") != `["plan","write"]` || n.Data.At("raw", "next") != `["next"]` || n.Data.At("raw", "step") != "2" {
		t.Errorf("%s, %v", n.Data, err)
	}
	n, err = s.Node(t.Context(), "t", "2")
	if err != nil || n.Data.At("raw", "writes") != `[{"task":"task","channel":"__error__","value":"boom"}]` {
		t.Errorf("%s, %v", n.Data.At("raw", "writes"), err)
	}
}

// Without messages a title says which channel changed.
func TestTitlesOfChannels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	conn, err := zombie.OpenConn(path, zombie.OpenReadWrite|zombie.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `
CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB);
CREATE TABLE writes (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, task_id TEXT, idx INTEGER, channel TEXT, type TEXT, value BLOB);
INSERT INTO checkpoints VALUES ('t', '', '1', NULL, 'json', '{"channel_values":{"count":1,"name":"a"},"channel_versions":{"__start__":1,"name":1,"count":1}}', '{"source":"input","step":-1}');
INSERT INTO checkpoints VALUES ('t', '', '2', '1', 'json', '{"channel_values":{"count":2,"name":"a"},"channel_versions":{"__start__":1,"name":1,"count":2}}', '{"source":"loop","step":0}');`, nil)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range outline(t, open(t, path), "t") {
		got = append(got, o.Title)
	}
	if diff := cmp.Diff([]string{"step -1 input · name=a", "step 0 loop · count=2"}, got); diff != "" {
		t.Error(diff)
	}
}
