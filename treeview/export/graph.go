package export

import (
	"strconv"
	"strings"
)

// Mermaid draws no more than these by default; a page can allow more.
const (
	mermaidEdges = 500
	mermaidChars = 50_000
)

func (p *printer) mermaid() {
	size, edges := 0, 0
	p.put("flowchart TD\n")
	for i := range p.doc.Items {
		it := &p.doc.Items[i]
		open, shut := `["`, `"]`
		if it.Leaf {
			open, shut = `(["`, `"])`
		}
		text := mermaidLabel(strings.Join(it.caption(), "\n"))
		size += len(text) + 16
		p.printf("  n%d%s%s%s\n", i, open, text, shut)
		switch {
		case it.Parent >= 0 && it.Elided > 0:
			p.printf("  n%d -. \"%s\" .-> n%d\n", it.Parent, mermaidLabel(elided(it.Elided)), i)
			edges++
		case it.Parent >= 0:
			p.printf("  n%d --> n%d\n", it.Parent, i)
			edges++
		}
	}
	if len(p.doc.Items) == 0 {
		p.put("  empty[\"no nodes\"]\n")
	}
	if edges > mermaidEdges || size > mermaidChars {
		p.warn("Mermaid draws at most %d edges and %d characters unless its settings allow more; here are %d edges: take a part of the tree, or --format dot",
			mermaidEdges, mermaidChars, edges)
	}
}

// mermaidStates draws the transitions of the traces.
func (p *printer) mermaidStates() {
	all, states := p.doc.transitions()
	p.put("stateDiagram-v2\n")
	for i, s := range states {
		p.printf("  state \"%s\" as s%d\n", mermaidLabel(label(s)), i)
	}
	for _, t := range all {
		from := "[*]"
		if t.from != "" {
			from = "s" + strconv.Itoa(place(states, t.from))
		}
		p.printf("  %s --> s%d", from, place(states, t.to))
		if c := t.caption(); c != "" {
			p.put(" : ", mermaidLabel(c))
		}
		p.put("\n")
	}
	if len(all) > mermaidEdges {
		p.warn("Mermaid draws at most %d edges unless its settings allow more; here are %d", mermaidEdges, len(all))
	}
}

// mermaidLabel escapes a text for a quoted label. Mermaid knows no escapes but
// these entities.
func mermaidLabel(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("<br/>")
		case strings.ContainsRune("\"#<>&`%;:\\{}|", r):
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (p *printer) dot() {
	p.put("digraph ", dotText(label(p.doc.Name)), " {\n", "  node [shape=box, style=rounded, fontname=\"monospace\"];\n")
	for i := range p.doc.Items {
		it := &p.doc.Items[i]
		p.printf("  n%d [label=%s", i, dotText(strings.Join(it.caption(), "\n")))
		if it.Leaf {
			p.put(", peripheries=2")
		}
		if it.Note != "" {
			p.put(", style=\"rounded,dashed\"")
		}
		p.put("];\n")
		switch {
		case it.Parent >= 0 && it.Elided > 0:
			p.printf("  n%d -> n%d [style=dashed, label=%s];\n", it.Parent, i, dotText(elided(it.Elided)))
		case it.Parent >= 0:
			p.printf("  n%d -> n%d;\n", it.Parent, i)
		}
	}
	p.put("}\n")
}

// dotStates draws the transitions of the traces.
func (p *printer) dotStates() {
	all, states := p.doc.transitions()
	p.put("digraph ", dotText(label(p.doc.Name)), " {\n", "  node [shape=box, style=rounded, fontname=\"monospace\"];\n",
		"  start [shape=point, label=\"\"];\n")
	for i, s := range states {
		p.printf("  s%d [label=%s];\n", i, dotText(label(s)))
	}
	for _, t := range all {
		from := "start"
		if t.from != "" {
			from = "s" + strconv.Itoa(place(states, t.from))
		}
		p.printf("  %s -> s%d [label=%s];\n", from, place(states, t.to), dotText(t.caption()))
	}
	p.put("}\n")
}

// dotText is a quoted text. Within a label a backslash begins an escape.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
