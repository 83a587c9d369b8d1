package ui

// rowCache keeps drawn rows, so that moving a cursor draws the two rows that
// change and scrolling the one that comes in.
type rowCache struct {
	width int
	rows  map[rowKey]string
}

type rowKey struct {
	row  int
	look look
}

// look is how a row's selection shows.
type look uint8

const (
	plain    look = iota
	marked        // selected, in a pane without the focus
	selected      // selected, in the focused pane
)

func lookOf(isSelected, focused bool) look {
	switch {
	case isSelected && focused:
		return selected
	case isSelected:
		return marked
	}
	return plain
}

// maxCachedRows bounds the cache; it is emptied when it is full.
const maxCachedRows = 1024

// get returns a row, drawing it where it is not there.
func (c *rowCache) get(row int, look look, width int, draw func() string) string {
	if c.rows == nil || c.width != width || len(c.rows) >= maxCachedRows {
		c.rows, c.width = map[rowKey]string{}, width
	}
	key := rowKey{row, look}
	s, ok := c.rows[key]
	if !ok {
		s = draw()
		c.rows[key] = s
	}
	return s
}

// drop forgets all rows: what they show has changed.
func (c *rowCache) drop() { c.rows = nil }
