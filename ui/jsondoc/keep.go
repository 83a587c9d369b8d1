package jsondoc

// What is kept of a document when a newer state of it is shown.

const (
	maxRemembered = 200     // folds; of more, only to which level all was folded
	maxLooked     = 100_000 // lines looked at to find one again
	maxSteps      = 2_000   // of a path
)

// memory is what is remembered: lines by what they are called.
type memory struct {
	cursor, top trace
	off, topOff int
	folded      []trace
	opened      []trace // unfolded, of what is folded from the beginning
	level       int
}

// trace is where a line is: its number, and the names from its part down to it.
type trace struct {
	line  int
	names []string
}

func (v *View) trace(n int) trace {
	t := trace{line: n}
	for at := n; at >= 0 && len(t.names) < maxSteps; at = v.stack.Up(at) {
		t.names = append(t.names, v.stack.Name(at))
	}
	return t
}

func (v *View) remember() memory {
	m := memory{off: v.cursor.off, topOff: v.top.off, level: v.depth}
	if v.stack.len == 0 {
		return m
	}
	m.cursor, m.top = v.trace(v.cursor.line), v.trace(v.top.line)
	count := 0
	for _, word := range v.folds.set {
		if word != 0 {
			count++
		}
	}
	if count > maxRemembered {
		return m
	}
	for w, word := range v.folds.set {
		for bit := 0; word>>bit != 0; bit++ {
			if word&(1<<bit) != 0 {
				m.folded = append(m.folded, v.trace(64*w+bit))
			}
		}
	}
	return m
}

func (v *View) recall(m memory) {
	if v.stack.len == 0 {
		return
	}
	if m.level >= 0 && m.folded == nil {
		v.folds.level(m.level, v.stack)
	}
	looked := 0
	for i := len(m.folded) - 1; i >= 0; i-- {
		if n, ok := v.find(m.folded[i], &looked); ok && v.stack.Span(n) > 0 {
			if v.folds.around(n, v.stack) >= 0 {
				v.folds.put(n, true)
			} else {
				v.folds.toggle(n, true, v.stack)
			}
		}
	}
	n, ok := v.find(m.cursor, &looked)
	v.cursor = place{line: n}
	if ok {
		v.cursor.off = m.off
	}
	n, ok = v.find(m.top, &looked)
	v.top = place{line: n}
	if ok {
		v.top.off = m.topOff
	}
}

// find finds a line again; ok is false where only what it was in is there, or
// only its number.
func (v *View) find(t trace, looked *int) (n int, ok bool) {
	s := v.stack
	if t.line < s.len && v.called(t.line, t.names) {
		return t.line, true
	}
	if len(t.names) == 0 || len(t.names) >= maxSteps {
		return min(t.line, s.len-1), false
	}
	// Down from the part, name by name.
	within := -1
	for i := len(t.names) - 1; i >= 0; i-- {
		at, end := 0, s.len-1
		if within >= 0 {
			at, end = within+1, within+s.Span(within)
		}
		found := -1
		for ; at <= end && found < 0; at += s.Span(at) + 1 {
			if *looked++; *looked > maxLooked {
				return min(t.line, s.len-1), false
			}
			if s.Name(at) == t.names[i] {
				found = at
			}
		}
		if found < 0 {
			return max(within, 0), false
		}
		within = found
	}
	return within, true
}

// called reports whether those are the names from line n up.
func (v *View) called(n int, names []string) bool {
	for _, name := range names {
		if n < 0 || v.stack.Name(n) != name {
			return false
		}
		n = v.stack.Up(n)
	}
	return len(names) >= maxSteps || n < 0
}
