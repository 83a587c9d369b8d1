package query

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var seen = Vocabulary{
	Values: map[string][]string{
		"kind": {"run", "stage", "two words"}, "status": {"RUNNING", "HIBERNATING"}, "definition": {"shop"}, "id": {"n1", "n2 (b)"}, "data.user.label": {"first", "12"},
	},
	Paths: []string{"data.user.label", "data.items.0.name", "context.total"},
}

// The cursor is where the | stands.
func TestComplete(t *testing.T) {
	for _, tt := range []struct {
		subject Subject
		text    string
		first   string   // the text with the first completion
		has     []string // texts of others
		not     []string
	}{
		{Nodes, "|", "id:|", []string{"kind:", "depth", "data.", "heads()", "ancestors(", "not "}, []string{"or ", "status:", "time:"}},
		{Nodes, "a |", "a id:|", []string{"or "}, nil},
		{Nodes, "ki|", "kind:|", nil, []string{"id:"}},
		{Nodes, "ki|nd", "kind:|", nil, nil},
		{Nodes, "a (ti|", "a (title:|", nil, nil},
		{Nodes, "an|", "ancestors(|", []string{"descendants("}, nil},
		{Nodes, "(|", "(id:|", nil, []string{"or "}},
		{Nodes, "depth|", "depth:|", []string{">", "<=", "!="}, []string{"~"}},
		{Nodes, "kind|", "kind:|", []string{"=", "!=", "~"}, []string{">"}},
		{Nodes, "kind:|", "kind:run|", []string{"stage", `"two words"`}, nil},
		{Nodes, "kind:st|", "kind:stage|", nil, []string{"run"}},
		{Nodes, "kind:st|xx y", "kind:stage| y", nil, nil},
		{Nodes, `kind:"tw|`, `kind:"two words"|`, nil, nil},
		{Nodes, `kind:"tw|o" y`, `kind:"two words"| y`, nil, nil},
		{Nodes, "kind!=|", "kind!=run|", nil, nil},
		{Nodes, "since:|", "since:10m|", []string{"1d"}, nil},
		{Nodes, "data.|", "data.user.label|", []string{"data.items.0.name"}, []string{"context.total"}},
		{Nodes, "data.la|", "data.user.label|", nil, nil},
		{Nodes, "data.user.label|", "data.user.label=|", []string{"~", ">"}, []string{":"}},
		{Nodes, "data.user.label=|", "data.user.label=first|", []string{`"12"`}, nil},
		{Nodes, "has:da|", "has:data|", []string{"data.user.label"}, []string{"kind"}},
		{Nodes, "has:|", "has:id|", []string{"time", "parent"}, []string{"since", "has"}},
		{Nodes, "ancestors(|", "ancestors(n1|", []string{`"n2 (b)"`}, nil},
		{Nodes, "ancestors(n2|", `ancestors("n2 (b)"|`, nil, nil},
		{Executions, "status:|", "status:RUNNING|", []string{"HIBERNATING", "FAILED", "DONE"}, nil},
		{Executions, "status:fa|", "status:FAILED|", nil, nil},
		{Executions, "status:running |", "status:running id:|", nil, nil},
		{Executions, "context.|", "context.total|", nil, nil},
		{Timers, "h|", "has:|", nil, []string{"heads()"}},
		{Nodes, "kind:run) |", "kind:run) id:|", nil, nil},
	} {
		before, after, _ := strings.Cut(tt.text, "|")
		cs := Complete(before+after, len(before), tt.subject, seen)
		if len(cs) == 0 {
			t.Errorf("%q: nothing", tt.text)
			continue
		}
		c := cs[0]
		if got := (before + after)[:c.From] + c.Text + "|" + (before + after)[c.To:]; got != tt.first {
			t.Errorf("%q becomes %q, want %q", tt.text, got, tt.first)
		}
		texts := make([]string, len(cs))
		for i, c := range cs {
			texts[i] = c.Text
		}
		for _, want := range tt.has {
			if !slices.Contains(texts, want) {
				t.Errorf("%q: %q lacks %q", tt.text, texts, want)
			}
		}
		for _, not := range tt.not {
			if slices.Contains(texts, not) {
				t.Errorf("%q: %q has %q", tt.text, texts, not)
			}
		}
	}
	for _, text := range []string{"zzzz|", "kind:zzz|", `"kin|`, "nothing:|", "kind:run)|", "=|"} {
		before, after, _ := strings.Cut(text, "|")
		if cs := Complete(before+after, len(before), Nodes, seen); len(cs) > 0 {
			t.Errorf("%q: %+v", text, cs)
		}
	}
}

// A completion lies around the cursor, wherever that is, and values stay values.
func TestCompletionsFit(t *testing.T) {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"kind", ":", "run", " ", "(", ")", `"`, "data.", "user", "=", "ancestors(", "not ", "or ", "ж", "\xff", "has:", ">"}), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(pieces.Draw(t, "pieces"), "")
		cursor := rapid.IntRange(-1, len(text)+1).Draw(t, "cursor")
		s := drawSubject(t)
		for _, c := range Complete(text, cursor, s, seen) {
			at := min(max(cursor, 0), len(text))
			if c.From > at || c.To < at || c.To > len(text) || c.Text == "" {
				t.Fatalf("%q at %d: %+v", text, cursor, c)
			}
			if strings.TrimSpace(text[:c.From]) == "" && strings.TrimSpace(text[c.To:]) == "" && (c.Kind == CompleteFunction && strings.HasSuffix(c.Text, ")")) {
				if _, err := Parse(c.Text, s); err != nil {
					t.Fatalf("%q: %v", c.Text, err)
				}
			}
		}
	})
}
