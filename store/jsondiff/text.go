package jsondiff

import (
	"context"
	"strings"
)

// TextLine is one line of a text: the same before and after, added or removed.
// Its text ends without the line's end, which is "\n" for all but perhaps the
// last one.
type TextLine struct {
	Op   Op
	Text string
	// Open is set for a last line without a line's end.
	Open bool
}

// compareText compares two texts by line; nil where neither has several.
func compareText(ctx context.Context, before, after string) ([]TextLine, error) {
	if before == after || !strings.Contains(before, "\n") && !strings.Contains(after, "\n") {
		return nil, nil
	}
	a, b := split(before), split(after)
	l := lcs[string]{ctx: ctx}
	x, y := a, b
	turned := before > after
	if turned {
		x, y = y, x
	}
	same, err := l.find(x, y)
	if err != nil {
		return nil, err
	}
	if turned {
		flip(same)
	}
	out := make([]TextLine, 0, max(len(a), len(b)))
	put := func(op Op, line string) {
		text, ended := strings.CutSuffix(line, "\n")
		out = append(out, TextLine{op, text, !ended})
	}
	i, j := 0, 0
	for n := 0; n <= len(same); n++ {
		endA, endB := len(a), len(b)
		if n < len(same) {
			endA, endB = same[n].a, same[n].b
		}
		for ; i < endA; i++ {
			put(Removed, a[i])
		}
		for ; j < endB; j++ {
			put(Added, b[j])
		}
		if n < len(same) {
			put(Same, a[i])
			i, j = i+1, j+1
		}
	}
	return out, nil
}

func split(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
