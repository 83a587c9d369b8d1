package query

import (
	"testing"

	"treering/store"
)

// What was said is found wherever in a message it stands; pictures and names are not
// looked into.
func TestSaid(t *testing.T) {
	row := func(data string) *NodeRow {
		return &NodeRow{ID: "n", Kind: "k", Title: "t", Data: func() store.JSON { return store.JSON(data) }}
	}
	for data, want := range map[string]map[string]Result{
		`{"title":"first line","raw":{"cwd":"/srv/demo","message":{"role":"user","content":"first line\nand Second"}}}`: {
			"text:second": Yes, "text:Second": Yes, "text:demo": No, "text:third": No, "not text:third": Yes, "has:text": Yes, "text:user": No,
		},
		`{"raw":{"message":{"content":[{"type":"text","text":"hello"},{"type":"tool_use","id":"call9","name":"Bash","input":{"command":"make -j2"}},{"type":"image","source":{"data":"AAAAhello2"}}]}}}`: {
			`text:"make -j2"`: Yes, "text:bash": Yes, "text:call9": No, "text:hello2": No, "text~hello": Yes,
		},
		`{"raw":{"payload":{"output":"no rule"}}}`:                                                 {`text:"no rule"`: Yes},
		`{"raw":{"checkpoint":{"channel_values":{"messages":[{"kwargs":{"content":"otters"}}]}}}}`: {"text:otters": Yes},
		`{"command":"make bench","n":7}`:                                                           {"text:bench": Yes, "text:7": No},
		`{}`:                                                                                       {"text:x": No, "has:text": No},
	} {
		check(t, Nodes, row(data), nil, want)
	}
	q, err := Parse("text:x", Nodes)
	if err != nil || !q.Needs().Data {
		t.Errorf("the data is not asked for: %v", err)
	}
}
