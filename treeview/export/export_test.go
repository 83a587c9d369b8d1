package export

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"treering/store"
	"treering/store/memory"
)

// fork is a tree with a branch point, a label and texts that every format has to
// escape.
func fork(t testing.TB) *Doc {
	t.Helper()
	root, a := "root", "a"
	nodes := []store.Node{
		{ID: "root", Kind: "init", Data: `{"title":"base \"image\" <b>&amp; ` + "`code`" + `"}`},
		{ID: "a", ParentID: &root, Kind: "run", Data: `{"title":"make | tee \\ log"}`},
		{ID: "b", ParentID: &a, Kind: "run", Data: `{"title":"left # one"}`},
		{ID: "c", ParentID: &a, Kind: "run", Data: `{"title":"right; two\u001b[31m","n":1.50}`},
	}
	d, err := OfNodes(store.SessionInfo{ID: "build", Kind: "session"}, nodes, Selection{}, map[string][]string{"c": {"main"}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func written(t testing.TB, f Format, d *Doc, o Options) (string, Report) {
	t.Helper()
	var b bytes.Buffer
	r, err := Write(&b, f, d, o)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), r
}

func TestNodesInOrderWithTheirLevels(t *testing.T) {
	d := fork(t)
	type row struct {
		ID            string
		Parent, Level int
		Leaf          bool
	}
	var got []row
	for _, it := range d.Items {
		got = append(got, row{it.ID, it.Parent, it.Level, it.Leaf})
	}
	want := []row{{"root", -1, 0, false}, {"a", 0, 0, false}, {"b", 1, 1, true}, {"c", 1, 1, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSelections(t *testing.T) {
	ids := func(d *Doc) (out []string) {
		for _, it := range d.Items {
			s := it.ID
			if it.Parent >= 0 {
				s = d.Items[it.Parent].ID + ">" + s
			}
			if it.Elided > 0 {
				s = strings.Repeat("~", it.Elided) + s
			}
			out = append(out, s)
		}
		return out
	}
	var nodes []store.Node
	for _, it := range fork(t).Items {
		nodes = append(nodes, *it.Node)
	}
	for _, c := range []struct {
		name string
		sel  Selection
		want []string
		out  int
	}{
		{"all", Selection{}, []string{"root", "root>a", "a>b", "a>c"}, 0},
		{"below", Selection{Below: "a"}, []string{"a", "a>b", "a>c"}, 1},
		{"path", Selection{Path: "b"}, []string{"root", "root>a", "a>b"}, 1},
		{"only, an ancestor left out", Selection{Only: map[string]bool{"root": true, "c": true, "gone": true}}, []string{"root", "~root>c"}, 2},
		{"only, the root left out", Selection{Only: map[string]bool{"b": true}}, []string{"~~b"}, 3},
		{"none", Selection{Only: map[string]bool{}}, nil, 4},
	} {
		d, err := OfNodes(store.SessionInfo{ID: "s", Kind: "session"}, nodes, c.sel, nil)
		if err != nil {
			t.Fatal(c.name, err)
		}
		if diff := cmp.Diff(c.want, ids(d)); diff != "" || d.LeftOut != c.out {
			t.Errorf("%s: %s\n%d left out, want %d", c.name, diff, d.LeftOut, c.out)
		}
	}
	_, err := OfNodes(store.SessionInfo{ID: "s"}, nodes, Selection{Below: "gone"}, nil)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a node that is not there: %v", err)
	}
}

func TestJSONIsStrictAndComplete(t *testing.T) {
	text, r := written(t, JSON, fork(t), Options{})
	var got struct {
		SessionID string `json:"session_id"`
		LeftOut   int    `json:"left_out"`
		Nodes     []struct {
			ID       string          `json:"id"`
			ParentID *string         `json:"parent_id"`
			Data     json.RawMessage `json:"data"`
			Labels   []string        `json:"labels"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got.SessionID != "build" || len(got.Nodes) != 4 || got.Nodes[0].ParentID != nil || *got.Nodes[3].ParentID != "a" {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(string(got.Nodes[3].Data), `"n":1.50`) {
		t.Errorf("a number lost its digits: %s", got.Nodes[3].Data)
	}
	if diff := cmp.Diff([]string{"main"}, got.Nodes[3].Labels); diff != "" {
		t.Error(diff)
	}
	if !r.WithData || r.Items != 4 {
		t.Errorf("%+v", r)
	}
	text, r = written(t, JSON, fork(t), Options{WithoutData: true})
	if strings.Contains(text, "base") || !json.Valid([]byte(text)) || r.WithData {
		t.Errorf("data that was not asked for: %s", text)
	}
}

func TestMarkdown(t *testing.T) {
	text, _ := written(t, Markdown, fork(t), Options{WithoutData: true})
	want := `# build

session, 4 nodes

` + "```text" + `
○ init  base "image" <b>&amp; ` + "`code`" + `  root
○ run  make | tee \ log  a
├─● run  left # one  b
╰─● run  right; two␛[31m  [main]  c
` + "```" + `
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	text, _ = written(t, Markdown, fork(t), Options{})
	if !strings.Contains(text, "```json\n{\n  \"title\": \"left # one\"\n}\n```\n") {
		t.Errorf("the data is not there:\n%s", text)
	}
}

// A fence is longer than any run of backticks inside.
func TestMarkdownFences(t *testing.T) {
	if got := code("a``b"); got != "```a``b```" {
		t.Errorf("%q", got)
	}
	if got := code("`"); got != "`` ` ``" {
		t.Errorf("%q", got)
	}
	d, err := OfNodes(store.SessionInfo{ID: "s"}, []store.Node{{ID: "r", Kind: "k", Data: "{\"x\":\"````\"}"}}, Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := written(t, Markdown, d, Options{}); !strings.Contains(text, "`````json\n") {
		t.Errorf("a fence that its content ends:\n%s", text)
	}
}

func TestGraphs(t *testing.T) {
	text, r := written(t, Mermaid, fork(t), Options{})
	g, err := parseMermaid(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	want := graph{nodes: map[string]string{
		"n0": "init  base \"image\" <b>&amp; `code`", "n1": "run  make | tee \\ log", "n2": "run  left # one", "n3": "run  right; two␛[31m\n[main]",
	}, edges: []string{"n0>n1", "n1>n2", "n1>n3"}}
	if diff := cmp.Diff(want, g, cmp.AllowUnexported(graph{})); diff != "" {
		t.Error(diff)
	}
	if r.WithData || len(r.Warnings) != 0 {
		t.Errorf("%+v", r)
	}
	text, _ = written(t, DOT, fork(t), Options{})
	g, err = parseDOT(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff(want, g, cmp.AllowUnexported(graph{})); diff != "" {
		t.Error(diff)
	}
	drawsIt(t, text)
}

func TestElidedAncestorsAreDrawnAsSuch(t *testing.T) {
	var nodes []store.Node
	for _, it := range fork(t).Items {
		nodes = append(nodes, *it.Node)
	}
	d, err := OfNodes(store.SessionInfo{ID: "s"}, nodes, Selection{Only: map[string]bool{"root": true, "c": true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[Format]string{
		Mermaid: `n0 -. "~ 1 elided" .-> n1`, DOT: `n0 -> n1 [style=dashed, label="~ 1 elided"];`,
		SVG: `class="edge elided"`, Markdown: `● ~ 1 elided  run`,
	} {
		if text, _ := written(t, f, d, Options{}); !strings.Contains(text, want) {
			t.Errorf("%s: no %s in\n%s", f, want, text)
		}
	}
}

func TestMermaidSaysWhatItDoesNotDraw(t *testing.T) {
	var nodes []store.Node
	root := "n0"
	nodes = append(nodes, store.Node{ID: root, Kind: "k", Data: "{}"})
	for i := range 600 {
		nodes = append(nodes, store.Node{ID: "m" + strings.Repeat("x", i), ParentID: &root, Kind: "k", Data: "{}"})
	}
	d, err := OfNodes(store.SessionInfo{ID: "s"}, nodes, Selection{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, r := written(t, Mermaid, d, Options{}); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "600 edges") {
		t.Errorf("%q", r.Warnings)
	}
}

func TestSVGIsXML(t *testing.T) {
	text, _ := written(t, SVG, fork(t), Options{})
	var texts []string
	in := false
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			in = token.Name.Local == "text"
		case xml.CharData:
			if in {
				texts = append(texts, string(token))
			}
			in = false
		}
	}
	want := []string{"build", "init  base \"image\" <b>&amp; `code`", "run  make | tee \\ log", "run  left # one", "run  right; two␛[31m  [main]"}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Error(diff)
	}
}

// Whatever the texts are, every format stays what it is, and in all but JSON no
// control character is left.
func TestAnyTextInAnyFormat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []store.Node
		for range rapid.IntRange(0, 6).Draw(t, "nodes") {
			n := store.Node{ID: rapid.String().Draw(t, "id"), Kind: rapid.String().Draw(t, "kind"),
				Data: store.ObjectOf(store.Member{Key: "title", Value: store.Quote(rapid.String().Draw(t, "title"))})}
			if len(nodes) > 0 {
				p := nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "parent")].ID
				n.ParentID = &p
			}
			nodes = append(nodes, n)
		}
		d, err := OfNodes(store.SessionInfo{ID: rapid.String().Draw(t, "session"), Kind: rapid.String().Draw(t, "of kind")}, nodes, Selection{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range Formats() {
			var b bytes.Buffer
			if _, err := Write(&b, f, d, Options{}); err != nil {
				t.Fatal(err)
			}
			text := b.String()
			var wrong error
			switch f {
			case JSON:
				if !json.Valid(b.Bytes()) {
					wrong = errors.New("not JSON")
				}
			case Mermaid:
				_, wrong = parseMermaid(text)
			case DOT:
				_, wrong = parseDOT(text)
			case SVG:
				wrong = xml.Unmarshal(b.Bytes(), new(struct{}))
			}
			if wrong != nil {
				t.Fatalf("%s: %v\n%s", f, wrong, text)
			}
			for _, r := range text {
				if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 || r == 0x202e {
					t.Fatalf("%s holds %U:\n%q", f, r, text)
				}
			}
		}
	})
}

func TestFamilies(t *testing.T) {
	ctx := context.Background()
	m, err := memory.New(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	es := m.Executions()
	parent, state, child := "order", "Fulfilment", "Billing"
	top := &store.Execution{ID: parent, DefinitionID: "shop", Status: store.Running, ActivePath: &state, Context: `{"total":455.30}`}
	step := func(from, to, event string) store.JSON {
		return store.ObjectOf(store.Member{Key: "event_kind", Value: store.Quote(event)},
			store.Member{Key: "from_path", Value: store.Quote(from)}, store.Member{Key: "to_path", Value: store.Quote(to)})
	}
	release := es.Observe()
	defer release()
	fresh := store.NewEvent("Ping", "")
	if _, err := es.Commit(ctx, store.Commit{Execution: top, Trace: step("Cart", state, "Paid"), Emits: []store.Emit{{TargetID: &parent, Event: fresh}},
		Timers: []store.TimerOp{{Action: "schedule", Path: state, FireAt: 1000}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := es.AppendTrace(ctx, parent, step(state, state, "Tick")); err != nil {
			t.Fatal(err)
		}
	}
	if err := es.Save(ctx, &store.Execution{ID: "order:b", DefinitionID: "shop", Status: store.Done, ActivePath: &child, ParentID: &parent}); err != nil {
		t.Fatal(err)
	}
	d, err := ReadFamily(ctx, es, parent)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Items) != 2 || d.Items[1].Parent != 0 || d.Items[1].Level != 1 || d.Items[0].Title != "order  RUNNING  Fulfilment" {
		t.Fatalf("%+v", d.Items)
	}
	text, _ := written(t, JSON, d, Options{})
	var got struct {
		Executions []struct {
			ID                            string
			Trace, Outbox, Spawns, Timers []json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if e := got.Executions[0]; e.ID != parent || len(e.Trace) != 3 || len(e.Outbox) != 1 || len(e.Timers) != 1 {
		t.Errorf("%s", text)
	}
	text, _ = written(t, Markdown, d, Options{})
	for _, want := range []string{"## order:b\n", "| status | RUNNING |", "| 0 |", "- timer `Fulfilment` at 1970-01-01 00:16:40.000Z"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	text, _ = written(t, Mermaid, d, Options{States: true})
	if diff := cmp.Diff(`stateDiagram-v2
  state "Fulfilment" as s0
  state "Cart" as s1
  s1 --> s0 : Paid
  s0 --> s0 : Tick x2
`, text); diff != "" {
		t.Error(diff)
	}
	text, _ = written(t, DOT, d, Options{States: true})
	if g, err := parseDOT(text); err != nil || len(g.nodes) != 3 || len(g.edges) != 2 {
		t.Errorf("%v %+v\n%s", err, g, text)
	}
	drawsIt(t, text)
	if _, err := Write(io.Discard, SVG, d, Options{States: true}); !errors.Is(err, ErrNotDrawn) {
		t.Errorf("states as SVG: %v", err)
	}
	if _, err := ReadFamily(ctx, es, "gone"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an execution that is not there: %v", err)
	}
}

func TestFormatsByName(t *testing.T) {
	for name, want := range map[string]Format{"json": JSON, "MD": Markdown, "markdown": Markdown, "mmd": Mermaid, "dot": DOT, "svg": SVG, "pi": Pi, "jsonl": Pi} {
		if got, err := ParseFormat(name); err != nil || got != want {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	_, err := ParseFormat("png")
	var unknown *FormatError
	if !errors.As(err, &unknown) || err.Error() != `"png" is no format; there are json, markdown, mermaid, dot, svg, pi` {
		t.Errorf("%v", err)
	}
}

// A writer's error is not lost in the buffer.
func TestWriteErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, f := range Formats() {
		if _, err := Write(failing{full}, f, fork(t), Options{}); !errors.Is(err, full) {
			t.Errorf("%s: %v", f, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// A fork in every fork: what is written grows with the nodes, not with their square,
// and a line says how many lanes it leaves out.
func TestForksWithinForks(t *testing.T) {
	comb := func(forks int) *Doc {
		nodes := []store.Node{{ID: "n0", Kind: "k", Data: `{}`}}
		up := "n0"
		for i := 1; i < forks; i++ {
			p := up
			up = fmt.Sprintf("n%d", i)
			nodes = append(nodes, store.Node{ID: up, ParentID: &p, Kind: "k", Data: `{}`}, store.Node{ID: up + "x", ParentID: &p, Kind: "k", Data: `{}`})
		}
		d, err := OfNodes(store.SessionInfo{ID: "comb", Kind: "session"}, nodes, Selection{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	small, large := comb(500), comb(2000)
	for _, f := range Formats() {
		s, _ := written(t, f, small, Options{})
		l, _ := written(t, f, large, Options{})
		if len(l) > 5*len(s) {
			t.Errorf("%s: %d bytes for 500 forks, %d for 2000", f, len(s), len(l))
		}
	}
	md, _ := written(t, Markdown, comb(maxLanes+4), Options{WithoutData: true})
	for _, want := range []string{"\n" + strings.Repeat("│ ", maxLanes-1) + "╰─● k  n32x", "\n+1 " + strings.Repeat("│ ", maxLanes-1) + "├─○ k  n33", "\n+3 " + strings.Repeat("│ ", maxLanes-1) + "├─● k  n35"} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
}
