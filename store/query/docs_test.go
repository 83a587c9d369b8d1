package query

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every example of the documentation is a filter, of its subject every field stands in
// one, and the views can be read.
func TestDocumentation(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "filters.md"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[Subject]string{}
	examples := 0
	block, content := "", ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		fence, opens := strings.CutPrefix(line, "```")
		switch {
		case opens && block == "":
			block, content = fence, ""
		case opens:
			if block == "toml" {
				if views, err := ParseViews([]byte(content)); err != nil || len(views) == 0 {
					t.Errorf("the views %s: %v", content, err)
				}
			}
			block = ""
		case strings.HasPrefix(block, "filter "):
			s, ok := SubjectNamed(strings.TrimPrefix(block, "filter "))
			if !ok {
				t.Fatalf("%q names no subject", block)
			}
			if _, err := Parse(line, s); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			used[s] += line + "\n"
			examples++
		default:
			content += line + "\n"
		}
		if strings.HasPrefix(line, "treering ") && strings.Contains(line, "--filter '") {
			_, rest, _ := strings.Cut(line, "--filter '")
			text, _, _ := strings.Cut(rest, "'")
			s := Nodes
			if strings.Contains(line, "executions") {
				s = Executions
			}
			if _, err := Parse(text, s); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if examples < 40 {
		t.Errorf("only %d examples were found", examples)
	}
	for _, s := range Subjects() {
		for _, f := range fieldsOf(s) {
			name := f.info().name
			if strings.Contains(used[s], name) || f == fieldSince || f == fieldBefore || f == fieldHas {
				continue
			}
			if f.info().form == document && strings.Contains(string(b), "`"+name+"`") {
				continue
			}
			t.Errorf("no example for %s uses %s", s, name)
		}
	}
	for f := range functionCount {
		if !strings.Contains(used[Nodes], f.info().name+"(") {
			t.Errorf("no example uses %s()", f.info().name)
		}
	}
}
