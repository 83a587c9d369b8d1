package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"treering/store"
)

func TestExport(t *testing.T) {
	w := ours(t, exampleTrees(t))
	var doc struct {
		SessionID string `json:"session_id"`
		Nodes     []struct {
			ID   string
			Data json.RawMessage
		}
	}
	must(t, json.Unmarshal([]byte(w.ok("export", "example")), &doc))
	if doc.SessionID != "example" || len(doc.Nodes) != 5 || doc.Nodes[0].ID != "n1" {
		t.Errorf("%+v", doc)
	}
	same(t, "a part", w.ok("export", "example", "--below", "n3", "--format", "mermaid"), ""+
		"flowchart TD\n"+
		"  n0[\"run  first\"]\n"+
		"  n1([\"run  n5\"])\n"+
		"  n0 --> n1\n")
	same(t, "a path", w.ok("export", "example", "--path", "n4", "--format", "md", "--no-data"), ""+
		"# example\n\nsession, 3 nodes\n\n```text\n"+
		"○ init  n1\n"+
		"○ run  apt-get update  n2\n"+
		"● run  second  n4\n"+
		"```\n")
	w.fails(exitNotFound, `node "gone"`, "export", "example", "--below", "gone")
	w.fails(exitNotFound, `session "gone"`, "export", "gone")
	w.fails(exitUsage, "a session or --execution", "export")
	w.fails(exitUsage, "a session or --execution", "export", "example", "--execution", "x")
	w.fails(exitUsage, `"png" is no format`, "export", "example", "--format", "png")
	w.fails(exitUsage, "exclude each other", "export", "example", "--below", "n1", "--path", "n1")
	w.fails(exitUsage, "has no states", "export", "example", "--format", "dot", "--states")
	w.fails(exitUsage, "--output", "export", "example", "--force")
}

// A file is written whole or not at all, and one that is there is left alone.
func TestExportToAFile(t *testing.T) {
	w := ours(t, exampleTrees(t))
	dir := t.TempDir()
	file := filepath.Join(dir, "out.svg")
	w.says = "treering: 5 nodes without their data, as svg, to " + file + "\n"
	same(t, "output", w.ok("export", "example", "-o", file), "")
	first, err := os.ReadFile(file)
	must(t, err)
	if !strings.HasPrefix(string(first), "<svg ") {
		t.Errorf("%.40s", first)
	}
	w.says = ""
	w.fails(exitFailed, "--force replaces it", "export", "example", "-o", file, "--format", "json")
	again, err := os.ReadFile(file)
	must(t, err)
	same(t, "the file", string(again), string(first))
	w.says = "treering: 5 nodes with their data, as json, to " + file + "\n"
	same(t, "output", w.ok("export", "example", "-o", file, "--format", "json", "--force"), "")
	w.says = ""
	w.fails(exitNotFound, "gone", "export", "gone", "-o", filepath.Join(dir, "none.json"))
	w.fails(exitFailed, "write "+filepath.Join(dir, "no", "x.json"), "export", "example", "-o", filepath.Join(dir, "no", "x.json"))
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestExportOfAnExecution(t *testing.T) {
	w := on(t, "harel-shop.db")
	var doc struct {
		Executions []struct {
			ID        string
			ParentID  *string `json:"parent_id"`
			Execution struct{ Context json.RawMessage }
			Trace     []json.RawMessage
		}
	}
	must(t, json.Unmarshal([]byte(w.ok("export", "--execution", "order-0004")), &doc))
	if len(doc.Executions) != 3 || doc.Executions[0].ID != "order-0004" || doc.Executions[1].ParentID == nil || len(doc.Executions[0].Trace) == 0 {
		t.Errorf("%d executions, the first %+v", len(doc.Executions), doc.Executions[0])
	}
	out := w.ok("export", "--execution", "order-long", "--format", "dot", "--states")
	if !strings.HasPrefix(out, "digraph \"order-long\" {\n") || !strings.Contains(out, "start -> ") && !strings.Contains(out, "s0 -> ") {
		t.Errorf("%s", out)
	}
	w.fails(exitNotFound, "gone", "export", "--execution", "gone")
	// Rows that cannot be read are exported as far as they can be.
	w = on(t, "harel-bad-values.db")
	for _, line := range strings.Split(strings.TrimSpace(w.ok("executions", "--json")), "\n") {
		var row struct{ ID string }
		must(t, json.Unmarshal([]byte(line), &row))
		if row.ID == "" {
			continue
		}
		if _, err := store.ParseJSON(w.ok("export", "--execution", row.ID)); err != nil {
			t.Errorf("%q: not JSON: %v", row.ID, err)
		}
		w.ok("export", "--execution", row.ID, "--format", "markdown")
	}
}
