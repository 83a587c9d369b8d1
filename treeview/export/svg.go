package export

import (
	"strings"

	"treering/internal/term"
)

// Sizes of the picture, in pixels. The font is one of equal widths; what is drawn
// with it is a little narrower than a cell is thought to be.
const (
	svgRow    = 22.0
	svgIndent = 20.0
	svgCell   = 7.9
	svgMargin = 16.0
	svgRadius = 4.5
)

// svg draws a row for every item, as the explorer does: straight runs go straight
// down.
func (p *printer) svg() {
	d := p.doc
	x := func(level int) float64 { return svgMargin + svgRadius + float64(level)*svgIndent }
	y := func(row int) float64 { return svgMargin + 2*svgRow + float64(row)*svgRow }
	width := svgMargin*2 + svgCell*float64(term.Sanitise(d.Name).Width()+24)
	rows := make([]string, len(d.Items))
	for i := range d.Items {
		it := &d.Items[i]
		rows[i] = strings.Join(it.caption(), "  ")
		if it.Elided > 0 {
			rows[i] = elided(it.Elided) + "  " + rows[i]
		}
		width = max(width, x(it.Level)+svgRadius*2+svgCell*float64(term.Sanitise(rows[i]).Width())+svgMargin)
	}
	height := y(max(len(d.Items), 1)-1) + svgRow/2 + svgMargin
	p.printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n", width, height, width, height)
	what := counted(len(d.Items), "node")
	if d.Subject == Executions {
		what = counted(len(d.Items), "execution")
	}
	p.put("<title>", xmlText(label(d.Name)), "</title>\n<desc>", what, "</desc>\n", svgStyle)
	p.printf("<rect class=\"page\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height)
	p.printf("<text class=\"name\" x=\"%.1f\" y=\"%.1f\">%s<tspan class=\"dim\">  %s</tspan></text>\n", svgMargin, svgMargin+svgRow*0.7, xmlText(label(d.Name)), what)
	for i := range d.Items {
		it := &d.Items[i]
		if it.Parent < 0 {
			continue
		}
		px, py, cx, cy := x(d.Items[it.Parent].Level), y(it.Parent), x(it.Level), y(i)
		class := "edge"
		if it.Elided > 0 {
			class = "edge elided"
		}
		p.printf("<path class=\"%s\" d=\"M%.1f %.1f V%.1f", class, px, py, cy)
		if cx != px {
			p.printf(" H%.1f", cx)
		}
		p.put("\"/>\n")
	}
	for i := range d.Items {
		it := &d.Items[i]
		class := "node"
		switch {
		case it.Note != "":
			class = "node wrong"
		case it.Leaf:
			class = "node head"
		}
		p.printf("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", class, x(it.Level), y(i), svgRadius)
		p.printf("<text x=\"%.1f\" y=\"%.1f\" xml:space=\"preserve\">%s</text>\n", x(it.Level)+svgRadius*2, y(i)+4.5, xmlText(rows[i]))
	}
	p.put("</svg>\n")
}

const svgStyle = `<style>
  .page { fill: #ffffff }
  text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328 }
  .name { font-weight: bold }
  .dim { fill: #59636e; font-weight: normal }
  .edge { fill: none; stroke: #818b98; stroke-width: 1.5 }
  .elided { stroke-dasharray: 3 3 }
  .node { fill: #ffffff; stroke: #0550ae; stroke-width: 1.5 }
  .head { fill: #0550ae }
  .wrong { stroke: #a40e26; stroke-dasharray: 2 2 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    text { fill: #e6edf3 }
    .dim { fill: #9198a1 }
    .node { fill: #0d1117; stroke: #58a6ff }
    .head { fill: #58a6ff }
    .wrong { stroke: #ff7b72 }
  }
</style>
`

// xmlText escapes a text that was sanitised, so that no character in it is one that
// XML forbids.
func xmlText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
}
