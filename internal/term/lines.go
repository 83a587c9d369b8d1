package term

import (
	"iter"
	"strings"
)

// tabStop is the distance of tab stops in multi-line text, in cells.
const tabStop = 8

// Lines turns a body of several lines into safe lines. Lines end at \n or
// \r\n; one at the very end starts no further line, and an empty body has
// none. Tabs become spaces up to the next multiple of eight cells. Any other
// control, a lone \r too, becomes a mark as in [Sanitise].
func Lines(s string) []Text { return Profile{}.Lines(s) }

// Lines is [Lines] under the profile.
func (p Profile) Lines(s string) []Text {
	lines := make([]Text, 0, strings.Count(s, "\n")+1)
	for line := range p.EachLine(s) {
		lines = append(lines, line)
	}
	return lines
}

// EachLine yields what [Profile.Lines] returns, one by one: a caller that
// stops early pays for the lines it saw only.
func (p Profile) EachLine(s string) iter.Seq[Text] {
	return func(yield func(Text) bool) {
		for s != "" {
			line, rest, _ := strings.Cut(s, "\n")
			if rest != "" || strings.HasSuffix(s, "\n") {
				line = strings.TrimSuffix(line, "\r")
			}
			if !yield(p.tabbed(line)) {
				return
			}
			s = rest
		}
	}
}

// tabbed converts one line, expanding its tabs.
func (p Profile) tabbed(line string) Text {
	cell, rest, found := strings.Cut(line, "\t")
	t := p.Sanitise(cell)
	if !found {
		return t
	}
	parts := []Text{t}
	w := t.w
	for found {
		gap := Spaces(tabStop - w%tabStop)
		cell, rest, found = strings.Cut(rest, "\t")
		t = p.Sanitise(cell)
		parts = append(parts, gap, t)
		w += gap.w + t.w
	}
	return Text{}.Plus(parts...)
}
