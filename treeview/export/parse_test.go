package export

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// graph is what the parsers here find.
type graph struct {
	nodes map[string]string // labels
	edges []string          // from>to
}

// parseDOT parses the language of Graphviz as far as attributes, node and edge
// statements go.
func parseDOT(text string) (graph, error) {
	p := dotParser{rest: text}
	g := graph{nodes: map[string]string{}}
	p.want("digraph")
	p.id()
	p.want("{")
	for p.err == nil && !p.has("}") {
		from := p.id()
		to := ""
		if p.has("->") {
			to = p.id()
		}
		attrs := map[string]string{}
		if p.has("[") {
			for p.err == nil && !p.has("]") {
				name := p.id()
				p.want("=")
				attrs[name] = p.id()
				p.has(",")
			}
		}
		p.want(";")
		switch {
		case to != "":
			g.edges = append(g.edges, from+">"+to)
		case from != "node":
			g.nodes[from] = attrs["label"]
		}
	}
	if p.err == nil && strings.TrimSpace(p.rest) != "" {
		p.err = fmt.Errorf("after the graph: %q", p.rest)
	}
	return g, p.err
}

type dotParser struct {
	rest string
	err  error
}

func (p *dotParser) has(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " \n")
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *dotParser) want(token string) {
	if p.err == nil && !p.has(token) {
		p.err = fmt.Errorf("want %s before %.40q", token, p.rest)
	}
}

var dotName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z_0-9]*|^[0-9]+`)

// id is a name, a number or a quoted text, of which the escapes of labels are read.
func (p *dotParser) id() string {
	if p.err != nil {
		return ""
	}
	p.rest = strings.TrimLeft(p.rest, " \n")
	if !strings.HasPrefix(p.rest, `"`) {
		name := dotName.FindString(p.rest)
		if name == "" {
			p.err = fmt.Errorf("no id before %.40q", p.rest)
		}
		p.rest = p.rest[len(name):]
		return name
	}
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; c {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String()
		case '\n':
			p.err = fmt.Errorf("a line feed in %.40q", p.rest)
			return ""
		case '\\':
			i++
			switch p.rest[i] {
			case 'n':
				b.WriteByte('\n')
			case '\\', '"':
				b.WriteByte(p.rest[i])
			default: // \N, \G and their like are replaced by names
				p.err = fmt.Errorf("an escape in %.40q", p.rest)
				return ""
			}
		default:
			b.WriteByte(c)
		}
	}
	p.err = fmt.Errorf("no end of %.40q", p.rest)
	return ""
}

var (
	mermaidNode = regexp.MustCompile(`^  ([a-z]\w*)(?:\["([^"]*)"\]|\(\["([^"]*)"\]\))$`)
	mermaidEdge = regexp.MustCompile(`^  (n\d+) (?:-->|-\. "[^"]*" \.->) (n\d+)$`)
	entity      = regexp.MustCompile(`#(\d+);`)
	notEscaped  = regexp.MustCompile("[<>&`%;:\\\\{}|]")
)

// parseMermaid parses flowcharts as far as nodes with quoted labels and edges go.
func parseMermaid(text string) (graph, error) {
	g := graph{nodes: map[string]string{}}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "flowchart TD" {
		return g, fmt.Errorf("begins with %q", lines[0])
	}
	for _, line := range lines[1:] {
		if m := mermaidEdge.FindStringSubmatch(line); m != nil {
			if _, ok := g.nodes[m[1]]; !ok {
				return g, fmt.Errorf("%s comes after its edge", m[1])
			}
			g.edges = append(g.edges, m[1]+">"+m[2])
			continue
		}
		m := mermaidNode.FindStringSubmatch(line)
		if m == nil {
			return g, fmt.Errorf("no statement: %q", line)
		}
		label := strings.ReplaceAll(m[2]+m[3], "<br/>", "\n")
		plain := entity.ReplaceAllString(label, "")
		if bad := notEscaped.FindString(plain); bad != "" || strings.Contains(plain, "#") {
			return g, fmt.Errorf("%q is not escaped in %q", bad, line)
		}
		g.nodes[m[1]] = entity.ReplaceAllStringFunc(label, func(s string) string {
			n, err := strconv.Atoi(s[1 : len(s)-1])
			if err != nil {
				return s
			}
			return string(rune(n))
		})
	}
	return g, nil
}

// drawsIt has Graphviz itself read a graph, where it is there.
func drawsIt(t *testing.T, text string) {
	t.Helper()
	if _, err := exec.LookPath("dot"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("graphviz is not there: .ci/run installs it")
		}
		t.Log("graphviz is not there: its own parser was not asked")
		return
	}
	cmd := exec.Command("dot", "-Tcanon")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("dot: %v\n%s", err, out)
	}
}
